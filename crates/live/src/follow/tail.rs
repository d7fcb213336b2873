//! A file that grows by whole lines, read from where the last read ended.

use plimsoll_record::bounds::LONGEST_LINE;
use plimsoll_record::file;
use plimsoll_record::lines::parsed;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

/// The most that is read at a time, bytes; the rest is read at the next look.
const AT_A_TIME: u64 = 2 * LONGEST_LINE as u64;

/// A file that may not exist yet. Nothing is read twice.
#[derive(Debug)]
pub struct FileTail {
    path: PathBuf,
    file: Option<File>,
    /// The end of the last whole line that was read, bytes.
    at: u64,
}

impl FileTail {
    pub fn new(path: PathBuf) -> FileTail {
        FileTail { path, file: None, at: 0 }
    }

    /// The lines added since the previous look that are a `T`: a file's first line, which names its schema, is not. A
    /// line that is still being written is left for the next look.
    pub fn look<T: DeserializeOwned>(&mut self) -> Vec<T> {
        let bytes = self.added();
        bytes.split(|byte| *byte == b'\n').filter_map(|line| parsed(line)).collect()
    }

    fn added(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.file.is_none() {
            self.file = file::open(&self.path).ok();
        }
        let Some(file) = &mut self.file else { return bytes };
        let sought = file.seek(SeekFrom::Start(self.at));
        // What cannot be read now may be readable at the next look.
        if sought.and_then(|_| file.take(AT_A_TIME).read_to_end(&mut bytes)).is_err() {
            return Vec::new();
        }
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => bytes.truncate(end + 1),
            // No line of ours is this long, so it is skipped.
            None if bytes.len() as u64 == AT_A_TIME => {}
            None => bytes.clear(),
        }
        self.at += bytes.len() as u64;
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    #[test]
    fn each_line_is_read_once_and_only_when_it_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("numbers.ndjson");
        let mut tail = FileTail::new(path.clone());
        assert!(tail.look::<u64>().is_empty());
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(b"{\"schema\":\"numbers\"}\n1\n2\n3").unwrap();
        assert_eq!(tail.look::<u64>(), [1, 2]);
        assert!(tail.look::<u64>().is_empty());
        file.write_all(b"4\nnonsense\n5\n").unwrap();
        assert_eq!(tail.look::<u64>(), [34, 5]);
    }

    #[test]
    fn a_link_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("secret"), "7\n").unwrap();
        std::os::unix::fs::symlink(directory.path().join("secret"), directory.path().join("link")).unwrap();
        assert!(FileTail::new(directory.path().join("link")).look::<u64>().is_empty());
    }
}
