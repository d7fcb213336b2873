//! Probe 13, the cache map: random reads over ever larger working sets show which tier answers (host, controller,
//! array), and a burst of writes shows how long a write cache absorbs them. A "small" set is one that needs no buffer
//! pool.

use crate::job::{Access, Job, JobEngine, Mix, Places, Syncs};
use crate::layout::FileLayout;
use crate::op::Durable;
use crate::probe::{Extent, ProbeStep, size};
use plimsoll_load::window::Limit;

const MIB: u64 = 1 << 20;
const QUICK: &[u64] = &[64 * MIB, 1024 * MIB];
/// Each is four times larger. On most devices, just laying out the next one would take longer than the full suite may.
const FULL: &[u64] = &[64 * MIB, 256 * MIB, 1024 * MIB, 4096 * MIB, 16_384 * MIB, 65_536 * MIB];
/// Enough depth to bring a set into a cache within a window, even if one read takes milliseconds.
const DEPTH: u32 = 16;
/// A set is read once from end to end before it is measured, in pieces as in a scan; of a large one only this much,
/// since a cache that holds more is filled by the random reads.
const PIECE: u64 = MIB;
const READ_FIRST: u64 = 256 * MIB;
/// Windows that the burst of writes lasts.
const BURST: u64 = 6;

pub fn steps(extent: &Extent) -> Vec<ProbeStep> {
    let sizes = sizes(extent);
    let largest = sizes.iter().copied().max().unwrap_or(extent.data_bytes);
    let reads = sizes.iter().map(|bytes| read(extent, *bytes, largest));
    reads.chain(extent.full.then(|| burst(extent, largest))).collect()
}

/// The working sets, smallest first. A single one would say nothing: if fewer than two fit, the largest that fits and
/// the smallest, or a quarter of it.
fn sizes(extent: &Extent) -> Vec<u64> {
    let usual = if extent.full { FULL } else { QUICK };
    let fitting: Vec<u64> = usual.iter().copied().filter(|bytes| *bytes <= extent.most_bytes).collect();
    match fitting.as_slice() {
        [] => vec![extent.most_bytes / 4, extent.most_bytes],
        [only] => vec![(*only).min(extent.most_bytes / 4), extent.most_bytes],
        _ => fitting,
    }
}

/// Sets are the first bytes of one file, so that it is laid out once: the shared page file if it is large enough.
fn layout(extent: &Extent, largest: u64) -> FileLayout {
    if largest <= extent.data_bytes { extent.pages() } else { FileLayout::of("cache", 1, largest) }
}

fn read(extent: &Extent, bytes: u64, largest: u64) -> ProbeStep {
    let access = Access::page_reads(Places::First(bytes));
    let job = extent.job(layout(extent, largest), access, extent.at_depth(DEPTH));
    // A whole window to bring the set into any cache that there is.
    let job = Job { warmup_ns: extent.window_ns, ..job };
    let params = [("what", "read".into()), ("set_bytes", bytes.into())];
    let first = read_through(extent, job.layout.clone(), bytes.min(READ_FIRST));
    ProbeStep::new(13, &format!("read.{}", size(bytes)), "cache map", params, job).after(first)
}

/// The first bytes of a file from end to end.
fn read_through(extent: &Extent, layout: FileLayout, bytes: u64) -> Job {
    let access = Access::Sequential { block: PIECE as u32, mix: Mix::Reads, syncs: Syncs::NEVER, durable: Durable::No };
    let job = extent.job(layout, access, JobEngine::Threads { workers: 1 });
    Job { limit: Limit::Events(bytes.div_ceil(PIECE)), warmup_ns: 0, ..job }
}

/// As fast as possible and without a sync, from the first second on.
fn burst(extent: &Extent, largest: u64) -> ProbeStep {
    let access = Access::page_writes(Places::First(largest), Syncs::NEVER);
    let job = extent.job(layout(extent, largest), access, extent.at_depth(DEPTH));
    let job = Job { warmup_ns: 0, limit: Limit::Time(BURST * extent.window_ns), ..job };
    ProbeStep::new(13, "burst", "write burst", [("what", "burst".into()), ("set_bytes", largest.into())], job)
}
