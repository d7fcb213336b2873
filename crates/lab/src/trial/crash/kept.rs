//! The data of a trial as the fault left them, before anything was started on them.

use super::{ServerSetup, of_lane};
use crate::error::LabError;
use plimsoll_server::ServerError;
use plimsoll_server::snapshot::tree::{self, Way};
use std::fs;
use std::path::{Path, PathBuf};

/// Below the directory of a trial.
const NAME: &str = "kept";

/// A copy that is removed unless somebody wants it.
#[derive(Debug)]
pub struct KeptData {
    directory: Option<PathBuf>,
}

/// What a server has, on each path of its layout in turn, the data's first: its data, and what else is there.
fn by_path(setup: &ServerSetup) -> impl Iterator<Item = Vec<PathBuf>> {
    let apart = setup.directories.apart.iter().map(|(_, directory)| directory);
    std::iter::once(&setup.directories.data).chain(apart).map(|of| {
        let of_it = [of.directory().data(), of.directory().parts()];
        of_it.into_iter().filter(|directory| directory.is_dir()).collect()
    })
}

/// The same, all together.
pub(super) fn directories(setup: &ServerSetup) -> Vec<PathBuf> {
    by_path(setup).flatten().collect()
}

impl KeptData {
    /// Copies what a server has on each path of its layout: below `1`, `2` and so on.
    ///
    /// # Errors
    /// If something cannot be copied.
    pub(super) fn of_directories(setup: &ServerSetup, trial: &Path) -> Result<KeptData, LabError> {
        let kept = KeptData::beneath(trial)?;
        for (directories, number) in by_path(setup).zip(1..) {
            let to = trial.join(NAME).join(number.to_string());
            tree::create(&to)?;
            for from in &directories {
                let name = from.file_name().unwrap_or_default();
                tree::copy(from, &to.join(name), tree::fastest(from, &to), &mut || true)?;
            }
        }
        Ok(kept)
    }

    /// Copies the image of a device whose file system cannot be mounted.
    ///
    /// # Errors
    /// If it cannot be copied.
    pub(super) fn of_image(setup: &ServerSetup, trial: &Path) -> Result<KeptData, LabError> {
        let image = of_lane(setup.directories.lane.as_ref())?.image();
        let image = image.ok_or_else(|| super::environment("the lane has no image"))?;
        let (Some(from), Some(name)) = (image.parent(), image.file_name()) else {
            return Err(super::environment("the image of the lane is in no directory"));
        };
        let kept = KeptData::beneath(trial)?;
        let is_it = |path: &Path| path == Path::new(name);
        tree::copy_part(from, &trial.join(NAME).join("device"), Way::Copy, &is_it, &mut || true)?;
        Ok(kept)
    }

    fn beneath(trial: &Path) -> Result<KeptData, LabError> {
        let directory = trial.join(NAME);
        let failed = |error| super::environment(format!("making {}: {error}", directory.display()));
        fs::create_dir(&directory).map_err(failed)?;
        Ok(KeptData { directory: Some(directory) })
    }

    /// Leaves it where it is; its name in the directory of the trial.
    pub(super) fn keep(mut self) -> String {
        self.directory = None;
        NAME.to_owned()
    }

    /// # Errors
    /// If something cannot be removed.
    pub(super) fn remove(mut self) -> Result<(), ServerError> {
        self.directory.take().map_or(Ok(()), |directory| tree::remove(&directory))
    }
}

impl Drop for KeptData {
    fn drop(&mut self) {
        if let Some(directory) = self.directory.take() {
            // The trial has failed, and says for what reason.
            let _ = tree::remove(&directory);
        }
    }
}
