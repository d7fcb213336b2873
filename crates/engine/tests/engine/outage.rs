//! Servers that go away and come back, or seem to.

use crate::conduct::{at, conduct, conduct_with, impatient, spec};
use crate::real::Real;
use crate::scripts::answering;
use crate::steps::Steps;
use plimsoll_engine::workload::{DeclaredWorkload, Input};
use plimsoll_engine::{Failure, LoopEvent, Reason, Run, RunSpec, Session, Statement};
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::recorder::End;
use plimsoll_load::window::Limit;
use plimsoll_model::StatementKind::{Select, Update};
use plimsoll_testkit::fake::{Answers, Fake, FakePlace, Talk};
use plimsoll_wire::{Value, command, server};
use std::io;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

fn update() -> Steps {
    Steps::transaction(&[(Update, "UPDATE t SET c = ? WHERE id = ?")])
}

/// Behaves, but every connection below `number` answers its third execution with `end` instead, and hangs up.
fn failing_below(
    number: usize,
    end: impl Fn(&mut Vec<u8>) + Send + Sync + 'static,
) -> impl Fn(&mut Talk) -> io::Result<()> + Send + Sync + 'static {
    move |talk| {
        talk.greet()?;
        let mut answers = Answers::new(talk.capabilities());
        let mut executions = 0;
        loop {
            let (_, payload) = talk.packet()?;
            if payload[0] == command::QUIT {
                return Ok(());
            }
            executions += usize::from(payload[0] == command::STMT_EXECUTE);
            let mut out = Vec::new();
            if talk.number() < number && executions == 3 {
                end(&mut out);
                return talk.send(&out);
            }
            answers.put(&payload, &mut out);
            talk.send(&out)?;
        }
    }
}

#[test]
fn an_external_server_that_comes_back_is_gone_on_with() {
    let ends: [fn(&mut Vec<u8>); 3] = [
        |_| {},
        |out| {
            server::put_error(out, 1, 1053, "Server shutdown in progress");
        },
        |out| {
            server::put_error(out, 0, 4031, "The client was disconnected by the server because of inactivity");
        },
    ];
    for end in ends {
        let fake = Fake::unix(failing_below(2, end));
        let spec = RunSpec { private: false, connections: 2, limit: Limit::Events(20), ..spec(at(&fake)) };
        let conducted = conduct(spec, update());
        let counters = &conducted.tally().counters;
        assert_eq!((counters.transactions, counters.reconnects, counters.retries()), (20, 2, 0));
        let counts = conducted.totals.counts;
        assert_eq!((counts.started, counts.finished, counts.failed), (20, 20, 0));
        // Two transactions were begun anew: BEGIN and UPDATE were sent twice.
        let sent = conducted.totals.sent;
        assert_eq!((sent.begin, sent.update, sent.commit, sent.rollback), (22, 22, 20, 0));
    }
}

#[test]
fn an_external_server_that_stays_away_ends_the_run() {
    let fake = Fake::unix(failing_below(usize::MAX, |_| {}));
    let FakePlace::Unix(path) = fake.place.clone() else { panic!("a Unix socket") };
    let (arrivals, limit) = (Arrivals::Constant { rate: 20.0 }, Limit::Time(60_000_000_000));
    let spec = RunSpec { private: false, arrivals, limit, ..impatient(at(&fake)) };
    // Connected to once, before the start, and never again.
    let unlink = || drop(std::fs::remove_file(&path));
    let (conducted, _) = conduct_with(spec, update(), |_| {}, unlink);
    match conducted.reason() {
        Reason::Lost(message) => assert!(
            message.starts_with("the server was gone for 2 s (--outage-limit): cannot connect to the socket /tmp/pl-"),
            "{message}"
        ),
        other => panic!("{other:?}"),
    }
    let counts = conducted.totals.counts;
    assert_eq!(counts.offered, counts.started + counts.dropped);
    assert_eq!(counts.started, counts.finished + counts.failed + counts.unfinished);
    assert_eq!((counts.finished, counts.unfinished), (2, 1));
}

