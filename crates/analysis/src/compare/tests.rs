//! Comparisons of recordings that are written here, second by second, with what is to be found in them.

mod lab;

use super::Compared;
use crate::AnalysisError;
use jiff::{SignedDuration, Timestamp};
use plimsoll_host::facts::HostFacts;
use plimsoll_model::Caveat;
use plimsoll_model::LoadPoint;
use plimsoll_model::Metric;
use plimsoll_model::comparison::{Comparison, Design, Difference, Verdict};
use plimsoll_model::samples::{Interval, Phase, ServerSample};
use plimsoll_model::summary::{SCHEMA_VERSION, Summary, TargetFacts};
use plimsoll_plan::Plan;
use plimsoll_record::{
    LoadParameters, Manifest, Parameters, RecordedSetting, Recording, Status, TrialFacts, TrialWriter, read,
};
use plimsoll_stats::latency::new_histogram;
use plimsoll_testkit::servers;
use plimsoll_testkit::simulated::run_plan;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

const SECOND: u64 = 1_000_000_000;
const CLOSED: LoadPoint = LoadPoint::closed(16);

/// A recording to be written. It lasts 4 s: one of warm-up, three of measurement.
#[derive(Clone)]
struct Made {
    name: &'static str,
    /// When it began, seconds.
    at: i64,
    /// Transactions per second, at each load point.
    loads: Vec<(LoadPoint, u64)>,
    /// Each has trials of every load point, with as much throughput as the first but for this factor.
    variants: Vec<(&'static str, f64)>,
    workload: &'static str,
    status: Status,
    cpus: usize,
    settings: Vec<(&'static str, &'static str)>,
    caveat: Option<&'static str>,
}

fn made(name: &'static str, at: i64, tps: u64) -> Made {
    Made {
        name,
        at,
        loads: vec![(CLOSED, tps)],
        variants: vec![("run", 1.0)],
        workload: "oltp_read_write",
        status: Status::Done,
        cpus: 2,
        settings: vec![("innodb_flush_log_at_trx_commit", "1")],
        caveat: None,
    }
}

struct Desk {
    home: TempDir,
}

impl Desk {
    fn new() -> Desk {
        Desk { home: servers::home() }
    }

    /// With recordings of these sides: a letter for each, ten seconds apart, `a` and `b` with these throughputs.
    fn with(order: &str, a: &[u64], b: &[u64]) -> Desk {
        let desk = Desk::new();
        let (mut a, mut b) = (a.iter(), b.iter());
        for (place, side) in order.chars().enumerate() {
            let (name, tps) = if side == 'A' { ("base", a.next()) } else { ("new", b.next()) };
            desk.write(&made(name, 10 * place as i64, *tps.unwrap()));
        }
        desk
    }

    fn write(&self, made: &Made) -> PathBuf {
        let start: Timestamp = "2026-11-21T19:30:00Z".parse().unwrap();
        let started = start + SignedDuration::from_secs(made.at);
        let host = HostFacts { cpus: made.cpus, cpu_model: Some("Z80".to_owned()), ..HostFacts::default() };
        let manifest = Manifest::new(made.name, "0.1.0", started, Plan::Run(run_plan(&[])), host);
        let mut recording = Recording::create(self.home.path(), manifest).unwrap();
        let mut index = 0;
        for (variant, factor) in &made.variants {
            for (point, tps) in &made.loads {
                index += 1;
                let begun = started + SignedDuration::from_secs(5 * i64::from(index - 1));
                let parameters = Parameters::Load(Box::new(LoadParameters {
                    workload: made.workload.to_owned(),
                    params: [("tables".to_owned(), 1_u64.into())].into(),
                    point: *point,
                    ..LoadParameters::default()
                }));
                let (variant, point) = ((*variant).to_owned(), point.label());
                let facts = TrialFacts { index, variant, point, round: 1, started: begun, parameters };
                fill(recording.trial(&facts).unwrap(), made, (*tps as f64 * factor).round() as u64);
            }
        }
        recording.summary(&summary(made)).unwrap();
        recording.finish(made.status, started + SignedDuration::from_secs(4)).unwrap();
        recording.directory().to_owned()
    }

