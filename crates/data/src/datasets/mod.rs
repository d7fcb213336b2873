//! Datasets by hand: listing, removing and copying them, and saving one from a server under load.
//!
//! Begin with [`save()`], or with [`copy_online`] for what is not kept. A copy of a running server's files is only good if a crash could have left it; each
//! [`SnapshotMethod`] has its own way to ensure that. The copy is then started, checked and shut down before it counts.

mod backup;
mod clone;
mod contents;
mod copying;
mod cost;
mod method;
mod save;
mod source;
mod verify;

pub use backup::program as backup_program;
pub use contents::chosen_parameters;
pub use copying::{OnlineCopy, copy_online};
pub use cost::{CopyCost, ServerRates};
pub use method::{Choice, SnapshotMethod};
pub use save::{SaveRequest, Saved, save};
pub use verify::Checked;

use crate::DataError;
use plimsoll_host::Home;
use plimsoll_server::ServerError;
use plimsoll_server::snapshot::store::{self, Stored};
use plimsoll_server::snapshot::tree::{self, Way};
use plimsoll_watch::{Event, Watcher};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The datasets that these ids name, in the home or a place: whole ids, or unambiguous beginnings.
///
/// # Errors
/// [`DataError::Refused`] for an id that names none or several, with those that exist.
pub fn named(home: &Home, ids: &[String]) -> Result<Vec<Stored>, DataError> {
    let all = store::list(home)?;
    let mut found: Vec<Stored> = Vec::new();
    for id in ids {
        for stored in meant(&all, id)? {
            if !found.contains(stored) {
                found.push(stored.clone());
            }
        }
    }
    Ok(found)
}

/// The copies of one dataset on all storage paths.
fn meant<'a>(all: &'a [Stored], id: &str) -> Result<Vec<&'a Stored>, DataError> {
    let exact = |stored: &&Stored| stored.description.id == id;
    let beginning = |stored: &&Stored| stored.description.id.starts_with(id);
    let found: Vec<&Stored> = match all.iter().any(|stored| exact(&stored)) {
        true => all.iter().filter(exact).collect(),
        false => all.iter().filter(beginning).collect(),
    };
    match listed(found.iter().copied()).as_slice() {
        [_] if !id.is_empty() => Ok(found),
        [] | [_] => Err(DataError::Refused(format!("there is no dataset `{id}`; {}", existing(all)))),
        several => {
            Err(DataError::Refused(format!("`{id}` could be any of {}; give a longer part of it", several.join(", "))))
        }
    }
}

fn existing(all: &[Stored]) -> String {
    match listed(all.iter()).as_slice() {
        [] => "there are none; `plimsoll datasets save` saves one from a running private server".to_owned(),
        ids => format!("there are {}", ids.join(", ")),
    }
}

/// The ids in order, without repetition.
fn listed<'a>(stored: impl Iterator<Item = &'a Stored>) -> Vec<&'a str> {
    let mut ids: Vec<&str> = stored.map(|stored| stored.description.id.as_str()).collect();
    ids.dedup();
    ids
}

/// A copy of a dataset on another storage path.
#[derive(Clone, Debug)]
pub struct CopiedDataset {
    pub stored: Stored,
    pub way: Way,
    /// From the first byte until every file was verified equal.
    pub took: Duration,
}

/// Copies the dataset that `id` names to the storage path `directory`, and verifies every file by its digest.
///
/// # Errors
/// As [`named`]; [`DataError::Server`] if it is there already, the directory cannot be a place, or a file differs: then
/// the copy is removed; [`DataError::Interrupted`].
pub fn copy(home: &Home, id: &str, directory: &Path, watcher: &mut dyn Watcher) -> Result<CopiedDataset, DataError> {
    let found = named(home, &[id.to_owned()])?;
    let [original, ..] = found.as_slice() else {
        return Err(DataError::Refused("an id is empty".to_owned()));
    };
    let place = home.below(directory)?;
    watcher.tell(Event::Doing("copying and comparing every file"));
    let begun = Instant::now();
    let (stored, way) = store::duplicate(original, &place, &mut || !watcher.interrupted()).map_err(interrupted)?;
    Ok(CopiedDataset { stored, way, took: begun.elapsed() })
}

/// Bytes that it takes on disk. Shared blocks count for each file that has them.
pub fn occupied(stored: &Stored) -> u64 {
    let files = tree::files(&stored.directory).unwrap_or_default();
    let blocks = |name: &Path| std::fs::symlink_metadata(stored.directory.join(name)).map_or(0, |facts| facts.blocks());
    files.iter().map(|(name, _)| blocks(name) * 512).sum()
}

/// What ended because somebody interrupted it is not the server's fault.
fn interrupted(error: ServerError) -> DataError {
    match error {
        ServerError::Interrupted { .. } => DataError::Interrupted,
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Build;
    use plimsoll_model::Flavour;
    use plimsoll_server::snapshot::store::StoredDescription;

    fn stored(home: &Home, id: &str) -> Stored {
        let build = Build { flavour: Flavour::MariaDb, version: "10.11.1".into(), binary: "/x".into() };
        let description = StoredDescription {
            plimsoll_dataset: 1,
            id: id.to_owned(),
            build,
            fixed: Default::default(),
            contents: Vec::new(),
            checksums: Default::default(),
            bytes: 1,
            made: "2026-01-01T00:00:00Z".to_owned(),
            origin: "reflink".to_owned(),
        };
        Stored { home: home.clone(), directory: home.datasets().join(id), description }
    }

    #[test]
    fn beginnings_that_only_one_id_has_are_enough() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().as_os_str().to_owned();
        let home = Home::resolve(|name| (name == "PLIMSOLL_HOME").then(|| root.clone())).unwrap();
        let all = ["base", "basement", "cargo", "cargo"].map(|id| stored(&home, id));
        let ids = |id: &str| meant(&all, id).map(|found| listed(found.into_iter()).join(","));
        assert_eq!(ids("base").unwrap(), "base", "a whole id is meant, though another begins with it");
        assert_eq!(ids("basem").unwrap(), "basement");
        assert_eq!(meant(&all, "c").unwrap().len(), 2, "a dataset and its copy elsewhere have one id");
        for (id, text) in [("ba", "base, basement"), ("x", "there are base, basement, cargo"), ("", "could be any")] {
            assert!(ids(id).unwrap_err().to_string().contains(text), "{id}");
        }
        assert!(meant(&[], "x").unwrap_err().to_string().contains("there are none"));
    }
}
