//! From samples as in recordings to the verdict: shortened numbers of trials with planted bottlenecks, and numbers that
//! no trial has.

use plimsoll_diagnosis::caveats::caveats;
use plimsoll_diagnosis::cost::cost;
use plimsoll_diagnosis::{Observed, diagnose};
use plimsoll_model::LoadPoint;
use plimsoll_model::diagnosis::{Bottleneck, BottleneckVerdict, Diagnosis};
use plimsoll_model::samples::{DeviceSample, HostSample, Interval, MemorySample, Phase, ServerSample, StatusSample};
use plimsoll_model::summary::{LatencyMs, Operation, OperationKind, Point, ReadWriteOther, ServerCost};
use std::collections::BTreeMap;

const SECOND: u64 = 1_000_000_000;

/// What was recorded of one trial.
#[derive(Clone, Debug, Default)]
struct Trial {
    point: Point,
    intervals: Vec<Interval>,
    host: Vec<HostSample>,
    server: Vec<ServerSample>,
    status: Vec<StatusSample>,
    settings: BTreeMap<String, String>,
}

impl Trial {
    /// Seconds of 16 connections, with the same line of status in each; the first second is warm-up.
    fn of(transactions: u64, latency_ms: f64, seconds: u64, line: StatusSample) -> Trial {
        let point = Point {
            load: LoadPoint::closed(16),
            seconds: seconds as f64,
            transactions: transactions * seconds,
            queries: transactions * seconds,
            latency_ms: LatencyMs { mean: Some(latency_ms), ..LatencyMs::default() },
            server: Some(ServerCost { cpus_busy: Some(0.05), ..ServerCost::default() }),
            ..Point::default()
        };
        let at = |number: u64| number * SECOND;
        Trial {
            point,
            intervals: (0..=seconds).map(|number| interval(number, transactions)).collect(),
            host: (1..=seconds + 1).map(|number| host(number, 1)).collect(),
            server: (1..=seconds + 1).map(|n| ServerSample { t_ns: at(n), ..ServerSample::default() }).collect(),
            status: (1..=seconds + 1).map(|n| StatusSample { t_ns: at(n), seconds: 1.0, ..line }).collect(),
            settings: BTreeMap::new(),
        }
    }

    /// Every transaction is one statement that changes a row.
    fn writing(mut self) -> Trial {
        self.point.statements = ReadWriteOther { write: self.point.queries, ..ReadWriteOther::default() };
        self
    }

    fn observed(&self) -> Observed<'_> {
        Observed {
            point: &self.point,
            intervals: &self.intervals,
            host: &self.host,
            server: &self.server,
            status: &self.status,
            storage: &[],
            settings: &self.settings,
        }
    }

    #[track_caller]
    fn is_limited_by(&self, limit: Bottleneck) -> Diagnosis {
        let found = diagnose(&self.observed());
        assert_eq!(found.verdict, BottleneckVerdict::Limited(limit), "{found:#?}");
        found
    }
}

fn interval(number: u64, transactions: u64) -> Interval {
    let phase = if number == 0 { Phase::WarmUp } else { Phase::Measure };
    Interval { transactions, queries: transactions, ..Interval::empty(number * SECOND, phase, 1.0) }
}

fn host(number: u64, processes_blocked: u32) -> HostSample {
    HostSample { t_ns: number * SECOND, seconds: 1.0, idle: 1.0, processes_blocked, ..HostSample::default() }
}

#[test]
fn a_small_pool_on_slow_storage() {
    let mariadb = StatusSample {
        threads_running: Some(17),
        pool_reads: Some(300),
        data_pending_reads: Some(15),
        ..StatusSample::default()
    };
    let found = Trial::of(66, 239.3, 8, mariadb).is_limited_by(Bottleneck::ReadIo);
    assert!((0.9..1.0).contains(&found.candidates[0].share), "{found:#?}");
    let mysql = StatusSample { data_pending_reads: Some(0), page_read_ms: Some(13_000), ..mariadb };
    Trial::of(136, 117.5, 2, mysql).is_limited_by(Bottleneck::ReadIo);
}

