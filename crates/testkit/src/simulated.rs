//! Plans whose trials are simulated: servers whose truth is known, with noise that is seeded.

use crate::servers;
use plimsoll_load::seed::Rng;
use plimsoll_model::LoadPoint;
use plimsoll_model::lab::{TrialOutcome, TrialStatus};
use plimsoll_model::summary::{Counts, LatencyMs, Point};
use plimsoll_plan::LabPlan;
use plimsoll_plan::RunPlan;
use plimsoll_plan::lab::{
    Change, Layout, Load, Order, PlannedWorkload, Restore, Rung, Setting, Storage, TrialPlan, TrialRules, Variant,
    WarmUp, Where,
};
use plimsoll_plan::plan::{ArrivalSpread, Measure};
use plimsoll_schedule::{EndedTrial, Prospects, of};
use std::collections::BTreeMap;

pub const CLOSED: LoadPoint = LoadPoint::closed(16);

pub fn variant(name: &str, points: &[LoadPoint]) -> Variant {
    Variant {
        name: name.to_owned(),
        build: "mariadb".to_owned(),
        target: None,
        config: Vec::new(),
        storage: Storage::Home,
        layout: Layout::default(),
        cpus: None,
        client_cpus: None,
        memory: None,
        env: BTreeMap::new(),
        workload: PlannedWorkload {
            kind: "tpcc".to_owned(),
            params: BTreeMap::new(),
            seed: 1,
            dataset: None,
            script: None,
        },
        load: Load {
            points: points.to_vec(),
            find: None,
            arrivals: ArrivalSpread::Poisson,
            loops: 1,
            protocol: None,
            ignore_errors: Vec::new(),
            outage_limit_seconds: 30.0,
        },
        before: Vec::new(),
        after: Vec::new(),
        lines: BTreeMap::new(),
    }
}

pub fn plan(seed: u64, rounds: u32, variants: Vec<Variant>) -> LabPlan {
    LabPlan {
        name: "simulated".to_owned(),
        title: None,
        source: None,
        preset: None,
        server: None,
        file: "plan.toml".to_owned(),
        seed,
        crash: None,
        tune: None,
        fleet: None,
        trials: TrialRules {
            restore: Restore::Snapshot(None),
            warmup: WarmUp::Auto,
            measure: Measure::Seconds(10.0),
            pause_seconds: 0.0,
            rounds,
            stopping: None,
            explain: true,
            order: Order::Interleaved,
            switchback: None,
            recovery: false,
            noisy_host: false,
            lenient: false,
            checksums: false,
            allow: Vec::new(),
        },
        variants,
        rungs: Vec::new(),
        collectors: Vec::new(),
        described: BTreeMap::new(),
        published: Vec::new(),
        chosen: Vec::new(),
    }
}

/// The plan of a run that measures each load point for 10 s.
pub fn run_plan(points: &[LoadPoint]) -> RunPlan {
    RunPlan {
        workload: "oltp_read_write".to_owned(),
        params: BTreeMap::new(),
        target: "private".to_owned(),
        database: None,
        points: points.to_vec(),
        arrivals: ArrivalSpread::Poisson,
        warmup_seconds: 0.0,
        measure: Measure::Seconds(10.0),
        rounds: 1,
        seed: 1,
        loops: 1,
        protocol: "prepared".to_owned(),
        outage_limit_seconds: 30.0,
        ignore_errors: Vec::new(),
        report_interval_seconds: 1,
        check: false,
        repeat_disturbed: false,
        fleet: None,
    }
}

pub fn rung(name: &str) -> Rung {
    let at = Where { file: "plan.toml".to_owned(), line: 7 };
    let setting = Setting { name: name.to_owned(), value: "1".to_owned(), at: at.clone(), from_file: false };
    Rung { name: name.to_owned(), at, change: Change { config: vec![setting], ..Change::default() } }
}

/// A closed loop that reached so many transactions per second.
pub fn reached(transactions_per_second: f64, p99: f64) -> TrialOutcome {
    let seconds = 10.0;
    let transactions = (transactions_per_second * seconds) as u64;
    let counts = Counts { offered: transactions, started: transactions, finished: transactions, ..Counts::default() };
    let point = Point {
        load: CLOSED,
        seconds,
        transactions,
        transactions_per_second: Some(transactions_per_second),
        latency_ms: LatencyMs { p99: Some(p99), ..LatencyMs::default() },
        counts,
        ..Point::default()
    };
    outcome(TrialStatus::Done, None, Some(point))
}

pub fn failed(why: &str) -> TrialOutcome {
    outcome(TrialStatus::Failed, Some(why), None)
}

pub fn outcome(status: TrialStatus, why: Option<&str>, point: Option<Point>) -> TrialOutcome {
    TrialOutcome { why: why.map(str::to_owned), point, ..TrialOutcome::new(status) }
}

/// Runs a schedule to its end.
pub fn run(
    plan: &LabPlan,
    prospects: &Prospects,
    mut server: impl FnMut(&TrialPlan) -> TrialOutcome,
) -> Vec<EndedTrial> {
    let mut schedule = of(plan, prospects);
    let mut all = Vec::new();
    while let Some(trial) = schedule.next() {
        if all.len().is_multiple_of(stride()) {
            assert_eq!(schedule.next().as_ref(), Some(&trial), "the same until it is told");
        }
        let ended = EndedTrial { outcome: server(&trial), trial };
        schedule.tell(ended.clone());
        all.push(ended);
        assert!(all.len() < 10_000, "a schedule ends");
    }
    all
}

/// What a schedule decides is looked at after every trial, and in `make test` after every fifth.
fn stride() -> usize {
    if servers::all() { 1 } else { 5 }
}

/// Feeding the same outcomes again gives the same trials, wherever one goes on.
pub fn assert_resumable(plan: &LabPlan, prospects: &Prospects, all: &[EndedTrial]) {
    for done in (0..all.len()).step_by(stride()).chain([all.len()]) {
        let mut schedule = of(plan, prospects);
        all[..done].iter().for_each(|ended| schedule.tell(ended.clone()));
        assert_eq!(schedule.next(), all.get(done).map(|ended| ended.trial.clone()), "after {done} trials");
    }
    let mut schedule = of(plan, prospects);
    for ended in all {
        assert_eq!(schedule.again(&ended.trial).as_ref(), Some(&ended.trial), "as it was recorded");
        schedule.tell(ended.clone());
    }
}

pub fn labels(all: &[EndedTrial]) -> Vec<String> {
    all.iter()
        .map(|EndedTrial { trial, .. }| format!("{} {} r{}", trial.label, trial.point.label(), trial.round))
        .collect()
}

/// Noise of its own for each trial: a factor e^(deviation · z), on a machine that drifts a little.
pub fn noise(seed: u64, trial: &TrialPlan, deviation: f64) -> f64 {
    let mut rng = Rng::new(seed, 7, trial.index.into());
    let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
    let z = radius * (std::f64::consts::TAU * rng.unit()).cos();
    (deviation * z + 0.001 * f64::from(trial.index)).exp()
}
