//! A trial that measures the storage that a variant's data would lie on, and needs no server.

use super::{Bench, UnderWay, limits, remove};
use crate::error::LabError;
use crate::io::{Finished, IoPlan, What, evaluate_into};
use crate::trial::Ended;
use plimsoll_model::samples::Phase;
use plimsoll_plan::lab::{Storage, TrialPlan, Workload};
use plimsoll_plan::{PlanError, quantity};
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
    let plan = plan(now.trial, &directory)?;
    let below = now.writer.directory().join("io");
    now.watch.enter(Phase::Measure);
    now.watch.watchdog.allow(Phase::Measure, limits::STORAGE);
    let version = &bench.options.tool_version;
    let Finished { summary, ended, .. } = evaluate_into(&below, bench.home, &plan, version, &mut now.watch)?;
    now.watch.enter(Phase::Collect);
    now.writer.io_summary(&summary)?;
    match ended {
        None => Ok(()),
        Some(Ended::Interrupted) => Err(LabError::Interrupted),
        Some(Ended::Failed(why)) => Err(LabError::Environment(why)),
    }
}

/// The directory of the variant's lane, which is brought up if it is not up.
fn lane(bench: &Bench, now: &UnderWay) -> Result<PathBuf, LabError> {
    let rigs = bench.machine.rigs(bench.plan, &now.trial.variant, &bench.options.holder)?;
    let directory = rigs.lane.as_ref().map(|lane| lane.directory.clone());
    remove(rigs)?;
    directory.ok_or_else(|| LabError::Environment("the lane of the variant is not up".to_owned()))
}

/// What to measure in `directory`.
fn plan(trial: &TrialPlan, directory: &Path) -> Result<IoPlan, LabError> {
    let Workload { params, .. } = &trial.variant.workload;
    let mut plan = IoPlan {
        directory: directory.to_owned(),
        what: What::Suite { suite: Suite::Quick, steady: false },
        probes: Vec::new(),
        data_bytes: None,
        window: None,
        seed: trial.seed,
        keep: false,
        name: "io".to_owned(),
        validate: Vec::new(),
    };
    let (mut suite, mut steady) = (Suite::Quick, false);
    for (name, value) in params {
        match name.as_str() {
            "suite" => suite = suite_of(value)?,
            "steady" => steady = value == "true",
            "probes" => plan.probes = probes(value)?,
            "size" => plan.data_bytes = Some(quantity::size(value)?),
            "time" => plan.window = Some(quantity::duration(value)?),
            other => {
                return Err(LabError::Refused(format!("io has no parameter `{other}`; it has {PARAMETERS}")));
            }
        }
    }
    plan.what = What::Suite { suite, steady };
    Ok(plan)
}

fn suite_of(name: &str) -> Result<Suite, LabError> {
    let known = Suite::ALL.into_iter().find(|suite| suite.name() == name);
    known.ok_or_else(|| LabError::Refused(format!("there is no suite `{name}`")))
}

fn probes(text: &str) -> Result<Vec<u8>, LabError> {
    let number = |part: &str| part.trim().parse::<u8>();
    let all: Result<Vec<u8>, _> = text.split(',').map(number).collect();
    Ok(all.map_err(|_| PlanError::value("probes", text, "numbers of probes: 1,4"))?)
}
