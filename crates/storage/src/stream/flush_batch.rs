//! What a page cleaner does: writes pages to the doublewrite area at once, then in place, then syncs each file.

use super::blocks::Blocks;
use super::{OpStream, Worker};
use crate::job::Doublewrite;
use crate::layout::FileLayout;
use crate::op::PAGE;
use crate::op::{Durable, Op, SyncMode};
use plimsoll_load::seed::Rng;

/// The doublewrite area is file 0 of the layout, the pages are in the others. MySQL writes the area and continues,
/// MariaDB syncs it first.
#[derive(Debug)]
pub(super) struct FlushBatch {
    rng: Rng,
    doublewrite: Doublewrite,
    pages: u32,
    /// Where this worker's part of the area begins.
    area: u64,
    data: Blocks,
    files: u32,
    /// Steps of the batch that are done.
    step: u64,
}

impl FlushBatch {
    pub fn new(layout: &FileLayout, pages: u32, doublewrite: Doublewrite, worker: Worker) -> FlushBatch {
        let parts = layout.bytes_per_file / u64::from(batch_bytes(pages)).max(1);
        let area = u64::from(worker.number) % parts.max(1) * u64::from(batch_bytes(pages));
        let data = FileLayout { files: layout.files.saturating_sub(1), ..layout.clone() };
        FlushBatch {
            rng: worker.rng(),
            doublewrite,
            pages,
            area,
            data: Blocks::of(&data, PAGE),
            files: layout.files,
            step: 0,
        }
    }

    fn area(&self) -> Op {
        let bytes = batch_bytes(self.pages);
        Op::Write { file: 0, offset: self.area, bytes, durable: Durable::No, atomic: false }
    }

    fn page(&mut self) -> Op {
        let (file, offset) = self.data.place(self.rng.between(0, self.data.total - 1));
        let atomic = self.doublewrite == Doublewrite::Atomic;
        Op::Write { file: file + 1, offset, bytes: PAGE, durable: Durable::No, atomic }
    }
}

/// Bytes of the write to the doublewrite area.
pub(super) fn batch_bytes(pages: u32) -> u32 {
    pages.saturating_mul(PAGE)
}

impl OpStream for FlushBatch {
    fn next(&mut self) -> Option<Op> {
        if self.data.total == 0 || self.pages == 0 {
            return None;
        }
        let before = match self.doublewrite {
            Doublewrite::Off | Doublewrite::Atomic => 0,
            Doublewrite::On => 1,
            Doublewrite::Synced => 2,
        };
        let (pages, syncs) = (u64::from(self.pages), u64::from(self.files - 1));
        let step = self.step;
        self.step = (step + 1) % (before + pages + syncs);
        Some(match step {
            _ if step >= before + pages => {
                Op::Sync { file: (step - before - pages + 1) as u32, mode: SyncMode::Fdatasync }
            }
            _ if step >= before => self.page(),
            0 => self.area(),
            _ => Op::Sync { file: 0, mode: SyncMode::Fdatasync },
        })
    }
}
