//! Probe 20, data content: whether the storage compresses, deduplicates or provisions thinly, so that measurements with
//! zeros would flatter it; and what page compression could still gain.

use super::page_write::SYNC_EVERY;
use crate::job::{Access, Places, Syncs};
use crate::layout::{Content, FileLayout};
use crate::probe::{Extent, ProbeStep};

const CONTENTS: [(Content, &str); 4] = [
    (Content::Random, "random"),
    (Content::HalfCompressible, "half-compressible"),
    (Content::Duplicates, "duplicates"),
    (Content::Zeros, "zeros"),
];
const DEPTH: u32 = 16;

pub fn steps(extent: &Extent) -> Vec<ProbeStep> {
    CONTENTS.iter().map(|(content, name)| step(extent, *content, name)).collect()
}

fn step(extent: &Extent, content: Content, name: &'static str) -> ProbeStep {
    // One name for all, so that they replace each other.
    let layout = FileLayout { content, ..FileLayout::of("content", 1, extent.data_bytes / 4) };
    let engine = extent.at_depth(DEPTH);
    let syncs = Syncs::every((SYNC_EVERY / u64::from(engine.loops())).max(1));
    let job = extent.job(layout, Access::page_writes(Places::Anywhere, syncs), engine);
    ProbeStep::new(20, name, "data content", [("content", name.into())], job)
}
