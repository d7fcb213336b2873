//! `[crash]`: what goes wrong under load.

use super::value::DocumentValue;
use crate::error::PlanError;
use crate::lab::CrashRules;
use plimsoll_model::FaultKind;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// A zero count of so many bounds the share of losing faults to 14 %.
const TRIALS: u32 = 20;
const TRIALS_ACCEPTED: RangeInclusive<u64> = 1..=10_000;
const LOAD_SECONDS: f64 = 4.0;
/// Load, fault, recovery and the look at what is left have an hour together.
pub(super) const LONGEST_LOAD_SECONDS: f64 = 1200.0;

/// Reads `[crash]`.
pub(super) fn rules(value: &DocumentValue) -> Result<CrashRules, PlanError> {
    let fields = value.fields(&["faults", "trials", "load", "keep"])?;
    let faults = fields.read("faults", faults)?.unwrap_or_else(|| vec![FaultKind::Kill, FaultKind::Power]);
    let trials = fields.read("trials", |value| value.count(TRIALS_ACCEPTED))?;
    let load_seconds = fields.read("load", load)?.unwrap_or(LOAD_SECONDS);
    let keep = fields.switch("keep")?;
    Ok(CrashRules { faults, trials: trials.map_or(TRIALS, |trials| trials as u32), load_seconds, keep, again: None })
}

fn load(value: &DocumentValue) -> Result<f64, PlanError> {
    match value.some_seconds()? {
        seconds if seconds > LONGEST_LOAD_SECONDS => Err(value.refuse("a duration of at most 20m")),
        seconds => Ok(seconds),
    }
}

fn faults(value: &DocumentValue) -> Result<Vec<FaultKind>, PlanError> {
    let faults = value.some_of(|one| one.choice(&FaultKind::ALL.map(|kind| (kind.name(), kind))))?;
    match faults.iter().collect::<BTreeSet<_>>().len() == faults.len() {
        true => Ok(faults),
        false => Err(value.problem("crash.faults: one is named twice; how often each comes is crash.trials")),
    }
}
