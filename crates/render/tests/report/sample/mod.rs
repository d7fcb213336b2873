//! A sweep as two cores measure it, for the example page and the tests. Nothing in it is random.

pub mod estimates;
pub mod order_entry;

use plimsoll_model::diagnosis::{Bottleneck, BottleneckVerdict, Candidate, Cost, Diagnosis, Evidence};
use plimsoll_model::lab::TrialStatus;
use plimsoll_model::samples::{HostSample, Interval, Phase};
use plimsoll_model::series::Series;
use plimsoll_model::summary::*;
use plimsoll_model::{Caveat, Flavour, LoadPoint, Metric};
use plimsoll_render::{Format, render};
use plimsoll_report::subject::{Diagram, Environment, Recorded, Trial};
use plimsoll_report::terminal::TextLook;
use plimsoll_report::{SettingRow, document, terminal};
use std::collections::BTreeMap;

/// Connections, transactions per second, p50 in ms, load generator's CPU share, host's CPU share.
const SWEEP: [(usize, f64, f64, f64, f64); 7] = [
    (1, 318.0, 3.02, 0.021, 0.46),
    (2, 571.0, 3.31, 0.038, 0.74),
    (4, 803.0, 4.71, 0.055, 0.91),
    (8, 924.0, 8.22, 0.066, 0.968),
    (16, 968.0, 15.6, 0.071, 0.983),
    (32, 981.0, 30.9, 0.074, 0.989),
    (64, 947.0, 63.8, 0.076, 0.991),
];

/// A run that tests can change before it is shown.
#[derive(Clone, Debug)]
pub struct Report {
    pub title: String,
    pub summary: Summary,
    pub trials: Vec<Trial>,
    pub facts: Vec<(String, String)>,
    pub how_to_repeat: String,
    pub generated: String,
}

impl Report {
    pub fn recorded(&self) -> Recorded {
        Recorded {
            trials: self.trials.clone(),
            environment: Environment { facts: self.facts.clone(), diagram: diagram(), ..Environment::default() },
            circumstances: ["2026-11-21 19:30 UTC", "2 × a CPU, 7.8 GiB", "98.5 MiB of data, buffer pool 128 MiB"]
                .map(str::to_owned)
                .into(),
            how_to_repeat: self.how_to_repeat.clone(),
            generated: self.generated.clone(),
            ..Recorded::of_run(&self.title, self.summary.clone())
        }
    }
}

pub fn html(report: &Report) -> String {
    render(&document(&report.recorded()), Format::Html).expect("a page")
}

pub fn terminal_table(report: &Report, colour: bool) -> String {
    terminal(&report.recorded(), TextLook { colour, ..TextLook::PLAIN })
}

pub fn report() -> Report {
    let points: Vec<Point> = SWEEP.iter().map(point).collect();
    let trials = (1..).zip(&SWEEP).map(|(index, of)| Trial { index, ..trial(of) }).collect();
    let scaling = Some(estimates::scaling(Metric::TransactionsPerSecond, 981.0));
    Report {
        title: "quickstart".to_owned(),
        summary: Summary { scaling, ..summary(points) },
        trials,
        facts: facts(),
        how_to_repeat: "plimsoll run oltp_read_write --tables 4 --table-size 250000 --target private:mariadb \\\n    \
                        --connections 1..64 --warmup 2s --time 10s --seed 8140305719362277"
            .to_owned(),
        generated: "Written 2026-11-21 19:33 UTC by Plimsoll 0.1.0".to_owned(),
    }
}

/// The first load points alone, which tell nothing of how it scales.
pub fn first(count: usize) -> Report {
    let mut report = report();
    report.summary.points.truncate(count);
    report.trials.truncate(count);
    report.summary.scaling = None;
    report
}

