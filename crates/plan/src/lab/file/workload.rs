//! `[workload]`: what is asked of the server.

use super::value::DocumentValue;
use crate::error::PlanError;
use crate::lab::PlannedWorkload;
use std::collections::BTreeMap;

/// The kind of storage trials: no server, no connections.
pub(in crate::lab) const IO: &str = "io";

/// Reads a whole `[workload]`: what is neither `kind`, `seed` nor `dataset` is a parameter. The workloads know which
/// kinds and parameters there are.
pub(super) fn workload(table: &DocumentValue) -> Result<PlannedWorkload, PlanError> {
    let mut workload = PlannedWorkload { kind: String::new(), params: BTreeMap::new(), seed: 1, dataset: None };
    for (key, value) in table.entries()? {
        match key.as_str() {
            "kind" => workload.kind = value.text()?.trim().to_owned(),
            "seed" => workload.seed = value.count(0..=u64::MAX)?,
            "dataset" => workload.dataset = Some(value.text()?.to_owned()),
            _ => {
                workload.params.insert(parameter(key, value)?, values(value)?);
            }
        }
    }
    if workload.kind.is_empty() {
        return Err(table.problem("`kind` is missing: the name of a workload, such as tpcc or oltp_read_write, or io"));
    }
    Ok(workload)
}

/// The name of a parameter as a command line has it.
fn parameter(key: &str, value: &DocumentValue) -> Result<String, PlanError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    match !key.is_empty() && key.chars().all(plain) {
        true => Ok(key.replace('_', "-")),
        false => Err(value.problem("in a plan, the name of a parameter has lower-case letters, digits and `_` only")),
    }
}

/// A value, or several separated by commas.
fn values(value: &DocumentValue) -> Result<String, PlanError> {
    let texts: Result<Vec<_>, _> = value.one_or_more()?.iter().map(|one| one.scalar(["false", "true"])).collect();
    Ok(texts?.join(","))
}