fn of_slow_syncs() -> StatusSample {
    StatusSample {
        threads_running: Some(18),
        data_fsyncs: Some(50),
        log_fsyncs: Some(50),
        redo_sync_ms: Some(980),
        binlog_sync_ms: Some(0),
        redo_written_bytes: Some(390_000),
        pages_written: Some(0),
        checkpoint_age_bytes: Some(2_000_000),
        checkpoint_age_max_bytes: Some(1 << 30),
        row_lock_ms: Some(0),
        ..StatusSample::default()
    }
}

#[test]
fn slow_syncs_of_statements_that_commit_by_themselves() {
    Trial::of(390, 41.5, 8, of_slow_syncs()).writing().is_limited_by(Bottleneck::CommitSync);
    let mariadb = StatusSample { log_fsyncs: None, redo_sync_ms: None, binlog_sync_ms: None, ..of_slow_syncs() };
    let mut trial = Trial::of(390, 41.5, 8, mariadb).writing();
    trial.is_limited_by(Bottleneck::CommitSync);
    trial.host.iter_mut().for_each(|line| line.processes_blocked = 0);
    assert_ne!(
        diagnose(&trial.observed()).verdict,
        BottleneckVerdict::Limited(Bottleneck::CommitSync),
        "nobody waited for a device"
    );
    let mut lazy = Trial::of(390, 41.5, 8, of_slow_syncs()).writing();
    lazy.settings.insert("innodb_flush_log_at_trx_commit".to_owned(), "2".to_owned());
    assert!(diagnose(&lazy.observed()).candidates.iter().all(|it| it.bottleneck != Bottleneck::CommitSync));
}

#[test]
fn slow_syncs_as_the_load_generator_saw_them() {
    let statement = |name: &str, mean: f64| Operation {
        kind: OperationKind::Statement,
        name: name.to_owned(),
        count: 8 * 200,
        errors: 0,
        latency_ms: LatencyMs { mean: Some(mean), ..LatencyMs::default() },
        latency_mean_ms: None,
        response_ms: None,
        response_mean_ms: None,
        rollbacks: 0,
        retries: 0,
    };
    let mut trial = Trial::of(200, 80.0, 8, of_slow_syncs()).writing();
    trial.point.operations = vec![statement("BEGIN", 1.0), statement("COMMIT", 61.0)];
    let found = trial.is_limited_by(Bottleneck::CommitSync);
    assert!((found.candidates[0].share - 0.75).abs() < 1e-9, "60 of 80 ms: {found:#?}");
    trial.status.clear();
    trial.is_limited_by(Bottleneck::CommitSync);
    (trial.server, trial.point.server) = (Vec::new(), None);
    trial.host.iter_mut().for_each(|line| line.processes_blocked = 0);
    trial.is_limited_by(Bottleneck::CommitSync);
    trial.point.statements = ReadWriteOther::default();
    assert!(diagnose(&trial.observed()).candidates.is_empty(), "nothing was changed");
}

/// MariaDB counts syncs and does not time them.
#[test]
fn a_sync_is_as_long_as_the_server_says_it_was() {
    let statements = |line: StatusSample| {
        let found = Trial::of(390, 41.5, 8, line).writing().is_limited_by(Bottleneck::CommitSync);
        found.candidates[0].evidence.iter().map(|it| it.statement.clone()).collect::<Vec<_>>().join("; ")
    };
    let mysql = statements(of_slow_syncs());
    assert!(mysql.contains("there were 50 syncs a second, 19.6 ms each"), "{mysql}");
    let mariadb = StatusSample { log_fsyncs: None, redo_sync_ms: None, binlog_sync_ms: None, ..of_slow_syncs() };
    let mariadb = statements(mariadb);
    assert!(mariadb.contains("there were 50 syncs a second, with"), "{mariadb}");
}

