//! Datasets as they are kept: `<home or place>/datasets/<id>/` with `dataset.json` and `data/`.
//!
//! One that is being made or removed is called `<id>.half`, and whoever does it holds the lock `<id>.lock`. So a directory
//! without that ending is whole, and [`clean`] removes what a kill has left.

use super::{digest, tree};
use crate::directory::{Lock, write_json};
use crate::error::During;
use crate::home::real_directory;
use crate::{Build, Home, ServerError};
use rustix::fs::syncfs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const FORMAT: u32 = 1;
const DESCRIPTION: &str = "dataset.json";
/// Size and digest of every file, of a copy that was proved equal.
const PROOF: &str = "files.json";
const HALF: &str = ".half";

/// `dataset.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// Version of this format: 1.
    pub plimsoll_dataset: u32,
    /// Name of its directory: of one that a lab built a digest of all that decides the data, of one that was saved the
    /// name that it was given.
    pub id: String,
    pub build: Build,
    /// Settings that are fixed when data are made.
    pub fixed: BTreeMap<String, String>,
    /// Families of workloads with their parameters and seed; a saved one may have several.
    pub contents: Vec<Content>,
    /// Checksums of the tables (CHECKSUM TABLE) by `database.table`.
    pub checksums: BTreeMap<String, String>,
    /// Sum of the sizes of all files.
    pub bytes: u64,
    /// RFC 3339, UTC.
    pub made: String,
    /// `built`, or how it was saved: `reflink`, `btrfs-snapshot`, `clone`, `mariadb-backup`.
    pub origin: String,
}

/// What a workload has loaded into it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Content {
    pub database: String,
    pub family: String,
    pub parameters: BTreeMap<String, serde_json::Value>,
    pub seed: u64,
}

/// A dataset that is there as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The home or place that holds it.
    pub home: Home,
    pub directory: PathBuf,
    pub description: Description,
}

impl Stored {
    pub fn data(&self) -> PathBuf {
        self.directory.join("data")
    }
}

/// All datasets of a home and its places, by id.
///
/// # Errors
/// [`ServerError::Io`] if a directory cannot be read.
pub fn list(home: &Home) -> Result<Vec<Stored>, ServerError> {
    let mut all = Vec::new();
    for home in [vec![home.clone()], home.places()?].concat() {
        for name in names(&home)? {
            // What is named otherwise, or is no dataset, is not ours.
            all.extend(find(&home, &name).ok().flatten());
        }
    }
    all.sort_by(|one, other| one.description.id.cmp(&other.description.id));
    Ok(all)
}

/// The dataset `id` of this home or place; none if it is not there as a whole.
///
/// # Errors
/// [`ServerError::Foreign`] for what is not ours; [`ServerError::DatasetName`].
pub fn find(home: &Home, id: &str) -> Result<Option<Stored>, ServerError> {
    let directory = place_of(home, id)?;
    let foreign = |found: String| Err(ServerError::Foreign { path: directory.clone(), found });
    match fs::symlink_metadata(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Ok(facts) if !facts.is_dir() => return foreign("it is a symbolic link or no directory".to_owned()),
        facts => facts.during("look at", &directory)?,
    };
    let described = fs::read_to_string(directory.join(DESCRIPTION)).and_then(|text| Ok(serde_json::from_str(&text)?));
    match described {
        Ok(Description { plimsoll_dataset: FORMAT, .. }) if !directory.join("data").is_dir() => {
            foreign("it has no directory `data`".to_owned())
        }
        Ok(description @ Description { plimsoll_dataset: FORMAT, .. }) => {
            Ok(Some(Stored { home: home.clone(), directory, description }))
        }
        Ok(description) => {
            foreign(format!("its format is {} and this plimsoll knows {FORMAT}", description.plimsoll_dataset))
        }
        Err(error) => foreign(format!("its `{DESCRIPTION}` cannot be read: {error}")),
    }
}

/// The dataset `id` in this home, or else in one of its places.
///
/// # Errors
/// As [`find`]; [`ServerError::NoDataset`].
pub fn find_anywhere(home: &Home, id: &str) -> Result<Stored, ServerError> {
    for home in [vec![home.clone()], home.places()?].concat() {
        if let Some(stored) = find(&home, id)? {
            return Ok(stored);
        }
    }
    Err(ServerError::NoDataset { id: id.to_owned(), home: home.path().to_owned() })
}

/// A dataset that is being made. Dropped before it is finished, it is removed.
#[derive(Debug)]
pub struct Making {
    home: Home,
    id: String,
    half: PathBuf,
    finished: bool,
    _lock: Lock,
}

