//! Places: parts of a home on other storage, below a directory that the user named.
//!
//! A place is a [`Home`] of its own, `DIR/plimsoll-<hash of the home>/`, with servers, datasets and log files in it. It
//! is noted in `<home>/places/` before it is created, so that listing or cleaning the home finds what is there. The
//! note also names the file system: if a place is missing, it may have been removed, or its disk is not mounted.

use crate::Home;
use crate::error::{During, HostError};
use crate::fingerprint::fingerprint;
use crate::home::real_directory;
use crate::owner;
use crate::replace::{is_begun_for_any, replace};
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const NOTES: &str = "directory of notes on places";
const REMEDY: &str = "name a directory that this user can write to";

/// A home's note on one of its places.
#[derive(PartialEq, Eq)]
struct Note {
    file: PathBuf,
    /// Id of its file system, statvfs(3).
    filesystem: u64,
    root: PathBuf,
}

impl Home {
    /// The place of this home below `directory`, created and noted if it does not exist.
    ///
    /// # Errors
    /// [`HostError::Place`] if `directory` is not a directory, what is there is not ours, or the disk of an earlier
    /// place there is not mounted; [`HostError::Io`].
    pub fn below(&self, directory: &Path) -> Result<Home, HostError> {
        let place = self.place_below(directory)?;
        let _lock = self.lock_places()?;
        let note = Note {
            file: self.places_directory().join(format!("{:016x}", fingerprint([place.path().as_os_str().as_bytes()]))),
            filesystem: filesystem_of(place.path())?,
            root: place.path().to_owned(),
        };
        match Note::read(&note.file)? {
            Some(earlier) if earlier == note => {}
            Some(earlier) if !self.is_around(&earlier) && earlier.is_unmounted()? => return Err(not_mounted(&earlier)),
            _ => note.write()?,
        }
        real_directory("storage path", place.path(), REMEDY)?;
        Ok(place)
    }

    /// This home and all its places that exist now.
    ///
    /// # Errors
    /// As [`Home::places`].
    pub fn with_places(&self) -> Result<Vec<Home>, HostError> {
        Ok(std::iter::once(self.clone()).chain(self.places()?).collect())
    }

    /// Where the place below `directory` is or would be; nothing is created.
    ///
    /// # Errors
    /// [`HostError::Place`] if `directory` is not a directory.
    pub fn place_below(&self, directory: &Path) -> Result<Home, HostError> {
        let refuse = |found: String| HostError::Place {
            what: "storage path",
            path: directory.to_owned(),
            found,
            remedy: REMEDY,
        };
        let canonical = directory.canonicalize().map_err(|error| refuse(error.to_string()))?;
        if !canonical.is_dir() {
            return Err(refuse("it is not a directory".to_owned()));
        }
        let hash = fingerprint([self.path().as_os_str().as_bytes()]);
        Ok(self.rooted_at(canonical.join(format!("plimsoll-{hash:016x}"))))
    }

    /// All places of this home that exist now, in the order of their paths.
    ///
    /// # Errors
    /// [`HostError::Io`] if the notes cannot be read.
    pub fn places(&self) -> Result<Vec<Home>, HostError> {
        let notes = self.notes()?;
        let mut places: Vec<Home> =
            notes.into_iter().filter(Note::is_there).map(|note| self.rooted_at(note.root)).collect();
        places.sort_by(|one, other| one.path().cmp(other.path()));
        Ok(places)
    }

    /// Removes empty places, and the notes of those that are gone. Returns what was removed. A place whose disk is not
    /// mounted keeps its note.
    ///
    /// # Errors
    /// [`HostError::Io`].
    pub fn forget_places(&self) -> Result<Vec<PathBuf>, HostError> {
        let mut removed = Vec::new();
        if !self.places_directory().exists() {
            return Ok(removed);
        }
        let _lock = self.lock_places()?;
        self.remove_begun_notes()?;
        for note in self.notes()? {
            if note.is_there() && removed_empty(&self.rooted_at(note.root.clone()))? {
                removed.push(note.root.clone());
            }
            // A lane exists as long as its directory does, except for the moment when its image is restored.
            let lane_is_gone = self.is_around(&note) && !note.root.parent().is_some_and(Path::exists);
            if !note.is_there() && (lane_is_gone || !note.is_unmounted()?) {
                fs::remove_file(&note.file).during("remove", &note.file)?;
                removed.push(note.file);
            }
        }
        Ok(removed)
    }

    fn notes(&self) -> Result<Vec<Note>, HostError> {
        let directory = self.places_directory();
        self.must_own(NOTES, &directory)?;
        let entries = match fs::read_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.during("read", &directory)?,
        };
        let mut notes = Vec::new();
        for entry in entries {
            let file = entry.during("read", &directory)?.path();
            // An unfinished note belongs to a place that was not created.
            if !file.file_name().is_some_and(is_begun_for_any) {
                notes.extend(Note::read(&file)?);
            }
        }
        Ok(notes)
    }

    /// Whether a place is below this home itself, as on its lanes: another lane of that name is another file system.
    fn is_around(&self, note: &Note) -> bool {
        note.root.starts_with(self.path())
    }

    /// Held while places are created or removed.
    fn lock_places(&self) -> Result<File, HostError> {
        let directory = self.places_directory();
        real_directory(NOTES, &directory, "move it away")?;
        let lock = File::open(&directory).during("open", &directory)?;
        flock(&lock, FlockOperation::LockExclusive).during("lock", &directory)?;
        Ok(lock)
    }

    fn remove_begun_notes(&self) -> Result<(), HostError> {
        let directory = self.places_directory();
        for entry in fs::read_dir(&directory).during("read", &directory)? {
            let path = entry.during("read", &directory)?.path();
            if path.file_name().is_some_and(is_begun_for_any) {
                fs::remove_file(&path).during("remove", &path)?;
            }
        }
        Ok(())
    }

    fn places_directory(&self) -> PathBuf {
        self.path().join("places")
    }
}

