//! What clients were told is committed, kept outside of the server: each commit is in the file before its connection sends
//! its next statement, so that what a server has lost can be named.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Of a commit in the file: connection, number, time; little-endian.
const BYTES: u64 = 24;

/// A commit that a client was told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedCommit {
    pub connection: u64,
    /// What the transaction calls itself: [`crate::workload::Input::entry`].
    pub number: u64,
    /// When the answer came, nanoseconds since the loops were started.
    pub t_ns: u64,
}

/// The commits of a load, in the order in which their answers were looked at.
#[derive(Debug)]
pub struct CommitLog {
    file: File,
    count: AtomicU64,
    has_failed: AtomicBool,
    begun: OnceLock<Instant>,
}

impl CommitLog {
    /// `file` is empty, open for reading and writing, and not on the storage of the server.
    pub fn new(file: File) -> CommitLog {
        CommitLog { file, count: AtomicU64::new(0), has_failed: AtomicBool::new(false), begun: OnceLock::new() }
    }

    /// From when the times of its commits count. Only the first load counts.
    pub(crate) fn begin(&self, at: Instant) {
        self.begun.get_or_init(|| at);
    }

    /// A moment as the log has it, nanoseconds; 0 if no load has begun.
    pub fn time_ns(&self, at: Instant) -> u64 {
        self.begun.get().map_or(0, |begun| at.saturating_duration_since(*begun).as_nanos() as u64)
    }

    /// How many there are so far.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Writes one down.
    pub fn note(&self, commit: LoggedCommit) {
        let LoggedCommit { connection, number, t_ns } = commit;
        let mut bytes = [0; BYTES as usize];
        for (place, value) in bytes.chunks_exact_mut(8).zip([connection, number, t_ns]) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        let place = self.count.fetch_add(1, Ordering::AcqRel);
        if self.file.write_all_at(&bytes, place * BYTES).is_err() {
            self.has_failed.store(true, Ordering::Release);
        }
    }

    /// All of them. No loop may still be writing.
    ///
    /// # Errors
    /// The file cannot be read, or one of them could not be written.
    pub fn commits(&self) -> io::Result<Vec<LoggedCommit>> {
        if self.has_failed.load(Ordering::Acquire) {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "a commit could not be written down"));
        }
        let mut bytes = vec![0; (self.count() * BYTES) as usize];
        self.file.read_exact_at(&mut bytes, 0)?;
        let value = |bytes: &[u8], place: usize| {
            let mut value = [0; 8];
            value.copy_from_slice(&bytes[place * 8..][..8]);
            u64::from_le_bytes(value)
        };
        let commit =
            |bytes: &[u8]| LoggedCommit { connection: value(bytes, 0), number: value(bytes, 1), t_ns: value(bytes, 2) };
        Ok(bytes.chunks_exact(BYTES as usize).map(commit).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    #[test]
    fn commits_are_read_as_they_were_written() {
        let log = CommitLog::new(tempfile::tempfile().unwrap());
        let commit = |n: u64| LoggedCommit { connection: n % 3, number: n, t_ns: n << 40 };
        (0..100).for_each(|n| log.note(commit(n)));
        assert_eq!((log.count(), log.commits().unwrap()), (100, (0..100).map(commit).collect()));
    }

    #[test]
    fn a_commit_that_could_not_be_written_is_not_forgotten() {
        let full = OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
        let log = CommitLog::new(full);
        log.note(LoggedCommit { connection: 0, number: 1, t_ns: 2 });
        assert!(log.commits().unwrap_err().to_string().contains("could not be written"));
    }
}
