//! The store of datasets: `<home or place>/datasets/<id>/` with `dataset.json` and `data/`.
//!
//! A dataset that is being created or removed is called `<id>.half`, and whoever does it holds the lock `<id>.lock`. So
//! a directory without that ending is complete, and [`clean`] removes what a kill left. Readers of a dataset share its
//! lock.

use super::{
    digest,
    tree::{self, Way},
};
use crate::ServerError;
use crate::directory::write_json;
use crate::error::DuringServer;
use plimsoll_host::home::real_directory;
use plimsoll_host::lock::Lock;
use plimsoll_host::owner;
use plimsoll_host::remove::must_hold_no_mount;
use plimsoll_host::replace::rename;
use plimsoll_host::{Home, HostError};
use plimsoll_model::text::escaped;
use plimsoll_model::{Build, NamedScalars};
use rustix::fs::syncfs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const FORMAT: u32 = 1;
const DESCRIPTION: &str = "dataset.json";
/// Size and digest of every file of a verified copy.
const PROOF: &str = "files.json";
const HALF: &str = ".half";
const DATASETS: &str = "directory of datasets";
const LOCK: &str = ".lock";
/// The origin of a dataset that was built, not saved.
pub const BUILT: &str = "built";

/// `dataset.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredDescription {
    /// Version of this format: 1.
    pub plimsoll_dataset: u32,
    /// Name of its directory: for one that a lab built, a digest of everything that decides the data; for a saved one,
    /// the name that it was given.
    pub id: String,
    pub build: Build,
    /// Settings that are fixed when the data are made.
    pub fixed: BTreeMap<String, String>,
    /// Families of workloads with their parameters and seed; a saved one may have several.
    pub contents: Vec<StoredContent>,
    /// Checksums of the tables (CHECKSUM TABLE) by `database.table`.
    pub checksums: BTreeMap<String, String>,
    /// Sum of the sizes of all files.
    pub bytes: u64,
    /// RFC 3339, UTC.
    pub made: String,
    /// [`BUILT`], or how it was saved: `reflink`, `btrfs-snapshot`, `clone`, `mariadb-backup`.
    pub origin: String,
}

/// What a workload loaded into it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredContent {
    pub database: String,
    pub family: String,
    pub parameters: NamedScalars,
    pub seed: u64,
}

/// A complete dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The home or place that holds it.
    pub home: Home,
    pub directory: PathBuf,
    pub description: StoredDescription,
}

impl Stored {
    pub fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// Keeps it from being removed until the lock is dropped; others may read it meanwhile.
    ///
    /// # Errors
    /// [`ServerError::DatasetLocked`] while it is being removed; [`ServerError::NoDataset`] if it is gone.
    pub fn lock_for_reading(&self) -> Result<Lock, ServerError> {
        let (home, id) = (&self.home, &self.description.id);
        let lock = had(home, id, Lock::try_share(&lock_of(home, id), "a Plimsoll that is copying it")?)?;
        match find(home, id)? {
            Some(_) => Ok(lock),
            None => Err(missing(home, id)),
        }
    }
}

/// All datasets of a home and its places, by id.
///
/// # Errors
/// [`HostError::Io`] if a directory cannot be read.
pub fn list(home: &Home) -> Result<Vec<Stored>, ServerError> {
    let mut all = Vec::new();
    for home in home.with_places()? {
        for name in names(&home)? {
            // What has another name, or is not a dataset, is not ours.
            all.extend(find(&home, &name).ok().flatten());
        }
    }
    all.sort_by(|one, other| one.description.id.cmp(&other.description.id));
    Ok(all)
}

