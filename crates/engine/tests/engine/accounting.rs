//! What was counted here is what the server counted, and nothing is lost on the way.

use crate::conduct::{Conducted, conduct, conduct_with, spec};
use crate::real::{Real, on_each_server};
use crate::steps::{Steps, text};
use plimsoll_engine::workload::{DeclaredWorkload, Input, Workload};
use plimsoll_engine::{Failure, LoadClient, Protocol, Reason, RunSpec, Session, Statement};
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::recorder::End;
use plimsoll_load::window::Limit;
use plimsoll_model::StatementKind;
use plimsoll_model::statements::StatementCounts;
use plimsoll_wire::Value;

/// Two of four rows, in the order that chance gives: with many connections, deadlocks.
struct Quarrel;

impl DeclaredWorkload for Quarrel {
    type State = ();

    fn statements(&self) -> Vec<Statement> {
        vec![
            text("begin", StatementKind::Begin, "BEGIN"),
            Statement {
                name: "update",
                kind: StatementKind::Update,
                sql: "UPDATE account SET balance = balance + ? WHERE id = ?".to_owned(),
                prepared: true,
            },
            text("commit", StatementKind::Commit, "COMMIT"),
        ]
    }

    fn state(&self, _connection: usize, _connections: usize) {}

    async fn transaction(&self, _: &mut (), session: &mut Session, input: &mut Input) -> Result<End, Failure> {
        let first = input.rng.between(1, 4) as i64;
        let second = first % 4 + 1;
        session.execute(0, &[]).await?;
        session.execute(1, &[Value::Int(-1), Value::Int(first)]).await?;
        session.execute(1, &[Value::Int(1), Value::Int(second)]).await?;
        // Every eighth changes its mind.
        if input.rng.between(1, 8) == 1 {
            session.rollback().await?;
            return Ok(End::RolledBack);
        }
        session.execute(2, &[]).await?;
        Ok(End::Committed)
    }
}

fn counted_by(server: &Real) -> StatementCounts {
    let rows = server.control().rows("SHOW GLOBAL STATUS LIKE 'Com\\_%'").unwrap();
    let mut counts = StatementCounts::default();
    for (name, value) in rows.pairs() {
        if let Some(kind) = StatementKind::ALL.into_iter().find(|kind| kind.status_variable() == name) {
            counts[kind] = value.parse().unwrap();
        }
    }
    counts
}

/// Runs and checks what holds of every run.
fn account<W: Workload>(server: &Real, spec: RunSpec, workload: W) -> Conducted {
    let (conducted, counted) = conduct_with(spec.clone(), workload, |_| {}, || counted_by(server));
    let (before, after) = counted.expect("it was drained");
    assert_eq!(after - before, conducted.totals.sent, "the server counts what was sent ({spec:?})");
    let tally = conducted.tally();
    assert_eq!(tally.counters.sent, conducted.totals.sent, "the sum of the intervals");
    let counts = conducted.totals.counts;
    assert_eq!(counts.offered, counts.started + counts.dropped, "{counts:?}");
    assert_eq!(counts.started, counts.finished + counts.failed + counts.unfinished, "{counts:?}");
    assert_eq!(counts.unfinished, 0, "a healthy server answers in time");
    let failed: u64 = tally.counters.errors.values().sum();
    let sent: u64 = StatementKind::ALL.iter().map(|kind| conducted.totals.sent[*kind]).sum();
    assert_eq!(sent, tally.counters.queries + failed, "every statement was answered");
    let each = tally.statements.iter();
    assert_eq!(each.clone().map(|statement| statement.latency.len()).sum::<u64>(), tally.counters.queries);
    assert_eq!(each.map(|statement| statement.errors).sum::<u64>(), failed);
    let ended = tally.counters.transactions + tally.counters.rollbacks;
    if spec.arrivals == Arrivals::Closed {
        assert_eq!(tally.response().len(), 0);
    } else {
        assert_eq!(tally.response().len(), tally.service().len());
    }
    assert!(ended >= tally.service().len() && !tally.service().is_empty());
    conducted
}

#[test]
fn simple_transactions_are_counted_alike() {
    on_each_server(&[], |server| {
        server.run(&[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT PRIMARY KEY, k INT)",
            "INSERT INTO d.t VALUES (1, 0)",
        ]);
        let workload = || {
            Steps::transaction(&[
                (StatementKind::Select, "SELECT k FROM d.t WHERE id = ?"),
                (StatementKind::Insert, "INSERT IGNORE INTO d.t VALUES (1, ?)"),
                (StatementKind::Delete, "DELETE FROM d.t WHERE id = -1"),
            ])
        };
        for protocol in [Protocol::Prepared, Protocol::Text] {
            let spec = RunSpec { protocol, connections: 6, loops: 2, limit: Limit::Events(300), ..spec(server.tcp()) };
            let conducted = account(server, spec.clone(), workload());
            assert_eq!((conducted.totals.counts.finished, conducted.totals.sent.select), (300, 300));
            let spec = RunSpec { warmup_ns: 200_000_000, limit: Limit::Time(200_000_000), ..spec };
            let conducted = account(server, RunSpec { endpoint: server.unix(), ..spec }, workload());
            assert!(conducted.totals.counts.finished < conducted.totals.sent.commit, "warm-up is counted as sent only");
        }
    });
}

