//! Probe 11, log and data: commits alone, and beside page writes. It shows what a separate log volume is worth.

use super::{commit, page_write};
use crate::probe::{Extent, ProbeStep};
use plimsoll_model::Scalar;

/// Page writes under way beside the commits.
const WRITES: u32 = 16;

pub fn steps(extent: &Extent) -> Vec<ProbeStep> {
    let commits: Vec<ProbeStep> = commit::steps(extent).into_iter().filter(|step| step.probe == 1).collect();
    let both = |commits: ProbeStep| {
        let server = commits.params.get("server").cloned().unwrap_or("".into());
        let alone = step(&commits, &server, "alone", false);
        [alone, step(&commits, &server, "data-writes", true).beside(page_write::load(extent, WRITES))]
    };
    commits.into_iter().flat_map(both).collect()
}

/// The commits of probe 1, under this probe's number.
fn step(commits: &ProbeStep, server: &Scalar, beside: &str, data_writes: bool) -> ProbeStep {
    let slug = format!("{}.{beside}", server.text().unwrap_or_default());
    let params = [("server", server.clone()), ("data_writes", data_writes.into())];
    ProbeStep::new(11, &slug, "log beside data", params, commits.job.clone())
}
