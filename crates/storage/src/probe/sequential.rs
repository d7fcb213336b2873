//! Probe 12, sequential reads: table scans, linear read-ahead, backups, dumps and CLONE. Also buffered, since dumps and
//! file copies read that way; then the kernel's read-ahead decides.

use crate::job::{Access, JobEngine};
use crate::layout::Open;
use crate::probe::{Extent, ProbeStep};

/// An extent of 64 pages, what InnoDB reads ahead and allocates at once.
const BLOCK: u32 = 64 * crate::op::PAGE;
const DIRECT: [u32; 4] = [1, 2, 4, 8];
const BUFFERED: [u32; 2] = [1, 8];

pub fn steps(extent: &Extent) -> Vec<ProbeStep> {
    let direct = DIRECT.iter().filter(|_| extent.direct).map(|streams| step(extent, *streams, true));
    direct.chain(BUFFERED.iter().map(|streams| step(extent, *streams, false))).collect()
}

fn step(extent: &Extent, streams: u32, direct: bool) -> ProbeStep {
    let engine = JobEngine::Threads { workers: streams };
    let mut job = extent.job(extent.pages(), Access::Streams { block: BLOCK }, engine);
    job.open = Open { direct, ..Open::default() };
    // What a warm-up reads would stay in the page cache.
    job.warmup_ns = if direct { job.warmup_ns } else { 0 };
    let slug = format!("{}.{streams}", if direct { "direct" } else { "buffered" });
    ProbeStep::new(12, &slug, "sequential read", [("streams", streams.into()), ("direct", direct.into())], job)
}