    fn compare(&self, a: &str, b: &str) -> Result<Comparison, AnalysisError> {
        match super::compare(self.home.path(), a, b, Some(0.02))? {
            Compared::Runs(found) => Ok(*found),
            Compared::Storage(found) => panic!("runs were taken for storage: {found:?}"),
        }
    }

    #[track_caller]
    fn refuses(&self, a: &str, b: &str, texts: &[&str]) {
        let error = self.compare(a, b).expect_err("a refusal");
        assert_eq!(error.exit_code(), 2, "{error}");
        for text in texts {
            assert!(error.to_string().contains(text), "`{text}` is not in: {error}");
        }
    }
}

/// Each second has as many transactions; each takes 1 s ÷ throughput, and 100 µs of the server's CPU.
fn fill(mut trial: TrialWriter, made: &Made, tps: u64) {
    let open = made.loads[0].0.rate.is_some();
    for second in 0..4 {
        let phase = if second == 0 { Phase::WarmUp } else { Phase::Measure };
        // What is not measured must not be counted.
        let transactions = if phase == Phase::Measure { tps } else { 7 * tps };
        trial.interval(&interval(made, second, phase, transactions)).unwrap();
        let measured = second + 1;
        let cpu_user_us = 5_000_000 + 7 * tps * 40 + (measured - 1) * tps * 60;
        let cpu_system_us = (measured - 1) * tps * 40;
        let sample = ServerSample { t_ns: measured * SECOND, cpu_user_us, cpu_system_us, ..ServerSample::default() };
        trial.server(&sample).unwrap();
        let mut values = new_histogram();
        let service = if phase == Phase::Measure { SECOND / tps } else { SECOND };
        values.record_n(service, transactions).unwrap();
        trial.append_histogram("txn.transaction.service", second * SECOND, SECOND, &values).unwrap();
        trial.append_histogram("stmt.commit", second * SECOND, SECOND, &values).unwrap();
        if open {
            let mut values = new_histogram();
            values.record_n(3 * service, transactions).unwrap();
            trial.append_histogram("txn.transaction.response", second * SECOND, SECOND, &values).unwrap();
        }
    }
    let setting = |(name, value): &(&str, &str)| {
        let effective = Some((*value).to_owned());
        ((*name).to_owned(), RecordedSetting { requested: None, effective, origin: "server".to_owned() })
    };
    trial.settings(&made.settings.iter().map(setting).collect()).unwrap();
}

fn interval(made: &Made, second: u64, phase: Phase, transactions: u64) -> Interval {
    let committed = match made.workload {
        "tpcc" => {
            BTreeMap::from([("new_order".to_owned(), transactions / 2), ("payment".to_owned(), transactions / 2)])
        }
        _ => BTreeMap::new(),
    };
    Interval {
        t_ns: second * SECOND,
        phase,
        seconds: 1.0,
        transactions,
        rollbacks: 0,
        committed,
        queries: 20 * transactions,
        statements: Default::default(),
        sent: Default::default(),
        errors: BTreeMap::new(),
        retries: 0,
        lost_connections: 0,
        reconnects: 0,
        counts: Default::default(),
        latency_ms: Default::default(),
        response_ms: None,
        loop_cpu_us: 0.0,
        scheduling_lag_ms_max: 0.0,
        completed: None,
        script_us: None,
        missing: 0,
    }
}

fn summary(made: &Made) -> Summary {
    let target = TargetFacts {
        flavour: Some(plimsoll_model::Flavour::MariaDb),
        version: "10.11".to_owned(),
        durability: BTreeMap::new(),
        data_bytes: None,
    };
    Summary {
        schema_version: SCHEMA_VERSION,
        workload: made.workload.to_owned(),
        params: BTreeMap::new(),
        target,
        seed: 1,
        points: Vec::new(),
        scaling: None,
        totals: Default::default(),
        server: Default::default(),
        caveats: made.caveat.iter().map(|code| Caveat::new(code, "as it was")).collect(),
        checks: None,
        recording: None,
        interrupted: false,
    }
}

fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 2e-3, "{found} where {expected} belongs");
}