#[test]
fn an_external_server_that_lets_nobody_in_is_not_called_gone() {
    let refusals = [
        (
            1040,
            "Too many connections",
            "the server was full for 2 s (--outage-limit): error 1040 (HY000): Too many \
          connections; raise its max_connections, or use fewer connections",
        ),
        (
            1203,
            "User x already has more than 'max_user_connections' active connections",
            "the server was full for 2 s \
          (--outage-limit): error 1203 (HY000): User x already has more than 'max_user_connections' active connections; \
          raise its max_connections, or use fewer connections",
        ),
        (1045, "Access denied", "the server let nobody in for 2 s (--outage-limit): error 1045 (HY000): Access denied"),
    ];
    for (code, text, message) in refusals {
        let fake = Fake::unix(move |talk| match talk.number() {
            0 => failing_below(usize::MAX, |_| {})(talk),
            _ => {
                let mut out = Vec::new();
                server::put_error(&mut out, 0, code, text);
                talk.send(&out)
            }
        });
        let spec = RunSpec { private: false, limit: Limit::Time(60_000_000_000), ..impatient(at(&fake)) };
        assert_eq!(conduct(spec, update()).reason(), &Reason::Lost(message.to_owned()));
    }
}

#[test]
fn whoever_answers_with_another_protocol_is_not_called_gone() {
    let fake = Fake::unix(|talk| match talk.number() {
        0 => failing_below(usize::MAX, |_| {})(talk),
        _ => talk.send_packet(0, b"SSH-2.0-OpenSSH_9.2\r\n"),
    });
    let spec = RunSpec { private: false, limit: Limit::Time(60_000_000_000), ..impatient(at(&fake)) };
    match conduct(spec, update()).reason() {
        Reason::Lost(message) => assert!(message.starts_with("the server let nobody in for 2 s"), "{message}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_transaction_that_ends_every_connection_ends_the_run() {
    let fake = Fake::unix(answering(|_| Ok(())));
    let conducted = conduct(RunSpec { private: false, ..impatient(at(&fake)) }, select());
    assert!(matches!(conducted.reason(), Reason::Lost(message) if message.contains("closed the connection")));
    assert_eq!((conducted.totals.counts.started, conducted.totals.counts.finished), (1, 0));
}

#[test]
fn nothing_waits_where_every_arrival_is_sent_at_once() {
    let fake = Fake::unix(Talk::behave);
    let arrivals = Arrivals::Constant { rate: 20.0 };
    // As many as bear a machine that stalls: one is always free.
    let spec = RunSpec { arrivals, connections: 64, limit: Limit::Time(1_500_000_000), ..spec(at(&fake)) };
    assert_eq!(conduct(spec, select()).tally().counters.waiting, 0);
}

#[test]
fn a_private_server_that_is_gone_ends_the_run_at_once() {
    let fake = Fake::unix(failing_below(usize::MAX, |_| {}));
    let conducted = conduct(RunSpec { outage_limit_ns: u64::MAX >> 1, ..spec(at(&fake)) }, update());
    assert!(matches!(conducted.reason(), Reason::Lost(message) if message.contains("closed the connection")));
    assert_eq!(conducted.totals.counts.finished, 2);
}

fn select() -> Steps {
    Steps::autocommit(&[(Select, "SELECT ?")])
}

/// Answers later than a loop looks after itself, and much sooner than [`OUTAGE`].
fn slow(talk: &mut Talk) -> io::Result<()> {
    talk.greet()?;
    let mut answers = Answers::new(talk.capabilities());
    talk.serve(|payload, out| {
        if payload[0] == command::STMT_EXECUTE {
            thread::sleep(Duration::from_millis(300));
        }
        answers.put(payload, out);
    })
}

const OUTAGE: Duration = Duration::from_secs(3);

#[test]
fn waiting_for_the_start_is_no_outage() {
    let fake = Fake::unix(slow);
    let outage_limit_ns = OUTAGE.as_nanos() as u64;
    let spec = RunSpec { limit: Limit::EventsPerConnection(2), outage_limit_ns, ..spec(at(&fake)) };
    let calls = AtomicUsize::new(0);
    let wait_before_the_start = || {
        if calls.fetch_add(1, Ordering::Relaxed) == 0 {
            thread::sleep(OUTAGE + Duration::from_millis(300));
        }
    };
    let (conducted, _) = conduct_with(spec, select(), |_| {}, wait_before_the_start);
    assert_eq!(conducted.tally().counters.transactions, 2);
}

#[test]
fn waiting_for_an_arrival_is_no_outage() {
    let fake = Fake::unix(slow);
    let outage_limit_ns = OUTAGE.as_nanos() as u64;
    // At 0, 4 and 8 s; the next were at 12 s.
    let (arrivals, limit) = (Arrivals::Constant { rate: 0.25 }, Limit::Time(10_000_000_000));
    let spec = RunSpec { arrivals, limit, outage_limit_ns, ..spec(at(&fake)) };
    assert_eq!(conduct(spec, select()).tally().counters.transactions, 3);
}

/// Whoever is answered first stops the whole loop, until the other's answer has been there for longer than an impatient
/// run waits.
struct Stopping {
    answered: AtomicUsize,
    meet: Arc<Barrier>,
}

impl DeclaredWorkload for Stopping {
    type State = ();

    fn statements(&self) -> Vec<Statement> {
        select().statements()
    }

    fn state(&self, _connection: usize, _connections: usize) {}

    async fn transaction(&self, _: &mut (), session: &mut Session, _: &mut Input) -> Result<End, Failure> {
        session.execute(0, &[Value::Int(1)]).await?;
        if self.answered.fetch_add(1, Ordering::Relaxed) == 0 {
            self.meet.wait();
            self.meet.wait();
            thread::sleep(Duration::from_secs(3));
        }
        Ok(End::Autocommit(1))
    }
}

#[test]
fn a_loop_that_was_stopped_itself_blames_no_server() {
    let meet = Arc::new(Barrier::new(2));
    let (meets, executions) = (Arc::clone(&meet), AtomicUsize::new(0));
    let fake = Fake::unix(move |talk| {
        talk.greet()?;
        let mut answers = Answers::new(talk.capabilities());
        loop {
            let (_, payload) = talk.packet()?;
            let is_second = payload[0] == command::STMT_EXECUTE && executions.fetch_add(1, Ordering::Relaxed) == 1;
            let mut out = Vec::new();
            answers.put(&payload, &mut out);
            if is_second {
                meets.wait();
            }
            talk.send(&out)?;
            if is_second {
                meets.wait();
            }
        }
    });
    let spec = RunSpec { connections: 2, limit: Limit::EventsPerConnection(1), ..impatient(at(&fake)) };
    let conducted = conduct(spec, Stopping { answered: AtomicUsize::new(0), meet });
    let counters = &conducted.tally().counters;
    assert_eq!(counters.transactions, 2);
    assert!(counters.lag_ns_max >= 1_000_000_000, "it says so itself: {} ns", counters.lag_ns_max);
}

#[test]
fn an_open_loop_that_is_stopped_between_arrivals_ends_cleanly() {
    let (asks, asked) = mpsc::channel();
    let fake = Fake::unix(move |talk| {
        talk.greet()?;
        let mut answers = Answers::new(talk.capabilities());
        talk.serve(|payload, out| {
            answers.put(payload, out);
            if payload[0] == command::STMT_EXECUTE {
                // Whoever listened has ended.
                let _ = asks.send(());
            }
        })
    });
    let arrivals = Arrivals::Constant { rate: 0.2 };
    let spec = RunSpec { arrivals, limit: Limit::Time(60_000_000_000), ..spec(at(&fake)) };
    let run = Run::begin(spec, Arc::new(select()));
    while !matches!(run.next(Duration::from_secs(30)), Some(LoopEvent::Ready(_))) {}
    run.start();
    asked.recv_timeout(Duration::from_secs(30)).expect("the first arrival");
    run.stop();
    // Longer than to the next arrival, which nobody may count any more.
    let end = Instant::now() + Duration::from_millis(5500);
    let mut events = Vec::new();
    while Instant::now() < end {
        events.extend(run.next(Duration::from_millis(50)));
    }
    run.finish();
    assert!(!events.iter().any(|event| matches!(event, LoopEvent::Failed(_))), "{events:?}");
    let drained = events.iter().find_map(|event| match event {
        LoopEvent::Drained(totals) => Some(totals.counts),
        _ => None,
    });
    let counts = drained.expect("drained");
    assert_eq!((counts.offered, counts.started, counts.finished, counts.dropped), (1, 1, 1, 0));
}

#[test]
fn a_real_server_that_is_killed_ends_the_run_at_once() {
    let Some(server) = Real::mariadb(&[]) else { return };
    let spec = RunSpec {
        connections: 8,
        loops: 2,
        limit: Limit::Time(60_000_000_000),
        outage_limit_ns: u64::MAX >> 1,
        ..spec(server.unix())
    };
    let kill = |_: &Run| {
        thread::sleep(Duration::from_secs(1));
        let killed = Command::new("kill").arg("-9").arg(server.pid().to_string()).status();
        assert!(killed.is_ok_and(|status| status.success()));
    };
    let (conducted, _) = conduct_with(spec, select(), kill, || {});
    assert!(!conducted.reasons.is_empty());
    assert!(conducted.reasons.iter().all(|reason| matches!(reason, Reason::Lost(_))), "{:?}", conducted.reasons);
    let counts = conducted.totals.counts;
    assert!(counts.finished > 0 && counts.unfinished >= 1, "{counts:?}");
    assert_eq!(counts.started, counts.finished + counts.failed + counts.unfinished, "{counts:?}");
}
