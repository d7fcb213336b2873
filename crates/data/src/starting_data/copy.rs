//! Copies a dataset to where the server of a trial will find it, part by part.

use super::layout::{self, LayoutPart};
use super::{TrialDirectories, stopped};
use crate::DataError;
use plimsoll_host::replace::rename;
use plimsoll_model::Flavour;
use plimsoll_plan::lab::Layout;
use plimsoll_server::TrialDirectory;
use plimsoll_server::snapshot::store::Stored;
use plimsoll_server::snapshot::tree::{self, Copied, Way};
use plimsoll_watch::Watcher;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Copies the data this `way`, and each part of the layout to its own path in the fastest way that there is. Nobody can
/// remove the dataset meanwhile. Returns bytes.
pub(super) fn copy(
    directories: &TrialDirectories,
    stored: &Stored,
    layout: &Layout,
    way: Way,
    watcher: &mut dyn Watcher,
) -> Result<u64, DataError> {
    let _reading = stored.lock_for_reading()?;
    let (from, half) = (stored.data(), directories.data.half_made_data());
    let files: Vec<PathBuf> = tree::files(&from)?.into_iter().map(|(file, _)| file).collect();
    let parts = layout::parts(directories, layout, &files)?;
    let go_on = &mut || !watcher.interrupted();
    let apart = |file: &Path| parts.iter().any(|part| part.files.iter().any(|other| other == file));
    let data = stopped(tree::copy_part(&from, &half, way, &|file| !apart(file), go_on))?;
    let mut bytes = data.bytes;
    for part in &parts {
        bytes += put(part, &from, go_on)?.bytes;
        if stored.description.build.flavour == Flavour::MariaDb {
            link(part, &half)?;
        }
    }
    TrialDirectory::mark_data(&half, &stored.description.build)?;
    rename(&half, &directories.data.data()).map_err(|error| cannot("rename", &half, &error))?;
    Ok(bytes)
}

/// Copies the files of one part to its path.
fn put(part: &LayoutPart, from: &Path, go_on: &mut dyn FnMut() -> bool) -> Result<Copied, DataError> {
    let above = part.directory.parent().unwrap_or(&part.directory);
    DirBuilder::new().recursive(true).mode(0o700).create(above).map_err(|error| cannot("create", above, &error))?;
    let way = match tree::fastest(from, above) {
        // A snapshot would take everything, most of which would have to be removed again.
        Way::BtrfsSnapshot => Way::Reflink,
        other => other,
    };
    let wanted = |path: &Path| part.files.iter().any(|file| file.starts_with(path));
    stopped(tree::copy_part(from, &part.directory, way, &wanted, go_on))
}

/// Tells MariaDB where the files of single tables are.
fn link(part: &LayoutPart, data: &Path) -> Result<(), DataError> {
    for (name, text) in layout::links(part) {
        let path = data.join(name);
        fs::write(&path, text).map_err(|error| cannot("write", &path, &error))?;
    }
    Ok(())
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> DataError {
    DataError::Environment(format!("cannot {what} {}: {error}", path.display()))
}