/// The dataset `id` of this home or place; none if there is no complete one.
///
/// # Errors
/// [`ServerError::Foreign`] for what is not ours; [`ServerError::DatasetName`].
pub fn find(home: &Home, id: &str) -> Result<Option<Stored>, ServerError> {
    let directory = place_of(home, id)?;
    let foreign = |found: String| Err(ServerError::Foreign { path: directory.clone(), found });
    match fs::symlink_metadata(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Ok(facts) if !facts.is_dir() => return foreign("it is a symbolic link or not a directory".to_owned()),
        facts => facts.during("look at", &directory)?,
    };
    owner::itself(&directory).map_err(HostError::ours("dataset", "remove it"))?;
    let described = fs::read_to_string(directory.join(DESCRIPTION)).and_then(|text| Ok(serde_json::from_str(&text)?));
    match described {
        Ok(StoredDescription { plimsoll_dataset: FORMAT, .. }) if !directory.join("data").is_dir() => {
            foreign("it has no directory `data`".to_owned())
        }
        Ok(description @ StoredDescription { plimsoll_dataset: FORMAT, .. }) => {
            Ok(Some(Stored { home: home.clone(), directory, description }))
        }
        Ok(description) => {
            foreign(format!("its format is {}, and this Plimsoll knows {FORMAT}", description.plimsoll_dataset))
        }
        Err(error) => foreign(format!("its `{DESCRIPTION}` cannot be read: {error}")),
    }
}

/// The dataset `id` in this home, or else in one of its places.
///
/// # Errors
/// As [`find`]; [`ServerError::NoDataset`].
pub fn find_anywhere(home: &Home, id: &str) -> Result<Stored, ServerError> {
    for home in home.with_places()? {
        if let Some(stored) = find(&home, id)? {
            return Ok(stored);
        }
    }
    Err(missing(home, id))
}

fn missing(home: &Home, id: &str) -> ServerError {
    ServerError::NoDataset { id: id.to_owned(), home: home.path().to_owned() }
}

/// A dataset that is being created. If dropped before it is finished, it is removed.
#[derive(Debug)]
pub struct Making {
    home: Home,
    id: String,
    half: PathBuf,
    finished: bool,
    _lock: Lock,
}

impl Making {
    /// Begins the dataset `id` in this home or place; what a kill left of it is removed.
    ///
    /// # Errors
    /// [`ServerError::DatasetExists`]; [`ServerError::DatasetLocked`] while another Plimsoll makes it.
    pub fn begin(home: &Home, id: &str) -> Result<Making, ServerError> {
        let place = place_of(home, id)?;
        real_directory(DATASETS, &home.datasets(), "move it away")?;
        let lock = lock(home, id, "a Plimsoll that is creating it")?;
        if fs::symlink_metadata(&place).is_ok() {
            return Err(ServerError::DatasetExists { id: id.to_owned() });
        }
        let half = half_of(&place);
        tree::remove(&half)?;
        DirBuilder::new().mode(0o700).create(&half).during("create", &half)?;
        Ok(Making { home: home.clone(), id: id.to_owned(), half, finished: false, _lock: lock })
    }

    /// The directory in which it is created, for whatever is needed meanwhile.
    pub fn directory(&self) -> &Path {
        &self.half
    }

    /// The path of its data directory, which does not exist yet. [`tree::copy`] and [`tree::create`] create it so that
    /// Btrfs can take snapshots of it.
    pub fn data(&self) -> PathBuf {
        self.half.join("data")
    }

    /// Gives it its name once everything is on disk.
    ///
    /// # Errors
    /// [`HostError::Io`]; it is removed then.
    pub fn finish(mut self, description: &StoredDescription) -> Result<Stored, ServerError> {
        let place = place_of(&self.home, &self.id)?;
        write_json(&self.half.join(DESCRIPTION), &StoredDescription { id: self.id.clone(), ..description.clone() })?;
        File::open(&self.half).and_then(|half| Ok(syncfs(half)?)).during("write to disk", &self.half)?;
        rename(&self.half, &place).during("rename to", &place)?;
        self.finished = true;
        find(&self.home, &self.id)?.ok_or_else(|| missing(&self.home, &self.id))
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        if !self.finished {
            // `clean` finds what stays; there is nobody here to tell.
            let _ = tree::remove(&self.half).and_then(|()| forget_lock(&self.home, &self.id));
        }
    }
}