fn codes(comparison: &Comparison) -> Vec<&str> {
    comparison.caveats.iter().map(|caveat| caveat.code.as_str()).collect()
}

const A: [u64; 3] = [1000, 1100, 1050];
/// 15 % below, give or take what comes of whole numbers and a little spread.
const B: [u64; 3] = [850, 930, 897];

#[test]
fn interleaved_rounds_are_paired_whoever_comes_first() {
    for order in ["ABABAB", "ABBAAB", "BAABBA", "BABABA"] {
        let found = Desk::with(order, &A, &B).compare("base", "new").unwrap();
        assert_eq!((found.design, &found.unpaired_because), (Design::Paired, &None), "{order}");
        assert_eq!((found.headline.metric, found.headline.verdict), (Metric::TransactionsPerSecond, Verdict::Lower));
        assert_eq!((found.a.rounds, found.b.rounds, found.workload.as_str()), (3, 3, "oltp_read_write"));
        near(1.0 + found.headline.change.value, (850.0 * 930.0 * 897.0 / (1000.0 * 1100.0 * 1050.0_f64)).cbrt());
        near(found.headline.a, (1000.0 * 1100.0 * 1050.0_f64).cbrt());
        assert!(found.headline.detectable.is_some() && found.headline.pairs_needed.is_some());
        assert!(found.a.noise_floor.is_some(), "the noise of each side is told");
        assert!(codes(&found).is_empty() && found.differences.is_empty(), "{found:?}");
    }
}

#[test]
fn only_the_measured_phase_counts() {
    let found = Desk::with("ABABAB", &A, &B).compare("base", "new").unwrap();
    let of = |metric| found.rows.iter().find(|row| row.metric == metric).unwrap();
    assert_eq!(found.rows.len(), 3, "one load point, three metrics");
    near(of(Metric::TransactionsPerSecond).a, (1000.0 * 1100.0 * 1050.0_f64).cbrt());
    near(of(Metric::P99).a, 1000.0 / (1000.0 * 1100.0 * 1050.0_f64).cbrt());
    assert_eq!(of(Metric::P99).verdict, Verdict::Higher);
    near(of(Metric::ServerCpuUsPerTransaction).a, 100.0);
    assert_eq!(of(Metric::ServerCpuUsPerTransaction).verdict, Verdict::Equivalent);
}

#[test]
fn rounds_that_are_not_interleaved_are_compared_as_groups() {
    for (order, told) in [
        ("AAABBB", "all of base were measured before new"),
        ("BBBAAA", "all of new were measured before base"),
        ("AABBAB", "pairs of them overlap"),
    ] {
        let found = Desk::with(order, &A, &B).compare("base", "new").unwrap();
        assert_eq!(found.design, Design::Unpaired);
        assert!(found.unpaired_because.as_ref().is_some_and(|why| why.contains(told)), "{order}: {found:?}");
        assert_eq!(found.headline.detectable, None);
    }
    let found = Desk::with("ABABA", &A, &B[..2]).compare("base", "new").unwrap();
    assert_eq!(found.unpaired_because.as_deref(), Some("3 rounds of base against 2 of new"));
}

#[test]
fn sides_that_changed_the_machine_are_no_pairs() {
    let desk = Desk::with("AB", &A, &B);
    for (name, at) in [("base", 100), ("new", 110)] {
        desk.write(&Made { cpus: 64, ..made(name, at, 1000) });
    }
    assert_eq!(desk.compare("base", "new").unwrap().design, Design::Unpaired);
}

