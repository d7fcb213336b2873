//! Commits as the servers' logs see them: the redo log is rewritten in place, the binary log is appended to.
//!
//! System calls of the servers for autocommit inserts of one row, by strace(1) of MySQL 9.7 and MariaDB 10.11:
//! - A redo log is a ring of blocks that were allocated in advance. A commit writes from the block in which its records
//!   begin to the block in which they end, then calls fdatasync(2); so the last block is written again and again until
//!   it is full. With one session that is one write and one sync per commit; with eight, one sync for about three
//!   commits.
//! - In MySQL each session writes and syncs itself on a machine of fewer than 32 CPUs: while one group is synced, the next is
//!   written (`engine/latched.rs`).
//! - With a binary log and `sync_binlog = 1` a commit is made durable twice, first in the redo log (prepare), then by
//!   write(2) at the end of the binary log and fdatasync: two syncs per commit of one session. The redo log's record of the
//!   commit itself goes with the next group. With more sessions one group is in the redo log while the one before it is in
//!   the binary log, so [`crate::engine::committers`] gives each log a leader of its own.

use crate::buffer::{Buffers, Payload};
use crate::clock::now_ns;
use crate::error::{DuringStorage, StorageError};
use crate::files::FileSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::Arc;

/// MySQL's `innodb_log_write_ahead_size`: the first write into each stretch of this many bytes fills it, so that no
/// later write has to read a page of the file first.
const WRITE_AHEAD: u64 = 8192;
/// The largest single write, bytes.
const LARGEST: u64 = 256 << 10;

/// What a session computes between two commits, in [rounds](crate::engine::committers): first in its client, whose one
/// loop serves all sessions, then in the server. With none, committers would come back at once, as no session does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionWork {
    pub client: u32,
    pub server: u32,
}

/// How a server writes its redo log for a commit, according to the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redo {
    /// Blocks of 512 bytes, buffered: one write for all that became full, another for the one that did not; the first
    /// write into each [`WRITE_AHEAD`] bytes fills them.
    MySql,
    /// Blocks of this many bytes, in one write: those of the device, past the page cache, where the kernel tells their size
    /// ([`plimsoll_model::io::DeviceFacts::log_block_bytes`]), else [`BUFFERED_BLOCK`] through it.
    MariaDb { block: u32 },
}

/// MariaDB's log blocks where it writes them through the page cache.
pub const BUFFERED_BLOCK: u32 = 512;

impl Redo {
    pub fn name(self) -> &'static str {
        match self {
            Redo::MySql => "mysql",
            Redo::MariaDb { .. } => "mariadb",
        }
    }

    /// Log bytes of a transaction that inserts one row into sysbench's table: how much the trace's log grew, divided by
    /// commits. A binary log adds the transaction's name (XID) and the prepared state.
    pub fn bytes_per_insert(self, binlog: bool) -> u32 {
        match (self, binlog) {
            (Redo::MySql, false) => 345,
            (Redo::MySql, true) => 1120,
            (Redo::MariaDb { .. }, false) => 390,
            (Redo::MariaDb { .. }, true) => 610,
        }
    }

    /// So much that a commit of 64 committers costs as much CPU as one of 64 sessions with their client: 90 µs of MariaDB
    /// 10.11, 160 µs of MySQL 9.7 on one machine. Rounds, and no time: a faster CPU does both sooner.
    pub fn session_work(self) -> SessionWork {
        match self {
            Redo::MySql => SessionWork { client: 16_000, server: 88_000 },
            Redo::MariaDb { .. } => SessionWork { client: 10_000, server: 46_000 },
        }
    }

    /// Whether it writes parts of pages that it has not filled before, and does so at once only as its log was written in the
    /// round before, and is in the page cache since.
    fn finds_pages_cached(self) -> bool {
        matches!(self, Redo::MariaDb { .. })
    }

    /// The writes that bring the bytes `from..to` of the log to the file, once all before `from` are there.
    fn writes(self, from: u64, to: u64) -> impl Iterator<Item = Range<u64>> {
        let pieces = match self {
            Redo::MySql => {
                let filled = from.next_multiple_of(WRITE_AHEAD);
                let (here, last) = (to.min(filled), to.min(filled) / 512 * 512);
                [from / 512 * 512..last, last..here.next_multiple_of(512), filled..to.next_multiple_of(WRITE_AHEAD)]
            }
            Redo::MariaDb { block } => {
                let block = u64::from(block);
                [from / block * block..to.next_multiple_of(block), 0..0, 0..0]
            }
        };
        pieces.into_iter().filter(|piece| !piece.is_empty())
    }
}

