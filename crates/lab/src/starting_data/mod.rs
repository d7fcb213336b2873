//! Identical starting data: a dataset is built once, kept, copied to where variants work, and restored before each trial.
//!
//! [`recipe`] is all that decides what a dataset holds, and so its name; [`build`] makes one, [`mod@restore`] puts it
//! where the server of a trial will find it, [`layout`] knows which files lie elsewhere then and which settings the server
//! needs to find them.

mod build;
mod image;
pub mod layout;
pub mod recipe;
mod restore;

use crate::error::LabError;
use crate::watch::{Event, Watcher};
pub use build::checksums;
pub use layout::layout_settings;
use plimsoll_plan::lab::Variant;
use plimsoll_server::snapshot::store::{self, Stored};
use plimsoll_server::{Build, Home, Rig, ServerError};
use plimsoll_storage::lane::Lane;
use recipe::Recipe;
pub use restore::restore;
use std::path::{Path, PathBuf};

/// The rigs of a trial: one for the data, and one on each path of the layout, by that path.
#[derive(Debug)]
pub struct Rigs {
    pub data: Rig,
    pub apart: Vec<(PathBuf, Rig)>,
    /// The lane that the data lie on, if they do.
    pub lane: Option<Lane>,
}

impl Rigs {
    /// The rig on a path of the layout; on one that has none, the data's.
    fn on(&self, path: &Path) -> &Rig {
        self.apart.iter().find(|(on, _)| on == path).map_or(&self.data, |(_, rig)| rig)
    }

    /// Removes what a trial has left. The server must be down.
    ///
    /// # Errors
    /// [`ServerError::Io`].
    pub fn clear(&self) -> Result<(), ServerError> {
        std::iter::once(&self.data).chain(self.apart.iter().map(|(_, rig)| rig)).try_for_each(Rig::clear)
    }
}

/// The dataset that `variant` starts from, in the home or place where it works: found, copied there from elsewhere and
/// proved equal, or built. `build` is the variant's server. No server may run in the rigs.
///
/// # Errors
/// [`LabError::Refused`] if there is no dataset of the name that the plan gives, or another build made it; else as those of
/// servers and loads. What was half made is removed.
pub fn obtain(
    home: &Home,
    rigs: &Rigs,
    build: &Build,
    variant: &Variant,
    watcher: &mut dyn Watcher,
) -> Result<Stored, LabError> {
    let place = rigs.data.home();
    match &variant.workload.dataset {
        Some(name) => {
            let stored = at_hand(home, place, name, watcher)?.ok_or_else(|| {
                LabError::Refused(format!("{}: there is no dataset `{name}`", variant.at("workload.dataset")))
            })?;
            must_open(build, &stored)?;
            Ok(stored)
        }
        None => {
            let recipe = Recipe::of(build, variant)?;
            match at_hand(home, place, &recipe.id(), watcher)? {
                Some(stored) => Ok(stored),
                None => build::build(rigs, &recipe, watcher),
            }
        }
    }
}

/// The dataset `id` in `place`, copied there if the home or another place has it.
fn at_hand(home: &Home, place: &Home, id: &str, watcher: &mut dyn Watcher) -> Result<Option<Stored>, LabError> {
    if let Some(stored) = store::find(place, id)? {
        return Ok(Some(stored));
    }
    let elsewhere = store::list(home)?.into_iter().find(|stored| stored.description.id == id);
    let Some(original) = elsewhere else { return Ok(None) };
    watcher.tell(Event::Doing(&format!("copying the dataset {id} to {}", place.path().display())));
    stopped(store::duplicate(&original, place, &mut || !watcher.interrupted())).map(Some)
}

fn must_open(build: &Build, stored: &Stored) -> Result<(), LabError> {
    let made_by = &stored.description.build;
    match build.may_open_data_of(made_by) {
        true => Ok(()),
        false => Err(LabError::Refused(format!(
            "the dataset `{}` was made by {made_by}, and {build} may not open it; name the first as the build of the variant",
            stored.description.id
        ))),
    }
}

/// A copy that somebody stopped was interrupted like everything else.
fn stopped<T>(result: Result<T, ServerError>) -> Result<T, LabError> {
    result.map_err(|error| match error {
        ServerError::Interrupted { .. } => LabError::Interrupted,
        other => LabError::Server(other),
    })
}
