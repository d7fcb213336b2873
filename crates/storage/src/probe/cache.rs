//! Probe 13, the cache map: random reads over ever larger working sets show which tier answers (host, controller,
//! array), and a burst of writes how long a write cache takes them. A "small" set is one that no buffer pool needs.

use crate::job::{Access, Engine, Job, Mix, Places, Syncs};
use crate::layout::Layout;
use crate::op::Durable;
use crate::probe::{Extent, Step, size};
use plimsoll_load::window::Limit;
use serde_json::json;

const MIB: u64 = 1 << 20;
const QUICK: &[u64] = &[64 * MIB, 1024 * MIB];
/// Four times larger each. To lay out the next one alone would take longer than the full suite may, on most devices.
const FULL: &[u64] = &[64 * MIB, 256 * MIB, 1024 * MIB, 4096 * MIB, 16_384 * MIB, 65_536 * MIB];
/// Enough under way to bring a set into a cache within a window, even where one read takes milliseconds.
const DEPTH: u32 = 16;
/// A set is read once from end to end before it is measured, in pieces like those of a scan; of a large one only so much,
/// since a cache that holds more of it shows in what random reads bring in.
const PIECE: u64 = MIB;
const READ_FIRST: u64 = 256 * MIB;
/// Windows that the burst of writes lasts.
const BURST: u64 = 6;

pub fn steps(extent: &Extent) -> Vec<Step> {
    let sizes = sizes(extent);
    let largest = sizes.iter().copied().max().unwrap_or(extent.data_bytes);
    let reads = sizes.iter().map(|bytes| read(extent, *bytes, largest));
    reads.chain(extent.full.then(|| burst(extent, largest))).collect()
}

/// The working sets, smallest first. One says nothing alone: where fewer than two fit, the largest that does and the
/// smallest, or a quarter of it.
fn sizes(extent: &Extent) -> Vec<u64> {
    let usual = if extent.full { FULL } else { QUICK };
    let fitting: Vec<u64> = usual.iter().copied().filter(|bytes| *bytes <= extent.most_bytes).collect();
    match fitting.as_slice() {
        [] => vec![extent.most_bytes / 4, extent.most_bytes],
        [only] => vec![(*only).min(extent.most_bytes / 4), extent.most_bytes],
        _ => fitting,
    }
}

/// Sets are the first bytes of one file, so that it is laid out once: the shared page file where it is large enough.
fn layout(extent: &Extent, largest: u64) -> Layout {
    if largest <= extent.data_bytes { extent.pages() } else { Layout::of("cache", 1, largest) }
}

fn read(extent: &Extent, bytes: u64, largest: u64) -> Step {
    let access = Access::page_reads(Places::First(bytes));
    let job = extent.job(layout(extent, largest), access, extent.at_depth(DEPTH));
    // A whole window to bring the set into whatever cache there is.
    let job = Job { warmup_ns: extent.window_ns, ..job };
    let params = [("what", json!("read")), ("set_bytes", json!(bytes))];
    let first = read_through(extent, job.layout.clone(), bytes.min(READ_FIRST));
    Step::new(13, &format!("read.{}", size(bytes)), "cache map", params, job).after(first)
}

/// The first bytes of a file from end to end.
fn read_through(extent: &Extent, layout: Layout, bytes: u64) -> Job {
    let access = Access::Sequential { block: PIECE as u32, mix: Mix::Reads, syncs: Syncs::NEVER, durable: Durable::No };
    let job = extent.job(layout, access, Engine::Threads { workers: 1 });
    Job { limit: Limit::Events(bytes.div_ceil(PIECE)), warmup_ns: 0, ..job }
}

/// As fast as it goes and without a sync, from the first second on.
fn burst(extent: &Extent, largest: u64) -> Step {
    let access = Access::page_writes(Places::First(largest), Syncs::NEVER);
    let job = extent.job(layout(extent, largest), access, extent.at_depth(DEPTH));
    let job = Job { warmup_ns: 0, limit: Limit::Time(BURST * extent.window_ns), ..job };
    Step::new(13, "burst", "write burst", [("what", json!("burst")), ("set_bytes", json!(largest))], job)
}
