//! From recordings to reports: of a large lab, and of one that was cut short.

use hdrhistogram::Histogram;
use jiff::Timestamp;
use plimsoll_analysis::recorded;
use plimsoll_host::facts::HostFacts;
use plimsoll_model::Estimate;
use plimsoll_model::Metric;
use plimsoll_model::lab::{PhaseSpan, TrialOutcome, TrialStatus};
use plimsoll_model::samples::{CpuShares, DeviceSample, HostSample, Interval, Phase, ServerSample};
use plimsoll_model::summary::{LatencyMs, Point, ReadWriteOther};
use plimsoll_plan::LabPlan;
use plimsoll_plan::Plan;
use plimsoll_plan::broker::BrokerAddress;
use plimsoll_plan::lab::{Printed, TrialPlan, file};
use plimsoll_plan::listen::ListenAddress;
use plimsoll_plan::plan::FleetPlan;
use plimsoll_record::{LoadParameters, Parameters};
use plimsoll_record::{Manifest, Recording, TrialFacts, TrialWriter, read};
use plimsoll_render::{Format, render};
use plimsoll_report::subject::{Recorded, Subject};
use plimsoll_schedule::{EndedTrial, Prospects};
use plimsoll_stats::latency::new_histogram;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

const SECOND_NS: u64 = 1_000_000_000;
const WARM_UP: u64 = 10;
/// A second without histograms.
const SILENT: u64 = WARM_UP + 3;

/// Ten variants, four numbers of connections, five rounds.
fn plan(rounds: u32, measure: u64) -> LabPlan {
    let variants: String = (1..=10).map(|n| format!("[[variant]]\nname = \"v{n}\"\n")).collect();
    let text = format!(
        "name = \"large\"\n[workload]\nkind = \"oltp_read_only\"\n[load]\nconnections = [1, 4, 16, 64]\n\
         [trials]\nrounds = {rounds}\nwarmup = \"{WARM_UP}s\"\nmeasure = \"{measure}s\"\n{variants}"
    );
    file::read("large.toml", &text, file::PlanChoices::of_seed(7), &|_| Err("there is none".to_owned()))
        .expect("a plan")
}

/// Transactions of a second: no two seconds and no two trials are alike.
fn transactions(trial: &TrialPlan, second: u64) -> u64 {
    let noise = (u64::from(trial.index) * 7919 + second * 104_729) % 97;
    500 * trial.point.connections as u64 / (trial.point.connections as u64 + 8) + noise
}

fn interval(trial: &TrialPlan, second: u64) -> Interval {
    let transactions = transactions(trial, second);
    let phase = if second < WARM_UP { Phase::WarmUp } else { Phase::Measure };
    Interval {
        transactions,
        queries: 16 * transactions,
        statements: ReadWriteOther { read: 14 * transactions, write: 0, other: 2 * transactions },
        latency_ms: LatencyMs { p50: Some(4.0), p99: Some(9.0 + (second % 7) as f64), ..LatencyMs::default() },
        loop_cpu_us: 2.0e5,
        scheduling_lag_ms_max: 0.1,
        ..Interval::empty(second * SECOND_NS, phase, 1.0)
    }
}

fn second(writer: &mut TrialWriter, trial: &TrialPlan, second: u64) {
    writer.interval(&interval(trial, second)).unwrap();
    let t_ns = (second + 1) * SECOND_NS;
    let noise = (second % 11) as f64 / 50.0;
    let cores = (0..8).map(|core| (core, CpuShares { user: 0.5 - noise, idle: 0.5 + noise, ..CpuShares::default() }));
    let devices =
        [("vda".to_owned(), DeviceSample { t_ns, seconds: 1.0, reads: 20 + second, ..DeviceSample::default() })];
    let host = HostSample {
        t_ns,
        seconds: 1.0,
        user: 0.5 - noise,
        idle: 0.5 + noise,
        cores: cores.collect(),
        devices: devices.into(),
        client: Some(Default::default()),
        ..HostSample::default()
    };
    writer.host(&host).unwrap();
    let server = ServerSample { t_ns, cpu_user_us: 700_000 * (second + 1), ..ServerSample::default() };
    writer.server(&server).unwrap();
    // As of a second in which nothing came to its end.
    if second == SILENT {
        return;
    }
    let mut values: Histogram<u64> = new_histogram();
    for n in 0..transactions(trial, second) {
        values.record(2_000_000 + n * 10_000).unwrap();
    }
    writer.append_histogram("txn.oltp_read_only.service", second * SECOND_NS, SECOND_NS, &values).unwrap();
}