pub fn summary(points: Vec<Point>) -> Summary {
    let params = [("tables", 4_u64), ("table_size", 250_000), ("point_selects", 10), ("range_size", 100)];
    let mut params: BTreeMap<String, _> = params.map(|(name, value)| (name.to_owned(), value.into())).into();
    params.insert("distribution".to_owned(), "special".into());
    params.insert("protocol".to_owned(), "prepared".into());
    let durability = [
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_doublewrite", "ON"),
        ("innodb_flush_method", "O_DIRECT"),
        ("log_bin", "OFF"),
    ];
    Summary {
        schema_version: SCHEMA_VERSION,
        workload: "oltp_read_write".to_owned(),
        params,
        target: TargetFacts {
            flavour: Some(Flavour::MariaDb),
            version: "10.11.14-MariaDB-0+deb12u2".to_owned(),
            durability: durability.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            data_bytes: Some(103_284_736),
        },
        seed: 8140305719362277,
        points,
        scaling: None,
        totals: Totals::default(),
        server: ServerTotals::default(),
        caveats: vec![Caveat::new(
            "shared_cores",
            "The server and the load generator share 2 CPUs, so a faster client would also show as a faster server; \
             use ratios between variants rather than absolute numbers, or run the load from another machine.",
        )],
        checks: None,
        recording: Some("20261121T193000Z-quickstart-3fa2".to_owned()),
        interrupted: false,
    }
}

fn latency(p50: f64, tail: f64) -> LatencyMs {
    LatencyMs {
        min: Some(0.55 * p50),
        mean: Some(1.06 * p50),
        p50: Some(p50),
        p90: Some(1.25 * p50 * tail.sqrt()),
        p95: Some(1.36 * p50 * tail.sqrt()),
        p99: Some(1.9 * p50 * tail),
        p999: Some(3.4 * p50 * tail),
        max: Some(6.1 * p50 * tail),
    }
}

fn operations(transactions: u64, p50: f64) -> Vec<Operation> {
    let rows = [
        ("oltp_read_write", OperationKind::Transaction, 1, 1.0, 1.1),
        ("begin", OperationKind::Statement, 1, 0.012, 1.3),
        ("point_select", OperationKind::Statement, 10, 0.028, 1.6),
        ("simple_range", OperationKind::Statement, 1, 0.041, 1.5),
        ("sum_range", OperationKind::Statement, 1, 0.044, 1.5),
        ("order_range", OperationKind::Statement, 1, 0.052, 1.5),
        ("distinct_range", OperationKind::Statement, 1, 0.066, 1.5),
        ("index_update", OperationKind::Statement, 1, 0.061, 2.2),
        ("non_index_update", OperationKind::Statement, 1, 0.055, 2.0),
        ("delete", OperationKind::Statement, 1, 0.058, 2.1),
        ("insert", OperationKind::Statement, 1, 0.049, 2.0),
        ("commit", OperationKind::Statement, 1, 0.28, 1.4),
    ];
    let operation = |(name, kind, per, share, tail): (&str, OperationKind, u64, f64, f64)| Operation {
        kind,
        name: name.to_owned(),
        count: per * transactions,
        errors: 0,
        latency_ms: latency(share * p50, tail),
        latency_mean_ms: None,
        response_ms: None,
        response_mean_ms: None,
        rollbacks: 0,
        retries: 0,
    };
    rows.map(operation).into()
}