/// What a commit makes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log {
    pub redo: Redo,
    /// Bytes of redo per transaction.
    pub bytes: u32,
    /// With a binary log: events of this many bytes, appended to a file that grows or that was laid out in advance.
    pub binlog: Option<Binlog>,
}

impl Log {
    /// Whether a commit would add nothing to one of its logs.
    pub fn is_empty(self) -> bool {
        self.bytes == 0 || self.binlog.is_some_and(|binlog| binlog.event_bytes == 0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binlog {
    pub event_bytes: u32,
    pub preallocated: bool,
}

/// What is done for a group of commits at the end of a log: its bytes are written, or synced, or both, before the call
/// returns.
pub trait LogTail: Send {
    /// # Errors
    /// The error of write or sync; then it is unknown what is durable.
    fn append(&mut self, bytes: u64) -> io::Result<Flushed>;
}

/// A write, the sync after it, or both, on the clock of [`crate::clock`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flushed {
    pub written: Option<FlushStep>,
    pub synced: Option<FlushStep>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushStep {
    pub sent_ns: u64,
    pub done_ns: u64,
    /// Bytes written, including padding and rewritten blocks; 0 of a sync.
    pub bytes: u64,
}

impl FlushStep {
    /// `step` returns the bytes.
    fn of(step: impl FnOnce() -> io::Result<u64>) -> io::Result<Option<FlushStep>> {
        let sent_ns = now_ns();
        let bytes = step()?;
        Ok(Some(FlushStep { sent_ns, done_ns: now_ns(), bytes }))
    }

    fn sync(file: &File) -> io::Result<Option<FlushStep>> {
        FlushStep::of(|| file.sync_data().map(|()| 0))
    }
}

/// Why a log can no longer be trusted, if it cannot. Servers abort in this case.
#[derive(Debug, Default)]
pub struct LogFailure(Option<(io::ErrorKind, String)>);

impl LogFailure {
    /// The first error of a log is the one that counts.
    pub fn note(&mut self, error: &io::Error) {
        self.0.get_or_insert_with(|| (error.kind(), error.to_string()));
    }

    /// # Errors
    /// The failure, to everyone who asks.
    pub fn check(&self) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |(kind, text)| Err(io::Error::new(*kind, text.clone())))
    }
}

/// File 0 of a set as a redo log: a ring.
#[derive(Debug)]
pub struct RedoFile {
    files: Arc<FileSet>,
    redo: Redo,
    buffers: Buffers,
    /// Where in the log the next record begins: bytes since the first, over all rounds.
    end: u64,
    capacity: u64,
}

impl RedoFile {
    /// # Errors
    /// [`StorageError::Refused`] if the file has no room for a single write.
    pub fn new(files: Arc<FileSet>, redo: Redo, seed: u64) -> Result<RedoFile, StorageError> {
        let bytes = files.layout.bytes_per_file;
        let capacity = bytes / WRITE_AHEAD * WRITE_AHEAD;
        if files.files.is_empty() || capacity == 0 {
            let why = format!("a redo log of {bytes} bytes is too small; at least {WRITE_AHEAD} are needed");
            return Err(StorageError::Refused(why));
        }
        if redo.finds_pages_cached() && !files.open.direct {
            io::copy(&mut &files.files[0], &mut io::sink()).during("read", &files.paths[0])?;
        }
        let buffers = buffers(&files, seed, 0);
        Ok(RedoFile { files, redo, buffers, end: 0, capacity })
    }

