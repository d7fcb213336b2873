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
    Ok(rows.pairs().map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect())
}

/// Every variable with what was requested, if anything was, and a caveat for each request that did not take effect, by
/// name.
pub fn verified(
    target: &OpenTarget,
    variables: &BTreeMap<String, String>,
) -> (BTreeMap<String, RecordedSetting>, BTreeMap<String, Caveat>) {
    let origin = |name: &str| RecordedSetting {
        requested: None,
        effective: variables.get(name).cloned(),
        origin: "server".to_owned(),
    };
    let mut all: BTreeMap<String, RecordedSetting> =
        variables.keys().map(|name| (name.clone(), origin(name))).collect();
    let mut caveats = BTreeMap::new();
    for asked in target.settings.variables_to_verify() {
        let effective = variables.get(&asked.name).cloned();
        if !effective.as_ref().is_some_and(|effective| in_effect(&asked.name, &asked.value, effective)) {
            let found = effective.as_deref().unwrap_or("no such variable");
            let message = format!(
                "{} = {} was requested, the server has {found}: results are for what it has",
                asked.name, asked.value
            );
            caveats.insert(asked.name.clone(), Caveat::new("setting_not_in_effect", message));
        }
        all.insert(asked.name, RecordedSetting { requested: Some(asked.value), effective, origin: asked.origin });
    }
    (all, caveats)
}
