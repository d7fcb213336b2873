//! Probe 10, the tail of reads while pages are flushed: how long a query waits for a page during a checkpoint. There
//! are two jobs, not one mixed one: reads come at their own rate whatever the writes do, so that waits are not hidden.

use super::page_write;
use crate::job::{Access, Job, Places};
use crate::probe::{Extent, ProbeStep};
use plimsoll_load::arrivals::Arrivals;

/// Reads per second: few enough for one spindle to answer while it flushes, enough for a 99th percentile.
const RATE: f64 = 200.0;
/// The most reads under way, so that none waits for another in the instrument.
const DEPTH: u32 = 64;
/// Writes under way beside them.
const WRITES: u32 = 16;

pub fn steps(extent: &Extent) -> Vec<ProbeStep> {
    let flushing = step(extent, "flushing", true).beside(page_write::load(extent, WRITES));
    vec![step(extent, "quiet", false), flushing]
}

fn step(extent: &Extent, slug: &str, flushing: bool) -> ProbeStep {
    let reads = extent.job(extent.pages(), Access::page_reads(Places::Anywhere), extent.at_depth(DEPTH));
    let job = Job { arrivals: Arrivals::Poisson { rate: RATE }, ..reads };
    ProbeStep::new(10, slug, "read tail while flushing", [("rate", RATE.into()), ("flushing", flushing.into())], job)
}
