//! A trial that measures the storage of a variant's data, without a server.

use super::{TrialRunner, UnderWay, limits, remove};
use crate::error::LabError;
use crate::storage_plan::plan;
use plimsoll_evaluate::{FinishedEvaluation, Unvalidated, evaluate_into};
use plimsoll_model::samples::Phase;
use plimsoll_plan::lab::Storage;
use plimsoll_record::EarlyEnd;
use plimsoll_report::io;
use std::path::PathBuf;

/// Measures, and keeps the evaluation's own recording in the trial's directory as `io/`, and its summary as `io.json`.
pub fn evaluate(runner: &TrialRunner, now: &mut UnderWay) -> Result<(), LabError> {
    let directory = match &now.trial.variant.storage {
        Storage::Home => runner.home.path().to_owned(),
        Storage::Directory(path) => path.clone(),
        Storage::Lane(_) => lane(runner, now)?,
    };
    let plan = plan(&now.trial.variant, now.trial.seed, &directory)?;
    let below = now.writer.directory().join("io");
    now.pause()?;
    now.watch.enter(Phase::Measure);
    now.watch.watchdog.allow(Phase::Measure, limits::STORAGE);
    let version = &runner.options.tool_version;
    let FinishedEvaluation { summary, ended, .. } =
        evaluate_into(&below, runner.home, &plan, version, &mut Unvalidated, &mut now.watch)?;
    now.watch.enter(Phase::Collect);
    now.writer.io_summary(&summary)?;
    now.outcome.storage = Some(io::answer::answer(&summary));
    match ended {
        None => Ok(()),
        Some(EarlyEnd::Interrupted) => Err(LabError::Interrupted),
        Some(EarlyEnd::Failed(why)) => Err(LabError::Environment(why)),
    }
}

/// The directory of the variant's lane, which is brought up if it is not up.
fn lane(runner: &TrialRunner, now: &mut UnderWay) -> Result<PathBuf, LabError> {
    let directories =
        runner.machine.directories(runner.plan, &now.trial.variant, &runner.options.holder, &mut now.watch)?;
    let directory = directories.lane.as_ref().map(|lane| lane.directory.clone());
    remove(directories)?;
    directory.ok_or_else(|| LabError::Environment("the lane of the variant is not up".to_owned()))
}
