//! Which operation comes next. A stream belongs to one worker; it is a function of seed, worker and number alone,
//! except for the cursor that sequential workers share.
//!
//! Writes to blocks that are not allocated yet ([`Allocation::Hole`], [`Allocation::Unwritten`],
//! [`Allocation::Extend`]) go to each block once and then end, so that each of them allocates: in scattered order for
//! [`Access::Random`] (except [`crate::job::Places::InTurn`]), from front to back (appending) for
//! [`Access::Sequential`]. The engine null allocates nothing, so it begins again. Syncs at the end of the window
//! ([`crate::job::Syncs::at_end`]) are not part of a stream.

mod blocks;
mod cadence;
mod flush_batch;
mod growth;
mod in_place;
mod mixture;
mod permutation;

use crate::error::StorageError;
use crate::job::{Access, Doublewrite, Job, JobEngine, Mix};
use crate::layout::{Allocation, FileLayout};
use crate::op::Op;
use crate::op::PAGE;
use blocks::{BlockStream, Blocks, Requests, Scan};
use flush_batch::{FlushBatch, batch_bytes};
use growth::{Commits, Extension, Metadata};
use in_place::InPlace;
use plimsoll_load::seed::Rng;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The stream that all workers share; no worker has this number.
const SHARED: u64 = u64::MAX - 1;

/// One worker's operations, in order.
pub trait OpStream: Send {
    /// `None` when there is nothing more to do.
    fn next(&mut self) -> Option<Op>;
}

/// Which of how many workers, and the seed.
#[derive(Clone, Copy, Debug)]
struct Worker {
    seed: u64,
    number: u32,
    workers: u32,
}

impl Worker {
    fn rng(self) -> Rng {
        Rng::new(self.seed, self.number.into(), 0)
    }
}

/// The streams of a job, one per loop. A stream of a job that [`check`] refuses may be empty.
pub fn streams(job: &Job, seed: u64) -> Vec<Box<dyn OpStream>> {
    let workers = job.engine.loops();
    let cursor = Arc::new(AtomicU64::new(0));
    (0..workers).map(|number| stream(job, Worker { seed, number, workers }, &cursor)).collect()
}

fn stream(job: &Job, worker: Worker, cursor: &Arc<AtomicU64>) -> Box<dyn OpStream> {
    let layout = &job.layout;
    // What does nothing allocates nothing.
    let again = layout.allocation == Allocation::Overwrite || matches!(job.engine, JobEngine::Null { .. });
    match job.access {
        Access::Random { block, places, mix, syncs, durable } => {
            let requests = Requests { block, mix, syncs, durable, again };
            Box::new(BlockStream::random(layout, places, requests, worker, cursor))
        }
        Access::Sequential { block, mix, syncs, durable } => {
            let requests = Requests { block, mix, syncs, durable, again };
            Box::new(BlockStream::sequential(layout, requests, worker, cursor))
        }
        Access::Streams { block } => Box::new(Scan::new(layout, block, job.open.direct, worker)),
        Access::InPlace { block, misaligned } => Box::new(InPlace::new(layout, block, misaligned, worker)),
        Access::Commits(_) => Box::new(Commits),
        Access::FlushBatch { pages, doublewrite } => Box::new(FlushBatch::new(layout, pages, doublewrite, worker)),
        Access::Extension { step, allocate, .. } => Box::new(Extension::new(layout, step, allocate, worker)),
        Access::Metadata { .. } => Box::new(Metadata::new(worker)),
    }
}

/// Whether the files of a job have room for what it does.
///
/// # Errors
/// [`StorageError::Refused`] says what is missing.
pub fn check(job: &Job) -> Result<(), StorageError> {
    match reason(job) {
        Some(why) => Err(StorageError::Refused(why)),
        None => Ok(()),
    }
}

fn reason(job: &Job) -> Option<String> {
    let FileLayout { files, bytes_per_file, allocation, .. } = job.layout;
    let workers = u64::from(job.engine.loops());
    let short = |needed: u64| {
        let why = format!("{files} files of {bytes_per_file} bytes are too small; each needs at least {needed} bytes");
        (bytes_per_file < needed).then_some(why)
    };
    match job.access {
        _ if files == 0 && !matches!(job.access, Access::Metadata { .. }) => Some("a job needs a file".to_owned()),
        _ if job.access.block() == Some(0) => Some("a block of 0 bytes: accepted is at least 1".to_owned()),
        Access::Random { mix, .. } | Access::Sequential { mix, .. }
            if mix != Mix::Writes && allocation == Allocation::Extend =>
        {
            Some("files that start empty cannot be read; lay them out in full".to_owned())
        }
        Access::Random { block, .. } | Access::Sequential { block, .. } => short(block.into()),
        Access::Streams { block } => {
            let total = Blocks::of(&job.layout, block).total;
            (total < workers).then(|| format!("{total} blocks are too few for {workers} streams"))
        }
        Access::InPlace { block, misaligned } => {
            short(u64::from(block) * workers.div_ceil(files.into()) + u64::from(misaligned))
        }
        Access::FlushBatch { .. } if files < 2 => {
            Some("a flush batch needs a file for the doublewrite area and at least one for pages".to_owned())
        }
        Access::FlushBatch { pages: 0, .. } => Some("a flush batch needs at least one page".to_owned()),
        Access::FlushBatch { doublewrite: Doublewrite::Off | Doublewrite::Atomic, .. } => short(PAGE.into()),
        Access::FlushBatch { pages, .. } => short(batch_bytes(pages).into()),
        Access::Extension { step: 0, .. } => Some("a file cannot grow by 0 bytes".to_owned()),
        Access::Extension { .. } | Access::Metadata { .. } | Access::Commits(_) => None,
    }
}

impl Access {
    /// Bytes of one read or write, if all have the same.
    pub fn block(&self) -> Option<u32> {
        match self {
            Access::Random { block, .. } | Access::Sequential { block, .. } => Some(*block),
            Access::Streams { block } | Access::InPlace { block, .. } => Some(*block),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
