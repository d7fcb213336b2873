//! The directories in which the servers of a variant work.

use super::Machine;
use crate::error::LabError;
use crate::starting_data::Rigs;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Layout, Storage, Variant};
use plimsoll_server::Rig;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

impl Machine<'_> {
    /// Takes the rigs of a variant, bringing up its lane if it is not up: such a lane goes down with this machine. They are given back when dropped; those of two
    /// variants may be held at once, those of one may not.
    ///
    /// # Errors
    /// As [`plimsoll_server::Rig::take`], and those of lanes.
    pub fn rigs(&self, plan: &LabPlan, variant: &Variant, holder: &str) -> Result<Rigs, LabError> {
        let lane = match &variant.storage {
            Storage::Lane(name) => Some(self.lanes.borrow_mut().take(name, &mut |_| true)?),
            _ => None,
        };
        let home = match (&variant.storage, &lane) {
            (Storage::Directory(path), _) => self.home.below(path)?,
            (_, Some(lane)) => self.home.below(&lane.directory)?,
            _ => self.home.clone(),
        };
        let name = Rig::name_of(&variant.name, &[&plan.name, &format!("{:?}", variant.layout)]);
        let data = Rig::take(&home, &name, holder)?;
        let apart = paths(&variant.layout).into_iter().map(|path| {
            // A part may lie below the very directory that the data lie below.
            let rig = Rig::take(&self.home.below(path)?, &format!("{name}-apart"), holder)?;
            Ok((path.to_owned(), rig))
        });
        let apart = apart.collect::<Result<Vec<(PathBuf, Rig)>, LabError>>()?;
        Ok(Rigs { data, apart, lane })
    }
}

/// The paths of a layout, each once.
fn paths(layout: &Layout) -> BTreeSet<&Path> {
    let Layout { redo, doublewrite, undo, binlog, tmp, tables } = layout;
    let parts = [redo, doublewrite, undo, binlog, tmp].into_iter().flatten();
    parts.chain(tables.values()).map(PathBuf::as_path).collect()
}
