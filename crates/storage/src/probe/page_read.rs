//! Probe 6, page reads: how long a session waits that misses the buffer pool, and how many pages per second are
//! possible at most. The depth beyond which more reads under way gain nothing is what `innodb_read_io_threads` and
//! sessions can use.

use crate::job::{Access, JobEngine, Places};
use crate::op::PAGE;
use crate::probe::{Extent, ProbeStep};

const DEPTHS_QUICK: [u32; 3] = [1, 16, 64];
pub(super) const DEPTHS_FULL: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

pub fn steps(extent: &Extent) -> Vec<ProbeStep> {
    let depths: &[u32] = if extent.full { &DEPTHS_FULL } else { &DEPTHS_QUICK };
    let deep = depths.iter().map(|depth| step(extent, "depth", *depth, extent.at_depth(*depth)));
    // Sessions read by pread(2), read-ahead by asynchronous I/O: both are measured if they differ.
    let threads = DEPTHS_QUICK.iter().filter(|_| extent.full && extent.io_uring);
    let threads = threads.map(|workers| step(extent, "threads", *workers, JobEngine::Threads { workers: *workers }));
    deep.chain(threads).collect()
}

fn step(extent: &Extent, way: &str, depth: u32, engine: JobEngine) -> ProbeStep {
    let pages = extent.pages();
    let params = [
        ("depth", depth.into()),
        ("block", PAGE.into()),
        ("engine", engine.name().into()),
        ("set_bytes", pages.bytes().into()),
    ];
    let job = extent.job(pages, Access::page_reads(Places::Anywhere), engine);
    ProbeStep::new(6, &format!("{way}-{depth}"), "page read", params, job)
}