impl Note {
    /// The id in hexadecimal digits, a line feed, the bytes of the path.
    fn parse(file: &Path, bytes: &[u8]) -> Option<Note> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let filesystem = u64::from_str_radix(std::str::from_utf8(&bytes[..end]).ok()?, 16).ok()?;
        let root = PathBuf::from(OsStr::from_bytes(&bytes[end + 1..]));
        root.is_absolute().then(|| Note { file: file.to_owned(), filesystem, root })
    }

    fn read(file: &Path) -> Result<Option<Note>, HostError> {
        match fs::read(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            bytes => {
                owner::itself(file).map_err(HostError::ours(NOTES, "remove it"))?;
                Ok(Note::parse(file, &bytes.during("read", file)?))
            }
        }
    }

    /// A kill leaves either the earlier note or this one.
    fn write(&self) -> Result<(), HostError> {
        let text = [format!("{:016x}\n", self.filesystem).as_bytes(), self.root.as_os_str().as_bytes()].concat();
        replace(&self.file, &text)
    }

    fn is_there(&self) -> bool {
        fs::symlink_metadata(&self.root).is_ok_and(|facts| facts.is_dir())
    }

    /// Whether both the place and its file system are missing.
    fn is_unmounted(&self) -> Result<bool, HostError> {
        Ok(!self.is_there() && filesystem_of(&self.root)? != self.filesystem)
    }
}

/// Creating the place again would put it into the mount point of the disk, which would hide it later.
fn not_mounted(note: &Note) -> HostError {
    HostError::Place {
        what: "storage path",
        path: note.root.clone(),
        found: format!("according to the note `{}`, its file system is not mounted", note.file.display()),
        remedy: "mount it, or remove the note if the disk has another id now (on XFS it is the device number) or no \
                 longer exists",
    }
}

/// The file system of a path, or of the nearest existing directory above it.
fn filesystem_of(path: &Path) -> Result<u64, HostError> {
    let there = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(path);
    rustix::fs::statvfs(there).map(|facts| facts.f_fsid).during("examine the file system of", there)
}

/// Removes a place with the empty directories in it. Returns whether it is gone.
fn removed_empty(place: &Home) -> Result<bool, HostError> {
    for directory in [place.servers(), place.datasets(), place.path().to_owned()] {
        match fs::remove_dir(&directory) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => return Ok(false),
            Err(error) => return Err(error).during("remove", &directory),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::temporary as home;

    /// As if its only place had been made on another disk.
    fn on_another_disk(home: &Home) -> PathBuf {
        let [note] = home.notes().unwrap().try_into().ok().unwrap();
        Note { filesystem: note.filesystem + 1, file: note.file.clone(), root: note.root }.write().unwrap();
        note.file
    }

    #[test]
    fn a_place_whose_disk_is_not_mounted_is_not_made_anew() {
        let ((_directory, home), disk) = (home(), tempfile::tempdir().unwrap());
        let place = home.below(disk.path()).unwrap();
        let note = on_another_disk(&home);
        fs::remove_dir(place.path()).unwrap();
        let refused = home.below(disk.path()).unwrap_err().to_string();
        assert!(refused.contains("not mounted") && refused.contains(note.to_str().unwrap()), "{refused}");
        assert!(home.forget_places().unwrap().is_empty(), "it may come back");
        fs::remove_file(&note).unwrap();
        assert_eq!(home.below(disk.path()).unwrap(), place);
        assert_eq!(home.with_places().unwrap(), [home, place]);
    }

    #[test]
    fn a_place_on_a_lane_is_forgotten_with_the_lane() {
        let (_directory, home) = home();
        let mount = home.path().join("lanes/xfs/mount");
        fs::create_dir_all(&mount).unwrap();
        let place = home.below(&mount).unwrap();
        on_another_disk(&home);
        fs::remove_dir(place.path()).unwrap();
        assert!(home.forget_places().unwrap().is_empty(), "its image is being put back");
        assert_eq!(home.below(&mount).unwrap(), place, "another lane of that name");
        let note = on_another_disk(&home);
        fs::remove_dir_all(&mount).unwrap();
        assert_eq!(home.forget_places().unwrap(), [note]);
    }

    #[test]
    fn an_empty_place_goes_and_is_not_made_again_without_a_note() {
        let ((_directory, home), disk) = (home(), tempfile::tempdir().unwrap());
        let place = home.below(disk.path()).unwrap();
        assert_eq!(home.forget_places().unwrap().len(), 2, "the place and its note");
        assert!(!place.path().exists());
    }
}
