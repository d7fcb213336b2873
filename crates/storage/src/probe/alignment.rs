//! Probe 17, sector and alignment: blocks of each size are rewritten in place, with a sync after each. If a small block
//! costs more than a large one, something below reads around it first: `innodb_log_write_ahead_size`. A block that the
//! device cannot accept shows as a failed step.

use crate::job::{Access, Job, JobEngine};
use crate::op::PAGE;
use crate::probe::{Extent, ProbeStep};

/// Block, and bytes off its alignment: from sectors to pages, then a page that straddles one block more than it fills.
const BLOCKS: [(u32, u32); 6] = [(512, 0), (1024, 0), (4096, 0), (8192, 0), (PAGE, 0), (PAGE, 512)];

pub fn steps(extent: &Extent) -> Vec<ProbeStep> {
    BLOCKS.iter().map(|(block, misaligned)| step(extent, *block, *misaligned)).collect()
}

fn step(extent: &Extent, block: u32, misaligned: u32) -> ProbeStep {
    let params = [("block", block.into()), ("misaligned", misaligned.into())];
    let slug = match misaligned {
        0 => block.to_string(),
        off => format!("{block}+{off}"),
    };
    ProbeStep::new(17, &slug, "block in place", params, job(extent, block, misaligned))
}

fn job(extent: &Extent, block: u32, misaligned: u32) -> Job {
    extent.job(extent.pages(), Access::InPlace { block, misaligned }, JobEngine::Threads { workers: 1 })
}
