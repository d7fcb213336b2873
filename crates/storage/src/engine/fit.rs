//! Which jobs an engine can do; checked before anything starts.

use super::uring::MOST_DEPTH;
use crate::error::StorageError;
use crate::job::{Access, Doublewrite, Job, JobEngine, Mix, Syncs};
use crate::layout::{Allocation, Content};
use crate::op::Durable;
use crate::op::PAGE;
use plimsoll_model::OpKind;

/// # Errors
/// [`StorageError::Refused`] for a job that its engine cannot do, naming what can.
pub fn check(job: &Job) -> Result<(), StorageError> {
    let refused = [engine(job), verification(job), rate(job)].into_iter().flatten().next();
    refused.map_or(Ok(()), |why| Err(StorageError::Refused(why)))
}

fn engine(job: &Job) -> Option<String> {
    if job.engine.depth() == 0 {
        return Some(format!("the engine {} needs a depth of at least 1", job.engine.name()));
    }
    let (access, durable) = (&job.access, durable(&job.access));
    match job.engine {
        JobEngine::Threads { .. } | JobEngine::Uring { .. } | JobEngine::Mmap { .. }
            if matches!(access, Access::Commits(_)) =>
        {
            Some(format!("commits need the engine committers, not {}", job.engine.name()))
        }
        JobEngine::Committers { .. } if matches!(access, Access::Commits(log) if log.is_empty()) => {
            Some("a commit of 0 bytes: the redo log and each event need at least 1".to_owned())
        }
        JobEngine::Threads { .. } if durable == Durable::Linked => {
            Some("a sync linked to its write needs the engine io_uring, not threads".to_owned())
        }
        JobEngine::Uring { depth, .. } if depth > MOST_DEPTH => {
            Some(format!("io_uring takes at most {MOST_DEPTH} operations per loop, not {depth}"))
        }
        JobEngine::Uring { .. } if matches!(access, Access::Extension { .. } | Access::Metadata { .. }) => {
            Some("io_uring can only read, write and sync here; to grow, create or rename files, use threads".to_owned())
        }
        JobEngine::Mmap { .. } => mapping(job),
        _ => None,
    }
}

fn mapping(job: &Job) -> Option<String> {
    let blocks = matches!(job.access, Access::Random { .. } | Access::Sequential { .. } | Access::Streams { .. });
    let allocated = matches!(job.layout.allocation, Allocation::Overwrite | Allocation::Unwritten);
    if !blocks || durable(&job.access) != Durable::No {
        return Some("mapped memory can only be read, written and synced; use threads".to_owned());
    }
    if !allocated || job.layout.bytes_per_file == 0 {
        let found = job.layout.allocation.name();
        return Some(format!("mapped files must be allocated in advance (overwrite, unwritten), not {found}"));
    }
    job.open.direct.then(|| "mapped files go through the page cache; direct I/O is impossible".to_owned())
}

fn verification(job: &Job) -> Option<String> {
    if !job.verify {
        return None;
    }
    if job.layout.content != Content::Checked {
        return Some("only checked content can be verified".to_owned());
    }
    if matches!(job.engine, JobEngine::Null { .. } | JobEngine::Committers { .. }) {
        return Some(format!("the engine {} moves no blocks, so nothing can be verified", job.engine.name()));
    }
    let blocks = matches!(job.access, Access::Random { .. } | Access::Sequential { .. } | Access::Streams { .. });
    (!blocks).then(|| "only random blocks, sequential blocks and streams can be verified".to_owned())
}

fn rate(job: &Job) -> Option<String> {
    let rate = job.arrivals.rate().filter(|rate| !(rate.is_finite() && *rate > 0.0))?;
    Some(format!("a rate must be above 0 operations per second, not {rate}"))
}

fn durable(access: &Access) -> Durable {
    match access {
        Access::Random { durable, .. } | Access::Sequential { durable, .. } => *durable,
        _ => Durable::No,
    }
}

/// Bytes of the blocks that are verified; `None` if nothing is.
pub fn verified_block(job: &Job) -> Option<u32> {
    match job.access {
        Access::Random { block, .. } | Access::Sequential { block, .. } | Access::Streams { block } if job.verify => {
            Some(block)
        }
        _ => None,
    }
}

/// Bytes of the largest operation.
pub fn largest(access: &Access) -> usize {
    match *access {
        Access::Random { block, .. } | Access::Sequential { block, .. } => block as usize,
        Access::Streams { block } | Access::InPlace { block, .. } => block as usize,
        Access::FlushBatch { pages, doublewrite: Doublewrite::On | Doublewrite::Synced } => {
            pages as usize * PAGE as usize
        }
        Access::FlushBatch { .. } => PAGE as usize,
        Access::Extension { step, allocate: false, .. } => step as usize,
        Access::Extension { .. } | Access::Metadata { .. } | Access::Commits(_) => 0,
    }
}

/// The last kind of operation, in the order of [`OpKind::ALL`], that is counted.
pub fn last_kind(access: &Access) -> OpKind {
    match access {
        Access::Random { mix, syncs, .. } | Access::Sequential { mix, syncs, .. } => match (mix, *syncs) {
            (_, Syncs { every, at_end, .. }) if every > 0 || at_end => OpKind::Sync,
            (Mix::Reads, _) => OpKind::Read,
            _ => OpKind::Write,
        },
        Access::Streams { .. } => OpKind::Read,
        Access::InPlace { .. } | Access::FlushBatch { .. } => OpKind::Sync,
        Access::Commits(_) => OpKind::Commit,
        Access::Extension { .. } => OpKind::Extend,
        Access::Metadata { .. } => OpKind::Unlink,
    }
}