    fn write(&mut self, bytes: u64) -> io::Result<u64> {
        let RedoFile { files, redo, buffers, end, capacity } = self;
        let mut written = 0;
        for piece in redo.writes(*end, *end + bytes) {
            written += piece.end - piece.start;
            write_in_ring(&files.files[0], buffers, piece, *capacity)?;
        }
        *end += bytes;
        Ok(written)
    }
}

impl LogTail for RedoFile {
    fn append(&mut self, bytes: u64) -> io::Result<Flushed> {
        let written = FlushStep::of(|| self.write(bytes))?;
        Ok(Flushed { written, synced: FlushStep::sync(&self.files.files[0])? })
    }
}

/// The same, written alone: [`RedoSync`] syncs it.
#[derive(Debug)]
pub struct RedoWrite(pub RedoFile);

impl LogTail for RedoWrite {
    fn append(&mut self, bytes: u64) -> io::Result<Flushed> {
        Ok(Flushed { written: FlushStep::of(|| self.0.write(bytes))?, synced: None })
    }
}

/// Syncs file 0 of a set.
#[derive(Debug)]
pub struct RedoSync(pub Arc<FileSet>);

impl LogTail for RedoSync {
    fn append(&mut self, _bytes: u64) -> io::Result<Flushed> {
        Ok(Flushed { written: None, synced: FlushStep::sync(&self.0.files[0])? })
    }
}

/// Writes a piece of the log, split where the file wraps around.
fn write_in_ring(file: &File, buffers: &mut Buffers, piece: Range<u64>, capacity: u64) -> io::Result<()> {
    let mut at = piece.start;
    while at < piece.end {
        let place = at % capacity;
        let length = (piece.end - at).min(capacity - place).min(LARGEST);
        file.write_all_at(buffers.write(0, length as usize), place)?;
        at += length;
    }
    Ok(())
}

/// File 1 of a set as a binary log: buffered, appended to.
#[derive(Debug)]
pub struct BinlogFile {
    file: File,
    preallocated: bool,
    buffers: Buffers,
    end: u64,
    /// The next log begins here (`max_binlog_size`).
    limit: u64,
}

impl BinlogFile {
    /// Opens the file again, since servers write it through the page cache whatever the redo log does.
    ///
    /// # Errors
    /// [`StorageError::Io`]; [`StorageError::Refused`] without a second file.
    pub fn open(files: &FileSet, binlog: Binlog, seed: u64) -> Result<BinlogFile, StorageError> {
        let Some(path) = files.paths.get(1) else {
            return Err(StorageError::Refused(
                "a binary log needs a second file in addition to the redo log".to_owned(),
            ));
        };
        let no_follow = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
        let file = OpenOptions::new().write(true).custom_flags(no_follow).open(path).during("open", path)?;
        let (preallocated, limit) = (binlog.preallocated, files.layout.bytes_per_file);
        let log = BinlogFile { file, preallocated, buffers: buffers(files, seed, 1), end: 0, limit };
        log.begin_anew().and_then(|()| log.file.sync_all()).during("empty", path)?;
        Ok(log)
    }

