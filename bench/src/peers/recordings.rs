//! Recordings of much that was measured, written as a lab and a run write theirs, from numbers that are made up: order
//! entry by one thread on eight CPUs.

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use plimsoll_host::facts;
use plimsoll_load::seed::Rng;
use plimsoll_model::Flavour;
use plimsoll_model::lab::{PhaseSpan, TrialOutcome, TrialStatus};
use plimsoll_model::samples::{CpuShares, DeviceSample, HostSample, Interval, Phase, ServerSample, StatusSample};
use plimsoll_model::summary::{self, LatencyMs, Point, Summary, TargetFacts};
use plimsoll_plan::lab::file;
use plimsoll_plan::plan::Measure;
use plimsoll_plan::{Plan, RunPlan};
use plimsoll_record::{LoadParameters, Manifest, Parameters, Recording, Status, TrialFacts, TrialWriter};
use plimsoll_schedule::{EndedTrial, Prospects};
use plimsoll_stats::latency::new_histogram;
use plimsoll_testkit::simulated;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const WORKLOAD: &str = "tpcc";
const TRANSACTIONS: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];
const STATEMENTS: u64 = 20;
/// Of a second: one for each kind of transaction and each statement.
pub const HISTOGRAMS: u64 = TRANSACTIONS.len() as u64 + STATEMENTS;
const CPUS: u32 = 8;
const SECOND_NS: u64 = 1_000_000_000;
/// Of each kind of transaction in a second.
const A_SECOND: u64 = 200;
/// Histograms that are written in turn: making one takes longer than writing it.
const SHAPES: usize = 16;

/// A lab of two variants at `points` numbers of connections, in so many rounds of `seconds`.
pub struct MadeUpLab {
    pub points: u32,
    pub rounds: u32,
    pub seconds: u64,
}

impl MadeUpLab {
    pub fn trials(&self) -> u32 {
        2 * self.points * self.rounds
    }

    /// Writes it below `recordings`; its directory.
    pub fn write(&self, recordings: &Path) -> anyhow::Result<PathBuf> {
        let connections: Vec<String> = (0..self.points).map(|step| (1u32 << step).to_string()).collect();
        let text = format!(
            "name = \"made-up\"\n[workload]\nkind = \"{WORKLOAD}\"\n[load]\nconnections = [{}]\n[trials]\nrounds = {}\n\
             warmup = \"0s\"\nmeasure = \"{}s\"\n[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n",
            connections.join(", "),
            self.rounds,
            self.seconds
        );
        let nothing = |path: &str| Err(format!("there is no {path}"));
        let plan = file::read("made-up.toml", &text, file::PlanChoices::of_seed(1), &nothing)?;
        let mut recording = begun(recordings, Plan::Lab(Box::new(plan.clone())))?;
        let mut schedule = plimsoll_schedule::of(&plan, &Prospects::new());
        while let Some(trial) = schedule.next() {
            let facts = TrialFacts {
                index: trial.index,
                variant: trial.label.clone(),
                round: trial.round,
                started: started(u64::from(trial.index) * self.seconds)?,
                ..facts(LoadParameters { point: trial.point, trial: Some(trial.clone()), ..LoadParameters::default() })?
            };
            let (writer, point) = measured(&recording, &facts, self.seconds)?;
            let phase = PhaseSpan { phase: Phase::Measure, t_ns: 0, seconds: self.seconds as f64 };
            let outcome =
                TrialOutcome { point: Some(point), phases: vec![phase], ..TrialOutcome::new(TrialStatus::Done) };
            writer.outcome(&outcome)?;
            schedule.tell(EndedTrial { trial, outcome });
        }
        recording.finish(Status::Done, started(u64::from(self.trials()) * self.seconds)?)?;
        Ok(recording.directory().to_owned())
    }
}

/// Writes a run of one load point that lasted `seconds` below `recordings`; its directory.
pub fn run(recordings: &Path, seconds: u64) -> anyhow::Result<PathBuf> {
    let load = simulated::CLOSED;
    let plan = RunPlan {
        workload: WORKLOAD.to_owned(),
        measure: Measure::Seconds(seconds as f64),
        ..simulated::run_plan(&[load])
    };
    let mut recording = begun(recordings, Plan::Run(plan))?;
    let facts = facts(LoadParameters { point: load, ..LoadParameters::default() })?;
    let (_, point) = measured(&recording, &facts, seconds)?;
    recording.summary(&Summary {
        schema_version: summary::SCHEMA_VERSION,
        workload: WORKLOAD.to_owned(),
        params: BTreeMap::default(),
        target: TargetFacts {
            flavour: Some(Flavour::MariaDb),
            version: "10.11.6-MariaDB".to_owned(),
            durability: BTreeMap::new(),
            data_bytes: None,
        },
        seed: 1,
        points: vec![point],
        scaling: None,
        totals: Default::default(),
        server: Default::default(),
        caveats: Vec::new(),
        checks: None,
        recording: None,
        interrupted: false,
    })?;
    recording.finish(Status::Done, started(seconds)?)?;
    Ok(recording.directory().to_owned())
}