#[test]
fn names_with_a_slash_stay_apart() {
    let desk = Desk::with("", &A, &B);
    for (name, at) in [("before/oltp", 0), ("after/oltp", 10)] {
        desk.write(&made(name, at, 1000));
    }
    let found = desk.compare("before/oltp", "after/oltp").unwrap();
    assert_eq!((found.a.name.as_str(), found.b.name.as_str()), ("before/oltp", "after/oltp"));
}

#[test]
fn rounds_of_unlike_machines_are_compared_as_groups() {
    let desk = Desk::with("ABAB", &A, &B);
    desk.write(&made("base", 100, 1000));
    desk.write(&Made { cpus: 64, ..made("new", 110, 990) });
    let found = desk.compare("base", "new").unwrap();
    assert!(found.unpaired_because.as_deref().is_some_and(|why| why.contains("different machines")));
    let cpus = found.differences.iter().find(|difference| difference.what == "host.cpus").unwrap();
    assert_eq!((cpus.a.as_deref(), cpus.b.as_deref()), (Some("2"), Some("2, 64")));
    assert_eq!(codes(&found), ["unpaired", "mixed_rounds"]);
    assert!(found.caveats[1].message.contains("the rounds of new") && found.caveats[1].message.contains("2, 64"));
}

#[test]
fn one_round_each_has_a_difference_and_no_verdict() {
    let found = Desk::with("AB", &A[..1], &B[..1]).compare("base", "new").unwrap();
    near(1.0 + found.headline.change.value, 0.85);
    assert_eq!((found.design, found.headline.verdict), (Design::Paired, Verdict::Unclear));
    assert!(found.headline.change.missing.is_some() && found.headline.change.interval().is_none());
}

#[test]
fn a_side_is_a_name_a_path_a_part_or_a_list_of_them() {
    let desk = Desk::new();
    let [first, second] = [0, 20].map(|at| desk.write(&made("base", at, 1000)));
    let [third, _] = [10, 30].map(|at| desk.write(&made("base-2", at, 1000)));
    let id = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let path = format!("{}/", third.display());
    let recordings = |a: &str| desk.compare(a, "base-2").map(|found| found.a.recordings).unwrap();
    let [one, two] = [&first, &second].map(|path| path.display().to_string());
    assert_eq!(recordings("base"), [one.as_str(), two.as_str()], "the name, though it is a part of another");
    assert_eq!(recordings(&id(&second)), [two.as_str()]);
    assert_eq!(recordings("T193020Z-base"), [two.as_str()], "a part");
    assert_eq!(recordings(&format!("{two},{},base", id(&first))), [one, two.clone()], "in order, each once");
    let found = desk.compare("base", &path).unwrap();
    assert_eq!(found.b.recordings, [third.display().to_string()]);

    desk.refuses("193", "base", &["may be any of", &id(&first), &id(&third)]);
    desk.refuses("nothing", "base", &["`nothing`", "base, base-2"]);
    desk.refuses("", "base", &["no recording is called"]);
    desk.refuses("base", "/nonexistent", &["/nonexistent"]);
    desk.refuses("base", &two, &["on both sides", &two]);
    desk.refuses("base:fc", "base-2", &["no variant `fc`", "it has run"]);
    Desk::new().refuses("base", "new", &["`base`", "plimsoll run"]);
}

#[test]
fn recordings_that_did_not_end_well_are_left_out_and_said_so() {
    let desk = Desk::with("ABABAB", &A, &B);
    let broken = desk.write(&Made { status: Status::Interrupted, ..made("base", 500, 5) });
    desk.write(&Made { status: Status::Failed, ..made("worse", 510, 5) });
    let found = desk.compare("base", "new").unwrap();
    assert_eq!((found.a.rounds, found.design), (3, Design::Paired));
    let id = broken.file_name().unwrap().to_str().unwrap();
    assert_eq!(codes(&found), ["left_out"]);
    assert!(found.caveats[0].message.contains(&format!("{id} was interrupted")), "{:?}", found.caveats);
    desk.refuses(id, "new", &[id, "was interrupted"]);
    desk.refuses(broken.to_str().unwrap(), "new", &["was interrupted"]);
    desk.refuses("worse", "new", &["worse", "failed"]);
}

