//! What one measurement does, as a plain value.

use crate::commit::Log;
use crate::layout::{FileLayout, Open};
use crate::op::{Durable, SyncMode};
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::window::Limit;

/// Files × access × engine × arrivals × limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub layout: FileLayout,
    pub open: Open,
    pub access: Access,
    pub engine: JobEngine,
    pub arrivals: Arrivals,
    pub limit: Limit,
    pub warmup_ns: u64,
    /// Verify what is read, and at the end everything that was written. Needs [`crate::layout::Content::Checked`].
    pub verify: bool,
}

impl Job {
    /// How all files are synced when the window is over; `None` if they are not.
    pub fn syncs_at_end(&self) -> Option<SyncMode> {
        match self.access {
            Access::Random { syncs, .. } | Access::Sequential { syncs, .. } => syncs.at_end.then_some(syncs.mode),
            _ => None,
        }
    }
}

/// Which operations come, and in which order.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// Blocks at random offsets.
    Random { block: u32, places: Places, mix: Mix, syncs: Syncs, durable: Durable },
    /// One block after the other; all workers share one cursor, as in sysbench fileio.
    Sequential { block: u32, mix: Mix, syncs: Syncs, durable: Durable },
    /// Each worker reads a piece of its own from end to end: repeatedly if direct, else once, since the page cache
    /// would answer the second time.
    Streams { block: u32 },
    /// The first blocks over and over, shifted from their alignment by this many bytes; a sync after each.
    InPlace { block: u32, misaligned: u32 },
    /// Commits, as a server's log sees them.
    Commits(Log),
    /// What the page cleaner does: writes `pages` pages of 16 KiB to the doublewrite area and then in place, then syncs
    /// each file.
    FlushBatch { pages: u32, doublewrite: Doublewrite },
    /// The file grows by `step` bytes repeatedly and is emptied when it reaches `limit`.
    Extension { step: u64, limit: u64, allocate: bool },
    /// Create, rename, truncate, unlink files of `bytes` bytes, each made durable by a sync of the directory.
    Metadata { bytes: u64 },
}

/// Where random blocks are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Places {
    /// Anywhere in all files.
    #[default]
    Anywhere,
    /// In the first bytes of all files taken together: this many.
    First(u64),
    /// Each block once, in scattered order and divided among the workers, before any is repeated: so each write finds a
    /// hole until none is left.
    EachOnce,
    /// The next block of each file in turn, by a cursor that all workers share: the files grow evenly.
    InTurn,
}

/// Reads and writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mix {
    Reads,
    Writes,
    /// This many reads per write.
    Ratio(f64),
}

/// When requests are followed by a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Syncs {
    /// After this many requests (per worker, reads included), if anything was written; 0 for never.
    pub every: u64,
    pub mode: SyncMode,
    /// All files each time, as in sysbench, rather than the file that was written last.
    pub all_files: bool,
    /// All files at the end of the window.
    pub at_end: bool,
}

impl Syncs {
    pub const NEVER: Syncs = Syncs { every: 0, mode: SyncMode::Fdatasync, all_files: false, at_end: false };

    /// The file that was written last, each time after this many requests.
    pub fn every(every: u64) -> Syncs {
        Syncs { every, ..Syncs::NEVER }
    }
}

/// How torn pages are guarded against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doublewrite {
    Off,
    /// Pages go to the doublewrite area first, in one large write, as in MySQL; no sync between.
    On,
    /// With an fdatasync between, as in MariaDB.
    Synced,
    /// Untorn writes of 16 KiB (RWF_ATOMIC) instead.
    Atomic,
}

/// The way in which operations are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEngine {
    /// Threads with pread(2) and pwrite(2), one operation each at a time.
    Threads { workers: u32 },
    /// One ring per loop with `depth` operations under way in each.
    Uring { loops: u32, depth: u32 },
    /// Threads that copy from and to a shared mapping; a sync is msync(2).
    Mmap { workers: u32 },
    /// Answers at once: measures the instrument itself.
    Null { workers: u32 },
    /// Committers with one leader; for [`Access::Commits`] only.
    Committers { workers: u32 },
}

impl JobEngine {
    /// Loops, each a thread with its own recorder.
    pub fn loops(self) -> u32 {
        match self {
            JobEngine::Threads { workers } | JobEngine::Mmap { workers } => workers,
            JobEngine::Null { workers } | JobEngine::Committers { workers } => workers,
            JobEngine::Uring { loops, .. } => loops,
        }
    }

    /// Operations under way at the same time.
    pub fn depth(self) -> u32 {
        match self {
            JobEngine::Uring { loops, depth } => loops * depth,
            other => other.loops(),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            JobEngine::Threads { .. } => "threads",
            JobEngine::Uring { .. } => "io_uring",
            JobEngine::Mmap { .. } => "mmap",
            JobEngine::Null { .. } => "null",
            JobEngine::Committers { .. } => "committers",
        }
    }
}
