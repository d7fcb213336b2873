//! A trial that measures the storage that a variant's data would lie on, and needs no server.

use super::{Bench, UnderWay, limits, remove};
use crate::error::LabError;
use crate::storage_plan::plan;
use plimsoll_evaluate::{Finished, Unvalidated, evaluate_into};
use plimsoll_model::samples::Phase;
use plimsoll_plan::lab::Storage;
use plimsoll_record::EarlyEnd;
use plimsoll_report::io;
use std::path::PathBuf;

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
    let Finished { summary, ended, .. } =
        evaluate_into(&below, bench.home, &plan, version, &mut Unvalidated, &mut now.watch)?;
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
fn lane(bench: &Bench, now: &mut UnderWay) -> Result<PathBuf, LabError> {
    let rigs = bench.machine.rigs(bench.plan, &now.trial.variant, &bench.options.holder, &mut now.watch)?;
    let directory = rigs.lane.as_ref().map(|lane| lane.directory.clone());
    remove(rigs)?;
    directory.ok_or_else(|| LabError::Environment("the lane of the variant is not up".to_owned()))
}
