//! The directories in which the servers of a variant work.

use super::Machine;
use crate::error::LabError;
use plimsoll_data::starting_data::Rigs;
use plimsoll_host::Home;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Storage, Variant};
use plimsoll_server::Rig;
use plimsoll_server::snapshot::tree;
use plimsoll_watch::{Event, Watcher};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

impl Machine<'_> {
    /// Takes the rigs of a variant, bringing up its lane if it is not up: such a lane goes down with this machine. They
    /// are given back when dropped; those of two variants may be held at once, those of one may not.
    ///
    /// # Errors
    /// As [`plimsoll_server::Rig::take`], and those of lanes.
    pub fn rigs(
        &self,
        plan: &LabPlan,
        variant: &Variant,
        holder: &str,
        watcher: &mut dyn Watcher,
    ) -> Result<Rigs, LabError> {
        let lane = match &variant.storage {
            Storage::Lane(name) => {
                let told = &mut |step: &str| {
                    watcher.tell(Event::Doing(step));
                    !watcher.interrupted()
                };
                Some(self.lanes.borrow_mut().take(name, told)?)
            }
            _ => None,
        };
        let home = match (&variant.storage, &lane) {
            (Storage::Directory(path), _) => self.home.below(path)?,
            (_, Some(lane)) => self.home.below(&lane.directory)?,
            _ => self.home.clone(),
        };
        let name = name_of(plan, variant);
        let data = Rig::take(&home, &name, holder)?;
        let paths: BTreeSet<&Path> = variant.layout.parts().map(|(_, path)| path).collect();
        let apart = paths.into_iter().map(|path| {
            let rig = match path.strip_prefix(".") {
                Ok(beside) => Rig::take(&home, &format!("{name}-{}", beside.display()), holder)?,
                // A part may lie below the very directory that the data lie below.
                Err(_) => Rig::take(&self.home.below(path)?, &format!("{name}-apart"), holder)?,
            };
            Ok((path.to_owned(), rig))
        });
        let apart = apart.collect::<Result<Vec<(PathBuf, Rig)>, LabError>>()?;
        let lane_is_ours = lane.as_ref().is_some_and(|lane| self.lanes.borrow().has(&lane.name));
        Ok(Rigs { data, apart, lane, lane_is_ours })
    }
}

/// What the rig of a variant is called: the same each time that the plan is executed.
fn name_of(plan: &LabPlan, variant: &Variant) -> String {
    Rig::name_of(&variant.name, &[&plan.name, &format!("{:?}", variant.layout)])
}

/// What a lab of this plan that was killed has left in a home or place, bytes: it goes before there is anything new.
pub(super) fn left_bytes(place: &Home, plan: &LabPlan) -> u64 {
    let left = |variant: &Variant| tree::files(&place.servers().join(name_of(plan, variant))).unwrap_or_default();
    plan.variants.iter().flat_map(left).map(|(_, bytes)| bytes).sum()
}
