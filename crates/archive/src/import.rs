//! One file that somebody has sent → a recording.

use crate::{ArchiveError, ID, ROOT, Result};
use plimsoll_host::replace::rename;
use plimsoll_record::manifest::is_name;
use plimsoll_record::read;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use tar::{Archive, Entry, EntryType};

/// No recording has more files, or is larger; bytes.
const MOST_FILES: usize = 1_000_000;
const LARGEST: u64 = 16 << 30;
/// Of the name of a directory (`NAME_MAX`; limits.h(0p)).
const LONGEST_NAME: u64 = 255;
/// Directories in one another: a storage trial has a recording of its own, and a crash trial a server's data.
const DEEPEST: usize = 32;

/// Unpacks a recording below `recordings`; its directory. It appears there as a whole, after it was read.
///
/// # Errors
/// [`ArchiveError::Foreign`] for anything but a recording as [`export`](crate::export()) packs it,
/// [`ArchiveError::Exists`] if there is one of its name, [`ArchiveError::Record`] if it cannot be read,
/// [`ArchiveError::Interrupted`] as soon as `is_interrupted`.
pub fn import(packed: impl Read, recordings: &Path, is_interrupted: &dyn Fn() -> bool) -> Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(recordings).map_err(ArchiveError::io(recordings))?;
    // What has a dot in front is in no list, and goes if this does not come to its end.
    let staging = tempfile::Builder::new().prefix(".import-").tempdir_in(recordings);
    let staging = staging.map_err(ArchiveError::io(recordings))?;
    let id = unpack(packed, staging.path(), is_interrupted)
        .map_err(|error| if is_interrupted() { ArchiveError::Interrupted } else { error })?;
    let unpacked = staging.path().join(ROOT);
    let view = read::open(&unpacked)?;
    view.trials.iter().try_for_each(|trial| trial.series().map(drop))?;
    let name = view.manifest.name;
    if !is_name(&name) {
        return Err(ArchiveError::foreign(format!("no recording can be called {name:?}")));
    }
    let directory = recordings.join(&id);
    if directory.symlink_metadata().is_ok() {
        return Err(ArchiveError::Exists { id });
    }
    rename(&unpacked, &directory).map_err(ArchiveError::io(&directory))?;
    Ok(directory)
}

/// Unpacks the files; what the recording is called.
fn unpack(packed: impl Read, into: &Path, is_interrupted: &dyn Fn() -> bool) -> Result<String> {
    let damaged = |error: io::Error| ArchiveError::foreign(error.to_string());
    let plain = zstd::Decoder::new(packed).map_err(damaged)?;
    let mut archive = Archive::new(UntilInterrupted { from: plain.take(LARGEST), is_interrupted });
    // Without extensions, which could ask for any amount of memory.
    let mut entries = archive.entries().map_err(damaged)?.raw(true);
    let first = entries.next().ok_or_else(|| ArchiveError::foreign("it is empty"))?;
    let id = id(first.map_err(damaged)?)?;
    for (number, entry) in entries.enumerate() {
        if number >= MOST_FILES {
            return Err(ArchiveError::foreign(format!("it has more than {MOST_FILES} files")));
        }
        put(entry.map_err(damaged)?, into)?;
    }
    Ok(id)
}

/// Fails once somebody wants it to end: an archive may be large, and what is unpacked of it has to go again.
struct UntilInterrupted<'a, R> {
    from: R,
    is_interrupted: &'a dyn Fn() -> bool,
}

impl<R: Read> Read for UntilInterrupted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Not `ErrorKind::Interrupted`, after which readers try again.
        if (self.is_interrupted)() { Err(io::Error::other("interrupted")) } else { self.from.read(buffer) }
    }
}

fn id(mut entry: Entry<'_, impl Read>) -> Result<String> {
    let is_it = entry.path().is_ok_and(|path| path == Path::new(ID)) && entry.size() <= LONGEST_NAME;
    if !is_it {
        return Err(ArchiveError::foreign("its first entry is not the name of a recording"));
    }
    let mut id = String::new();
    entry.read_to_string(&mut id).map_err(|error| ArchiveError::foreign(error.to_string()))?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-');
    match id.starts_with(|c: char| c.is_ascii_alphanumeric()) && id.chars().all(plain) {
        true => Ok(id),
        false => Err(ArchiveError::foreign(format!("{id:?} cannot be the name of a recording"))),
    }
}

/// Writes one file, which must not be there yet.
fn put(mut entry: Entry<'_, impl Read>, into: &Path) -> Result<()> {
    let path = path_of(&entry)?;
    if entry.header().entry_type() != EntryType::Regular {
        return Err(ArchiveError::foreign(format!("{} is no regular file", path.display())));
    }
    let to = into.join(&path);
    if let Some(above) = to.parent() {
        DirBuilder::new().recursive(true).mode(0o755).create(above).map_err(ArchiveError::io(above))?;
    }
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&to);
    let mut file = match opened {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(ArchiveError::foreign(format!("{} is there twice", path.display())));
        }
        other => other.map_err(ArchiveError::io(&to))?,
    };
    // What no system call has refused is wrong with what was sent.
    let copied = io::copy(&mut entry, &mut file).map_err(|error| match error.raw_os_error() {
        Some(_) => ArchiveError::io(&to)(error),
        None => ArchiveError::foreign(error.to_string()),
    })?;
    match copied == entry.size() {
        true => Ok(()),
        false => Err(ArchiveError::foreign(format!("{} is cut short", path.display()))),
    }
}

/// Where an entry belongs: below the one directory, by plain names.
fn path_of(entry: &Entry<'_, impl Read>) -> Result<PathBuf> {
    let path = entry.path().map_err(|error| ArchiveError::foreign(error.to_string()))?;
    let is_plain = |part: Component<'_>| match part {
        Component::Normal(name) => name.to_str().is_some_and(|name| !name.contains(|c: char| c.is_control())),
        _ => false,
    };
    let parts = path.components().count();
    let is_below = path.starts_with(ROOT) && (2..=DEEPEST).contains(&parts) && path.components().all(is_plain);
    match is_below {
        true => Ok(path.into_owned()),
        false => Err(ArchiveError::foreign(format!("{:?} is not a file of a recording", path.display().to_string()))),
    }
}
