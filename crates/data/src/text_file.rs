//! Text files that are named on the command line or in a plan: plans and option files.
//!
//! A plan may come from anybody, and so may the file names in it: a device that never ends, a pipe that nobody writes
//! to and a file of gigabytes are refused before any of it is read.

use plimsoll_host::regular::{self, Unread};
use std::path::Path;

/// The most that is read, in bytes: twenty times the size of this repository's largest plan.
pub const MOST_BYTES: u64 = 256 << 10;

/// Reads a file as a whole, at most [`MOST_BYTES`]. Never waits.
///
/// # Errors
/// In words, without the path: the operating system's error, a file that is not regular, or one that is longer.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    regular::read(path, MOST_BYTES).map_err(|unread| match unread {
        Unread::Io(error) => error.to_string(),
        Unread::Kind(found) => format!("it is {found}; accepted is a regular file"),
        Unread::TooLong(found) => {
            format!("it has {found} bytes; accepted are plans and option files of at most {} KiB", MOST_BYTES >> 10)
        }
    })
}

/// Reads a file as UTF-8.
///
/// # Errors
/// As [`read`], and for text that is not UTF-8.
pub fn read_utf8(path: &Path) -> Result<String, String> {
    let text = String::from_utf8(read(path)?);
    text.map_err(|error| format!("it is not UTF-8 from byte {} on", error.utf8_error().valid_up_to()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType as Kind, Mode, mknodat};
    use std::fs;

    #[test]
    fn only_regular_files_within_the_bound_are_read_and_nothing_is_waited_for() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        fs::write(path("whole"), vec![b'a'; MOST_BYTES as usize]).expect("a file");
        fs::write(path("long"), vec![b'a'; MOST_BYTES as usize + 1]).expect("a file");
        fs::write(path("latin"), b"a\xe9").expect("a file");
        std::os::unix::fs::symlink("whole", path("link")).expect("a link");
        mknodat(CWD, path("pipe"), Kind::Fifo, Mode::RWXU, 0).expect("a pipe");
        let _listening = std::os::unix::net::UnixListener::bind(path("socket")).expect("a socket");
        for name in ["whole", "link"] {
            assert_eq!(read(&path(name)).map(|bytes| bytes.len() as u64), Ok(MOST_BYTES), "{name}");
        }
        for (name, words) in [
            ("long", "it has 262145 bytes; accepted are plans and option files of at most 256 KiB"),
            ("pipe", "it is a pipe; accepted is a regular file"),
            ("socket", "it is a socket"),
            ("", "it is a directory"),
            ("/dev/zero", "it is a device"),
            ("missing", "No such file"),
        ] {
            let problem = read(&path(name)).expect_err(name);
            assert!(problem.contains(words), "{name}: {problem}");
        }
        assert!(read(Path::new("/proc/self/status")).is_ok_and(|bytes| !bytes.is_empty()), "it says that it is empty");
        assert_eq!(read_utf8(&path("latin")), Err("it is not UTF-8 from byte 1 on".to_owned()));
    }
}
