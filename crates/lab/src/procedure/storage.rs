//! A trial that measures the storage that a variant's data would lie on, and needs no server.

use super::{Bench, UnderWay, limits, remove};
use crate::error::LabError;
use crate::execute::preflight::refused;
use crate::io::{Finished, IoPlan, What, evaluate_into, is_possible};
use crate::trial::Ended;
use plimsoll_model::samples::Phase;
use plimsoll_plan::lab::{Storage, Variant};
use plimsoll_plan::{PlanError, quantity};
use plimsoll_report::io;
use plimsoll_storage::suite::Suite;
use std::path::{Path, PathBuf};

/// The parameters of such a workload, as `plimsoll io` has them.
const PARAMETERS: &str = "suite, probes, size, time and steady";

/// Measures, and keeps the evaluation's own recording in the trial's directory: `io/`, and its summary as `io.json`.
pub fn evaluate(bench: &Bench, now: &mut UnderWay) -> Result<(), LabError> {
    let directory = match &now.trial.variant.storage {
        Storage::Home => bench.home.path().to_owned(),
        Storage::Directory(path) => path.clone(),
        Storage::Lane(_) => lane(bench, now)?,
    };
    let plan = plan(&now.trial.variant, now.trial.seed, &directory)?;
    let below = now.writer.directory().join("io");
    now.watch.enter(Phase::Measure);
    now.watch.watchdog.allow(Phase::Measure, limits::STORAGE);
    let version = &bench.options.tool_version;
    let Finished { summary, ended, .. } = evaluate_into(&below, bench.home, &plan, version, &mut now.watch)?;
    now.watch.enter(Phase::Collect);
    now.writer.io_summary(&summary)?;
    now.outcome.storage = Some(io::answer::answer(&summary));
    match ended {
        None => Ok(()),
        Some(Ended::Interrupted) => Err(LabError::Interrupted),
        Some(Ended::Failed(why)) => Err(LabError::Environment(why)),
    }
}

/// The directory of the variant's lane, which is brought up if it is not up.
fn lane(bench: &Bench, now: &mut UnderWay) -> Result<PathBuf, LabError> {
    let rigs = bench.machine.rigs(bench.plan, &now.trial.variant, &bench.options.holder, &mut now.watch)?;
    let directory = rigs.lane.as_ref().map(|lane| lane.directory.clone());
    remove(rigs)?;
    directory.ok_or_else(|| LabError::Environment("the lane of the variant is not up".to_owned()))
}

/// What to measure in `directory`.
///
/// # Errors
/// Parameters that there are not, with file and line.
pub(crate) fn plan(variant: &Variant, seed: u64, directory: &Path) -> Result<IoPlan, LabError> {
    let mut plan = IoPlan {
        directory: directory.to_owned(),
        what: What::Suite { suite: Suite::Quick, steady: false },
        probes: Vec::new(),
        data_bytes: None,
        window: None,
        seed,
        keep: false,
        name: "io".to_owned(),
        validate: Vec::new(),
    };
    for (name, value) in &variant.workload.params {
        set(&mut plan, name, value)
            .map_err(|error| refused(variant.at(&format!("workload.{name}")), error.to_string()))?;
    }
    is_possible(&plan).map_err(|error| refused(variant.at("workload.probes"), error.to_string()))?;
    Ok(plan)
}

fn set(plan: &mut IoPlan, name: &str, value: &str) -> Result<(), PlanError> {
    match (name, &mut plan.what) {
        ("suite", What::Suite { suite, .. }) => *suite = suite_of(value)?,
        ("steady", What::Suite { steady, .. }) => *steady = truth(value)?,
        ("probes", _) => plan.probes = probes(value)?,
        ("size", _) => plan.data_bytes = Some(quantity::size(value)?),
        ("time", _) => plan.window = Some(quantity::duration(value)?),
        _ => return Err(PlanError::Combination(format!("io has no parameter `{name}`; it has {PARAMETERS}"))),
    }
    Ok(())
}

fn suite_of(name: &str) -> Result<Suite, PlanError> {
    let known = Suite::ALL.into_iter().find(|suite| suite.name() == name);
    known.ok_or_else(|| PlanError::value("suite", name, "quick, full or percona-2008"))
}

fn truth(text: &str) -> Result<bool, PlanError> {
    text.parse().map_err(|_| PlanError::value("steady", text, "true or false"))
}

fn probes(text: &str) -> Result<Vec<u8>, PlanError> {
    let all: Result<Vec<u8>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    all.map_err(|_| PlanError::value("probes", text, "numbers of probes: 1,4"))
}
