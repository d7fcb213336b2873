//! Streams of whole blocks: random, sequential, or each once.

use super::cadence::Cadence;
use super::mixture::Mixture;
use super::permutation::Permutation;
use super::{OpStream, Worker};
use crate::job::{Mix, Places, Syncs};
use crate::layout::FileLayout;
use crate::op::{Durable, Op};
use plimsoll_load::seed::Rng;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The whole blocks of a file set, numbered over all files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    pub block: u32,
    pub per_file: u64,
    pub total: u64,
}

impl Blocks {
    pub fn of(layout: &FileLayout, block: u32) -> Blocks {
        let per_file = layout.bytes_per_file / u64::from(block.max(1));
        Blocks { block, per_file, total: per_file * u64::from(layout.files) }
    }

    /// File and offset of a block, whose number is below the total.
    pub fn place(&self, number: u64) -> (u32, u64) {
        ((number / self.per_file) as u32, number % self.per_file * u64::from(self.block))
    }
}

/// Which block one worker reads or writes next.
#[derive(Debug)]
enum Walk {
    /// Any of the first blocks (this many), repeatedly.
    Anywhere { bound: u64 },
    /// This worker's share of all blocks in scattered order: every `stride`-th, each once; then again, or the stream
    /// ends.
    EachOnce { order: Permutation, first: u64, next: u64, stride: u64, again: bool },
    /// One after the other, over all workers; then from the first again, or the stream ends.
    InTurn { cursor: Arc<AtomicU64>, bound: u64, again: bool },
    /// The same across files: the first block of each, then the second of each, …
    SideBySide { cursor: Arc<AtomicU64>, files: u64, per_file: u64, again: bool },
}

impl Walk {
    fn next(&mut self, rng: &mut Rng) -> Option<u64> {
        match self {
            Walk::Anywhere { bound } => Some(rng.between(0, bound.checked_sub(1)?)),
            Walk::EachOnce { order, first, next, stride, again } => {
                if *again && order.at(*next).is_none() {
                    *next = *first;
                }
                let number = order.at(*next)?;
                *next += *stride;
                Some(number)
            }
            Walk::InTurn { cursor, bound, again } => {
                let turn = cursor.fetch_add(1, Ordering::Relaxed);
                if *again { turn.checked_rem(*bound) } else { Some(turn).filter(|turn| turn < bound) }
            }
            Walk::SideBySide { cursor, files, per_file, again } => {
                let turn = cursor.fetch_add(1, Ordering::Relaxed);
                let within = turn.checked_div(*files).filter(|within| within < per_file || *again)?;
                Some(turn % *files * *per_file + within.checked_rem(*per_file)?)
            }
        }
    }
}

/// Reads and writes of whole blocks, with syncs between.
#[derive(Debug)]
pub(super) struct BlockStream {
    blocks: Blocks,
    rng: Rng,
    reads: Walk,
    writes: Walk,
    mixture: Mixture,
    cadence: Cadence,
    durable: Durable,
}

/// What [`crate::job::Access::Random`] and [`crate::job::Access::Sequential`] have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requests {
    pub block: u32,
    pub mix: Mix,
    pub syncs: Syncs,
    pub durable: Durable,
    /// Blocks may be written more than once: they are allocated already, or never will be.
    pub again: bool,
}

impl BlockStream {
    /// Uniform over all whole blocks of the set, or of its first bytes, or across files. If blocks are still to be
    /// allocated, each is written once.
    pub fn random(
        layout: &FileLayout,
        places: Places,
        requests: Requests,
        worker: Worker,
        cursor: &Arc<AtomicU64>,
    ) -> BlockStream {
        let blocks = Blocks::of(layout, requests.block);
        let bound = match places {
            Places::First(bytes) => (bytes / u64::from(requests.block.max(1))).max(1).min(blocks.total),
            Places::Anywhere | Places::EachOnce | Places::InTurn => blocks.total,
        };
        let again = requests.again;
        let number = worker.number.into();
        let each_once = || Walk::EachOnce {
            order: Permutation::new(bound, worker.seed, super::SHARED),
            first: number,
            next: number,
            stride: worker.workers.into(),
            again,
        };
        let side_by_side = || Walk::SideBySide {
            cursor: Arc::clone(cursor),
            files: layout.files.into(),
            per_file: blocks.per_file,
            again: again || requests.mix == Mix::Reads,
        };
        let anywhere = || Walk::Anywhere { bound };
        let (reads, writes) = match places {
            Places::InTurn => (side_by_side(), side_by_side()),
            Places::EachOnce => (each_once(), each_once()),
            Places::Anywhere | Places::First(_) if again => (anywhere(), anywhere()),
            Places::Anywhere | Places::First(_) => (anywhere(), each_once()),
        };
        BlockStream::new(layout, blocks, requests, worker, reads, writes)
    }

    /// All workers move one cursor over all files. If blocks are still to be allocated, it stops at the end.
    pub fn sequential(layout: &FileLayout, requests: Requests, worker: Worker, cursor: &Arc<AtomicU64>) -> BlockStream {
        let blocks = Blocks::of(layout, requests.block);
        let again = requests.again || requests.mix == Mix::Reads;
        let in_turn = || Walk::InTurn { cursor: Arc::clone(cursor), bound: blocks.total, again };
        BlockStream::new(layout, blocks, requests, worker, in_turn(), in_turn())
    }

    fn new(
        layout: &FileLayout,
        blocks: Blocks,
        requests: Requests,
        worker: Worker,
        reads: Walk,
        writes: Walk,
    ) -> BlockStream {
        BlockStream {
            blocks,
            rng: worker.rng(),
            reads,
            writes,
            mixture: Mixture::new(requests.mix),
            cadence: Cadence::new(requests.syncs, layout.files),
            durable: requests.durable,
        }
    }
}

impl OpStream for BlockStream {
    fn next(&mut self) -> Option<Op> {
        if let Some(sync) = self.cadence.due() {
            return Some(sync);
        }
        let bytes = self.blocks.block;
        if self.mixture.reads_next() {
            let (file, offset) = self.blocks.place(self.reads.next(&mut self.rng)?);
            self.cadence.read();
            return Some(Op::Read { file, offset, bytes });
        }
        let (file, offset) = self.blocks.place(self.writes.next(&mut self.rng)?);
        self.cadence.wrote(file);
        Some(Op::Write { file, offset, bytes, durable: self.durable, atomic: false })
    }
}

/// Reads a piece of the set from end to end; repeatedly if the page cache does not keep what was read.
#[derive(Debug)]
pub(super) struct Scan {
    blocks: Blocks,
    first: u64,
    length: u64,
    done: u64,
    again: bool,
}

impl Scan {
    /// The worker's share: an equal part of all blocks, one after the other.
    pub fn new(layout: &FileLayout, block: u32, again: bool, worker: Worker) -> Scan {
        let blocks = Blocks::of(layout, block);
        let start =
            |number: u32| (u128::from(blocks.total) * u128::from(number) / u128::from(worker.workers.max(1))) as u64;
        let first = start(worker.number);
        Scan { blocks, first, length: start(worker.number + 1) - first, done: 0, again }
    }
}

impl OpStream for Scan {
    fn next(&mut self) -> Option<Op> {
        if self.done == self.length && self.again {
            self.done = 0;
        }
        let within = Some(self.done).filter(|done| *done < self.length)?;
        self.done += 1;
        let (file, offset) = self.blocks.place(self.first + within);
        Some(Op::Read { file, offset, bytes: self.blocks.block })
    }
}
