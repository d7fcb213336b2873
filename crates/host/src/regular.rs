//! Files that a person or a plan names, read as a whole: regular ones within a bound. A device that never ends, a pipe
//! that nobody writes to, a file of gigabytes are refused before anything of them is read.

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
    /// Its bytes, as far as they are known: more than may be.
    TooLong(u64),
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Unread {
        Unread::Io(error)
    }
}

/// The bytes of a regular file, which has `most` of them at most. Links are followed. Never waits.
///
/// # Errors
/// What the operating system says; what is no regular file, and what is longer.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, Unread> {
    must_be_regular(fs::metadata(path)?.file_type())?;
    // Whatever takes its place in between must not be waited for either.
    let without_waiting = OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(without_waiting).open(path)?;
    let facts = file.metadata()?;
    must_be_regular(facts.file_type())?;
    let mut bytes = Vec::new();
    // A file may grow, and those of /proc say that they are empty.
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
