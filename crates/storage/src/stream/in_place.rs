//! A few blocks written over and over, each durable before the next.

use super::{OpStream, Worker};
use crate::layout::FileLayout;
use crate::op::{Durable, Op, SyncMode};

/// Blocks that one worker rewrites: enough that none is still in flight, few enough to fit any cache.
const BLOCKS: u64 = 64;

/// Each worker has a region of its own, so that no two write the same block.
#[derive(Debug)]
pub(super) struct InPlace {
    file: u32,
    block: u32,
    start: u64,
    blocks: u64,
    written: u64,
    sync_next: bool,
}

impl InPlace {
    pub fn new(layout: &FileLayout, block: u32, misaligned: u32, worker: Worker) -> InPlace {
        let files = layout.files.max(1);
        let neighbours = u64::from(worker.workers.div_ceil(files).max(1));
        let room = layout.bytes_per_file.saturating_sub(misaligned.into()) / u64::from(block.max(1));
        let blocks = (room / neighbours).min(BLOCKS);
        let start = u64::from(worker.number / files) * blocks * u64::from(block) + u64::from(misaligned);
        InPlace { file: worker.number % files, block, start, blocks, written: 0, sync_next: false }
    }
}

impl OpStream for InPlace {
    fn next(&mut self) -> Option<Op> {
        self.sync_next = !self.sync_next;
        if !self.sync_next {
            return Some(Op::Sync { file: self.file, mode: SyncMode::Fdatasync });
        }
        let at = self.written.checked_rem(self.blocks)?;
        self.written += 1;
        let offset = self.start + at * u64::from(self.block);
        Some(Op::Write { file: self.file, offset, bytes: self.block, durable: Durable::No, atomic: false })
    }
}