#[test]
fn each_loop_answers_what_is_asked_and_it_is_not_counted() {
    on_each_server(&[("sort_buffer_size", "512K")], |server| {
        let workload = || Steps::transaction(&[(StatementKind::Select, "SELECT ?")]);
        let ask = Some("SHOW SESSION VARIABLES LIKE 'sort_buffer_size'");
        let spec = RunSpec { ask, connections: 6, loops: 2, limit: Limit::Events(20), ..spec(server.unix()) };
        let conducted = account(server, spec.clone(), workload());
        let expected = ("sort_buffer_size".to_owned(), "524288".to_owned());
        assert_eq!(conducted.answers, [expected.clone(), expected]);
        // A question that is refused ends the run before the load begins.
        let conducted = conduct(RunSpec { ask: Some("SHOW NOTHING OF THE KIND"), ..spec }, workload());
        assert!(matches!(conducted.reason(), Reason::Setup(text) if text.contains("SHOW NOTHING")));
    });
}

#[test]
fn retries_are_counted_alike_and_nothing_is_done_twice() {
    let settings = [("innodb_lock_wait_timeout", "5")];
    on_each_server(&settings, |server| {
        server.run(&[
            "CREATE DATABASE d",
            "CREATE TABLE d.account (id INT PRIMARY KEY, balance INT NOT NULL, changes INT NOT NULL DEFAULT 0)",
            "INSERT INTO d.account (id, balance) VALUES (1, 0), (2, 0), (3, 0), (4, 0)",
            "CREATE TRIGGER d.changed BEFORE UPDATE ON d.account FOR EACH ROW SET NEW.changes = OLD.changes + 1",
        ]);
        let endpoint = plimsoll_engine::Endpoint { database: Some("d".to_owned()), ..server.unix() };
        let base = RunSpec { connections: 16, loops: 2, ..spec(endpoint) };
        let closed = RunSpec { limit: Limit::Time(500_000_000), warmup_ns: 100_000_000, ..base.clone() };
        let fixed = RunSpec { limit: Limit::Events(400), ..base.clone() };
        // More than is carried, so that all connections quarrel here too, however fast the machine is.
        let open = RunSpec { arrivals: Arrivals::Poisson { rate: 20_000.0 }, ..closed.clone() };
        let (mut commits, mut attempts) = (0, 0);
        for spec in [closed, fixed, open] {
            let conducted = account(server, spec, Quarrel);
            let counters = &conducted.tally().counters;
            let deadlocks = counters.errors.get(&1213).copied().unwrap_or_default();
            assert!(deadlocks > 0 && counters.retries() > 0, "{counters:?}");
            assert_eq!(counters.errors.keys().find(|code| ![1213, 1205].contains(*code)), None);
            // A retry begins with ROLLBACK, and so does giving up after ten tries.
            assert_eq!(conducted.totals.sent.begin, conducted.totals.sent.commit + conducted.totals.sent.rollback);
            commits += counters.transactions;
            attempts += counters.retries();
        }
        let mut control = server.control();
        let sums = control.rows("SELECT SUM(balance), SUM(changes) FROM d.account").unwrap();
        let expected = [Some("0".to_owned()), Some((2 * commits).to_string())];
        assert_eq!(sums.rows[0], expected, "{commits} commits after {attempts} retries");
    });
}

#[test]
fn an_open_loop_drops_what_it_cannot_send_and_says_so() {
    let Some(server) = Real::mariadb(&[]) else { return };
    // Half of what is asked for can be done: SLEEP is 20 ms, so two connections give 100 per second.
    let workload = || Steps::autocommit(&[(StatementKind::Select, "SELECT SLEEP(0.02)")]);
    for arrivals in [Arrivals::Poisson { rate: 200.0 }, Arrivals::Constant { rate: 200.0 }] {
        let limit = Limit::Time(1_000_000_000);
        let spec = RunSpec { arrivals, limit, connections: 2, loops: 2, ..spec(server.unix()) };
        let conducted = account(&server, spec, workload());
        let counts = conducted.totals.counts;
        assert!(counts.dropped > 0 && counts.late > 0 && counts.late <= counts.started, "{counts:?}");
        if arrivals == (Arrivals::Constant { rate: 200.0 }) {
            assert_eq!(counts.offered, 200);
        }
        let tally = conducted.tally();
        assert!(
            tally.response().mean() > tally.service().mean(),
            "the wait before the first send is part of the response"
        );
    }
}
