//! What is sent depends on the seed, never on how many loops send it.

use crate::conduct::{at, conduct, spec};
use crate::steps::Steps;
use plimsoll_engine::{Protocol, RunSpec};
use plimsoll_load::window::Limit;
use plimsoll_model::StatementKind::{Select, Update};
use plimsoll_testkit::fake::{Answers, Fake};
use plimsoll_wire::command;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const CONNECTIONS: usize = 5;
const EVENTS: u64 = 53;
/// BEGIN, SELECT, UPDATE, COMMIT.
const STATEMENTS: usize = 4;

/// In it each connection ends a transaction, on a busy machine too.
const WARMUP_NS: u64 = 1_000_000_000;

/// What a server received on each connection of a run, in order. The first SELECT says whose it was.
type Heard = Vec<Vec<Vec<u8>>>;

fn run(protocol: Protocol, loops: usize, seed: u64, warmup_ns: u64) -> Heard {
    let heard: Arc<Mutex<BTreeMap<usize, Vec<Vec<u8>>>>> = Arc::default();
    let hears = Arc::clone(&heard);
    let fake = Fake::unix(move |talk| {
        talk.greet()?;
        let mut answers = Answers::new(talk.capabilities());
        let number = talk.number();
        talk.serve(|payload, out| {
            if payload[0] != command::STMT_PREPARE {
                hears.lock().unwrap().entry(number).or_default().push(payload.to_vec());
            }
            answers.put(payload, out);
        })
    });
    let workload = Steps::transaction(&[
        (Select, "SELECT c FROM t WHERE owner=? AND id=?"),
        (Update, "UPDATE t SET k=?, c=?, n=?"),
    ]);
    let limit = Limit::Events(EVENTS);
    let spec = RunSpec { protocol, loops, seed, warmup_ns, limit, connections: CONNECTIONS, ..spec(at(&fake)) };
    let conducted = conduct(spec, workload);
    assert_eq!(conducted.totals.counts.finished, EVENTS);
    assert_eq!(conducted.totals.served.iter().map(|served| served.events).sum::<u64>(), EVENTS);
    let mut heard: Heard = std::mem::take(&mut *heard.lock().unwrap()).into_values().collect();
    assert_eq!(heard.len(), CONNECTIONS);
    // After warm-up only the end is comparable; then connections are told apart by their measured part.
    let quota = |connection: u64| Limit::Events(EVENTS).quota(connection as usize, CONNECTIONS).unwrap() as usize;
    if warmup_ns > 0 {
        for sequence in &mut heard {
            let measured = quota(owner(sequence, protocol)) * STATEMENTS;
            assert!(sequence.len() > measured, "there was some warm-up");
            sequence.drain(..sequence.len() - measured);
        }
    }
    heard.sort_by_key(|sequence| owner(sequence, protocol));
    for (connection, sequence) in heard.iter().enumerate() {
        assert_eq!(owner(sequence, protocol), connection as u64);
        assert_eq!(sequence.len(), quota(connection as u64) * STATEMENTS);
    }
    heard
}

/// The connection's number in the run, which is the first parameter of its SELECT.
fn owner(sequence: &[Vec<u8>], protocol: Protocol) -> u64 {
    let select = &sequence[1];
    match protocol {
        // Command, statement, flags, iterations, nulls, types present, and where they are, the types.
        Protocol::Prepared => {
            let values = if select[11] == 1 { 12 + 2 * 2 } else { 12 };
            u64::from(select[values])
        }
        Protocol::Text => {
            let text = String::from_utf8_lossy(select);
            let (_, rest) = text.split_once("owner=").expect("the SELECT");
            rest.split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
        }
    }
}

#[test]
fn the_number_of_loops_changes_nothing_that_is_sent() {
    for protocol in [Protocol::Prepared, Protocol::Text] {
        let alone = run(protocol, 1, 7, 0);
        assert_eq!(run(protocol, 2, 7, 0), alone);
        assert_eq!(run(protocol, 4, 7, 0), alone);
        assert_ne!(run(protocol, 1, 8, 0), alone, "the seed does");
    }
}

#[test]
fn warming_up_changes_nothing_that_is_measured() {
    let cold = run(Protocol::Text, 1, 7, 0);
    assert_eq!(run(Protocol::Text, 1, 7, WARMUP_NS), cold);
    assert_eq!(run(Protocol::Text, 4, 7, WARMUP_NS), cold);
}