fn begun(recordings: &Path, plan: Plan) -> anyhow::Result<Recording> {
    let manifest =
        Manifest::new("made-up", env!("CARGO_PKG_VERSION"), started(0)?, plan, facts::host_facts(recordings));
    Ok(Recording::create(recordings, manifest)?)
}

/// Of the first trial of a run.
fn facts(load: LoadParameters) -> anyhow::Result<TrialFacts> {
    Ok(TrialFacts {
        index: 1,
        variant: "run".to_owned(),
        point: load.point.label(),
        round: 1,
        started: started(0)?,
        parameters: Parameters::Load(Box::new(LoadParameters { workload: WORKLOAD.to_owned(), ..load })),
    })
}

/// So many seconds after the first trial began.
fn started(seconds: u64) -> anyhow::Result<Timestamp> {
    let since = SignedDuration::from_secs(i64::try_from(seconds)?);
    Timestamp::from_second(1_790_000_000)?.checked_add(since).context("a time that is far off")
}

/// Writes the seconds of a trial; what it measured.
fn measured(recording: &Recording, facts: &TrialFacts, seconds: u64) -> anyhow::Result<(TrialWriter, Point)> {
    let mut writer = recording.trial(facts)?;
    let mut random = Rng::new(1, u64::from(facts.index), 0);
    let mut shapes = vec![new_histogram(); SHAPES];
    for values in &mut shapes {
        for _ in 0..A_SECOND {
            // From one to sixteen milliseconds, most of them short.
            values.record((1e6 * 2f64.powf(4.0 * random.unit() * random.unit())) as u64)?;
        }
    }
    let tags = TRANSACTIONS.map(|name| format!("txn.{name}.service")).into_iter();
    let tags: Vec<String> = tags.chain((0..STATEMENTS).map(|number| format!("stmt.s{number}"))).collect();
    for second in 0..seconds {
        self::second(&mut writer, &mut random, second)?;
        for (tag, values) in tags.iter().zip(shapes.iter().cycle().skip(second as usize % SHAPES)) {
            writer.append_histogram(tag, second * SECOND_NS, SECOND_NS, values)?;
        }
    }
    let transactions = TRANSACTIONS.len() as u64 * A_SECOND * seconds;
    let noise = 1.0 + 0.05 * random.unit();
    let point = Point {
        trial: Some(facts.index),
        load: facts.load().map(|load| load.point).unwrap_or_default(),
        seconds: seconds as f64,
        transactions,
        transactions_per_second: Some(noise * transactions as f64 / seconds as f64),
        latency_ms: LatencyMs { p50: Some(4.0), p95: Some(8.0), p99: Some(9.0 * noise), ..LatencyMs::default() },
        ..Point::default()
    };
    Ok((writer, point))
}

fn second(writer: &mut TrialWriter, random: &mut Rng, second: u64) -> anyhow::Result<()> {
    let (start_ns, t_ns) = (second * SECOND_NS, (second + 1) * SECOND_NS);
    let transactions = TRANSACTIONS.len() as u64 * A_SECOND + random.between(0, 99);
    writer.interval(&Interval {
        transactions,
        queries: 27 * transactions,
        committed: TRANSACTIONS.map(|name| (name.to_owned(), A_SECOND)).into(),
        latency_ms: LatencyMs { p50: Some(4.0), p99: Some(9.0 + random.unit()), ..LatencyMs::default() },
        loop_cpu_us: 2e5,
        scheduling_lag_ms_max: 0.1,
        ..Interval::empty(start_ns, Phase::Measure, 1.0)
    })?;
    let busy = 0.5 + 0.2 * random.unit();
    let shares = CpuShares { user: busy, idle: 1.0 - busy, ..CpuShares::default() };
    let device = DeviceSample { t_ns, seconds: 1.0, writes: 900 + random.between(0, 99), ..DeviceSample::default() };
    writer.host(&HostSample {
        t_ns,
        seconds: 1.0,
        user: busy,
        idle: 1.0 - busy,
        cores: (0..CPUS).map(|core| (core, shares)).collect(),
        devices: [("vda".to_owned(), device)].into(),
        client: Some(Default::default()),
        ..HostSample::default()
    })?;
    writer.server(&ServerSample { t_ns, cpu_user_us: 3_000_000 * (second + 1), ..ServerSample::default() })?;
    writer.status(&StatusSample { t_ns, seconds: 1.0, ..StatusSample::default() })?;
    Ok(())
}
