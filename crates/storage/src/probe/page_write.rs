//! Probe 7, page writes: how fast the page cleaner can empty the buffer pool, which `innodb_io_capacity` and
//! `innodb_io_capacity_max` should follow.

use super::page_read::DEPTHS_FULL;
use crate::job::{Access, Job, Places, Syncs};
use crate::op::PAGE;
use crate::probe::{Extent, ProbeStep};

const DEPTHS_QUICK: [u32; 3] = [1, 16, 64];
/// Writes between two syncs. The page cleaner flushes in batches of up to 128 pages, the size of one write to the
/// doublewrite area (2 MiB), and syncs the data files after each. Without any sync, a volatile cache would answer.
pub(super) const SYNC_EVERY: u64 = 128;

pub fn steps(extent: &Extent) -> Vec<ProbeStep> {
    let depths: &[u32] = if extent.full { &DEPTHS_FULL } else { &DEPTHS_QUICK };
    depths.iter().map(|depth| step(extent, *depth)).collect()
}

fn step(extent: &Extent, depth: u32) -> ProbeStep {
    let job = load(extent, depth);
    let params = [
        ("depth", depth.into()),
        ("block", PAGE.into()),
        ("engine", job.engine.name().into()),
        ("sync_every", SYNC_EVERY.into()),
        ("set_bytes", job.layout.bytes().into()),
    ];
    ProbeStep::new(7, &format!("depth-{depth}"), "page write", params, job)
}

/// Pages as the page cleaner writes them.
pub(super) fn load(extent: &Extent, depth: u32) -> Job {
    let engine = extent.at_depth(depth);
    // A stream counts its own writes, and threads have one each.
    let syncs = Syncs::every((SYNC_EVERY / u64::from(engine.loops())).max(1));
    extent.job(extent.pages(), Access::page_writes(Places::Anywhere, syncs), engine)
}
