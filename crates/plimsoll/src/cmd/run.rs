//! `plimsoll run`: runs a workload and measures it.

use super::baseline::Baseline;
use super::gate::{self, GateOutcome, Gated};
use super::report::tell_page;
use super::{CHECK_FAILED, DONE, ENVIRONMENT, INTERRUPTED, chosen, target};
use crate::args::RunArgs;
use crate::terminal::{self, Progress};
use plimsoll_data::dataset;
use plimsoll_data::instance::put_back;
use plimsoll_data::target::{OpenTarget, TargetSpec};
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_lab::adapter::look_at_tables;
use plimsoll_lab::load_spec::limit;
use plimsoll_lab::run::run_chosen;
use plimsoll_lab::run_record::{FinishedRun, Naming};
use plimsoll_measures::gate::{GatePlace, judge};
use plimsoll_model::LoadPoint;
use plimsoll_model::gate::GateFinding;
use plimsoll_model::summary::{Point, Summary};
use plimsoll_plan::plan::{ArrivalSpread, Measure};
use plimsoll_plan::{Plan, RunPlan};
use plimsoll_record::EarlyEnd;
use plimsoll_record::manifest::name_of;
use plimsoll_report::subject::{Recorded, Subject};
use plimsoll_workloads::chosen::ChosenWorkload;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::time::Duration;

/// Without `--time`.
const TIME: Duration = Duration::from_secs(10);

pub fn run(args: RunArgs) -> anyhow::Result<u8> {
    gate::check(&args.verdict, gate::LIMITS, args.has_gate())?;
    // What is wrong in any case is refused before anything is started.
    if let Some((name, _)) = args.set.first() {
        let found = format!("--set {name} with {}: it is for scripts (lua:FILE)", args.workload);
        return Err(LabError::Refused(found).into());
    }
    let typed = ChosenWorkload::before_data(&args.workload, &args.params.0)?;
    let name = typed.name();
    let spec = target::spec(&args.target, &format!("plimsoll run {name}"))?;
    let params = args.params.0.iter().cloned().collect();
    let mut plan = plan(&args, &spec.target.describe(), params, protocol(&args, &typed)?)?;
    let warm = plan.warmup_seconds > 0.0;
    typed.ends_with(limit(plan.measure), warm)?;
    let mut progress = Progress::new(args.report_interval)?;
    let home = Home::from_env().map_err(LabError::from)?;
    let baseline = Baseline::find(&home, args.limits.baseline.as_deref())?;
    let mut target = open(&spec, &home, &format!("; `plimsoll load {name}` creates it"), &mut progress)?;
    let marker = dataset::marker(&mut target.control, typed.family())?;
    let chosen = chosen(name, &args.params.0, marker.as_ref())?;
    plan.protocol = protocol(&args, &chosen)?;
    chosen.ends_with(limit(plan.measure), warm)?;
    look_at_tables(&mut target, &chosen, marker.as_ref())?;
    terminal::note(&format!("{name} on {} {}, seed {}", target.flavour.title(), target.version, plan.seed));
    if args.leaves_the_length_open() {
        terminal::note("a first look: --time 30s --rounds 3 would give intervals worth printing");
    }
    let recording = args.name.clone().unwrap_or_else(|| name_of(name));
    let naming = Naming { recording: &recording, kind: Plan::Run, tool_version: env!("CARGO_PKG_VERSION") };
    let finished = run_chosen(&mut target, &home, &plan, &chosen, marker.as_ref(), &naming, &mut progress);
    // A result waits until somebody has read it; the server does not.
    target::close(target, &mut progress);
    let finished = finished?;
    show(&args, &plan, baseline.as_ref(), finished)
}

/// The target, in its database; `remedy` is what to do where there is none.
pub fn open(spec: &TargetSpec, home: &Home, remedy: &str, progress: &mut Progress) -> anyhow::Result<OpenTarget> {
    let mut target = OpenTarget::open(spec, home, progress)?;
    put_back(&mut target)?;
    if !target.enter_database()? {
        return Err(LabError::Refused(format!("there is no database `{}`{remedy}", target.database)).into());
    }
    Ok(target)
}

/// How statements are sent: as asked for, else as in the workload's original.
fn protocol(args: &RunArgs, chosen: &ChosenWorkload) -> anyhow::Result<String> {
    let protocol = args.protocol.clone().unwrap_or_else(|| chosen.default_protocol().to_owned());
    chosen.goes_with(&protocol, args.rate.is_some())?;
    Ok(protocol)
}