#[test]
fn few_looks_at_the_server_are_no_ground_for_a_verdict() {
    let trial = Trial::of(390, 41.5, 3, of_slow_syncs()).writing();
    let found = diagnose(&trial.observed());
    assert_eq!(found.verdict, BottleneckVerdict::NotClear, "who waits is concluded from threads that run: {found:#?}");
    assert!(found.missing.iter().any(|what| what.starts_with("enough samples")), "{:?}", found.missing);
}

#[test]
fn an_age_at_which_mysql_stops_is_none_at_which_mariadb_does() {
    let aged = StatusSample { checkpoint_age_bytes: Some(83), checkpoint_age_max_bytes: Some(100), ..of_slow_syncs() };
    let mut trial = Trial::of(390, 41.5, 8, aged).writing();
    trial.is_limited_by(Bottleneck::CommitSync);
    trial.settings.insert("innodb_redo_log_capacity".to_owned(), "100".to_owned());
    trial.is_limited_by(Bottleneck::PageFlush);
}

#[test]
fn a_task_that_waits_for_another_device_is_not_at_the_log() {
    let mariadb = StatusSample { log_fsyncs: None, redo_sync_ms: None, binlog_sync_ms: None, ..of_slow_syncs() };
    let mut trial = Trial::of(390, 41.5, 8, mariadb).writing();
    let idle = DeviceSample { holds_data: true, ..DeviceSample::default() };
    let other = DeviceSample { writes: 900, busy: 1.0, ..DeviceSample::default() };
    for line in &mut trial.host {
        line.devices = [("sda".to_owned(), idle), ("sdb".to_owned(), other)].into();
    }
    let found = diagnose(&trial.observed());
    assert!(found.candidates.iter().all(|it| it.bottleneck != Bottleneck::CommitSync), "{found:#?}");
}

#[test]
fn a_redo_log_that_is_full() {
    let full = StatusSample {
        log_fsyncs: None,
        redo_sync_ms: None,
        binlog_sync_ms: None,
        pages_written: Some(100),
        doublewrite_pages: Some(100),
        checkpoint_age_bytes: Some(2_600_000),
        checkpoint_age_max_bytes: Some(2_680_000),
        ..of_slow_syncs()
    };
    let found = Trial::of(390, 41.5, 8, full).writing().is_limited_by(Bottleneck::PageFlush);
    assert!(found.sentence.contains("97 %"), "{}", found.sentence);
}

#[test]
fn pages_that_stand_before_the_log() {
    let pages = StatusSample {
        log_fsyncs: Some(8),
        pages_written: Some(150),
        doublewrite_pages: Some(150),
        pages_dirty: Some(250),
        pages_total: Some(512),
        ..of_slow_syncs()
    };
    let trial = Trial::of(55, 280.0, 8, pages).writing();
    let found = trial.is_limited_by(Bottleneck::PageFlush);
    assert!(
        found.candidates[0].evidence.iter().any(|it| it.statement.contains("37.5 for each sync of the log")),
        "{found:#?}"
    );
    let mut elsewhere = trial.clone();
    elsewhere.settings.insert("innodb_log_group_home_dir".to_owned(), "/mnt/redo/".to_owned());
    elsewhere.is_limited_by(Bottleneck::CommitSync);
}

#[test]
fn one_row_that_everybody_wants() {
    let locked = StatusSample { row_lock_ms: Some(14_500), row_lock_waits: Some(1000), ..of_slow_syncs() };
    Trial::of(390, 41.5, 8, locked).writing().is_limited_by(Bottleneck::RowLocks);
    let long = StatusSample { row_lock_ms: Some(0), row_lock_waiting: Some(15), ..of_slow_syncs() };
    Trial::of(390, 41.5, 8, long).writing().is_limited_by(Bottleneck::RowLocks);
}

#[test]
fn deadlocks() {
    let line = StatusSample { row_lock_ms: Some(9_000), deadlocks: Some(700), ..of_slow_syncs() };
    let mut trial = Trial::of(150, 56.0, 8, line).writing();
    (trial.point.retries, trial.point.errors) = (5000, [(1213, 5600)].into());
    let found = trial.is_limited_by(Bottleneck::RowLocks);
    assert!(found.sentence.contains("700 deadlocks a second"), "{}", found.sentence);
}

