//! Paced terminals of order entry, on a clock a thousand times too fast, against a server that does nothing, so that
//! only the pauses decide how many new orders there are.

use plimsoll_data::target::private_endpoint;
use plimsoll_engine::endpoint::Resolved;
use plimsoll_engine::{Endpoint, LoopEvent, Protocol, Run, RunSpec};
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::tally::Tally;
use plimsoll_load::window::Limit;
use plimsoll_model::samples::Phase;
use plimsoll_testkit::fake::{Fake, FakePlace, Talk};
use plimsoll_wire::bytes::put_counted;
use plimsoll_wire::capability::DEPRECATE_EOF;
use plimsoll_wire::server;
use plimsoll_workloads::tpcc::input::UNUSED_ITEM;
use plimsoll_workloads::tpcc::statements::TransactionKind;
use plimsoll_workloads::tpcc::{Tpcc, TpccParameters};
use std::sync::Arc;
use std::time::Duration;

const SCALE: f64 = 0.001;
const SECONDS: f64 = 8.0;
/// Keying and thinking of the mean cycle, seconds (clause 5.2.5 with the mix 45/43/4/4/4).
const CYCLE: f64 = 20.99;
const TERMINALS: f64 = 10.0;
const ANSWER_COLUMNS: u8 = 5;

/// Answers every CALL with a row of zeros, but with a one first where a new order asks for the item that does not
/// exist.
fn clerk(talk: &mut Talk) -> std::io::Result<()> {
    talk.greet()?;
    let deprecate_eof = talk.capabilities() & DEPRECATE_EOF != 0;
    let unused = format!(", {UNUSED_ITEM},");
    talk.serve(|payload, out| {
        let sql = String::from_utf8_lossy(payload);
        if !sql.contains("CALL") {
            server::put_ok(out, 1, 0, 0, 2);
            return;
        }
        let mut row = Vec::new();
        let missing = sql.contains("new_order") && sql.contains(&unused);
        put_counted(&mut row, if missing { b"1" } else { b"0" });
        (1..ANSWER_COLUMNS).for_each(|_| put_counted(&mut row, b"0"));
        server::put_results(out, ANSWER_COLUMNS, &[&row], deprecate_eof, 2);
    })
}

fn endpoint(fake: &Fake) -> Endpoint {
    let FakePlace::Unix(socket) = &fake.place else { panic!("it listens on a Unix socket") };
    Endpoint { resolved: Resolved::Unix(socket.clone()), ..private_endpoint(socket) }
}

/// The whole window of a run.
fn measured(fake: &Fake, workload: Tpcc) -> Tally {
    let spec = RunSpec {
        endpoint: endpoint(fake),
        connections: 8,
        loops: 1,
        arrivals: Arrivals::Closed,
        limit: Limit::Time((SECONDS * 1e9) as u64),
        warmup_ns: 500_000_000,
        seed: 5,
        protocol: Protocol::Text,
        outage_limit_ns: 10_000_000_000,
        ignore_errors: Vec::new(),
        private: true,
        ask: None,
        part: None,
        commits: None,
    };
    let run = Run::begin(spec, Arc::new(workload));
    let mut window: Option<Tally> = None;
    loop {
        match run.next(Duration::from_secs(60)).expect("a loop that works tells of itself every second") {
            LoopEvent::Ready(_) => drop(run.start()),
            LoopEvent::Interval(tally) if tally.phase == Phase::Measure => match &mut window {
                Some(window) => window.add(&tally),
                None => window = Some(*tally),
            },
            LoopEvent::Interval(_) => {}
            LoopEvent::Failed(reason) => panic!("{reason}"),
            LoopEvent::Drained(_) => break,
        }
    }
    run.finish();
    window.expect("there was a window")
}

#[test]
fn one_warehouse_makes_the_new_orders_that_its_terminals_key_in() {
    let fake = Fake::unix(clerk);
    let parameters = TpccParameters::parse([("pacing", "spec"), ("call-style", "procedure")]).expect("accepted");
    let window = measured(&fake, Tpcc::new(&parameters, Some(1), 5).with_time_scale(SCALE));
    let new_orders = &window.transactions[TransactionKind::NewOrder as usize];
    let all = (new_orders.committed + new_orders.rollbacks) as f64;
    // What the machine added to each cycle: waiting to be sent, and the answer.
    let added = window.response().mean() / 1e9;
    let expected = 0.45 * TERMINALS * SECONDS / (CYCLE * SCALE + added);
    // 60 × 10 × 0.45 / 20.99 = 12.86 per minute, were nothing added.
    let per_minute = 60.0 * all / SECONDS * SCALE * (1.0 + added / (CYCLE * SCALE));
    // Which of the transactions are new orders is random, and so is the length of a cycle.
    let deviation = 4.0 * (0.55 / expected + 0.2 / expected).sqrt();
    assert!((all / expected - 1.0).abs() < deviation, "{all} new orders, {expected:.0} expected ({added:.6} s added)");
    assert!((per_minute / 12.86 - 1.0).abs() < deviation, "{per_minute:.2} per minute");
    // One in a hundred is rolled back: 12.73 are committed.
    let rolled_back = new_orders.rollbacks as f64 / all;
    assert!((rolled_back - 0.01).abs() < 4.0 * (0.01 / all).sqrt(), "{rolled_back}");
    assert_eq!(window.counters.errors.len(), 0);
}