/// What was asked for, of the workload with these parameters.
pub fn plan(
    args: &RunArgs,
    target: &str,
    params: BTreeMap<String, String>,
    protocol: String,
) -> anyhow::Result<RunPlan> {
    let rates = args.rate.as_ref().map_or(&[][..], |rates| &rates.0);
    let measure = match (args.events, args.events_per_connection) {
        (Some(events), _) => Measure::Events(events),
        (None, Some(events)) => Measure::EventsPerConnection(events),
        (None, None) => Measure::Seconds(args.time.unwrap_or(TIME).as_secs_f64()),
    };
    let plan = RunPlan {
        workload: args.workload.clone(),
        params,
        target: target.to_owned(),
        database: args.target.database.clone(),
        points: LoadPoint::cross(&args.connections.0, rates),
        arrivals: if args.arrivals == "constant" { ArrivalSpread::Constant } else { ArrivalSpread::Poisson },
        warmup_seconds: args.warmup.as_secs_f64(),
        measure,
        rounds: args.rounds,
        seed: args.seed.unwrap_or_else(random_seed),
        loops: usize::from(args.loops),
        protocol,
        outage_limit_seconds: args.outage_limit.as_secs_f64(),
        ignore_errors: args.ignore_errors.clone(),
        report_interval_seconds: args.report_interval,
        check: args.check,
        repeat_disturbed: false,
        fleet: args.fleet.plan(),
    };
    plan.check()?;
    Ok(plan)
}

/// A seed that a person can type again. The standard library's hash keys come from the system's randomness.
pub fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish() >> 32
}

/// Prints the result; the exit code says how it ended.
pub fn show(args: &RunArgs, plan: &RunPlan, baseline: Option<&Baseline>, finished: FinishedRun) -> anyhow::Result<u8> {
    let broken = finished.summary.checks.iter().flatten().any(|finding| !finding.holds);
    let code = match &finished.ended {
        None if broken => CHECK_FAILED,
        None => DONE,
        Some(EarlyEnd::Interrupted) => INTERRUPTED,
        Some(EarlyEnd::Failed(_)) => ENVIRONMENT,
    };
    let summary = &finished.summary;
    let shown = recorded(&finished).unwrap_or_else(|| Recorded::of_run(&summary.workload, summary.clone()));
    let mut findings = judge(&args.limits.fail_if, &gate_places(plan, summary));
    findings.extend(baseline.zip(args.fail_if_slower).map(|(of, limit)| of.judge(&finished.recording, None, limit)));
    let printed = print(args, summary, &shown, &findings);
    match &finished.ended {
        Some(EarlyEnd::Failed(why)) => terminal::note(&format!("plimsoll: the run ended early: {why}")),
        Some(EarlyEnd::Interrupted) => terminal::note("interrupted; results so far are kept"),
        None => {}
    }
    if args.json {
        terminal::what_limited(&shown);
    }
    terminal::note(&format!("recording: {}", finished.recording.display()));
    tell_page(&finished.recording, &shown);
    let judged = GateOutcome {
        suite: "plimsoll run",
        answer: plimsoll_report::document(&shown).answer,
        findings,
        ended_early: finished.ended.as_ref().map(|ended| ended.why().to_owned()),
    };
    let code = gate::conclude(&args.verdict, &judged, code)?;
    printed?;
    Ok(code)
}

/// That it cannot be printed is told last: what was measured is recorded and judged all the same.
fn print(args: &RunArgs, summary: &Summary, shown: &Recorded, findings: &[GateFinding]) -> io::Result<()> {
    if args.json {
        return terminal::json(&Gated { document: summary, gate: findings });
    }
    terminal::styled(&plimsoll_report::terminal(shown, terminal::look()))?;
    match &summary.checks {
        Some(findings) => terminal::result(&super::check::listed(findings)),
        None => Ok(()),
    }
}

/// Every load point of the plan, also one that was not reached.
fn gate_places<'a>(plan: &RunPlan, summary: &'a Summary) -> Vec<GatePlace<'a>> {
    let at = |load: &LoadPoint| GatePlace {
        at: load.to_string(),
        rounds: summary.points.iter().filter(|point| point.load == *load).flat_map(Point::each_round).collect(),
    };
    plan.points.iter().map(at).collect()
}

/// What was recorded, with the summary as it is now; none if it cannot be read, which is no reason to withhold the
/// result.
pub fn recorded(finished: &FinishedRun) -> Option<Recorded> {
    let read = super::report::recorded(&finished.recording);
    let recorded =
        read.inspect_err(|error| terminal::note(&format!("the recording cannot be read: {error:#}"))).ok()?;
    Some(Recorded { subject: Subject::Run(Box::new(finished.summary.clone())), ..recorded })
}