    fn begin_anew(&self) -> io::Result<()> {
        if self.preallocated { Ok(()) } else { self.file.set_len(0) }
    }
}

impl LogTail for BinlogFile {
    fn append(&mut self, bytes: u64) -> io::Result<Flushed> {
        if self.end + bytes > self.limit {
            self.begin_anew()?;
            self.end = 0;
        }
        let BinlogFile { file, buffers, end, .. } = self;
        // A ring without an end: only the size of a single write splits it.
        let written = FlushStep::of(|| write_in_ring(file, buffers, *end..*end + bytes, u64::MAX).map(|()| bytes))?;
        let flushed = Flushed { written, synced: FlushStep::sync(file)? };
        self.end += bytes;
        Ok(flushed)
    }
}

fn buffers(files: &FileSet, seed: u64, worker: u64) -> Buffers {
    let payload = Payload { content: files.layout.content, seed, worker, verified: false };
    Buffers::new(1, LARGEST as usize, payload)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::layout::{Allocation, Content, FileLayout, Open};

    const MARIADB: Redo = Redo::MariaDb { block: 4096 };

    fn writes(redo: Redo, from: u64, to: u64) -> Vec<(u64, u64)> {
        redo.writes(from, to).map(|piece| (piece.start, piece.end - piece.start)).collect()
    }

    #[test]
    fn mariadb_rewrites_its_block_until_it_is_full() {
        assert_eq!(writes(MARIADB, 0, 390), [(0, 4096)]);
        assert_eq!(writes(MARIADB, 390, 780), [(0, 4096)]);
        assert_eq!(writes(MARIADB, 3900, 4290), [(0, 8192)]);
        assert_eq!(writes(MARIADB, 4290, 4680), [(4096, 4096)]);
        assert_eq!(writes(MARIADB, 3706, 4096), [(0, 4096)]);
        assert_eq!(writes(MARIADB, 4096, 4486), [(4096, 4096)]);
        let small = Redo::MariaDb { block: BUFFERED_BLOCK };
        assert_eq!((writes(small, 0, 390), writes(small, 390, 780)), (vec![(0, 512)], vec![(0, 1024)]));
    }

    /// The traced writes of a session: (offset, bytes) with the log's ends between them.
    #[test]
    fn mysql_writes_full_blocks_apart_and_fills_what_it_enters() {
        assert_eq!(writes(Redo::MySql, 0, 345), [(0, 8192)]);
        assert_eq!(writes(Redo::MySql, 345, 500), [(0, 512)]);
        assert_eq!(writes(Redo::MySql, 345, 690), [(0, 512), (512, 512)]);
        assert_eq!(writes(Redo::MySql, 690, 1690), [(512, 1024), (1536, 512)]);
        assert_eq!(writes(Redo::MySql, 690, 1024), [(512, 512)]);
        assert_eq!(writes(Redo::MySql, 1024, 1100), [(1024, 512)]);
        assert_eq!(writes(Redo::MySql, 8000, 8345), [(7680, 512), (8192, 8192)]);
        assert_eq!(writes(Redo::MySql, 8345, 8690), [(8192, 512)]);
        assert_eq!(writes(Redo::MySql, 8690, 9035), [(8192, 512), (8704, 512)]);
        assert_eq!(writes(Redo::MySql, 7000, 30000), [(6656, 1536), (8192, 24576)]);
    }

    pub(crate) fn files(count: u32, bytes: u64) -> (tempfile::TempDir, Arc<FileSet>) {
        let directory = tempfile::tempdir().unwrap();
        let layout = FileLayout {
            name: "log".to_owned(),
            files: count,
            bytes_per_file: bytes,
            allocation: Allocation::Overwrite,
            content: Content::Random,
            fresh: true,
        };
        let paths: Vec<_> = (0..count).map(|number| directory.path().join(layout.file_name(number))).collect();
        paths.iter().for_each(|path| std::fs::write(path, vec![0; bytes as usize]).unwrap());
        let open = |path| OpenOptions::new().read(true).write(true).open(path).unwrap();
        let files = paths.iter().map(open).collect();
        let set = FileSet { layout, open: Open::default(), files, paths, directory: directory.path().to_owned() };
        (directory, Arc::new(set))
    }

    /// Which 512-byte blocks hold something else than zeros.
    fn touched(files: &FileSet) -> Vec<usize> {
        let content = std::fs::read(&files.paths[0]).unwrap();
        let blocks = content.chunks(512).enumerate();
        blocks.filter(|(_, block)| block.iter().any(|byte| *byte != 0)).map(|(number, _)| number).collect()
    }

    fn written(log: &mut RedoFile, bytes: u64) -> u64 {
        log.append(bytes).unwrap().written.unwrap().bytes
    }

    #[test]
    fn a_redo_log_stays_in_its_file_and_begins_again_at_its_end() {
        let (_directory, files) = files(1, 20_000);
        let mut log = RedoFile::new(files.clone(), MARIADB, 1).unwrap();
        assert_eq!(written(&mut log, 390), 4096);
        assert_eq!(touched(&files), (0..8).collect::<Vec<_>>());
        assert_eq!(written(&mut log, 390), 4096);
        assert_eq!(touched(&files), (0..8).collect::<Vec<_>>());
        assert_eq!(written(&mut log, 15_000), 16_384);
        // The file's last 3616 bytes are no whole unit and never used.
        assert_eq!(touched(&files), (0..32).collect::<Vec<_>>());
        let first = std::fs::read(&files.paths[0]).unwrap();
        assert_eq!(written(&mut log, 1000), 8192);
        let second = std::fs::read(&files.paths[0]).unwrap();
        assert_ne!(first[..4096], second[..4096], "the block after the end is the first");
        assert_eq!(first[4096..12288], second[4096..12288]);
        assert_eq!(second.len(), 20_000);
    }

    #[test]
    fn a_binary_log_grows_and_is_emptied_at_its_limit() {
        let (_directory, files) = files(2, 10_000);
        let length = || std::fs::metadata(&files.paths[1]).unwrap().len();
        let mut log = BinlogFile::open(&files, Binlog { event_bytes: 4000, preallocated: false }, 1).unwrap();
        let lengths: Vec<u64> = (0..4).map(|_| log.append(4000).map(|_| length()).unwrap()).collect();
        assert_eq!(lengths, [4000, 8000, 4000, 8000]);
        let (_directory, files) = self::files(2, 10_000);
        let mut laid_out = BinlogFile::open(&files, Binlog { event_bytes: 4000, preallocated: true }, 1).unwrap();
        for _ in 0..4 {
            laid_out.append(4000).unwrap();
        }
        assert_eq!(std::fs::metadata(&files.paths[1]).unwrap().len(), 10_000);
    }

    #[test]
    fn files_that_are_too_few_or_too_small_are_refused_before_anything_is_written() {
        let (_directory, files) = files(1, 4096);
        let refused = RedoFile::new(files.clone(), Redo::MySql, 1).unwrap_err().to_string();
        assert!(refused.contains("4096 bytes is too small"), "{refused}");
        let refused =
            BinlogFile::open(&files, Binlog { event_bytes: 400, preallocated: true }, 1).unwrap_err().to_string();
        assert!(refused.contains("second file"), "{refused}");
        assert!(touched(&files).is_empty());
    }
}
