//! Probe 15, extension: how long a statement waits if its tablespace has to grow, by fallocate(2)
//! (`innodb_extend_and_initialize = OFF`) or by writing zeros (ON, MySQL's default).

use crate::job::{Access, Job, JobEngine};
use crate::layout::{Allocation, Content, FileLayout};
use crate::op::PAGE;
use crate::probe::{Extent, ProbeStep, size};

/// One extent of 64 pages, by which a small tablespace grows, and four of them, by which a large one does.
const STEPS: [u64; 2] = [64 * PAGE as u64, 4 * 64 * PAGE as u64];
/// A file of this length is emptied.
const MOST: u64 = 256 << 20;

pub fn steps(extent: &Extent) -> Vec<ProbeStep> {
    let ways = [("fallocate", true), ("zero-write", false)];
    let each = |(how, allocate)| STEPS.iter().map(move |step_bytes| step(extent, how, allocate, *step_bytes));
    ways.into_iter().flat_map(each).collect()
}

fn step(extent: &Extent, how: &str, allocate: bool, step_bytes: u64) -> ProbeStep {
    let params = [("how", how.into()), ("step_bytes", step_bytes.into())];
    ProbeStep::new(15, &format!("{how}.{}", size(step_bytes)), "extension", params, job(extent, allocate, step_bytes))
}

fn job(extent: &Extent, allocate: bool, step: u64) -> Job {
    let limit = MOST.min(extent.data_bytes / 4).max(step);
    let (allocation, content) = (Allocation::Extend, Content::Zeros);
    let layout = FileLayout { allocation, content, fresh: true, ..FileLayout::of("growing", 1, limit) };
    extent.job(layout, Access::Extension { step, limit, allocate }, JobEngine::Threads { workers: 1 })
}
