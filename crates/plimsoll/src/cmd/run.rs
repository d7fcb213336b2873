//! `plimsoll run`: runs a workload and measures it.

use super::{DONE, ENVIRONMENT, INTERRUPTED, parameters, target, workload};
use crate::args::RunArgs;
use crate::terminal::{self, Progress};
use plimsoll_lab::run::{Finished, Naming, Subject, run as run_plan};
use plimsoll_lab::trial::Ended;
use plimsoll_lab::{LabError, OpenTarget, dataset, oltp};
use plimsoll_plan::RunPlan;
use plimsoll_plan::plan::{Measure, Spread};
use plimsoll_plan::points;
use plimsoll_report::{Report, terminal_table};
use plimsoll_server::Home;
use std::hash::{BuildHasher, Hasher, RandomState};

pub fn run(args: RunArgs) -> anyhow::Result<u8> {
    let kind = workload(&args.workload)?;
    // What is wrong in itself is refused before anything is started.
    parameters(kind, &args.params.0, None)?;
    let spec = target::spec(&args.target, &format!("plimsoll run {}", kind.name()))?;
    let plan = plan(&args, &spec.target.describe());
    plan.check()?;
    let mut progress = Progress::new(args.report_interval)?;
    let home = Home::from_env().map_err(LabError::from)?;
    let mut target = OpenTarget::open(&spec, &home, &mut progress)?;
    if !target.enter_database()? {
        return Err(LabError::Refused(format!(
            "there is no database `{}`; `plimsoll load {}` makes it",
            target.database,
            kind.name()
        ))
        .into());
    }
    let marker = dataset::marker(&mut target.control, kind.dataset_family())?;
    let parameters = parameters(kind, &args.params.0, marker.as_ref().map(|marker| &marker.description))?;
    oltp::look_at_tables(&mut target, kind, &parameters, marker.as_ref())?;
    let subject = Subject {
        make: &|target| oltp::make(target, kind, &parameters),
        params: parameters.printable(kind),
        family: kind.dataset_family(),
    };
    terminal::note(&format!("{} on {} {}, seed {}", kind.name(), target.flavour, target.version, plan.seed));
    let recording = kind.name().replace('_', "-");
    let naming = Naming { recording: &recording, tool_version: env!("CARGO_PKG_VERSION") };
    let finished = run_plan(&mut target, &home, &plan, &subject, &naming, &mut progress)?;
    show(&args, finished)
}

fn plan(args: &RunArgs, target: &str) -> RunPlan {
    let rates = args.rate.as_ref().map_or(&[][..], |rates| &rates.0);
    let measure = match (args.events, args.events_per_connection) {
        (Some(events), _) => Measure::Events(events),
        (None, Some(events)) => Measure::EventsPerConnection(events),
        (None, None) => Measure::Seconds(args.time.as_secs_f64()),
    };
    RunPlan {
        workload: args.workload.clone(),
        params: args.params.0.iter().cloned().collect(),
        target: target.to_owned(),
        points: points::cross(&args.connections.0, rates),
        arrivals: if args.arrivals == "constant" { Spread::Constant } else { Spread::Poisson },
        warmup_seconds: args.warmup.as_secs_f64(),
        measure,
        seed: args.seed.unwrap_or_else(random_seed),
        loops: usize::from(args.loops),
        protocol: args.protocol.clone(),
        outage_limit_seconds: args.outage_limit.as_secs_f64(),
        ignore_errors: args.ignore_errors.clone(),
        report_interval_seconds: args.report_interval,
    }
}

/// A seed that a person can type again. The standard library's hash keys come from the system's randomness.
pub fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish() >> 32
}

/// Prints the result; the exit code says how it ended.
fn show(args: &RunArgs, finished: Finished) -> anyhow::Result<u8> {
    let code = match &finished.ended {
        None => DONE,
        Some(Ended::Interrupted) => INTERRUPTED,
        Some(Ended::Failed(_)) => ENVIRONMENT,
    };
    if args.json {
        terminal::result(&serde_json::to_string_pretty(&finished.summary)?)?;
    } else {
        let title = finished.summary.workload.clone();
        let report = Report::of(&title, finished.summary);
        terminal::result(&terminal_table(&report, terminal::colour()))?;
    }
    match &finished.ended {
        Some(Ended::Failed(why)) => terminal::note(&format!("plimsoll: the run ended early: {why}")),
        Some(Ended::Interrupted) => terminal::note("interrupted; what was measured is kept"),
        None => {}
    }
    terminal::note(&format!("recording: {}", finished.recording.display()));
    Ok(code)
}
