//! Puts a dataset where the server of a trial will find it.

use super::copy::copy;
use super::{TrialDirectories, image};
use crate::DataError;
use plimsoll_model::lab::Restored;
use plimsoll_plan::lab::{Layout, Method};
use plimsoll_server::snapshot::store::Stored;
use plimsoll_server::snapshot::tree::{self, Way};
use plimsoll_watch::{Event, Watcher};
use std::collections::BTreeMap;
use std::time::Instant;

/// Puts the dataset where the server of a trial will find it, and files of the layout on their own paths. The server
/// must be down. Afterwards everything has been written to disk.
///
/// # Errors
/// [`DataError::Environment`], naming what could not be copied; [`DataError::Interrupted`].
pub fn restore(
    directories: &TrialDirectories,
    stored: &Stored,
    layout: &Layout,
    method: Option<Method>,
    watcher: &mut dyn Watcher,
) -> Result<Restored, DataError> {
    let begun = Instant::now();
    watcher.tell(Event::Doing("restoring the data"));
    let method = match method {
        Some(method) => method,
        None => fastest(directories, stored, layout),
    };
    directories.clear()?;
    let bytes = match method {
        Method::ImageClone => image::restore(directories, stored, layout, watcher)?,
        Method::Reflink => copy(directories, stored, layout, Way::Reflink, watcher)?,
        Method::BtrfsSnapshot => copy(directories, stored, layout, Way::BtrfsSnapshot, watcher)?,
        Method::Copy => copy(directories, stored, layout, Way::Copy, watcher)?,
    };
    Ok(Restored {
        dataset: Some(stored.description.id.clone()),
        method: method.name().to_owned(),
        seconds: begun.elapsed().as_secs_f64(),
        bytes,
        checksums: BTreeMap::new(),
    })
}

fn fastest(directories: &TrialDirectories, stored: &Stored, layout: &Layout) -> Method {
    match tree::fastest(&stored.data(), directories.data.directory().path()) {
        Way::BtrfsSnapshot => Method::BtrfsSnapshot,
        Way::Reflink => Method::Reflink,
        Way::Copy if image::pays(directories, stored, layout) => Method::ImageClone,
        Way::Copy => Method::Copy,
    }
}