#[test]
fn a_redo_log_that_was_not_written_over_is_a_caveat() {
    let line = StatusSample { redo_written_bytes: Some(4_000_000), ..of_slow_syncs() };
    let mut trial = Trial::of(390, 41.5, 8, line).writing();
    let codes = |trial: &Trial| {
        let found = caveats(&trial.observed(), &diagnose(&trial.observed()));
        found.into_iter().map(|caveat| caveat.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(&trial), ["too_short"], "1 GiB at 4 MB/s");
    trial.settings.insert("innodb_redo_log_capacity".to_owned(), "8388608".to_owned());
    assert_eq!(codes(&trial), Vec::<String>::new());
    trial.point.load.rate = Some(500.0);
    assert_eq!(codes(&trial), ["rate_not_reached"]);
}

#[test]
fn a_load_generator_that_swaps_is_no_caveat_against_a_server_elsewhere() {
    let mut trial = Trial::of(390, 41.5, 8, StatusSample::default());
    trial.status.clear();
    let memory = MemorySample { swapped_in_bytes: 5_000_000, ..MemorySample::default() };
    trial.host.iter_mut().for_each(|line| line.memory = Some(memory));
    let codes = |trial: &Trial| {
        let found = caveats(&trial.observed(), &diagnose(&trial.observed()));
        found.into_iter().map(|caveat| caveat.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(&trial), ["swapping"]);
    trial.server.clear();
    assert_eq!(codes(&trial), Vec::<String>::new());
}

/// Numbers that a kernel, a server or a torn file could give.
#[test]
fn no_number_is_a_reason_to_stop() {
    let numbers = [0.0, -1.0, 1e-300, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    for count in [0, 1, u64::MAX] {
        for number in numbers {
            let trial = odd(count, number);
            for observed in [trial.observed(), Observed { status: &[], ..trial.observed() }] {
                let found = diagnose(&observed);
                assert!(
                    found.candidates.iter().all(|it| (0.0..=1.0).contains(&it.share)),
                    "{count} {number} {found:#?}"
                );
                let cost = numbers_of(&cost(&observed));
                assert!(cost.into_iter().flatten().all(f64::is_finite), "{count} {number}");
                caveats(&observed, &found);
            }
        }
    }
}

fn numbers_of(cost: &plimsoll_model::diagnosis::Cost) -> [Option<f64>; 6] {
    [cost.server_cpu_us, cost.reads, cost.read_kb, cost.request_kb, cost.fsyncs, cost.context_switches]
}

/// A trial of which every number is one of these two.
fn odd(count: u64, number: f64) -> Trial {
    let line = StatusSample {
        threads_running: Some(count),
        pool_reads: Some(count),
        pool_wait_free: Some(count),
        pages_total: Some(count),
        pages_dirty: Some(count),
        pages_written: Some(count),
        doublewrite_pages: Some(count),
        data_fsyncs: Some(count),
        data_pending_reads: Some(count),
        redo_sync_ms: Some(count),
        redo_written_bytes: Some(count),
        checkpoint_age_bytes: Some(count),
        checkpoint_age_max_bytes: Some(count),
        row_lock_ms: Some(count),
        deadlocks: Some(count),
        ..StatusSample::default()
    };
    let mut trial = Trial::of(1, number, 2, line).writing();
    trial.point.transactions = count;
    trial.point.statements.write = count;
    trial.point.seconds = number;
    trial.point.retries = count;
    trial.status.iter_mut().for_each(|line| line.seconds = number);
    trial.intervals.iter_mut().for_each(|second| second.seconds = number);
    let device = DeviceSample {
        reads: count,
        writes: count,
        read_bytes: count,
        written_bytes: count,
        flushes: Some(count),
        ..DeviceSample::default()
    };
    for line in &mut trial.host {
        (line.seconds, line.iowait, line.idle) = (number, number, number);
        line.devices = [("sda".to_owned(), device), ("sdb".to_owned(), device)].into();
    }
    trial
}
