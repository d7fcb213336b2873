//! The data that a trial starts from, unless they are copied from a dataset: restored by the user's own commands,
//! loaded into the running server, or left as they are.

use super::UnderWay;
use super::limits;
use crate::error::LabError;
use plimsoll_data::dataset;
use plimsoll_data::drop::drop as drop_data;
use plimsoll_data::load::load;
use plimsoll_data::starting_data::{TrialDirectories, checksums};
use plimsoll_data::target::OpenTarget;
use plimsoll_model::Build;
use plimsoll_model::Caveat;
use plimsoll_model::lab::Restored;
use plimsoll_model::samples::Phase;
use plimsoll_plan::lab::Restore;
use plimsoll_server::TrialDirectory;
use plimsoll_workloads::chosen::ChosenWorkload;
use std::collections::BTreeMap;
use std::time::Instant;

fn restored(method: &str, begun: Instant, bytes: u64) -> Restored {
    Restored {
        dataset: None,
        method: method.to_owned(),
        seconds: begun.elapsed().as_secs_f64(),
        bytes,
        checksums: BTreeMap::new(),
    }
}

impl UnderWay<'_> {
    /// Restores the data by the user's own commands, while the server is down.
    pub fn by_commands(
        &mut self,
        commands: &[String],
        directories: &TrialDirectories,
        build: &Build,
    ) -> Result<Restored, LabError> {
        let (begun, data) = (Instant::now(), directories.data.data());
        let limit = limits::of(&self.plan.trials, Phase::Restore);
        for (index, line) in commands.iter().enumerate() {
            self.command(line, &format!("restore-{}", index + 1), Some(&data), limit)?;
        }
        if !data.is_dir() {
            return Err(LabError::Environment(format!(
                "the commands of `restore` left no data directory at {}, which they get as PLIMSOLL_DATADIR",
                data.display()
            )));
        }
        let ended = restored("commands", begun, 0);
        TrialDirectory::mark_data(&data, build)?;
        Ok(ended)
    }

    /// Notes that the data are what the trial before left, and why.
    pub fn left_as_they_are(&mut self, why: &str) -> Restored {
        let message = format!("{why}: it started from the data that the previous trial left");
        self.caveat(Caveat::new("not_restored", message));
        restored("none", Instant::now(), 0)
    }

    /// Prepares the data of a running server: loads them again, or leaves them as they are if they exist.
    pub fn in_the_server(&mut self, target: &mut OpenTarget) -> Result<Restored, LabError> {
        let begun = Instant::now();
        let workload = &self.trial.variant.workload;
        let typed = workload.typed();
        let chosen = ChosenWorkload::new(&workload.kind, &typed, None)?;
        let marker = match target.enter_database()? {
            true => dataset::marker(&mut target.control, chosen.family())?,
            false => None,
        };
        let loaded_by_us = marker.is_some();
        let there = loaded_by_us || self.has_tables(target, &chosen)?;
        if there && self.plan.trials.restore != Restore::Reload {
            let message =
                "restore = \"none\": it started from the data as they were, with the changes of earlier trials";
            self.caveat(Caveat::new("not_restored", message));
            return Ok(restored("none", begun, self.bytes(target)?));
        }
        if loaded_by_us {
            drop_data(target, chosen.family())?;
        }
        load(target, chosen.dataset(workload.seed).as_ref(), self.threads, &mut self.watch)?;
        let ended = restored("reload", begun, 0);
        Ok(Restored { bytes: self.bytes(target)?, ..ended })
    }

    /// Whether the workload's tables exist and another tool loaded them.
    fn has_tables(&self, target: &mut OpenTarget, chosen: &ChosenWorkload) -> Result<bool, LabError> {
        if !target.enter_database()? {
            return Ok(false);
        }
        let dataset = chosen.dataset(self.trial.variant.workload.seed);
        let names: Vec<String> = dataset.tables().into_iter().map(|table| table.name).collect();
        Ok(!dataset::existing_tables(&mut target.control, &names)?.is_empty())
    }

    /// The size of the tables according to the server.
    fn bytes(&self, target: &mut OpenTarget) -> Result<u64, LabError> {
        let query = "SELECT SUM(data_length + index_length) FROM information_schema.tables \
                     WHERE table_schema = DATABASE()";
        let rows = target
            .control
            .rows(query)
            .map_err(|failure| LabError::sql("asking for the size of the tables", &failure))?;
        Ok(rows.single().and_then(|bytes| bytes.parse().ok()).unwrap_or(0))
    }

    /// The checksums of the workload's tables by `database.table`.
    pub fn checksums(
        &self,
        target: &mut OpenTarget,
        chosen: &ChosenWorkload,
    ) -> Result<BTreeMap<String, String>, LabError> {
        let tables = chosen.dataset(self.trial.variant.workload.seed).tables();
        let names: Vec<String> = tables.into_iter().map(|table| table.name).collect();
        target.control.set_limit(limits::of(&self.plan.trials, Phase::Verify));
        Ok(checksums(&mut target.control, &names)?)
    }
}