fn point(&(connections, rate, p50, client, host): &(usize, f64, f64, f64, f64)) -> Point {
    let transactions = (10.0 * rate) as u64;
    let mut point = Point {
        trial: None,
        load: LoadPoint::closed(connections),
        seconds: 10.0,
        transactions,
        rollbacks: 0,
        queries: 20 * transactions,
        statements: ReadWriteOther { read: 14 * transactions, write: 4 * transactions, other: 2 * transactions },
        transactions_per_second: Some(rate),
        queries_per_second: Some(20.0 * rate),
        latency_ms: latency(p50, 1.0 + 0.01 * connections as f64),
        response_ms: None,
        errors: if connections == 64 { BTreeMap::from([(1213, 3)]) } else { BTreeMap::new() },
        retries: if connections == 64 { 3 } else { 0 },
        retried: if connections == 64 { BTreeMap::from([(1213, 3)]) } else { BTreeMap::new() },
        failed_attempts_ms: BTreeMap::new(),
        lost_connections: 0,
        unknown_commits: 0,
        reconnects: 0,
        stalled: None,
        fairness: Fairness::default(),
        counts: Counts { offered: transactions, started: transactions, finished: transactions, ..Counts::default() },
        operations: operations(transactions, p50),
        client: ClientCost {
            cpu_us_per_query: Some(1e6 * client / (20.0 * rate)),
            cpu_us_per_transaction: Some(1e6 * client / rate),
            process_cpu_us_per_query: Some(1.1e6 * client / (20.0 * rate)),
            cpu_fraction: Some(client),
            ceiling_fraction: None,
            scheduling_lag_ms_max: Some(1.2),
            threads_waiting_for_cpu: Some(0.1),
            round_trip_us: Some(40.0),
            script_us_per_query: None,
            script_ms_max: None,
        },
        server: Some(ServerCost {
            cpu_us_per_query: Some(2e6 * (host - 0.03) / (20.0 * rate)),
            cpu_us_per_transaction: Some(2e6 * (host - 0.03) / rate),
            cpus_busy: Some(2.0 * (host - 0.03)),
            threads_waiting_for_cpu: Some(0.4),
            context_switches_per_query: Some(1.9),
            read_bytes_per_query: Some(12.0),
            written_bytes_per_query: Some(1480.0 + 900.0 / connections as f64),
            resident_bytes: Some(1 << 30),
            statements: None,
        }),
        host: Some(HostShares {
            cpus: 2,
            busy: host,
            user: 0.62 * host,
            system: 0.38 * host,
            iowait: 0.35 * (1.0 - host),
            steal: 0.0,
        }),
        storage_cpus: None,
        program_cpus: None,
        agents: Vec::new(),
        nopm: None,
        order_entry: None,
        original_listing: None,
        estimates: Default::default(),
        rounds: Vec::new(),
    };
    estimates::estimate_all(&mut point);
    point
}

/// A value between -1 and 1 that looks like noise.
fn noise(n: usize, salt: usize) -> f64 {
    (((n * 7919 + salt * 104729) as f64).sin() * 43758.5453).fract()
}

pub fn interval(second: usize, phase: Phase, transactions: u64) -> Interval {
    Interval {
        transactions,
        queries: 20 * transactions,
        loop_cpu_us: 70_000.0,
        scheduling_lag_ms_max: 0.4,
        ..Interval::empty(second as u64 * 1_000_000_000, phase, 1.0)
    }
}

fn trial(load: &(usize, f64, f64, f64, f64)) -> Trial {
    let &(connections, rate, _, client, busy) = load;
    Trial {
        index: 1,
        variant: "run".to_owned(),
        base: String::new(),
        workload: "oltp_read_write".to_owned(),
        parameters: Default::default(),
        cpus: None,
        load: LoadPoint::closed(connections),
        round: 1,
        status: TrialStatus::Done,
        why: None,
        caveats: Vec::new(),
        point: Some(point(load)),
        io: None,
        diagnosis: Some(diagnosis(busy)),
        cost: Cost {
            client_cpu_us: Some(1e6 * client / rate),
            server_cpu_us: Some(2e6 * (busy - 0.03) / rate),
            writes: Some(2.4),
            written_kb: Some(31.5),
            fsyncs: Some(1.1),
            ..Cost::default()
        },
        storage: None,
        phases: Vec::new(),
        restored: None,
        recovery_seconds: None,
        crash: None,
        verifications: Vec::new(),
        settings: settings(),
        durability: Default::default(),
        memory: Default::default(),
        has_seconds: true,
        series: series(connections, rate, busy),
        latency: None,
    }
}

