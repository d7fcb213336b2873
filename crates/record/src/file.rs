//! Files of a recording as they are opened for reading. A recording may come from elsewhere: what lies in it under the
//! name of a file can be anything.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Opens a regular file. Never waits, as opening a FIFO would, and follows no link out of the recording (open(2),
/// `O_NONBLOCK`, `O_NOFOLLOW`).
///
/// # Errors
/// As open(2), and for whatever is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::LOOP) => return Err(io::Error::other("it is a symbolic link; a recording has none")),
        Err(error) => return Err(error.into()),
    };
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// Opens a regular file that has `most` bytes at most, and says how many there are.
///
/// # Errors
/// As [`open`], and for a larger file.
pub(crate) fn open_bounded(path: &Path, most: u64) -> io::Result<(File, u64)> {
    let file = open(path)?;
    match file.metadata()?.len() {
        size if size > most => {
            Err(io::Error::other(format!("it has {size} bytes; a file of its kind has at most {most}")))
        }
        size => Ok((file, size)),
    }
}

/// The bytes of a regular file, which has `most` of them at most.
///
/// # Errors
/// As [`open_bounded`].
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (file, size) = open_bounded(path, most)?;
    // A recording grows while it is read.
    let mut bytes = Vec::with_capacity(size as usize);
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, mknodat};
    use std::fs;

    #[test]
    fn only_regular_files_are_read_and_nothing_waits() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("file"), "7\n").unwrap();
        assert_eq!(read(&path("file"), 2).unwrap(), b"7\n");
        assert!(read(&path("file"), 1).is_err(), "too large");
        std::os::unix::fs::symlink(path("file"), path("link")).unwrap();
        mknodat(CWD, path("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        for (name, why) in [("link", "symbolic link"), ("fifo", "not a regular file"), (".", "not a regular file")] {
            let error = open(&path(name)).unwrap_err().to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
        assert_eq!(open(&path("nothing")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
