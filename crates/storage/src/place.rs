//! The directory that an evaluation works in. It is created below the directory that is evaluated, and removed with all
//! files in it at the end, after Ctrl-C, and by `plimsoll clean` after a kill.
//!
//! ```text
//! <home>/io/<hex>.json         the journal: where, and who made it; written before anything is made
//! DIR/plimsoll-io-<hex>/       mode 0700
//!   plimsoll-io-<hex>.lock     the marker that the directory is Plimsoll's; flock, held while we live
//! ```

use crate::error::{DuringStorage, StorageError};
use crate::layout::FileLayout;
use plimsoll_host::lock::try_lock;
use plimsoll_host::process::Identity;
use plimsoll_host::replace::replace;
use plimsoll_host::{owner, remove};
use plimsoll_load::seed::Rng;
use rustix::fs::{FlockOperation, OFlags, StatVfsMountFlags, flock};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

const PREFIX: &str = "plimsoll-io-";

/// A directory of our own below the one that is evaluated. Removed when dropped, unless kept.
#[derive(Debug)]
pub struct EvaluationDirectory {
    path: PathBuf,
    journal: PathBuf,
    keep: bool,
    layouts: Mutex<BTreeMap<String, FileLayout>>,
    /// The kernel releases it when we end, however that happens.
    _lock: File,
}

impl EvaluationDirectory {
    /// Makes `DIR/plimsoll-io-<hex>`, locked while we live, after noting it in the journal `<home>/io/`.
    ///
    /// # Errors
    /// [`StorageError::Refused`] if `directory` is not a directory or not writable; [`StorageError::Io`] if the journal
    /// cannot be written. Then nothing is left behind.
    pub fn create(home: &Path, directory: &Path) -> Result<EvaluationDirectory, StorageError> {
        let directory = validated(directory)?;
        let name = fresh_name();
        let path = directory.join(format!("{PREFIX}{name}"));
        let journal = journals(home).join(format!("{name}.json"));
        note(&journal, &Entry { path: path.clone(), owner: Identity::of_this_process().during("identify", &path)? })?;
        match make(&path) {
            Ok(lock) => Ok(EvaluationDirectory { path, journal, keep: false, layouts: Mutex::default(), _lock: lock }),
            Err(error) => {
                let _ = fs::remove_file(&journal);
                Err(StorageError::Refused(unusable(&directory, &error)))
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the files when dropped (`--keep`).
    pub fn keep(&mut self) {
        self.keep = true;
    }

    fn layouts(&self) -> MutexGuard<'_, BTreeMap<String, FileLayout>> {
        self.layouts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last layout of this name, if its files still exist.
    pub(crate) fn laid_out(&self, name: &str) -> Option<FileLayout> {
        self.layouts().get(name).cloned()
    }

    pub(crate) fn note_layout(&self, layout: &FileLayout) {
        self.layouts().insert(layout.name.clone(), layout.clone());
    }

    pub(crate) fn forget_layout(&self, name: &str) -> Option<FileLayout> {
        self.layouts().remove(name)
    }
}

impl Drop for EvaluationDirectory {
    /// What cannot be removed stays in the journal, for `plimsoll clean`.
    fn drop(&mut self) {
        if self.keep || remove::tree(&self.path).is_ok() {
            let _ = fs::remove_file(&self.journal);
        }
    }
}

/// The directory's canonical path, if an evaluation can work below it.
fn validated(directory: &Path) -> Result<PathBuf, StorageError> {
    let refuse = |why: &str| Err(StorageError::Refused(format!("{} {why}", directory.display())));
    let facts = match fs::metadata(directory) {
        Ok(facts) => facts,
        Err(error) => return Err(StorageError::Refused(unusable(directory, &error))),
    };
    if facts.file_type().is_block_device() {
        return refuse("is a device, and devices are never written to: name a directory on a file system on it");
    }
    if !facts.is_dir() {
        return refuse("is not a directory: name the directory whose storage is to be evaluated");
    }
    let mounted = rustix::fs::statvfs(directory).during("examine the file system of", directory)?;
    if mounted.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return refuse("is on a file system that is mounted read-only: mount it writable, or name another directory");
    }
    directory.canonicalize().during("resolve", directory)
}

/// Why a directory cannot be used, and what to do about it.
fn unusable(directory: &Path, error: &io::Error) -> String {
    let what = directory.display();
    match error.kind() {
        io::ErrorKind::NotFound => format!("{what} does not exist: create it, or mount what belongs there"),
        io::ErrorKind::PermissionDenied => format!("{what} is not writable by this user: name a directory that is"),
        io::ErrorKind::ReadOnlyFilesystem => format!("{what} is on a file system that has become read-only"),
        io::ErrorKind::StorageFull => format!(
            "{what} is on a full file system: free some space, or name another \
                                               directory"
        ),
        _ => format!("{what} cannot be used: {error}"),
    }
}

/// 16 hexadecimal digits that were never used before, from process and time.
pub fn fresh_name() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:016x}", Rng::new(now.as_secs(), now.subsec_nanos().into(), std::process::id().into()).next_u64())
}

