//! `[tune]`: a search for better settings.

use super::config;
use super::load::objective;
use super::reading::TableFields;
use super::unique;
use super::value::{DocumentValue, Kind};
use crate::error::PlanError;
use crate::knowledge::{normal, settings};
use crate::lab::TuneRules;
use crate::lab::space::build::AskedSettings;
use crate::lab::tune::{TuneArm, TuneObjective, TuneSampler};
use crate::quantity;

const KEYS: [&str; 10] =
    ["time", "objective", "keep", "recovery", "decide", "settings", "top", "sampler", "in_memory", "arm"];
/// Settings that are searched if none are named.
const TOP: usize = 12;
const MOST_SETTINGS: u64 = 100;
const WORTH_TRYING: &str = "a setting with values that are known to be worth trying; a dry run lists them";
/// A smaller gain is none.
const DECIDE: f64 = 0.03;

/// Reads `[tune]`.
pub(super) fn rules(value: &DocumentValue) -> Result<TuneRules, PlanError> {
    let fields = value.fields(&KEYS)?;
    let named = fields.read("settings", |value| value.some_of(setting))?;
    let top = fields.read("top", |value| value.count(1..=MOST_SETTINGS))?;
    let settings = match (named, top, fields.get("top")) {
        (Some(_), Some(_), Some(top)) => return Err(top.problem("settings are named; leave one of the two out")),
        (Some(named), ..) => AskedSettings::Named(named),
        (None, top, _) => AskedSettings::Top(top.map_or(TOP, |top| top as usize)),
    };
    let objectives = TuneObjective::ALL.map(|objective| (objective.name(), objective));
    let samplers = [("learning", TuneSampler::Learning), ("random", TuneSampler::Random)];
    Ok(TuneRules {
        seconds: fields.need("time", "how long all of it may take, such as 2h", DocumentValue::some_seconds)?,
        looked_seconds: 0.0,
        objective: fields.read("objective", |value| value.choice(&objectives))?.unwrap_or(TuneObjective::Nopm),
        keep: fields.read("keep", |value| value.parsed(objective))?,
        recovery_seconds: fields.read("recovery", DocumentValue::some_seconds)?,
        decide: fields.read("decide", |value| value.parsed(quantity::percent))?.unwrap_or(DECIDE),
        settings,
        sampler: fields.read("sampler", |value| value.choice(&samplers))?.unwrap_or(TuneSampler::Learning),
        in_memory: fields.switch("in_memory")?,
        arms: arms(&fields)?,
        space: None,
    })
}

/// Configurations that are tried in any case.
fn arms(fields: &TableFields<'_>) -> Result<Vec<TuneArm>, PlanError> {
    let arm = |value: &DocumentValue| {
        let fields = value.fields(&["name", "config"])?;
        let settings = fields.need("config", "the settings that are tried", config::typed)?;
        let settings = settings.into_iter().map(|setting| (setting.name, setting.value)).collect();
        let name = fields.need("name", "what it is called", DocumentValue::name)?;
        Ok((TuneArm { name, settings }, value.at.clone()))
    };
    let arms = fields.read("arm", |value| value.some_of(arm))?.unwrap_or_default();
    unique("arm", arms.iter().map(|(arm, at)| (arm.name.as_str(), at.clone())))?;
    Ok(arms.into_iter().map(|(arm, _)| arm).collect())
}

/// A setting of which something is known.
fn setting(value: &DocumentValue) -> Result<String, PlanError> {
    let name = match &value.kind {
        Kind::Text(_) => normal(value.text()?),
        _ => return Err(value.refuse("the name of a setting")),
    };
    match is_known(&name) {
        true => Ok(name),
        false => Err(value.refuse(WORTH_TRYING)),
    }
}

fn is_known(name: &str) -> bool {
    settings::facts(name).is_some_and(|facts| facts.search.is_some())
}

/// A setting that can be searched, by its name as it is typed.
///
/// # Errors
/// [`PlanError::Value`] if nothing is known of its values.
pub fn searched_setting(text: &str) -> Result<String, PlanError> {
    let name = normal(text.trim());
    match is_known(&name) {
        true => Ok(name),
        false => Err(PlanError::value("setting", text, WORTH_TRYING)),
    }
}
