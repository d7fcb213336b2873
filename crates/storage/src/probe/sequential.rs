//! Probe 12, sequential reads: table scans, linear read-ahead, backups, dumps and CLONE. Buffered too, since dumps and
//! file copies read that way; the kernel's read-ahead then decides.

use crate::job::{Access, Engine};
use crate::layout::Open;
use crate::probe::{Extent, Step};
use serde_json::json;

/// An extent of 64 pages, what InnoDB reads ahead and allocates at once.
const BLOCK: u32 = 64 * crate::op::PAGE;
const DIRECT: [u32; 4] = [1, 2, 4, 8];
const BUFFERED: [u32; 2] = [1, 8];

pub fn steps(extent: &Extent) -> Vec<Step> {
    let direct = DIRECT.iter().filter(|_| extent.direct).map(|streams| step(extent, *streams, true));
    direct.chain(BUFFERED.iter().map(|streams| step(extent, *streams, false))).collect()
}

fn step(extent: &Extent, streams: u32, direct: bool) -> Step {
    let engine = Engine::Threads { workers: streams };
    let mut job = extent.job(extent.pages(), Access::Streams { block: BLOCK }, engine);
    job.open = Open { direct, ..Open::default() };
    // What was read to warm up would lie in the page cache.
    job.warmup_ns = if direct { job.warmup_ns } else { 0 };
    let slug = format!("{}.{streams}", if direct { "direct" } else { "buffered" });
    Step::new(12, &slug, "sequential read", [("streams", json!(streams)), ("direct", json!(direct))], job)
}