/// The directory with its marker, locked.
fn make(path: &Path) -> io::Result<File> {
    DirBuilder::new().mode(0o700).create(path)?;
    let marked = OpenOptions::new().write(true).create_new(true).mode(0o600).open(marker(path));
    let locked = marked.and_then(|file| Ok(flock(&file, FlockOperation::NonBlockingLockExclusive).map(|()| file)?));
    locked.inspect_err(|_| drop(remove::tree(path)))
}

/// The marker is named after its directory, so it only has to exist.
fn marker(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    path.join(name)
}

/// A line of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    path: PathBuf,
    #[serde(flatten)]
    owner: Identity,
}

fn journals(home: &Path) -> PathBuf {
    home.join("io")
}

/// Writes an entry atomically.
fn note(journal: &Path, entry: &Entry) -> Result<(), StorageError> {
    let text = serde_json::to_vec_pretty(entry).map_err(io::Error::from).during("describe", journal)?;
    let directory = journal.parent().unwrap_or(journal);
    DirBuilder::new().recursive(true).mode(0o700).create(directory).during("create", directory)?;
    owner::check(directory)?;
    Ok(replace(journal, &text)?)
}

/// Removes what killed evaluations left behind, by the journal in `<home>/io/`. Returns the removed paths, and what was
/// left alone and why.
///
/// # Errors
/// [`StorageError::Io`] if the journal cannot be read; a problem with one directory is listed, not returned.
pub fn clean(home: &Path) -> Result<(Vec<PathBuf>, Vec<StorageError>), StorageError> {
    let directory = journals(home);
    let entries = match fs::read_dir(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), Vec::new())),
        entries => entries.during("read", &directory)?,
    };
    if let Err(error) = owner::check(&directory) {
        return Ok((Vec::new(), vec![error.into()]));
    }
    let mut journals = Vec::new();
    for entry in entries {
        journals.push(entry.during("read", &directory)?.path());
    }
    journals.sort();
    let (mut removed, mut left) = (Vec::new(), Vec::new());
    for journal in journals {
        match clean_one(&journal) {
            Ok(path) => removed.extend(path),
            Err(error) => left.push(error),
        }
    }
    Ok((removed, left))
}

/// Removes one directory and its entry; `None` if the entry was all there was.
fn clean_one(journal: &Path) -> Result<Option<PathBuf>, StorageError> {
    let removed = match journal.extension().is_some_and(|extension| extension == "new") {
        // Its writer was killed before it created anything.
        true => None,
        false => {
            let entry = read_entry(journal)?;
            remove_leftover(&entry)?.then_some(entry.path)
        }
    };
    fs::remove_file(journal).during("remove", journal)?;
    Ok(removed)
}

/// An entry that names only what Plimsoll creates: `<hex>.json` for `plimsoll-io-<hex>`.
fn read_entry(journal: &Path) -> Result<Entry, StorageError> {
    let alone = |why: String| StorageError::LeftAlone { path: journal.to_owned(), why };
    owner::itself(journal)?;
    let text = fs::read(journal).during("read", journal)?;
    let entry: Entry =
        serde_json::from_slice(&text).map_err(|error| alone(format!("it is not a journal entry ({error})")))?;
    let expected = journal.file_stem().map(|name| format!("{PREFIX}{}", name.to_string_lossy()));
    match entry.path.is_absolute() && entry.path.file_name().and_then(|name| name.to_str()) == expected.as_deref() {
        true => Ok(entry),
        false => Err(alone(format!("it names {}, which no evaluation creates", entry.path.display()))),
    }
}