fn writer(recording: &Recording, trial: &TrialPlan) -> TrialWriter {
    let facts = TrialFacts {
        index: trial.index,
        variant: trial.label.clone(),
        point: trial.point.label(),
        round: trial.round,
        started: Timestamp::UNIX_EPOCH,
        parameters: Parameters::Load(Box::new(LoadParameters {
            workload: "oltp_read_only".to_owned(),
            point: trial.point,
            trial: Some(trial.clone()),
            ..LoadParameters::default()
        })),
    };
    recording.trial(&facts).unwrap()
}

/// What the trial summed up itself.
fn outcome(trial: &TrialPlan, measure: u64) -> TrialOutcome {
    let window = WARM_UP..WARM_UP + measure;
    let sum: u64 = window.map(|second| transactions(trial, second)).sum();
    let rate = sum as f64 / measure as f64;
    let estimate = Estimate::new(rate, (0.9 * rate, 1.1 * rate), 0.95, 10.0, "made up".to_owned());
    let point = Point {
        load: trial.point,
        seconds: measure as f64,
        transactions: sum,
        transactions_per_second: Some(rate),
        latency_ms: LatencyMs { p99: Some(9.0), ..LatencyMs::default() },
        estimates: [(Metric::TransactionsPerSecond, estimate)].into(),
        ..Point::default()
    };
    let span = |phase, t_s: u64, seconds: u64| PhaseSpan { phase, t_ns: t_s * SECOND_NS, seconds: seconds as f64 };
    TrialOutcome {
        point: Some(point),
        phases: vec![span(Phase::WarmUp, 0, WARM_UP), span(Phase::Measure, WARM_UP, measure)],
        ..TrialOutcome::new(TrialStatus::Done)
    }
}

/// A recording of the plan whose writer is gone after so many trials and `seconds` of the next one.
fn recording(home: &Path, plan: &LabPlan, (trials, seconds): (usize, u64), measure: u64) -> PathBuf {
    let host = HostFacts {
        cpus: 8,
        memory_bytes: 1 << 30,
        kernel: "Linux 6".to_owned(),
        machine: "x86_64".to_owned(),
        os: Some("Some Linux".to_owned()),
        ..HostFacts::default()
    };
    let asked = Plan::Lab(Box::new(plan.clone()));
    let manifest = Manifest::new(&plan.name, "0.1.0", Timestamp::UNIX_EPOCH, asked, host);
    let recording = Recording::create(home, manifest).unwrap();
    let mut schedule = plimsoll_schedule::of(plan, &Prospects::new());
    for _ in 0..trials {
        let Some(trial) = schedule.next() else { break };
        let mut writer = writer(&recording, &trial);
        (0..WARM_UP + measure).for_each(|at| second(&mut writer, &trial, at));
        let outcome = outcome(&trial, measure);
        writer.outcome(&outcome).unwrap();
        schedule.tell(EndedTrial { trial, outcome });
    }
    if let Some(trial) = schedule.next().filter(|_| seconds > 0) {
        let mut writer = writer(&recording, &trial);
        (0..seconds).for_each(|at| second(&mut writer, &trial, at));
    }
    recording.directory().to_owned()
}

fn report(directory: &Path) -> Recorded {
    let view = read::open(directory).unwrap();
    recorded(&view, "2026-11-22 12:00 UTC by Plimsoll 0.1.0", |_| Vec::new()).unwrap()
}

#[test]
fn two_hundred_trials_make_a_page_below_five_megabytes() {
    let home = tempfile::tempdir().unwrap();
    let plan = plan(5, 20);
    let directory = recording(home.path(), &plan, (200, 0), 20);
    let recorded = report(&directory);
    assert_eq!(recorded.trials.len(), 200);
    assert_eq!(recorded.missing, ["lab.json is not there: this page was summed up again from the trials"]);
    let document = plimsoll_report::document(&recorded);
    let page = render(&document, Format::Html).unwrap();
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    assert!(page.contains("v10, 64\u{a0}connections"), "every load point is told");
}

