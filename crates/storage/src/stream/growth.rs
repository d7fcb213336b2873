//! Streams that change what a directory or an inode says rather than what a block holds, and commits.

use super::{Stream, Worker};
use crate::layout::Layout;
use crate::op::Op;

/// A file grows step by step. Each worker has a file of its own where there are enough; the engine empties it when it has
/// reached its limit, which is not measured.
#[derive(Debug)]
pub(super) struct Extension {
    file: u32,
    step: u64,
    allocate: bool,
}

impl Extension {
    pub fn new(layout: &Layout, step: u64, allocate: bool, worker: Worker) -> Extension {
        Extension { file: worker.number % layout.files.max(1), step, allocate }
    }
}

impl Stream for Extension {
    fn next(&mut self) -> Option<Op> {
        Some(Op::Extend { file: self.file, bytes: self.step, allocate: self.allocate })
    }
}

/// Create, rename, truncate, unlink: one file after the other, each worker with numbers of its own.
#[derive(Debug)]
pub(super) struct Metadata {
    number: u64,
    stride: u64,
    step: u8,
}

impl Metadata {
    pub fn new(worker: Worker) -> Metadata {
        Metadata { number: worker.number.into(), stride: worker.workers.into(), step: 0 }
    }
}

impl Stream for Metadata {
    fn next(&mut self) -> Option<Op> {
        let number = self.number;
        let op = match self.step {
            0 => Op::Create { number },
            1 => Op::Rename { number },
            2 => Op::Truncate { number },
            _ => {
                self.number += self.stride;
                Op::Unlink { number }
            }
        };
        self.step = (self.step + 1) % 4;
        Some(op)
    }
}

/// One commit after the other: what is written is the commit engine's affair.
#[derive(Debug)]
pub(super) struct Commits;

impl Stream for Commits {
    fn next(&mut self) -> Option<Op> {
        Some(Op::Commit)
    }
}
