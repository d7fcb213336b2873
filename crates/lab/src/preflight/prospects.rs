//! Which rungs can be tried on a variant's server.

use super::builds::{Builds, removed};
use super::{Machine, Prepared, settings_anywhere};
use crate::error::LabError;
use plimsoll_model::Build;
use plimsoll_model::durability::{Class, Risks};
use plimsoll_plan::LabPlan;
use plimsoll_plan::knowledge::{classes, risks};
use plimsoll_plan::lab::{Setting, Variant};
use plimsoll_schedule::Prospect;
use std::collections::BTreeMap;

/// The prospect of a rung on the server of `variant`, which is `with` it.
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
    let unsafe_here: Vec<_> = added.into_iter().filter(|class| !plan.trials.allow.contains(class)).collect();
    if unsafe_here.is_empty() {
        return Ok(Prospect::Possible);
    }
    let words: Vec<String> = unsafe_here.iter().map(|class| cost(*class, &own, &build)).collect();
    Ok(Prospect::Unsafe(words.join("; ")))
}

/// `it loses … (d1) by innodb_flush_log_at_trx_commit = 2`: names those of the rung's `own` settings that cost this.
fn cost(class: Class, own: &[Setting], build: &Build) -> String {
    let costly = own.iter().filter(|setting| classes(&setting.name, &setting.value, build.flavour).contains(&class));
    let by: Vec<String> = costly.map(|setting| format!("{} = {}", setting.name, setting.value)).collect();
    let by = if by.is_empty() { String::new() } else { format!(" by {}", by.join(", ")) };
    format!("it {} ({class}){by}", class.words())
}

fn risks_of(prepared: &Prepared, variant: &Variant) -> Result<Risks, LabError> {
    let Some(build) = &prepared.build else { return Ok(Risks::new()) };
    let settings = settings_anywhere(prepared, variant)?;
    let variables: BTreeMap<String, String> =
        settings.iter().map(|setting| (setting.name.clone(), setting.value.clone())).collect();
    Ok(risks(&variables, build.flavour))
}
