//! Probe 16, metadata: create, rename, truncate and unlink of a file, each made durable by a sync of its directory. What DDL,
//! TRUNCATE, DROP and the rotation of binary logs wait for; the weak point of network file systems.

use crate::job::{Access, Engine, Job};
use crate::layout::Layout;
use crate::probe::{Extent, Step, size};
use serde_json::json;

/// A small table, and one whose blocks take time to free.
const FILE_BYTES: [u64; 2] = [1 << 20, 16 << 20];

pub fn steps(extent: &Extent) -> Vec<Step> {
    FILE_BYTES.iter().map(|file_bytes| step(extent, *file_bytes)).collect()
}

fn step(extent: &Extent, bytes: u64) -> Step {
    Step::new(16, &size(bytes), "metadata", [("file_bytes", json!(bytes))], job(extent, bytes))
}

/// Its files come and go within the job: there are none to lay out.
fn job(extent: &Extent, bytes: u64) -> Job {
    let none = Layout { files: 0, ..Layout::of("metadata", 1, 0) };
    extent.job(none, Access::Metadata { bytes }, Engine::Threads { workers: 1 })
}