#[test]
fn a_fleet_is_in_the_picture_where_one_made_the_load() {
    let boxes = |fleet: Option<FleetPlan>| {
        let home = tempfile::tempdir().unwrap();
        let plan = LabPlan { fleet, ..plan(1, 20) };
        let diagram = report(&recording(home.path(), &plan, (1, 0), 20)).environment.diagram;
        (diagram.client[1].clone(), diagram.same_machine)
    };
    let broker = BrokerAddress::parse("nats://127.0.0.1:4222").unwrap();
    let fleet = FleetPlan { broker, agents: Some(4), tolerate_lost: 0, listen: None };
    assert_eq!(boxes(None), ("1 loop thread".to_owned(), true));
    assert_eq!(boxes(Some(fleet.clone())), ("4 load agents of 1 loop thread".to_owned(), true));
    let listen = Some(ListenAddress::parse("192.0.2.1:3307").unwrap());
    let elsewhere = FleetPlan { agents: None, listen, ..fleet };
    assert_eq!(boxes(Some(elsewhere)), ("load agents of 1 loop thread".to_owned(), false));
}

#[test]
fn what_a_killed_lab_left_is_summed_up_and_the_rest_is_missing() {
    let home = tempfile::tempdir().unwrap();
    let plan = plan(1, 20);
    let directory = recording(home.path(), &plan, (17, WARM_UP + 8), 20);
    let last = read::trial_directories(&directory).unwrap().pop().unwrap();
    let torn = last.join("intervals.ndjson");
    fs::write(&torn, fs::read_to_string(&torn).unwrap() + "{\"t_ns\":180000000").unwrap();
    fs::remove_file(last.join("server.ndjson")).unwrap();
    let recorded = report(&directory);
    let Subject::Lab(summary) = &recorded.subject else { panic!("a lab") };
    assert_eq!((summary.trials.done, summary.interrupted, recorded.trials.len()), (17, true, 18));
    assert!(summary.headline.contains("interrupted after 17 trials"), "{}", summary.headline);
    let missing = recorded.missing.join("\n");
    for text in ["lab.json", "23 of about 40 trials were not run", "8 of 20 s of its measured window", "server.ndjson"]
    {
        assert!(missing.contains(text), "{text}: {missing}");
    }
    let cut = recorded.trials.last().unwrap();
    assert_eq!((cut.status, cut.index), (TrialStatus::Interrupted, 18));
    let text = render(&plimsoll_report::document(&recorded), Format::Json).unwrap();
    assert!(text.contains("23 of about 40 trials were not run"));
}

/// Each kind once, whatever the number of trials that have it.
#[test]
fn what_samples_say_against_trials_is_told_with_the_caveats() {
    let home = tempfile::tempdir().unwrap();
    let plan = plan(1, 20);
    let directory = recording(home.path(), &plan, (3, 0), 20);
    for trial in read::trial_directories(&directory).unwrap().iter().take(2) {
        let path = trial.join("outcome.json");
        let mut outcome: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        outcome["point"]["rate_offered"] = json!(1e6);
        fs::write(&path, outcome.to_string()).unwrap();
    }
    let recorded = report(&directory);
    let Subject::Lab(summary) = &recorded.subject else { panic!("a lab") };
    let is_it = |caveat: &&plimsoll_model::Caveat| caveat.code == "rate_not_reached";
    let told: Vec<&str> = summary.caveats.iter().filter(is_it).map(|caveat| caveat.message.as_str()).collect();
    let [one] = told[..] else { panic!("{told:?}") };
    assert!(one.starts_with("in 2 of 3 trials, first in v"), "{one}");
    assert!(one.contains("1000000 transactions per second were offered") && one.contains("; also in v"), "{one}");
    let document = plimsoll_report::document(&recorded);
    assert!(document.caveats().is_some_and(|section| section.warnings() > 0), "the page has it");
}

