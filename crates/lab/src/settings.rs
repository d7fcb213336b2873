//! What the running server really has set: read back, and compared with what was requested.

use crate::error::LabError;
use plimsoll_data::target::OpenTarget;
use plimsoll_model::Caveat;
use plimsoll_plan::knowledge::value::in_effect;
use plimsoll_record::RecordedSetting;
use std::collections::BTreeMap;

/// All global variables of the server by name.
pub fn variables(target: &mut OpenTarget) -> Result<BTreeMap<String, String>, LabError> {
    let rows = target
        .control
        .rows("SHOW GLOBAL VARIABLES")
        .map_err(|failure| LabError::sql("asking the server for its variables", &failure))?;
    Ok(by_name(rows.pairs()))
}

/// Variables as a server answers them, by name.
pub fn by_name<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<String, String> {
    pairs.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect()
}

/// Every variable as the server has it.
pub fn effective(variables: &BTreeMap<String, String>) -> BTreeMap<String, RecordedSetting> {
    let found = |value: &String| RecordedSetting {
        requested: None,
        effective: Some(value.clone()),
        origin: "server".to_owned(),
    };
    variables.iter().map(|(name, value)| (name.clone(), found(value))).collect()
}

/// Every variable with what was requested, if anything was.
pub fn recorded(target: &OpenTarget, variables: &BTreeMap<String, String>) -> BTreeMap<String, RecordedSetting> {
    let mut all = effective(variables);
    for asked in target.settings.variables_to_verify() {
        let effective = variables.get(&asked.name).cloned();
        all.insert(asked.name, RecordedSetting { requested: Some(asked.value), effective, origin: asked.origin });
    }
    all
}

/// A caveat if a request did not take effect.
pub fn unmet(name: &str, setting: &RecordedSetting) -> Option<Caveat> {
    let requested = setting.requested.as_ref()?;
    if setting.effective.as_ref().is_some_and(|effective| in_effect(name, requested, effective)) {
        return None;
    }
    let found = setting.effective.as_deref().unwrap_or("no such variable");
    let message = format!("{name} = {requested} was requested, the server has {found}: results are for what it has");
    Some(Caveat::new("setting_not_in_effect", message))
}

/// Settings of a test.
#[cfg(test)]
pub(crate) fn of_pairs(pairs: &[(&str, &str)]) -> plimsoll_server::Settings {
    let mut settings = plimsoll_server::Settings::default();
    pairs.iter().for_each(|(name, value)| settings.set(name, value, "a test").expect("a setting"));
    settings
}
