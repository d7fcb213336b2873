//! Syncs after every so many writes.

use crate::job::Syncs;
use crate::op::Op;
use std::ops::Range;

/// Counts one worker's writes and says when which files are to be synced.
#[derive(Debug)]
pub(super) struct Cadence {
    syncs: Syncs,
    files: u32,
    /// Since the last sync.
    writes: u64,
    /// Files that are still to be synced.
    pending: Range<u32>,
}

impl Cadence {
    pub fn new(syncs: Syncs, files: u32) -> Cadence {
        Cadence { syncs, files, writes: 0, pending: 0..0 }
    }

    /// The sync that comes next, before anything else.
    pub fn due(&mut self) -> Option<Op> {
        self.pending.next().map(|file| Op::Sync { file, mode: self.syncs.mode })
    }

    pub fn wrote(&mut self, file: u32) {
        self.writes += 1;
        if self.writes == self.syncs.every {
            self.writes = 0;
            self.pending = if self.syncs.all_files { 0..self.files } else { file..file + 1 };
        }
    }
}
