//! Probe 11, log and data: commits alone, and with pages written beside them. What a log volume of its own is worth.

use super::{commit, page_write};
use crate::probe::{Extent, Step};
use serde_json::{Value, json};

/// Page writes under way beside the commits.
const WRITES: u32 = 16;

pub fn steps(extent: &Extent) -> Vec<Step> {
    let commits: Vec<Step> = commit::steps(extent).into_iter().filter(|step| step.probe == 1).collect();
    let both = |commits: Step| {
        let server = commits.params.get("server").cloned().unwrap_or_default();
        let alone = step(&commits, &server, "alone", false);
        [alone, step(&commits, &server, "data-writes", true).beside(page_write::load(extent, WRITES))]
    };
    commits.into_iter().flat_map(both).collect()
}

/// The commits of probe 1 under our own number.
fn step(commits: &Step, server: &Value, beside: &str, data_writes: bool) -> Step {
    let slug = format!("{}.{beside}", server.as_str().unwrap_or_default());
    let params = [("server", server.clone()), ("data_writes", json!(data_writes))];
    Step::new(11, &slug, "log beside data", params, commits.job.clone())
}
