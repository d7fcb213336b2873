//! Connections that are lost: how soon they are reopened, and what is counted.

use crate::conduct::{Conducted, at, conduct, spec};
use crate::steps::Steps;
use plimsoll_engine::RunSpec;
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::window::Limit;
use plimsoll_model::StatementKind::{Select, Update};
use plimsoll_testkit::fake::{Answers, Fake, Talk};
use plimsoll_wire::{command, server};
use std::io;

const UPDATE: &str = "UPDATE t SET c = ? WHERE id = ?";
/// Every transaction after the first loses its connection once.
const TRANSACTIONS: u64 = 20;
const LOST: u64 = TRANSACTIONS - 1;

/// Answers one execution on each connection, and hangs up instead of answering the second, after saying `last`.
fn once(last: fn(&mut Vec<u8>)) -> impl Fn(&mut Talk) -> io::Result<()> + Send + Sync + 'static {
    move |talk| {
        talk.greet()?;
        let mut answers = Answers::new(talk.capabilities());
        let mut executions = 0;
        loop {
            let (_, payload) = talk.packet()?;
            executions += usize::from(payload[0] == command::STMT_EXECUTE);
            let mut out = Vec::new();
            if executions == 2 {
                last(&mut out);
                return talk.send(&out);
            }
            answers.put(&payload, &mut out);
            talk.send(&out)?;
        }
    }
}

fn lost(steps: Steps, last: fn(&mut Vec<u8>)) -> Conducted {
    let fake = Fake::unix(once(last));
    conduct(RunSpec { private: false, limit: Limit::Events(TRANSACTIONS), ..spec(at(&fake)) }, steps)
}

#[test]
fn a_lost_connection_is_made_anew_at_once() {
    let conducted = lost(Steps::autocommit(&[(Select, "SELECT ?")]), |_| {});
    let tally = conducted.tally();
    assert_eq!((tally.counters.transactions, tally.counters.reconnects), (TRANSACTIONS, LOST));
    // Whoever waits 0.1 s before the first attempt has one transaction that is faster.
    let fast = tally.service().count_between(0, 100_000_000);
    assert!(fast >= 2, "{fast} transactions took less than the back-off");
}

#[test]
fn connections_that_are_lost_and_writes_that_nobody_knows_of_are_counted() {
    let farewell = |out: &mut Vec<u8>| {
        server::put_error(out, 1, 1927, "Connection was killed");
    };
    let write = || Steps::autocommit(&[(Update, UPDATE)]);
    // A transaction that is lost before its COMMIT has been rolled back.
    for (what, conducted, lost, unknown) in [
        ("writes that commit by themselves", lost(write(), |_| {}), LOST, LOST),
        ("reads", lost(Steps::autocommit(&[(Select, "SELECT ?")]), |_| {}), LOST, 0),
        ("writes in transactions", lost(Steps::transaction(&[(Update, UPDATE)]), |_| {}), LOST, 0),
        ("writes that the server refused", lost(write(), farewell), 0, 0),
    ] {
        let counters = &conducted.tally().counters;
        assert_eq!((counters.reconnects, counters.lost_connections, counters.unknown), (LOST, lost, unknown), "{what}");
        assert_eq!(counters.errors.get(&1927).copied().unwrap_or(0) + lost, LOST, "{what}: none is forgotten");
        assert_eq!(conducted.totals.unknown, unknown, "{what}");
    }
}

#[test]
fn a_write_that_could_not_be_sent_is_known_to_have_no_effect() {
    // Hangs up behind each answer, long before the next arrival.
    let fake = Fake::unix(|talk| {
        talk.greet()?;
        let mut answers = Answers::new(talk.capabilities());
        loop {
            let (_, payload) = talk.packet()?;
            let mut out = Vec::new();
            answers.put(&payload, &mut out);
            talk.send(&out)?;
            if payload[0] == command::STMT_EXECUTE {
                return Ok(());
            }
        }
    });
    let arrivals = Arrivals::Constant { rate: 4.0 };
    let spec = RunSpec { private: false, arrivals, limit: Limit::Time(900_000_000), ..spec(at(&fake)) };
    let conducted = conduct(spec, Steps::autocommit(&[(Update, UPDATE)]));
    assert!(conducted.tally().counters.lost_connections > 0);
    assert_eq!(conducted.totals.unknown, 0);
}