impl Making {
    /// Begins the dataset `id` in this home or place; what a kill has left of it is removed.
    ///
    /// # Errors
    /// [`ServerError::DatasetExists`]; [`ServerError::DatasetLocked`] while another Plimsoll makes it.
    pub fn begin(home: &Home, id: &str) -> Result<Making, ServerError> {
        let place = place_of(home, id)?;
        real_directory("directory of datasets", &home.datasets(), "move it away")?;
        let lock = lock(home, id)?;
        if fs::symlink_metadata(&place).is_ok() {
            return Err(ServerError::DatasetExists { id: id.to_owned() });
        }
        let half = half_of(&place);
        tree::remove(&half)?;
        DirBuilder::new().mode(0o700).create(&half).during("create", &half)?;
        Ok(Making { home: home.clone(), id: id.to_owned(), half, finished: false, _lock: lock })
    }

    /// The directory in which it is made, for whatever is needed meanwhile.
    pub fn directory(&self) -> &Path {
        &self.half
    }

    /// Where its data directory is to be; it is not there yet. [`tree::copy`] and [`tree::create`] make it so that Btrfs
    /// can take snapshots of it.
    pub fn data(&self) -> PathBuf {
        self.half.join("data")
    }

    /// Names it, once everything is on disk.
    ///
    /// # Errors
    /// [`ServerError::Io`]; it is removed then.
    pub fn finish(mut self, description: &Description) -> Result<Stored, ServerError> {
        let place = place_of(&self.home, &self.id)?;
        write_json(&self.half.join(DESCRIPTION), &Description { id: self.id.clone(), ..description.clone() })?;
        File::open(&self.half).and_then(|half| Ok(syncfs(half)?)).during("write to disk", &self.half)?;
        fs::rename(&self.half, &place).during("rename to", &place)?;
        self.finished = true;
        find(&self.home, &self.id)?
            .ok_or_else(|| ServerError::NoDataset { id: self.id.clone(), home: self.home.path().to_owned() })
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        if !self.finished {
            // What stays is found by `clean`; there is nobody here to tell.
            let _ = tree::remove(&self.half);
        }
    }
}

/// Copies a dataset to another home or place by the fastest way, and proves that the copy is equal; its files' sizes and
/// digests stand in `files.json` beside it. `go_on` is asked many times.
///
/// # Errors
/// As [`Making::begin`], [`tree::copy`] and [`digest::prove`]; nothing is left of the copy.
pub fn duplicate(stored: &Stored, home: &Home, go_on: &mut dyn FnMut() -> bool) -> Result<Stored, ServerError> {
    let making = Making::begin(home, &stored.description.id)?;
    let way = tree::fastest(&stored.data(), making.directory());
    tree::copy(&stored.data(), &making.data(), way, go_on)?;
    let proof = digest::prove(&stored.data(), &making.data(), go_on)?;
    write_json(&making.directory().join(PROOF), &proof)?;
    making.finish(&stored.description)
}

/// Removes the dataset `id` of this home or place.
///
/// # Errors
/// [`ServerError::NoDataset`]; [`ServerError::Foreign`] for what is no dataset of ours; [`ServerError::DatasetLocked`].
pub fn delete(home: &Home, id: &str) -> Result<(), ServerError> {
    let missing = || ServerError::NoDataset { id: id.to_owned(), home: home.path().to_owned() };
    let stored = find(home, id)?.ok_or_else(missing)?;
    let _lock = lock(home, id)?;
    let half = half_of(&stored.directory);
    tree::remove(&half)?;
    // From here on it is not whole any more, and a kill leaves what `clean` removes.
    fs::rename(&stored.directory, &half).during("rename", &stored.directory)?;
    tree::remove(&half)
}

/// Removes what is left in this home or place of datasets whose making or removal was interrupted; those that are being
/// worked on are locked and left alone. Places are asked one by one.
///
/// # Errors
/// [`ServerError::Io`] if the directory of datasets cannot be read or something cannot be removed.
pub fn clean(home: &Home) -> Result<Vec<PathBuf>, ServerError> {
    let mut gone = Vec::new();
    for name in names(home)? {
        let Some(id) = name.strip_suffix(HALF).filter(|id| is_name(id)) else { continue };
        let half = home.datasets().join(&name);
        let _lock = match lock(home, id) {
            Err(ServerError::DatasetLocked { .. }) => continue,
            taken => taken?,
        };
        tree::remove(&half)?;
        gone.push(half);
    }
    Ok(gone)
}