#[test]
fn a_recording_that_is_being_written_is_left_out() {
    let desk = Desk::with("AB", &A[..1], &B[..1]);
    let manifest = Manifest::new("base", "0.1.0", Timestamp::now(), Plan::Run(run_plan(&[])), HostFacts::default());
    let _open = Recording::create(desk.home.path(), manifest).unwrap();
    let found = desk.compare("base", "new").unwrap();
    assert!(found.caveats[0].message.contains("is still being written"), "{:?}", found.caveats);
}

#[test]
fn what_has_nothing_in_common_is_refused() {
    let desk = Desk::with("A", &A, &B);
    desk.write(&Made { workload: "oltp_read_only", ..made("reads", 10, 1000) });
    desk.write(&Made { loads: vec![(LoadPoint::closed(8), 9)], ..made("eight", 20, 1000) });
    desk.refuses("base", "reads", &["base is oltp_read_write", "reads is oltp_read_only"]);
    desk.refuses("base", "eight", &["base has c16", "eight has c8"]);
}

#[test]
fn load_points_of_all_rounds_are_compared_together_and_one_by_one() {
    let desk = Desk::new();
    let point = |connections| LoadPoint::closed(connections);
    for round in 0..3 {
        let tps = 1000 + 10 * round as u64;
        let both = vec![(point(8), tps), (point(64), 4 * tps), (point(1), 5)];
        desk.write(&Made { loads: both, ..made("base", 100 * round, 0) });
        let both = vec![(point(8), tps * 9 / 10), (point(64), 4 * tps)];
        desk.write(&Made { loads: both, ..made("new", 100 * round + 50, 0) });
    }
    let found = desk.compare("base", "new").unwrap();
    assert_eq!((found.headline.load, found.design), (None, Design::Paired));
    near(1.0 + found.headline.change.value, 0.9_f64.sqrt());
    near(found.headline.a, 2.0 * 1010.0);
    near(found.headline.change.confidence, 0.95);
    let throughput = found.rows.iter().filter(|row| row.metric == Metric::TransactionsPerSecond);
    let rows: Vec<_> = throughput.map(|row| (row.load.map(|load| load.connections), row.verdict)).collect();
    assert_eq!(rows, [(Some(8), Verdict::Lower), (Some(64), Verdict::Equivalent)]);
    near(found.rows[0].change.confidence, 0.95_f64.sqrt());
    assert_eq!(codes(&found), ["load_points_left_out"]);
    assert!(found.caveats[0].message.contains("c1 "), "{:?}", found.caveats);
}

#[test]
fn at_a_set_rate_the_response_time_decides() {
    let desk = Desk::new();
    let loads = |tps| vec![(LoadPoint { connections: 4, rate: Some(1000.0) }, tps)];
    for round in 0..3 {
        desk.write(&Made { loads: loads(1000), ..made("base", 20 * round, 0) });
        desk.write(&Made { loads: loads(800 - round as u64), ..made("new", 20 * round + 10, 0) });
    }
    let headline = desk.compare("base", "new").unwrap().headline;
    assert_eq!((headline.metric, headline.verdict), (Metric::P99, Verdict::Higher));
    near(headline.a, 3.0);
    assert_eq!(headline.load, Some(LoadPoint { connections: 4, rate: Some(1000.0) }));
}

#[test]
fn order_entry_counts_new_orders() {
    let desk = Desk::new();
    for round in 0..3 {
        desk.write(&Made { workload: "tpcc", ..made("base", 20 * round, 100 + 2 * round as u64) });
        desk.write(&Made { workload: "tpcc", ..made("new", 20 * round + 10, 200) });
    }
    let found = desk.compare("base", "new").unwrap();
    assert_eq!((found.headline.metric, found.headline.verdict), (Metric::Nopm, Verdict::Higher));
    near(found.headline.b, 100.0 * 60.0);
    assert!(found.rows.iter().all(|row| row.metric != Metric::TransactionsPerSecond));
}