/// Removes the directory of a dead process; false if there is none.
fn remove_leftover(entry: &Entry) -> Result<bool, StorageError> {
    let path = &entry.path;
    let alone = |why: String| Err(StorageError::LeftAlone { path: path.clone(), why });
    if entry.owner.is_alive() {
        return alone(format!("the evaluation of process {} is using it", entry.owner.pid));
    }
    let facts = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        facts => facts.during("look at", path)?,
    };
    if !facts.is_dir() {
        return alone("it is a link or a file, but was created as a directory".to_owned());
    }
    owner::itself(path)?;
    if path.canonicalize().during("resolve", path)? != *path {
        return alone("its path leads through a link that was not there when it was created".to_owned());
    }
    match is_locked(path)? {
        Some(true) => alone("an evaluation is using it: its lock is held".to_owned()),
        Some(false) => Ok(remove::tree(path)?),
        // Its creator was killed before it could write its marker; then it is empty.
        None => match fs::remove_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                alone("it does not contain the marker of an evaluation".to_owned())
            }
            removed => removed.during("remove", path).map(|()| true),
        },
    }
}

/// Whether somebody holds the lock of a directory; `None` without a marker.
fn is_locked(path: &Path) -> Result<Option<bool>, StorageError> {
    let marker = marker(path);
    let no_follow = OFlags::NOFOLLOW.bits() as i32;
    let file = match OpenOptions::new().write(true).custom_flags(no_follow).open(&marker) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.during("open", &marker)?,
    };
    let is_free = try_lock(&file, FlockOperation::NonBlockingLockExclusive).during("lock", &marker)?;
    Ok(Some(!is_free))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    struct Fixture {
        _root: tempfile::TempDir,
        home: PathBuf,
        directory: PathBuf,
    }

    impl Fixture {
        fn new() -> Fixture {
            let root = tempfile::tempdir().unwrap();
            let base = root.path().canonicalize().unwrap();
            let (home, directory) = (base.join("home"), base.join("data"));
            fs::create_dir(&directory).unwrap();
            Fixture { _root: root, home, directory }
        }

        /// The journal of an evaluation whose process is gone; nothing else of it.
        fn leftover(&self) -> PathBuf {
            let path = self.directory.join("plimsoll-io-00000000000000ff");
            let owner = Identity { boot_id: "another boot".to_owned(), ..Identity::of_this_process().unwrap() };
            note(&journals(&self.home).join("00000000000000ff.json"), &Entry { path: path.clone(), owner }).unwrap();
            path
        }

        fn journal_entries(&self) -> usize {
            fs::read_dir(journals(&self.home)).map_or(0, |entries| entries.count())
        }

        /// What is left alone, in words; nothing may have been removed.
        fn left_alone(&self) -> String {
            let (removed, left) = clean(&self.home).unwrap();
            assert!(removed.is_empty(), "{removed:?}");
            assert_eq!((left.len(), self.journal_entries()), (1, 1), "{left:?}");
            left[0].to_string()
        }
    }

    #[test]
    fn a_place_goes_with_its_files_and_its_journal() {
        let fixture = Fixture::new();
        let place = EvaluationDirectory::create(&fixture.home, &fixture.directory).unwrap();
        assert_eq!(fs::metadata(place.path()).unwrap().mode() & 0o777, 0o700);
        assert_eq!((place.path().parent().unwrap(), fixture.journal_entries()), (fixture.directory.as_path(), 1));
        fs::write(place.path().join("data.0"), b"something").unwrap();
        drop(place);
        assert_eq!((fs::read_dir(&fixture.directory).unwrap().count(), fixture.journal_entries()), (0, 0));
    }

    #[test]
    fn a_kept_place_stays_and_is_not_cleaned() {
        let fixture = Fixture::new();
        let mut place = EvaluationDirectory::create(&fixture.home, &fixture.directory).unwrap();
        place.keep();
        let path = place.path().to_owned();
        drop(place);
        assert_eq!(clean(&fixture.home).unwrap().0, Vec::<PathBuf>::new());
        assert!(path.is_dir());
    }

    #[test]
    fn what_is_no_writable_directory_is_refused_with_the_reason() {
        let fixture = Fixture::new();
        let file = fixture.directory.join("file");
        fs::write(&file, b"").unwrap();
        let cases = [(file, "is not a directory"), (fixture.directory.join("gone"), "does not exist")];
        let pseudo = (PathBuf::from("/proc"), "/proc");
        for (path, expected) in cases.into_iter().chain([pseudo]) {
            let error = EvaluationDirectory::create(&fixture.home, &path).unwrap_err();
            assert!(matches!(error, StorageError::Refused(_)), "{error:?}");
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(fixture.journal_entries(), 0);
        }
    }

    #[test]
    fn a_live_place_is_left_alone_by_its_owner_and_by_its_lock() {
        let fixture = Fixture::new();
        let place = EvaluationDirectory::create(&fixture.home, &fixture.directory).unwrap();
        assert!(fixture.left_alone().contains(&format!("process {}", std::process::id())));
        // Seen from another boot, or another container, only the lock tells.
        let owner = Identity { boot_id: "another boot".to_owned(), ..Identity::of_this_process().unwrap() };
        note(&place.journal, &Entry { path: place.path().to_owned(), owner }).unwrap();
        assert!(fixture.left_alone().contains("its lock is held"));
        assert!(place.path().is_dir());
    }

    #[test]
    fn what_a_dead_process_left_is_removed_whenever_it_died() {
        for stage in 0..4 {
            let fixture = Fixture::new();
            let path = fixture.leftover();
            if stage > 0 {
                fs::create_dir(&path).unwrap();
            }
            if stage > 1 {
                fs::write(marker(&path), b"").unwrap();
            }
            if stage > 2 {
                symlink(&fixture.home, path.join("link")).unwrap();
                fs::write(path.join("data.0"), b"something").unwrap();
            }
            let (removed, left) = clean(&fixture.home).unwrap();
            assert!(left.is_empty(), "{left:?}");
            assert_eq!(removed, if stage > 0 { vec![path.clone()] } else { Vec::new() });
            assert!(!path.exists() && fixture.home.is_dir() && fixture.journal_entries() == 0);
        }
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let fixture = Fixture::new();
        let path = fixture.leftover();
        let precious = fixture.home.join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("plimsoll-io-00000000000000ff.lock"), b"").unwrap();
        symlink(&precious, &path).unwrap();
        assert!(fixture.left_alone().contains("it is a link"));
        assert!(precious.join("plimsoll-io-00000000000000ff.lock").exists());
    }

    #[test]
    fn a_link_above_it_is_not_followed() {
        let fixture = Fixture::new();
        let path = fixture.leftover();
        let elsewhere = fixture.home.join("elsewhere");
        fs::rename(&fixture.directory, &elsewhere).unwrap();
        symlink(&elsewhere, &fixture.directory).unwrap();
        fs::create_dir(&path).unwrap();
        fs::write(marker(&path), b"").unwrap();
        assert!(fixture.left_alone().contains("leads through a link"));
        assert!(marker(&path).exists());
    }

    #[test]
    fn a_foreign_directory_of_the_same_name_is_left_alone() {
        let fixture = Fixture::new();
        let path = fixture.leftover();
        fs::create_dir(&path).unwrap();
        fs::write(path.join("letter"), b"dear").unwrap();
        assert!(fixture.left_alone().contains("not contain the marker"));
        assert!(path.join("letter").exists());
    }

    #[test]
    fn an_entry_that_names_something_else_removes_nothing() {
        let fixture = Fixture::new();
        let path = fixture.directory.join("precious");
        fs::create_dir(&path).unwrap();
        let owner = Identity { boot_id: "another boot".to_owned(), ..Identity::of_this_process().unwrap() };
        note(&journals(&fixture.home).join("ff.json"), &Entry { path: path.clone(), owner }).unwrap();
        assert!(fixture.left_alone().contains("which no evaluation creates"));
        assert!(path.is_dir());
    }
}
