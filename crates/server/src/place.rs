//! Places: parts of a home that lie on other storage, below a directory that somebody named.
//!
//! A place is a [`Home`] of its own, `DIR/plimsoll-<hash of the home>/`, with servers, datasets and files of logs in it.
//! It is noted in `<home>/places/` before it is made, so that whoever lists or cleans the home finds what is there. The
//! note names the file system, too: a place that is not there may have been removed, or its disk is not mounted now.

use crate::error::During;
use crate::fingerprint::fingerprint;
use crate::home::real_directory;
use crate::{Home, ServerError};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const REMEDY: &str = "name a directory that this user can write to";

/// What a home has noted of one of its places.
struct Note {
    file: PathBuf,
    /// Id of its file system, statvfs(3).
    filesystem: u64,
    root: PathBuf,
}

impl Home {
    /// The place of this home below `directory`, made and noted if it is not there.
    ///
    /// # Errors
    /// [`ServerError::Place`] if `directory` is no directory, or what lies there is not ours; [`ServerError::Io`].
    pub fn below(&self, directory: &Path) -> Result<Home, ServerError> {
        let place = self.place_below(directory)?;
        let note = Note {
            file: self.places_directory().join(format!("{:016x}", fingerprint([place.path().as_os_str().as_bytes()]))),
            filesystem: filesystem_of(place.path())?,
            root: place.path().to_owned(),
        };
        note.write()?;
        real_directory("storage path", place.path(), REMEDY)?;
        Ok(place)
    }

    /// Where the place below `directory` is or would be; nothing is made.
    ///
    /// # Errors
    /// [`ServerError::Place`] if `directory` is no directory.
    pub fn place_below(&self, directory: &Path) -> Result<Home, ServerError> {
        let refuse = |found: String| ServerError::Place {
            what: "storage path",
            path: directory.to_owned(),
            found,
            remedy: REMEDY,
        };
        let canonical = directory.canonicalize().map_err(|error| refuse(error.to_string()))?;
        if !canonical.is_dir() {
            return Err(refuse("it is no directory".to_owned()));
        }
        let hash = fingerprint([self.path().as_os_str().as_bytes()]);
        Ok(self.rooted_at(canonical.join(format!("plimsoll-{hash:016x}"))))
    }

    /// All places of this home that are there now, in the order of their paths.
    ///
    /// # Errors
    /// [`ServerError::Io`] if the notes cannot be read.
    pub fn places(&self) -> Result<Vec<Home>, ServerError> {
        let notes = self.notes()?;
        let mut places: Vec<Home> =
            notes.into_iter().filter(Note::is_there).map(|note| self.rooted_at(note.root)).collect();
        places.sort_by(|one, other| one.path().cmp(other.path()));
        Ok(places)
    }

    /// Removes places in which nothing is left, and the notes of those that are gone; what was removed. A place whose
    /// disk is not mounted stays noted.
    ///
    /// # Errors
    /// [`ServerError::Io`].
    pub(crate) fn forget_places(&self) -> Result<Vec<PathBuf>, ServerError> {
        let mut removed = Vec::new();
        for note in self.notes()? {
            if note.is_there() && removed_empty(&self.rooted_at(note.root.clone()))? {
                removed.push(note.root.clone());
            }
            // Below the home itself, a lane for one, nothing comes back by mounting a disk.
            let ours = !note.is_there() && note.root.starts_with(self.path());
            if ours || note.is_gone()? {
                fs::remove_file(&note.file).during("remove", &note.file)?;
                removed.push(note.file);
            }
        }
        Ok(removed)
    }

    fn notes(&self) -> Result<Vec<Note>, ServerError> {
        let directory = self.places_directory();
        let entries = match fs::read_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.during("read", &directory)?,
        };
        let mut notes = Vec::new();
        for entry in entries {
            let file = entry.during("read", &directory)?.path();
            // Half a note is that of a place that was not made.
            notes.extend(Note::parse(&file, &fs::read(&file).during("read", &file)?));
        }
        Ok(notes)
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

    fn write(&self) -> Result<(), ServerError> {
        let directory = self.file.parent().unwrap_or(&self.file);
        fs::create_dir_all(directory).during("create", directory)?;
        let text = [format!("{:016x}\n", self.filesystem).as_bytes(), self.root.as_os_str().as_bytes()].concat();
        fs::write(&self.file, text).during("write", &self.file)
    }

    fn is_there(&self) -> bool {
        fs::symlink_metadata(&self.root).is_ok_and(|facts| facts.is_dir())
    }

    /// Whether the place is not there although its file system is.
    fn is_gone(&self) -> Result<bool, ServerError> {
        Ok(!self.is_there() && filesystem_of(&self.root)? == self.filesystem)
    }
}

/// The file system of a path, or of the nearest directory above it that is there.
fn filesystem_of(path: &Path) -> Result<u64, ServerError> {
    let there = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(path);
    rustix::fs::statvfs(there).map(|facts| facts.f_fsid).during("look at the file system of", there)
}

/// Removes a place with the directories that are empty in it; whether it is gone.
fn removed_empty(place: &Home) -> Result<bool, ServerError> {
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