#[test]
fn variants_of_one_recording_are_two_sides() {
    let desk = Desk::new();
    for round in 0..3 {
        let variants = vec![("fc", 1.0), ("nfs", 0.5 + 0.01 * round as f64)];
        desk.write(&Made { variants, ..made("paths", 100 * round, 1000) });
    }
    let found = desk.compare("paths:fc", "paths:nfs").unwrap();
    assert_eq!((found.a.name.as_str(), found.a.variant.as_str(), found.a.rounds), ("paths:fc", "fc", 3));
    assert_eq!(found.design, Design::Paired);
    near(1.0 + found.headline.change.value, 0.51);
    desk.refuses("paths", "paths:nfs", &["variants fc, nfs", "paths:fc"]);
    desk.refuses("paths:nfs", "paths:nfs", &["on both sides"]);
}

#[test]
fn what_else_differs_is_told_and_unlike_durability_is_warned_of() {
    let desk = Desk::new();
    let settings = |flush, threads, path| {
        vec![("innodb_flush_log_at_trx_commit", flush), ("innodb_io_capacity", threads), ("datadir", path)]
    };
    for round in 0..2 {
        let caveat = Some("noisy_host");
        desk.write(&Made { settings: settings("1", "200", "/a"), caveat, ..made("base", 20 * round, 100) });
        desk.write(&Made {
            settings: settings("2", "400", "/b"),
            caveat: Some("shared_cores"),
            ..made("new", 20 * round + 10, 100)
        });
    }
    let found = desk.compare("base", "new").unwrap();
    let named: Vec<_> = found.differences.iter().map(|difference| difference.what.as_str()).collect();
    assert_eq!(named, ["settings.innodb_flush_log_at_trx_commit", "settings.innodb_io_capacity"]);
    // What only one side shares its CPUs with may be the difference.
    assert_eq!(codes(&found), ["unlike_durability", "noisy_host", "shared_cores"]);
    assert!(found.caveats[1].message.starts_with("in 2 of 4 recordings"), "{:?}", found.caveats);
}

#[test]
fn servers_of_other_versions_differ_only_in_what_was_asked() {
    let desk = Desk::new();
    desk.write(&Made { settings: vec![("version", "10.11"), ("optimizer_x", "1")], ..made("base", 0, 100) });
    desk.write(&Made { settings: vec![("version", "11.8"), ("optimizer_x", "2")], ..made("new", 10, 100) });
    let found = desk.compare("base", "new").unwrap();
    let named: Vec<_> = found.differences.iter().map(|difference| difference.what.as_str()).collect();
    assert_eq!(named, ["settings.version"]);
}

#[test]
fn other_parameters_of_the_workload_are_told_before_the_verdict() {
    let desk = Desk::with("ABABAB", &[1000, 1010, 990], &[1200, 1210, 1190]);
    assert_eq!(desk.compare("base", "new").unwrap().unlike_work, []);
    for recording in read::list(desk.home.path()).unwrap().recordings.iter().filter(|of| of.manifest.name == "new") {
        for trial in read::trial_directories(&recording.directory).unwrap() {
            let mut facts: serde_json::Value =
                serde_json::from_str(&fs::read_to_string(trial.join("trial.json")).unwrap()).unwrap();
            facts["parameters"]["load"]["params"]["tables"] = 4.into();
            fs::write(trial.join("trial.json"), facts.to_string()).unwrap();
        }
    }
    let unlike = desk.compare("base", "new").unwrap().unlike_work;
    let (a, b) = (Some("1".to_owned()), Some("4".to_owned()));
    assert_eq!(unlike, [Difference { what: "tables".to_owned(), a, b }]);
}
