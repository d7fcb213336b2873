//! Probe 14, the steady state: page writes for half an hour, second by second. Caches fill, burst credits run out,
//! flash begins to collect garbage; checkpoints can count on what remains.

use super::page_write;
use crate::job::Job;
use crate::probe::{Extent, ProbeStep};
use plimsoll_load::window::{Limit, SECOND_NS};

/// How long it lasts, whatever the windows of the suite.
const HALF_AN_HOUR_NS: u64 = 1800 * SECOND_NS;
/// Writes under way.
const DEPTH: u32 = 16;

pub fn steps(extent: &Extent) -> Vec<ProbeStep> {
    let limit = Limit::Time(HALF_AN_HOUR_NS);
    let job = Job { limit, warmup_ns: 0, ..page_write::load(extent, DEPTH) };
    vec![ProbeStep::new(14, "writes", "steady state", [], job)]
}