/// By how busy the host's CPUs were.
fn diagnosis(busy: f64) -> Diagnosis {
    let evidence = Evidence {
        statement: format!("its CPUs were busy {:.1} % of the time", 100.0 * busy),
        value: busy,
        unit: "1".to_owned(),
        source: "host.ndjson: user, system".to_owned(),
    };
    let is_busy = busy > 0.9;
    Diagnosis {
        verdict: if is_busy { BottleneckVerdict::Limited(Bottleneck::Cpu) } else { BottleneckVerdict::NotClear },
        sentence: if is_busy { "The server’s CPU, which was busy.".to_owned() } else { "Not clear.".to_owned() },
        candidates: vec![Candidate { bottleneck: Bottleneck::Cpu, share: busy, evidence: vec![evidence] }],
        next: Some("give the server more CPUs".to_owned()),
        missing: vec!["pressure of the control group".to_owned()],
    }
}

fn series(connections: usize, rate: f64, busy: f64) -> Series {
    let second = |n: usize| {
        let phase = if n < 2 { Phase::WarmUp } else { Phase::Measure };
        let ramp = if n < 2 { 0.72 + 0.14 * n as f64 } else { 1.0 };
        interval(n, phase, (rate * ramp * (1.0 + 0.035 * noise(n, connections))) as u64)
    };
    let sample = |n: usize| HostSample {
        t_ns: n as u64 * 1_000_000_000,
        user: 0.62 * busy * (1.0 + 0.01 * noise(n, 1)),
        system: 0.37 * busy,
        idle: 1.0 - 0.99 * busy,
        ..HostSample::default()
    };
    let (intervals, host) = ((0..12).map(second).collect(), (0..=12).map(sample).collect());
    Series { intervals, host, ..Series::default() }
}

fn diagram() -> Diagram {
    let lines = |all: &[&str]| all.iter().map(|line| (*line).to_owned()).collect();
    Diagram {
        client: lines(&["Plimsoll", "1 loop thread"]),
        connection: "Unix socket".to_owned(),
        server: lines(&["MariaDB 10.11.14", "2 CPUs"]),
        storage: vec![lines(&["ext4", "/dev/vda"])],
        same_machine: true,
        storage_is_local: true,
    }
}

fn facts() -> Vec<(String, String)> {
    [
        ("machine", "2 CPUs, AMD EPYC 7763 64-Core Processor"),
        ("memory", "23.5 GiB"),
        ("operating system", "Debian GNU/Linux 12 (bookworm), Linux 6.1.0-28-amd64"),
        ("storage", "ext4 on /dev/vda, virtio, 252 GiB"),
        ("transport", "Unix socket"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

fn settings() -> Vec<SettingRow> {
    [
        ("character_set_server", Some("utf8mb4"), Some("utf8mb4"), "plimsoll"),
        ("innodb_buffer_pool_dump_at_shutdown", Some("OFF"), Some("OFF"), "plimsoll"),
        ("innodb_buffer_pool_size", Some("4G"), Some("4294967296"), "plimsoll"),
        ("innodb_doublewrite", Some("1"), Some("ON"), "plimsoll"),
        ("innodb_flush_log_at_trx_commit", Some("1"), Some("1"), "plimsoll"),
        ("innodb_io_capacity", Some("20000"), Some("2000"), "user"),
        ("innodb_log_file_size", Some("1G"), Some("1073741824"), "plimsoll"),
        ("max_connections", Some("4000"), Some("4000"), "plimsoll"),
        ("skip_networking", Some("ON"), Some("ON"), "plimsoll"),
        ("thread_handling", None, Some("one-thread-per-connection"), "server"),
    ]
    .map(|(name, requested, effective, origin)| SettingRow {
        name: name.to_owned(),
        requested: requested.map(str::to_owned),
        effective: effective.map(str::to_owned),
        origin: origin.to_owned(),
        differs: name == "innodb_io_capacity",
    })
    .into()
}
