//! The directories in which the servers of a variant work.

use super::Machine;
use crate::error::LabError;
use plimsoll_data::starting_data::TrialDirectories;
use plimsoll_host::Home;
use plimsoll_lanes::Lane;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Storage, Variant};
use plimsoll_server::TrialDirectory;
use plimsoll_server::snapshot::tree;
use plimsoll_watch::{Event, Watcher};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

impl Machine<'_> {
    /// The lane of this name as it is now.
    ///
    /// # Errors
    /// Those of lanes.
    pub fn lane(&self, name: &str) -> Result<Lane, LabError> {
        self.lanes.borrow_mut().take(name, false, &mut |_| true)
    }

    /// Takes down a lane that cannot be used any more.
    ///
    /// # Errors
    /// Those of lanes.
    pub fn give_up_lane(&self, name: &str) -> Result<(), LabError> {
        self.lanes.borrow_mut().give_up(name)
    }

    /// Takes the directories of a variant, and brings up its lane if it is not up; such a lane is taken down with this value.
    /// The directories are given back when dropped; those of two variants may be held at once, but one variant's only once.
    ///
    /// # Errors
    /// As [`plimsoll_server::TrialDirectory::take`], and those of lanes.
    pub fn directories(
        &self,
        plan: &LabPlan,
        variant: &Variant,
        holder: &str,
        watcher: &mut dyn Watcher,
    ) -> Result<TrialDirectories, LabError> {
        let lane = match &variant.storage {
            Storage::Lane(name) => {
                let told = &mut |step: &str| {
                    watcher.tell(Event::Doing(step));
                    !watcher.interrupted()
                };
                // What a crash loses on a lane that lies is what such a plan asks.
                Some(self.lanes.borrow_mut().take(name, plan.crash.is_none(), told)?)
            }
            _ => None,
        };
        let home = match (&variant.storage, &lane) {
            (Storage::Directory(path), _) => self.home.below(path)?,
            (_, Some(lane)) => self.home.below(&lane.directory)?,
            _ => self.home.clone(),
        };
        let name = name_of(plan, variant);
        let data = TrialDirectory::take(&home, &name, holder)?;
        let paths: BTreeSet<&Path> = variant.layout.parts().map(|(_, path)| path).collect();
        let apart = paths.into_iter().map(|path| {
            let directory = match path.strip_prefix(".") {
                Ok(beside) => TrialDirectory::take(&home, &format!("{name}-{}", beside.display()), holder)?,
                // A part may be below the same directory as the data.
                Err(_) => TrialDirectory::take(&self.home.below(path)?, &format!("{name}-apart"), holder)?,
            };
            Ok((path.to_owned(), directory))
        });
        let apart = apart.collect::<Result<Vec<(PathBuf, TrialDirectory)>, LabError>>()?;
        let lane_is_ours = lane.as_ref().is_some_and(|lane| self.lanes.borrow().has(&lane.name));
        Ok(TrialDirectories { data, apart, lane, lane_is_ours })
    }
}

/// The name of a variant's directory: the same each time that the plan is executed.
fn name_of(plan: &LabPlan, variant: &Variant) -> String {
    TrialDirectory::name_of(&variant.name, &[&plan.name, &format!("{:?}", variant.layout)])
}

/// What a killed lab of this plan left in a home or place, bytes; it is removed before anything new is created.
pub(super) fn left_bytes(place: &Home, plan: &LabPlan) -> u64 {
    let left = |variant: &Variant| tree::files(&place.servers().join(name_of(plan, variant))).unwrap_or_default();
    plan.variants.iter().flat_map(left).map(|(_, bytes)| bytes).sum()
}
