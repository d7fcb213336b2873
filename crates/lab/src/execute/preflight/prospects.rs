//! Which rungs can be tried on a variant's server.

use super::builds::{Builds, removed};
use super::{Machine, Prepared, settings_anywhere};
use crate::course::Prospect;
use crate::error::LabError;
use plimsoll_model::durability::Risks;
use plimsoll_plan::LabPlan;
use plimsoll_plan::knowledge::risks;
use plimsoll_plan::lab::{Setting, Variant};
use std::collections::BTreeMap;

/// What a rung is on the server of `variant`, which is `with` it.
pub(super) fn of(
    machine: &mut Machine<'_>,
    plan: &LabPlan,
    variant: &Variant,
    with: &Variant,
) -> Result<Prospect, LabError> {
    let Some(build) = machine.builds.of(with)? else { return Ok(Prospect::Possible) };
    let own: Vec<Setting> = with.config.iter().filter(|setting| !variant.config.contains(setting)).cloned().collect();
    if let Some(line) = removed(&Builds::translated(&build, with), &own) {
        return Ok(Prospect::Removed(format!("{}: {}", line.name, line.what)));
    }
    let (before, after) = (machine.prepare(variant)?, machine.prepare(with)?);
    let added: Risks = &risks_of(&after, with)? - &risks_of(&before, variant)?;
    let unsafe_here: Vec<_> = added.into_iter().filter(|class| !plan.procedure.allow.contains(class)).collect();
    if unsafe_here.is_empty() {
        return Ok(Prospect::Possible);
    }
    let words: Vec<String> = unsafe_here.iter().map(|class| format!("it {} ({class})", class.words())).collect();
    Ok(Prospect::Unsafe(words.join("; ")))
}

fn risks_of(prepared: &Prepared, variant: &Variant) -> Result<Risks, LabError> {
    let Some(build) = &prepared.build else { return Ok(Risks::new()) };
    let settings = settings_anywhere(prepared, variant)?;
    let variables: BTreeMap<String, String> =
        settings.iter().map(|setting| (setting.name.clone(), setting.value.clone())).collect();
    Ok(risks(&variables, build.flavour))
}
