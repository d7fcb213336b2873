//! Settings of a private server that make loading faster, and how they are restored. Their old values are in the marker
//! table before anything is changed, so that a killed load leaves nothing behind: the next one, or `drop`, restores
//! them. An external server is never changed.

use crate::DataError;
use crate::dataset;
use crate::target::OpenTarget;
use plimsoll_engine::Failure;
use plimsoll_engine::control::Control;
use plimsoll_host::process::Identity;
use plimsoll_model::Flavour;
use plimsoll_plan::knowledge::value::same_value;
use plimsoll_wire::text::identifier;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What measurably helps: MySQL writes pages in the background that soon change again, which costs a tenth of its CPU
/// time. MariaDB does not. None of it can lose more than what is not marked as done: the redo log and the doublewrite
/// buffer are not changed.
fn wanted(flavour: Flavour) -> &'static [(&'static str, &'static str)] {
    match flavour {
        Flavour::MySql => &CHANGED,
        Flavour::MariaDb => &[],
    }
}

/// All settings that are ever changed, and their values.
const CHANGED: [(&str, &str); 2] = [("innodb_adaptive_flushing", "OFF"), ("innodb_max_dirty_pages_pct_lwm", "0")];

/// The old values, and the process that they belong to: one that was started since has its own settings.
#[derive(Serialize, Deserialize)]
struct Originals {
    server: Option<Identity>,
    values: BTreeMap<String, String>,
}

/// Changes a private server to load `family`, whose marker exists.
pub fn change(target: &mut OpenTarget, family: &str) -> Result<(), DataError> {
    let wanted = wanted(target.flavour);
    if !target.is_private() || wanted.is_empty() {
        return Ok(());
    }
    let server = identity(target);
    let control = &mut target.control;
    let mut values = BTreeMap::new();
    for &(name, wanted) in wanted {
        // Not every server has every variable.
        if let Some(value) = value_of(control, name)?.filter(|value| !same_value(wanted, value)) {
            values.insert(name.to_owned(), value);
        }
    }
    let originals = serde_json::to_string(&Originals { server, values: values.clone() });
    let originals = originals.map_err(|error| DataError::Environment(error.to_string()))?;
    dataset::set_detail(control, family, dataset::INSTANCE, &originals)?;
    for (name, wanted) in wanted.iter().filter(|(name, _)| values.contains_key(*name)) {
        set(control, name, wanted)
            .map_err(|failure| DataError::sql(&format!("setting {name} while data are loaded"), &failure))?;
    }
    Ok(())
}

/// Restores what loading changed, even if it was killed, and verifies that. Does nothing on an external server.
///
/// # Errors
/// [`DataError::Environment`], naming the setting that was not restored.
pub fn put_back(target: &mut OpenTarget) -> Result<(), DataError> {
    if !target.is_private() {
        return Ok(());
    }
    let server = identity(target);
    let control = &mut target.control;
    for place in dataset::details(control, dataset::INSTANCE)? {
        let originals: Originals = serde_json::from_str(&place.detail).map_err(|error| {
            DataError::Environment(format!(
                "the settings that loading `{}` into the database `{}` changed cannot be read ({error}); restart the \
                 server and drop that dataset",
                place.family, place.database
            ))
        })?;
        if originals.server == server {
            // Others can write the marker table, so only what loading changes is restored.
            for (name, value) in &originals.values {
                if CHANGED.iter().any(|(known, _)| known == name) {
                    restore(control, name, value)?;
                }
            }
        }
        dataset::forget_detail(control, &place)?;
    }
    Ok(())
}

fn restore(control: &mut Control, name: &str, value: &str) -> Result<(), DataError> {
    let not_back = |found: String| {
        DataError::Environment(format!(
            "{name} could not be restored to {value} after loading: {found}; set it yourself or restart the server"
        ))
    };
    set(control, name, value).map_err(|failure| not_back(failure.to_string()))?;
    match value_of(control, name)? {
        Some(found) if same_value(value, &found) => Ok(()),
        found => Err(not_back(format!("it is {}", found.as_deref().unwrap_or("gone")))),
    }
}

fn identity(target: &OpenTarget) -> Option<Identity> {
    Identity::of(target.server.as_ref()?.pid())
}

fn set(control: &mut Control, name: &str, value: &str) -> Result<(), Failure> {
    let value = if value.parse::<f64>().is_ok() { value.to_owned() } else { dataset::literal(value) };
    control.run(&format!("SET GLOBAL {} = {value}", identifier(name))).map(drop)
}

/// A variable of the server; none if it has no such variable.
fn value_of(control: &mut Control, name: &str) -> Result<Option<String>, DataError> {
    let rows = control
        .rows(&format!("SHOW GLOBAL VARIABLES LIKE {}", dataset::literal(name)))
        .map_err(|failure| DataError::sql(&format!("asking the server for {name}"), &failure))?;
    Ok(rows.pairs().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()))
}
