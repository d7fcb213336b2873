//! Reads files that a person or a plan names as a whole, if they are regular and within a bound. A device that never
//! ends, a pipe that nobody writes to and a file of gigabytes are refused before any of it is read.

use rustix::fs::OFlags;
use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Why a file was not read.
#[derive(Debug)]
pub enum Unread {
    Io(io::Error),
    /// `a pipe`, `a device`: what it is instead of a regular file.
    Kind(&'static str),
    /// Its size as far as it is known, which is too large.
    TooLong(u64),
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Unread {
        Unread::Io(error)
    }
}

/// The content of a regular file of at most `most` bytes. Links are followed. Never waits.
///
/// # Errors
/// The operating system's error; a file that is not regular, or longer.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, Unread> {
    must_be_regular(fs::metadata(path)?.file_type())?;
    // Nothing that replaces it in between must be waited for either.
    let without_waiting = OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(without_waiting).open(path)?;
    let facts = file.metadata()?;
    must_be_regular(facts.file_type())?;
    let mut bytes = Vec::new();
    // A file may grow, and files in /proc claim to be empty.
    if facts.len() <= most {
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    }
    match facts.len().max(bytes.len() as u64) {
        found if found > most => Err(Unread::TooLong(found)),
        _ => Ok(bytes),
    }
}

fn must_be_regular(kind: FileType) -> Result<(), Unread> {
    Err(Unread::Kind(match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "a directory",
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }))
}
