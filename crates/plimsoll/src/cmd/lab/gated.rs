//! What a gate says of a lab.

use crate::args::LabArgs;
use crate::cmd::baseline::Baseline;
use crate::cmd::gate;
use plimsoll_analysis::replay;
use plimsoll_lab::LabError;
use plimsoll_measures::gate::{gate_places, is_gateable, judge, slower_variants};
use plimsoll_measures::lab::compares;
use plimsoll_model::gate::{GateFinding, GateLimit};
use plimsoll_model::lab::LabSummary;
use plimsoll_plan::LabPlan;
use plimsoll_record::read;
use std::path::Path;

/// Refuses a gate that the plan's trials could not be judged by.
///
/// # Errors
/// [`LabError::Refused`].
pub fn check(args: &LabArgs, plan: &LabPlan) -> Result<(), LabError> {
    let refused = |option: &str, why: &dyn std::fmt::Display| {
        LabError::Refused(format!("{}: {option} has nothing to judge: {why}", plan.file))
    };
    if !args.limits.fail_if.is_empty() {
        is_gateable(plan).map_err(|why| refused("--fail-if", &why))?;
    }
    if args.fail_if_slower.is_some() {
        if !plan.rungs.is_empty() {
            return Err(refused("--fail-if-slower", &"a ladder judges its rungs itself"));
        }
        match args.limits.baseline {
            Some(_) => is_gateable(plan),
            None => compares(plan),
        }
        .map_err(|why| refused("--fail-if-slower", &why))?;
    }
    gate::check(&args.verdict, gate::LIMITS, args.fail_if_slower.is_some() || !args.limits.fail_if.is_empty())
}

/// Every limit, then every variant against the first. What cannot be read fails: nobody knows that it holds.
pub fn findings(
    args: &LabArgs,
    plan: &LabPlan,
    baseline: Option<&Baseline>,
    summary: &LabSummary,
    recording: &Path,
) -> Vec<GateFinding> {
    let limits = &args.limits.fail_if;
    let mut findings = if limits.is_empty() { Vec::new() } else { limited(limits, plan, recording) };
    let Some(limit) = args.fail_if_slower else { return findings };
    match baseline {
        Some(of) => {
            findings.extend(plan.variants.iter().map(|variant| of.judge(recording, Some(&variant.name), limit)));
        }
        None => findings.extend(slower_variants(plan, summary, limit)),
    }
    findings
}

/// Each limit in each place of the plan.
fn limited(limits: &[GateLimit], plan: &LabPlan, recording: &Path) -> Vec<GateFinding> {
    match read::open(recording) {
        Ok(view) => judge(limits, &gate_places(plan, &replay::ended(&view, plan))),
        Err(error) => {
            let unread = judge(limits, &gate_places(plan, &[])).into_iter();
            unread.map(|finding| GateFinding { why: error.to_string(), ..finding }).collect()
        }
    }
}
