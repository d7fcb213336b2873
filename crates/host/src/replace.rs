//! Writes files as a whole: a reader or a crash sees either the old file or the new one, and others who can create
//! files in the directory cannot change what is written.

use crate::error::{During, HostError};
use crate::random;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, fsync, openat, renameat, unlinkat};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The ending of files that are being written: `manifest.json.<32 hexadecimal digits>.new`.
const ENDING: &str = ".new";
/// Nobody guesses so many random bytes.
const BYTES: usize = 16;
/// More attempts than are ever needed.
const TRIES: u32 = 8;

/// Writes a file beside `path` and renames it to that: the content is on disk before the rename, and the name before
/// this returns (fsync(2) of the file and of its directory). The file beside is created by us or not at all (`O_EXCL`,
/// `O_NOFOLLOW`; open(2)); a link at `path` is replaced, never followed.
///
/// # Errors
/// [`HostError::Io`]; then `path` is unchanged.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), HostError> {
    write(path, content).during("write", path)
}

/// Renames like rename(2), durably: the directories of both names are synced.
///
/// # Errors
/// Those of rename(2), open(2) and fsync(2); after the latter two, the file has its new name.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)?;
    sync_directory(to)?;
    match from.parent() == to.parent() {
        true => Ok(()),
        false => sync_directory(from),
    }
}

/// Makes the names in the directory of `path` durable.
fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(above(path))?.sync_all()
}

fn above(path: &Path) -> &Path {
    path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether this is the name of a file that [`replace`] began to write in place of `name`; left behind by a kill.
pub fn is_begun(found: &OsStr, name: &str) -> bool {
    let rest = found.as_bytes().strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"."));
    rest.is_some_and(is_random)
}

/// The same for any name.
pub fn is_begun_for_any(found: &OsStr) -> bool {
    found
        .as_bytes()
        .iter()
        .rev()
        .skip(ENDING.len())
        .position(|byte| *byte == b'.')
        .is_some_and(|length| is_random(&found.as_bytes()[found.len() - ENDING.len() - length..]))
}

fn is_random(text: &[u8]) -> bool {
    let digits = text.strip_suffix(ENDING.as_bytes());
    digits.is_some_and(|digits| digits.len() == 2 * BYTES && digits.iter().all(u8::is_ascii_hexdigit))
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(CWD, above(path), flags, Mode::empty())?;
    let (mut file, beside) = begin(&directory, name)?;
    let written = (|| {
        file.write_all(content)?;
        file.sync_all()?;
        renameat(&directory, &beside, &directory, name)?;
        Ok(fsync(&directory)?)
    })();
    if written.is_err() {
        // It may have been renamed already.
        let _ = unlinkat(&directory, &beside, AtFlags::empty());
    }
    written
}

fn begin(directory: &OwnedFd, name: &OsStr) -> io::Result<(File, OsString)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut tries = 0;
    loop {
        let beside = beside(name)?;
        // As restricted by the user's umask, like any new file.
        match openat(directory, &beside, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => return Ok((file.into(), beside)),
            Err(rustix::io::Errno::EXIST) if tries < TRIES => tries += 1,
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn beside(name: &OsStr) -> io::Result<OsString> {
    let mut beside = name.to_owned();
    beside.push(".");
    beside.push(random::hex(BYTES)?);
    beside.push(ENDING);
    Ok(beside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_is_replaced_and_nothing_stays_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a file.json");
        for content in ["one", "two"] {
            replace(&path, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_in_its_place_is_replaced_and_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (path, victim) = (directory.path().join("file"), directory.path().join("victim"));
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, &path).unwrap();
        replace(&path, b"ours").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("taken");
        fs::create_dir(&path).unwrap();
        let error = replace(&path, b"ours").unwrap_err().to_string();
        assert!(error.contains("cannot write") && error.contains("taken"), "{error}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        assert!(replace(&directory.path().join("no/such"), b"").is_err());
    }

    #[test]
    fn names_differ_and_are_known_again() {
        let name = OsStr::new("server.json");
        let (one, other) = (beside(name).unwrap(), beside(name).unwrap());
        assert_ne!(one, other);
        assert!(is_begun(&one, "server.json") && is_begun_for_any(&other) && !is_begun(&one, "server"));
        for other in ["server.json", "server.json.new", ".new", "x.zz.new", "", "server.json.0011.new"] {
            assert!(!is_begun(OsStr::new(other), "server.json") && !is_begun_for_any(OsStr::new(other)), "{other}");
        }
    }
}
