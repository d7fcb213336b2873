//! Checks that a copy is good: every invariant of its data holds on the server that was started on it.

use super::contents::FoundDataset;
use crate::DataError;
use crate::check::{CONNECTIONS, findings};
use crate::starting_data::checksums;
use crate::target::OpenTarget;
use plimsoll_engine::control::Control;
use plimsoll_model::summary::InvariantFinding;
use plimsoll_watch::Watcher;
use plimsoll_wire::text::identifier;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// The longest time for the checksums of one dataset.
const SUMMED_WITHIN: Duration = Duration::from_secs(24 * 3600);

/// What was checked of one dataset.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checked {
    pub database: String,
    pub family: String,
    pub findings: Vec<InvariantFinding>,
}

/// Checks that no transaction waits for a decision from outside: such a transaction holds its locks in every copy.
///
/// # Errors
/// [`DataError::Environment`] with their number, or if the server does not answer.
pub fn nothing_is_prepared(control: &mut Control) -> Result<(), DataError> {
    let prepared =
        control.rows("XA RECOVER").map_err(|failure| DataError::sql("asking for prepared transactions", &failure))?;
    match prepared.rows.len() {
        0 => Ok(()),
        count => Err(DataError::Environment(format!(
            "the copy has prepared transactions that are undecided: {count} (XA RECOVER); commit or roll them back on \
             the server, and save again"
        ))),
    }
}

/// Checks every invariant of each dataset.
///
/// # Errors
/// [`DataError::Interrupted`]; [`DataError::Environment`] if the server does not answer.
pub fn checked(
    target: &mut OpenTarget,
    datasets: &[FoundDataset],
    watcher: &mut dyn Watcher,
) -> Result<Vec<Checked>, DataError> {
    let mut all = Vec::new();
    for found in datasets {
        target.database = found.database.clone();
        let findings = findings(target, &found.workload()?, CONNECTIONS, watcher)?;
        all.push(Checked { database: found.database.clone(), family: found.marker.family.clone(), findings });
    }
    Ok(all)
}

/// The checksums of the datasets' tables by `database.table`.
///
/// # Errors
/// [`DataError::Environment`] if the server does not answer.
pub fn sums(control: &mut Control, datasets: &[FoundDataset]) -> Result<BTreeMap<String, String>, DataError> {
    control.set_limit(SUMMED_WITHIN);
    let mut all = BTreeMap::new();
    for FoundDataset { database, marker } in datasets {
        let entered = control.run(&format!("USE {}", identifier(database)));
        entered.map_err(|failure| DataError::sql("entering the database", &failure))?;
        all.extend(checksums(control, &marker.description.tables)?);
    }
    Ok(all)
}
