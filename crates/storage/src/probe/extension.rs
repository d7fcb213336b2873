//! Probe 15, extension: how long a statement waits whose tablespace has to grow, by fallocate(2)
//! (`innodb_extend_and_initialize = OFF`) or by writing zeros (ON, MySQL's default).

use crate::job::{Access, Engine, Job};
use crate::layout::{Allocation, Content, Layout};
use crate::op::PAGE;
use crate::probe::{Extent, Step, size};
use serde_json::json;

/// An extent of 64 pages, which a small tablespace grows by, and four of them, by which a large one does.
const STEPS: [u64; 2] = [64 * PAGE as u64, 4 * 64 * PAGE as u64];
/// A file that has become so long is emptied.
const MOST: u64 = 256 << 20;

pub fn steps(extent: &Extent) -> Vec<Step> {
    let ways = [("fallocate", true), ("zero-write", false)];
    let each = |(how, allocate)| STEPS.iter().map(move |step_bytes| step(extent, how, allocate, *step_bytes));
    ways.into_iter().flat_map(each).collect()
}

fn step(extent: &Extent, how: &str, allocate: bool, step_bytes: u64) -> Step {
    let params = [("how", json!(how)), ("step_bytes", json!(step_bytes))];
    Step::new(15, &format!("{how}.{}", size(step_bytes)), "extension", params, job(extent, allocate, step_bytes))
}

fn job(extent: &Extent, allocate: bool, step: u64) -> Job {
    let limit = MOST.min(extent.data_bytes / 4).max(step);
    let (allocation, content) = (Allocation::Extend, Content::Zeros);
    let layout = Layout { allocation, content, fresh: true, ..Layout::of("growing", 1, limit) };
    extent.job(layout, Access::Extension { step, limit, allocate }, Engine::Threads { workers: 1 })
}
