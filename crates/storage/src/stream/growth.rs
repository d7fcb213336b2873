//! Streams that change a directory or an inode rather than the content of a block, and commits.

use super::{OpStream, Worker};
use crate::layout::FileLayout;
use crate::op::Op;

/// A file grows step by step. Each worker has a file of its own if there are enough; the engine empties it at its
/// limit, which is not measured.
#[derive(Debug)]
pub(super) struct Extension {
    file: u32,
    step: u64,
    allocate: bool,
}

impl Extension {
    pub fn new(layout: &FileLayout, step: u64, allocate: bool, worker: Worker) -> Extension {
        Extension { file: worker.number % layout.files.max(1), step, allocate }
    }
}

impl OpStream for Extension {
    fn next(&mut self) -> Option<Op> {
        Some(Op::Extend { file: self.file, bytes: self.step, allocate: self.allocate })
    }
}

/// Create, rename, truncate, unlink: one file after the other; each worker has its own numbers.
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

impl OpStream for Metadata {
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

/// One commit after the other; the commit engine decides what is written.
#[derive(Debug)]
pub(super) struct Commits;

impl OpStream for Commits {
    fn next(&mut self) -> Option<Op> {
        Some(Op::Commit)
    }
}
