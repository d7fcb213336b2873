//! Presets: the same experiment with some changes. A preset is merged over the document, variants and rungs by
//! name.

use super::reading::meant;
use super::sizes::MOST_PRESETS;
use super::value::{DocumentValue, Kind};
use crate::error::PlanError;
use plimsoll_model::text::escaped;

/// Lists of the document whose entries a preset changes by name.
const BY_NAME: [&str; 2] = ["variant", "rung"];

/// Takes `[preset]` out of the document; returns each preset with its name.
pub(super) fn take(document: &mut DocumentValue) -> Result<Vec<(String, DocumentValue)>, PlanError> {
    let Kind::Table(sections) = &mut document.kind else { return Ok(Vec::new()) };
    let Some(at) = sections.iter().position(|(key, _)| key == "preset") else { return Ok(Vec::new()) };
    let (_, presets) = sections.remove(at);
    let at = presets.at.clone();
    let presets = presets.entries()?;
    if presets.len() > MOST_PRESETS {
        let problem = format!("there are {} presets; at most {MOST_PRESETS} are accepted", presets.len());
        return Err(PlanError::File { at, problem });
    }
    presets.iter().map(|(name, preset)| preset.entries().map(|_| (name.clone(), preset.clone()))).collect()
}

/// The preset called `wanted`.
///
/// # Errors
/// [`PlanError::File`] with the presets that the plan has.
pub(super) fn find<'p>(
    presets: &'p [(String, DocumentValue)],
    wanted: &str,
    document: &DocumentValue,
) -> Result<&'p DocumentValue, PlanError> {
    let names = || presets.iter().map(|(name, _)| name.as_str());
    presets.iter().find(|(name, _)| name == wanted).map(|(_, preset)| preset).ok_or_else(|| {
        let there = match presets {
            [] => "the plan has no presets".to_owned(),
            _ => format!("accepted is {}", names().collect::<Vec<_>>().join(", ")),
        };
        PlanError::File {
            at: presets.first().map_or(&document.at, |(_, preset)| &preset.at).clone(),
            problem: format!("there is no preset `{}`{}; {there}", escaped(wanted), meant(wanted, names())),
        }
    })
}

/// The document with a preset on top.
pub(super) fn merged(document: &DocumentValue, preset: &DocumentValue) -> Result<DocumentValue, PlanError> {
    let mut merged = document.clone();
    let mut rest = Vec::new();
    for (key, changes) in preset.entries()? {
        if key == "preset" {
            return Err(changes.problem("a preset cannot have presets"));
        }
        match BY_NAME.contains(&key.as_str()) {
            true => by_name(&mut merged, key, changes)?,
            false => rest.push((key.clone(), changes.clone())),
        }
    }
    merged.lay_over(DocumentValue { kind: Kind::Table(rest), ..preset.clone() });
    Ok(merged)
}

fn by_name(document: &mut DocumentValue, list: &str, changes: &DocumentValue) -> Result<(), PlanError> {
    let Kind::Table(changes) = &changes.kind else {
        return Err(changes.refuse(format!("a table with the names of {list}s as its keys")));
    };
    let known = match &mut document.kind {
        Kind::Table(sections) => sections.iter_mut().find(|(key, _)| key == list).map(|(_, value)| &mut value.kind),
        _ => None,
    };
    let mut none = Vec::new();
    let known = if let Some(Kind::List(known)) = known { known } else { &mut none };
    for (name, change) in changes {
        if let Some((_, renamed)) = change.entries()?.iter().find(|(key, _)| key == "name") {
            return Err(renamed.problem(format!("a preset changes {list}s, but not their names")));
        }
        match known.iter_mut().find(|value| name_of(value) == Some(name)) {
            Some(value) => value.lay_over(change.clone()),
            None => {
                let names: Vec<&str> = known.iter().filter_map(name_of).collect();
                let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                let meant = meant(name, names);
                return Err(change.problem(format!("the plan has no {list} `{name}`{meant}; there is {there}")));
            }
        }
    }
    Ok(())
}

fn name_of(entry: &DocumentValue) -> Option<&str> {
    let Kind::Table(entries) = &entry.kind else { return None };
    match entries.iter().find(|(key, _)| key == "name").map(|(_, value)| &value.kind) {
        Some(Kind::Text(name)) => Some(name),
        _ => None,
    }
}
