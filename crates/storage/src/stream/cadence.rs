//! Syncs after a given number of requests.

use crate::job::Syncs;
use crate::op::Op;
use std::ops::Range;

/// Counts one worker's requests and says when to sync which files. As in sysbench fileio, reads count too, and nothing
/// is synced as long as nothing was written.
#[derive(Debug)]
pub(super) struct Cadence {
    syncs: Syncs,
    files: u32,
    /// Since they were last counted up.
    requests: u64,
    /// The file that was written last, since the last sync.
    written: Option<u32>,
    /// Files that are still to be synced.
    pending: Range<u32>,
}

impl Cadence {
    pub fn new(syncs: Syncs, files: u32) -> Cadence {
        Cadence { syncs, files, requests: 0, written: None, pending: 0..0 }
    }

    /// The sync that comes next, before anything else.
    pub fn due(&mut self) -> Option<Op> {
        self.pending.next().map(|file| Op::Sync { file, mode: self.syncs.mode })
    }

    pub fn read(&mut self) {
        self.requested();
    }

    pub fn wrote(&mut self, file: u32) {
        self.written = Some(file);
        self.requested();
    }

    fn requested(&mut self) {
        self.requests += 1;
        if self.requests == self.syncs.every {
            self.requests = 0;
            if let Some(file) = self.written.take() {
                self.pending = if self.syncs.all_files { 0..self.files } else { file..file + 1 };
            }
        }
    }
}