/// What is counted again from the seconds is what the window was.
#[test]
fn a_point_that_was_not_summed_up_is_counted_from_its_seconds() {
    let home = tempfile::tempdir().unwrap();
    let plan = plan(1, 20);
    let directory = recording(home.path(), &plan, (0, WARM_UP + 12), 20);
    let trial = plimsoll_schedule::of(&plan, &Prospects::new()).next().unwrap();
    let recorded = report(&directory);
    let point = recorded.trials[0].point.as_ref().unwrap();
    let counted: u64 = (WARM_UP..WARM_UP + 12).map(|second| transactions(&trial, second)).sum();
    assert_eq!((point.transactions, point.seconds), (counted, 12.0));
    assert_eq!(point.transactions_per_second, Some(counted as f64 / 12.0));
    let rate = point.estimates.get(Metric::TransactionsPerSecond).expect("an estimate");
    assert!(rate.interval().is_some(), "{rate:?}");
    assert!(point.latency_ms.p50.is_some_and(|ms| (2.0..4.0).contains(&ms)), "{:?}", point.latency_ms);
    let busy = point.server.unwrap().cpus_busy.unwrap();
    assert!((busy - 0.7).abs() < 1e-9, "{busy}");
    assert_eq!(point.host.unwrap().cpus, 8);
    let latency = recorded.trials[0].latency.as_ref().unwrap();
    assert_eq!((latency.seconds, latency.width, latency.columns.len()), (12, 1, 12));
    let of_second = |second: u64| latency.columns[(second - WARM_UP) as usize].iter().sum::<u64>();
    for second in WARM_UP..WARM_UP + 12 {
        assert_eq!(of_second(second), if second == SILENT { 0 } else { transactions(&trial, second) }, "{second}");
    }
    assert_eq!(latency.bins_ms.len(), latency.columns[0].len());
}

/// A damaged log costs its own trial the latencies, and nothing else; a copy names the place where it is.
#[test]
fn a_damaged_log_is_missing_and_the_rest_is_reported() {
    let home = tempfile::tempdir().unwrap();
    let plan = plan(1, 20);
    let directory = recording(home.path(), &plan, (3, 0), 20);
    let copy = home.path().join("copy");
    fs::rename(&directory, &copy).unwrap();
    let log = read::trial_directories(&copy).unwrap()[1].join("latency.hlog");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replacen("Tag=txn.oltp_read_only.service,15.000,1.000", "broken", 1)).unwrap();
    assert_ne!(fs::read_to_string(&log).unwrap(), text, "a line of the window");
    let recorded = report(&copy);
    let has_latency: Vec<bool> = recorded.trials.iter().map(|trial| trial.latency.is_some()).collect();
    assert_eq!(has_latency, [true, false, true]);
    assert!(recorded.missing.iter().any(|text| text.contains("latency.hlog")), "{:?}", recorded.missing);
    let Subject::Lab(summary) = &recorded.subject else { panic!("a lab") };
    assert_eq!((summary.trials.done, summary.recording.clone()), (3, Some(copy.display().to_string())));
}

/// What the source says of something that was measured in several places is matched with none of them.
#[test]
fn a_published_number_is_of_one_variant_at_one_load_point() {
    let home = tempfile::tempdir().unwrap();
    let printed = |place: &str| Printed {
        metric: "transactions_per_second".to_owned(),
        value: Some(100.0),
        place: Some(place.to_owned()),
        ..serde_json::from_value(json!({"metric": "transactions_per_second", "kind": "printed"})).unwrap()
    };
    let of = |variant: Option<&str>, connections| Printed {
        variant: variant.map(str::to_owned),
        connections,
        ..printed("Table 1")
    };
    let plan =
        LabPlan { published: vec![of(Some("v2"), Some(16)), of(None, Some(16)), of(Some("v2"), None)], ..plan(1, 5) };
    let recorded = report(&recording(home.path(), &plan, (40, 0), 5));
    let [one, no_variant, no_load] = &recorded.published[..] else { panic!("three") };
    let at = one.at.as_ref().expect("a place");
    assert_eq!((at.variant.as_str(), at.load.connections, one.measured.is_some()), ("v2", 16, true));
    // Which two are named depends on the order in which they ran.
    for (many, text) in [(no_variant, " (16 connections of"), (no_load, "v2 (")] {
        let why = many.unknown.as_deref().expect("a reason");
        assert!(why.contains("does not say which is meant") && many.at.is_none(), "{why}");
        assert_eq!(why.matches(text).count(), 2, "{why}");
    }
}

/// One that nobody has finished, but that is still being written, is not cut short.
#[test]
fn a_growing_recording_says_how_far_it_is() {
    let home = tempfile::tempdir().unwrap();
    let plan = plan(1, 20);
    let directory = recording(home.path(), &plan, (3, 15), 20);
    let _writer = Recording::reopen(&directory).unwrap();
    let recorded = report(&directory);
    assert_eq!(recorded.state.as_deref(), Some("still running: trial 4 of 40"));
    assert!(recorded.missing.is_empty(), "{:?}", recorded.missing);
    let Subject::Lab(summary) = &recorded.subject else { panic!("a lab") };
    assert!(!summary.interrupted && !summary.headline.contains("interrupted"), "{}", summary.headline);
}
