//! Probe 16, metadata: creating, renaming, truncating and unlinking a file, each made durable by a sync of its
//! directory. DDL, TRUNCATE, DROP and the rotation of binary logs wait for this; it is the weak point of network file
//! systems.

use crate::job::{Access, Job, JobEngine};
use crate::layout::FileLayout;
use crate::probe::{Extent, ProbeStep, size};

/// A small table, and one whose blocks take time to free.
const FILE_BYTES: [u64; 2] = [1 << 20, 16 << 20];

pub fn steps(extent: &Extent) -> Vec<ProbeStep> {
    FILE_BYTES.iter().map(|file_bytes| step(extent, *file_bytes)).collect()
}

fn step(extent: &Extent, bytes: u64) -> ProbeStep {
    ProbeStep::new(16, &size(bytes), "metadata", [("file_bytes", bytes.into())], job(extent, bytes))
}

/// The job creates and removes its files itself: there are none to lay out.
fn job(extent: &Extent, bytes: u64) -> Job {
    let none = FileLayout { files: 0, ..FileLayout::of("metadata", 1, 0) };
    extent.job(none, Access::Metadata { bytes }, JobEngine::Threads { workers: 1 })
}