/// Names of what lies in the directory of datasets, sorted.
fn names(home: &Home) -> Result<Vec<String>, ServerError> {
    let directory = home.datasets();
    let entries = match fs::read_dir(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.during("read", &directory)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.during("read", &directory)?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

fn is_name(id: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    id.len() <= 64 && id.starts_with(inner) && id.chars().all(|c| inner(c) || matches!(c, '_' | '-'))
}

fn place_of(home: &Home, id: &str) -> Result<PathBuf, ServerError> {
    match is_name(id) {
        true => Ok(home.datasets().join(id)),
        false => Err(ServerError::DatasetName { id: id.chars().filter(|c| !c.is_control()).collect() }),
    }
}

fn half_of(place: &Path) -> PathBuf {
    place.with_extension(&HALF[1..])
}

fn lock(home: &Home, id: &str) -> Result<Lock, ServerError> {
    let taken = Lock::try_take(&home.datasets().join(format!("{id}.lock")), "a dataset")?;
    taken.ok_or_else(|| ServerError::DatasetLocked { id: id.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Flavour;

    fn home() -> (tempfile::TempDir, Home) {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::resolve(|name| (name == "PLIMSOLL_HOME").then(|| directory.path().into())).unwrap();
        (directory, home)
    }

    fn description(id: &str) -> Description {
        let build = Build { flavour: Flavour::MariaDb, version: "10.11.6".to_owned(), binary: "/mariadbd".into() };
        Description {
            plimsoll_dataset: FORMAT,
            id: id.to_owned(),
            build,
            fixed: BTreeMap::new(),
            contents: Vec::new(),
            checksums: BTreeMap::new(),
            bytes: 3,
            made: "2026-01-01T00:00:00Z".to_owned(),
            origin: "built".to_owned(),
        }
    }

    fn make(home: &Home, id: &str) -> Stored {
        let making = Making::begin(home, id).unwrap();
        tree::create(&making.data()).unwrap();
        fs::create_dir(making.data().join("db")).unwrap();
        fs::write(making.data().join("db/t.ibd"), "row").unwrap();
        making.finish(&description(id)).unwrap()
    }

    #[test]
    fn a_dataset_is_made_found_and_deleted() {
        let (_directory, home) = home();
        assert_eq!((find(&home, "monday").unwrap(), list(&home).unwrap()), (None, Vec::new()));
        let stored = make(&home, "monday");
        assert_eq!(find(&home, "monday").unwrap().as_ref(), Some(&stored));
        assert_eq!(list(&home).unwrap(), [stored]);
        assert!(matches!(Making::begin(&home, "monday"), Err(ServerError::DatasetExists { .. })));
        delete(&home, "monday").unwrap();
        assert!(matches!(delete(&home, "monday"), Err(ServerError::NoDataset { .. })));
        assert!(list(&home).unwrap().is_empty());
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let (_directory, home) = home();
        for id in ["", "../x", "a/b", "monday.half", "Monday", "-x"] {
            assert!(matches!(find(&home, id), Err(ServerError::DatasetName { .. })), "{id}");
        }
    }

    #[test]
    fn what_is_half_made_is_no_dataset_and_goes_once_nobody_works_on_it() {
        let (_directory, home) = home();
        let making = Making::begin(&home, "monday").unwrap();
        assert!(list(&home).unwrap().is_empty() && clean(&home).unwrap().is_empty());
        assert!(matches!(Making::begin(&home, "monday"), Err(ServerError::DatasetLocked { .. })));
        drop(making);
        assert!(!home.datasets().join("monday.half").exists());
        // As a kill leaves it.
        fs::create_dir_all(home.datasets().join("monday.half/data")).unwrap();
        assert_eq!(clean(&home).unwrap(), [home.datasets().join("monday.half")]);
        assert!(!home.datasets().join("monday.half").exists());
    }

    #[test]
    fn what_others_have_put_there_is_not_ours() {
        let (_directory, home) = home();
        fs::create_dir_all(home.datasets().join("theirs/data")).unwrap();
        fs::write(home.datasets().join("notes.half"), "").unwrap();
        assert!(matches!(find(&home, "theirs"), Err(ServerError::Foreign { .. })));
        assert!(delete(&home, "theirs").is_err() && list(&home).unwrap().is_empty());
        assert!(home.datasets().join("theirs/data").exists());
        std::os::unix::fs::symlink(home.path(), home.datasets().join("link")).unwrap();
        assert!(matches!(find(&home, "link"), Err(ServerError::Foreign { .. })));
    }

    #[test]
    fn a_duplicate_is_proved_equal_and_both_are_listed() {
        let (_directory, home) = home();
        let elsewhere = tempfile::tempdir().unwrap();
        let place = home.below(elsewhere.path()).unwrap();
        let original = make(&home, "monday");
        let copy = duplicate(&original, &place, &mut || true).unwrap();
        assert_eq!((&copy.description, copy.home.path()), (&original.description, place.path()));
        assert!(fs::read_to_string(copy.directory.join(PROOF)).unwrap().contains("db/t.ibd"));
        assert_eq!(list(&home).unwrap().len(), 2);
        assert_eq!(find_anywhere(&home, "monday").unwrap(), original);
        delete(&place, "monday").unwrap();
        let stopped = duplicate(&original, &place, &mut || false);
        assert!(matches!(stopped, Err(ServerError::Interrupted { .. })), "{stopped:?}");
        assert!(!place.datasets().join("monday.half").exists());
    }
}
