//! Probe 5, fsync honesty: how many flushes the device completes per fdatasync(2), by the kernel's own count. One where
//! blocks are overwritten, one or two where a file grows (by measurement one on ext4 of Linux 6.18, where the flush of the
//! journal's commit serves the data too); none at all where barriers are off, a library swallows the call, or the device
//! says that its cache needs none. Whether
//! `innodb_flush_log_at_trx_commit = 1` keeps its promise.

use crate::job::{Access, Engine, Job, Mix, Syncs};
use crate::layout::{Allocation, Layout, Open};
use crate::op::Durable;
use crate::probe::{Extent, Step};
use plimsoll_load::window::Limit;
use serde_json::json;

/// A block of the file system.
const BLOCK: u32 = 4096;
/// Enough that a few flushes of others do not matter, few enough for a disk that turns.
const WRITES: u64 = 200;
/// Room for all of them.
const BYTES: u64 = 1 << 20;

pub fn steps(extent: &Extent) -> Vec<Step> {
    [Allocation::Overwrite, Allocation::Extend].into_iter().map(|allocation| step(extent, allocation)).collect()
}

fn step(extent: &Extent, allocation: Allocation) -> Step {
    let layout = match allocation {
        Allocation::Overwrite => extent.pages(),
        _ => Layout { allocation, fresh: true, ..Layout::of("honesty", 1, BYTES) },
    };
    let access = Access::Sequential { block: BLOCK, mix: Mix::Writes, syncs: Syncs::every(1), durable: Durable::No };
    let job = Job {
        open: Open::default(),
        // Each write and each sync is an operation.
        limit: Limit::Events(2 * WRITES),
        warmup_ns: 0,
        ..extent.job(layout, access, Engine::Threads { workers: 1 })
    };
    Step::new(5, allocation.name(), "fsync honesty", [("allocation", json!(allocation.name()))], job)
}
