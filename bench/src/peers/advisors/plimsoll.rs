//! `plimsoll advise` of a recording of the same server: those of its findings that are one change of a setting, in the order
//! in which it would try them itself.

use super::{Advised, Proposal};
use anyhow::Context;
use plimsoll_advice::measured::most_promising;
use plimsoll_model::advice::AdviceFinding;
use serde::Deserialize;

#[derive(Deserialize)]
struct Printed {
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    findings: Vec<AdviceFinding>,
}

/// Reads its JSON document.
///
/// # Errors
/// That it is none.
pub fn read(printed: &str) -> anyhow::Result<Advised> {
    let printed: Printed = serde_json::from_str(printed).context("the document of plimsoll advise")?;
    let findings = most_promising(printed.steps.into_iter().flat_map(|step| step.findings).collect());
    Ok(Advised::Said(findings.iter().map(proposal).collect()))
}

fn proposal(finding: &AdviceFinding) -> Proposal {
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    Proposal {
        text: format!("{}: {}", finding.rule, finding.advised),
        change: finding.change().map(owned),
        claims_gain: finding.worth > 0.0,
        tells_cost: finding.costs.iter().any(|class| class.costs_durability()),
    }
}