/// Copies a dataset to another home or place in the fastest way, and verifies the copy; sizes and digests of its files
/// are in `files.json` beside it. Also returns the way; `go_on` is asked many times.
///
/// # Errors
/// As [`Stored::lock_for_reading`], [`Making::begin`], [`tree::copy`] and [`digest::prove`]; nothing is left of the
/// copy.
pub fn duplicate(stored: &Stored, home: &Home, go_on: &mut dyn FnMut() -> bool) -> Result<(Stored, Way), ServerError> {
    let _reading = stored.lock_for_reading()?;
    let making = Making::begin(home, &stored.description.id)?;
    let way = tree::fastest(&stored.data(), making.directory());
    tree::copy(&stored.data(), &making.data(), way, go_on)?;
    let proof = digest::prove(&stored.data(), &making.data(), go_on)?;
    write_json(&making.directory().join(PROOF), &proof)?;
    Ok((making.finish(&stored.description)?, way))
}

/// Removes the dataset `id` of this home or place.
///
/// # Errors
/// [`ServerError::NoDataset`]; [`ServerError::Foreign`] for what is not a dataset of ours;
/// [`ServerError::DatasetLocked`] names its reader; [`ServerError::Mounted`] if something is mounted below it, and then
/// it is still complete.
pub fn delete(home: &Home, id: &str) -> Result<(), ServerError> {
    let stored = find(home, id)?.ok_or_else(|| missing(home, id))?;
    let _lock = lock(home, id, "a Plimsoll that is removing it")?;
    must_hold_no_mount(&stored.directory)?;
    let half = half_of(&stored.directory);
    tree::remove(&half)?;
    // From here on it is incomplete, and after a kill `clean` removes it.
    rename(&stored.directory, &half).during("rename", &stored.directory)?;
    tree::remove(&half)?;
    forget_lock(home, id)
}

/// Removes the remains in this home or place of datasets whose creation or removal was interrupted. Returns what was
/// removed, and what was left alone and why. Datasets that are being worked on are locked and skipped. Places are
/// cleaned one by one.
pub fn clean(home: &Home) -> (Vec<PathBuf>, Vec<ServerError>) {
    let (mut gone, mut left) = (Vec::new(), Vec::new());
    let names = names(home).unwrap_or_else(|error| {
        left.push(error);
        Vec::new()
    });
    for name in names {
        let id = name.strip_suffix(HALF).or_else(|| name.strip_suffix(LOCK)).filter(|id| is_name(id));
        match id.map(|id| clean_one(home, id)) {
            Some(Ok(half)) => gone.extend(half),
            Some(Err(error)) => left.push(error),
            None => {}
        }
    }
    (gone, left)
}

/// Removes an incomplete dataset, if there is one, and the lock, unless it is held.
fn clean_one(home: &Home, id: &str) -> Result<Option<PathBuf>, ServerError> {
    let _lock = match lock(home, id, "plimsoll clean") {
        Err(ServerError::DatasetLocked { .. }) => return Ok(None),
        taken => taken?,
    };
    let half = half_of(&place_of(home, id)?);
    let was_there = fs::symlink_metadata(&half).is_ok();
    let removed = tree::remove(&half);
    forget_lock(home, id)?;
    removed.map(|()| was_there.then_some(half))
}

/// Names of what is in the directory of datasets, sorted.
fn names(home: &Home) -> Result<Vec<String>, ServerError> {
    let directory = home.datasets();
    home.must_own(DATASETS, &directory)?;
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
    if !is_name(id) {
        return Err(ServerError::DatasetName { id: escaped(id) });
    }
    home.must_own(DATASETS, &home.datasets())?;
    Ok(home.datasets().join(id))
}

fn half_of(place: &Path) -> PathBuf {
    place.with_extension(&HALF[1..])
}

fn lock_of(home: &Home, id: &str) -> PathBuf {
    home.datasets().join(format!("{id}{LOCK}"))
}

/// Removes the file of a lock that we hold; whoever opened it meanwhile sees that it is gone.
fn forget_lock(home: &Home, id: &str) -> Result<(), ServerError> {
    let path = lock_of(home, id);
    fs::remove_file(&path).during("remove", &path)
}

