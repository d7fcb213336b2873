//! Probe 5, fsync honesty: how many flushes the device completes per fdatasync(2), by the kernel's own count. One if
//! blocks are overwritten, one or two if a file grows (measured: one on ext4 of Linux 6.18, where the flush of the
//! journal's commit serves the data too); none at all if barriers are off, a library swallows the call, or the device
//! says that its cache needs none. It shows whether `innodb_flush_log_at_trx_commit = 1` keeps its promise.

use crate::job::{Access, Job, JobEngine, Mix, Syncs};
use crate::layout::{Allocation, FileLayout, Open};
use crate::op::Durable;
use crate::probe::{Extent, ProbeStep};
use plimsoll_load::window::Limit;

/// A block of the file system.
const BLOCK: u32 = 4096;
/// Enough that a few flushes of others do not matter, few enough for a spinning disk.
const WRITES: u64 = 200;
/// Room for all of them.
const BYTES: u64 = 1 << 20;

pub fn steps(extent: &Extent) -> Vec<ProbeStep> {
    [Allocation::Overwrite, Allocation::Extend].into_iter().map(|allocation| step(extent, allocation)).collect()
}

fn step(extent: &Extent, allocation: Allocation) -> ProbeStep {
    let layout = match allocation {
        Allocation::Overwrite => extent.pages(),
        _ => FileLayout { allocation, fresh: true, ..FileLayout::of("honesty", 1, BYTES) },
    };
    let access = Access::Sequential { block: BLOCK, mix: Mix::Writes, syncs: Syncs::every(1), durable: Durable::No };
    let job = Job {
        open: Open::default(),
        // Each write and each sync is an operation.
        limit: Limit::Events(2 * WRITES),
        warmup_ns: 0,
        ..extent.job(layout, access, JobEngine::Threads { workers: 1 })
    };
    ProbeStep::new(5, allocation.name(), "fsync honesty", [("allocation", allocation.name().into())], job)
}