fn lock(home: &Home, id: &str, holder: &str) -> Result<Lock, ServerError> {
    had(home, id, Lock::try_take(&lock_of(home, id), holder)?)
}

fn had(home: &Home, id: &str, lock: Option<Lock>) -> Result<Lock, ServerError> {
    lock.ok_or_else(|| ServerError::DatasetLocked { id: id.to_owned(), holder: Lock::holder(&lock_of(home, id)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Flavour;

    /// A home of a test's own, which goes with the directory.
    fn home() -> (tempfile::TempDir, Home) {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::resolve(|name| (name == "PLIMSOLL_HOME").then(|| directory.path().into())).unwrap();
        (directory, home)
    }

    fn description(id: &str) -> StoredDescription {
        let build = Build { flavour: Flavour::MariaDb, version: "10.11.6".to_owned(), binary: "/mariadbd".into() };
        StoredDescription {
            plimsoll_dataset: FORMAT,
            id: id.to_owned(),
            build,
            fixed: BTreeMap::new(),
            contents: Vec::new(),
            checksums: BTreeMap::new(),
            bytes: 3,
            made: "2026-01-01T00:00:00Z".to_owned(),
            origin: BUILT.to_owned(),
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
        assert_eq!(fs::read_dir(home.datasets()).unwrap().count(), 0, "nor is there a lock");
        assert!(matches!(delete(&home, "monday"), Err(ServerError::NoDataset { .. })));
        assert!(list(&home).unwrap().is_empty());
    }

    #[test]
    fn a_dataset_stays_while_somebody_reads_it() {
        let (_directory, home) = home();
        let stored = make(&home, "monday");
        let readers = [stored.lock_for_reading().unwrap(), stored.lock_for_reading().unwrap()];
        let refused = delete(&home, "monday").unwrap_err().to_string();
        assert!(
            refused.contains("that is copying it") && refused.contains(&std::process::id().to_string()),
            "{refused}"
        );
        drop(readers);
        delete(&home, "monday").unwrap();
        assert!(matches!(stored.lock_for_reading(), Err(ServerError::NoDataset { .. })));
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
        assert!(list(&home).unwrap().is_empty() && clean(&home).0.is_empty());
        assert!(matches!(Making::begin(&home, "monday"), Err(ServerError::DatasetLocked { .. })));
        drop(making);
        assert!(!home.datasets().join("monday.half").exists());
        // As a kill leaves it.
        fs::create_dir_all(home.datasets().join("monday.half/data")).unwrap();
        assert_eq!(clean(&home).0, [home.datasets().join("monday.half")]);
        assert_eq!(fs::read_dir(home.datasets()).unwrap().count(), 0, "nor is there a lock");
    }

    #[test]
    fn what_others_have_put_there_is_not_ours() {
        let (_directory, home) = home();
        fs::create_dir_all(home.datasets().join("theirs/data")).unwrap();
        fs::write(home.datasets().join("notes.half"), "").unwrap();
        assert!(matches!(find(&home, "theirs"), Err(ServerError::Foreign { .. })));
        assert!(delete(&home, "theirs").is_err() && list(&home).unwrap().is_empty());
        assert!(home.datasets().join("theirs/data").exists());
        fs::create_dir_all(home.datasets().join("z.half")).unwrap();
        let (gone, left) = clean(&home);
        assert_eq!(gone, [home.datasets().join("z.half")], "what is not ours does not end it");
        assert!(matches!(left.as_slice(), [ServerError::Foreign { .. }]), "{left:?}");
        std::os::unix::fs::symlink(home.path(), home.datasets().join("link")).unwrap();
        assert!(matches!(find(&home, "link"), Err(ServerError::Foreign { .. })));
    }

    #[test]
    fn a_duplicate_is_proved_equal_and_both_are_listed() {
        let (_directory, home) = home();
        let elsewhere = tempfile::tempdir().unwrap();
        let place = home.below(elsewhere.path()).unwrap();
        let original = make(&home, "monday");
        let (copy, _) = duplicate(&original, &place, &mut || true).unwrap();
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
