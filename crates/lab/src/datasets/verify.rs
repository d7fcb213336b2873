//! Proof that a copy is good: a server starts on it, everything that must hold of its data does, and it shuts down.

use super::contents::Found;
use super::interrupted;
use crate::check::{CONNECTIONS, findings};
use crate::error::LabError;
use crate::target::{DATABASE, OpenTarget};
use crate::watch::{Event, Watcher};
use plimsoll_model::summary::Finding;
use plimsoll_server::{Build, Ending, Opening, Rig, Settings};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

/// The longest that the tables of one dataset are summed.
const SUMMED_WITHIN: Duration = Duration::from_secs(24 * 3600);
/// A slow shutdown merges and purges everything first.
const STOPS_WITHIN: Duration = Duration::from_secs(3600);

/// What was asked of one dataset.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Checked {
    pub database: String,
    pub family: String,
    pub findings: Vec<Finding>,
}

/// Starts a server on the data of a rig, which first recovers them.
///
/// # Errors
/// As [`Rig::open`]; [`LabError::Interrupted`].
pub fn start(
    rig: &Rig,
    (build, settings): (&Build, &Settings),
    holder: &str,
    watcher: &mut dyn Watcher,
) -> Result<OpenTarget, LabError> {
    let opening = Opening::new(holder).watched_by(|step, since| {
        watcher.tell(Event::Server { step, since });
        if watcher.interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let server = rig.open(build, settings, opening).map_err(interrupted)?;
    OpenTarget::of_server(server, settings.clone(), DATABASE)
}

/// Asks everything that must hold of each of the datasets.
///
/// # Errors
/// [`LabError::Interrupted`]; [`LabError::Environment`] if the server does not answer.
pub fn checked(
    target: &mut OpenTarget,
    datasets: &[Found],
    watcher: &mut dyn Watcher,
) -> Result<Vec<Checked>, LabError> {
    let mut all = Vec::new();
    for found in datasets {
        target.database = found.database.clone();
        let findings = findings(target, &found.workload()?, CONNECTIONS, watcher)?;
        all.push(Checked { database: found.database.clone(), family: found.marker.family.clone(), findings });
    }
    Ok(all)
}

/// The checksums of the datasets' tables (CHECKSUM TABLE … EXTENDED) by `database.table`.
///
/// # Errors
/// [`LabError::Environment`] if the server does not answer.
pub fn checksums(target: &mut OpenTarget, datasets: &[Found]) -> Result<BTreeMap<String, String>, LabError> {
    target.control.set_limit(SUMMED_WITHIN);
    let mut all = BTreeMap::new();
    for Found { database, marker } in datasets {
        let tables = marker.description.tables.iter().map(|table| format!("`{database}`.`{table}`"));
        let statement = format!("CHECKSUM TABLE {} EXTENDED", tables.collect::<Vec<_>>().join(", "));
        let failed = |failure| LabError::sql("asking for the checksums of the tables", &failure);
        let rows = target.control.rows(&statement).map_err(failed)?;
        all.extend(rows.pairs().map(|(table, sum)| (table.to_owned(), sum.to_owned())));
    }
    Ok(all)
}

/// Shuts the server down slowly, so that whoever starts on its data has nothing left to recover, purge or merge
/// (`innodb_fast_shutdown`).
///
/// # Errors
/// [`LabError::Environment`] if it did not end by itself.
pub fn shut_down(mut target: OpenTarget) -> Result<(), LabError> {
    let slowly = target.control.run("SET GLOBAL innodb_fast_shutdown = 0");
    slowly.map_err(|failure| LabError::sql("preparing a slow shutdown", &failure))?;
    let Some(server) = target.server.take() else { return Ok(()) };
    match server.stop(STOPS_WITHIN)? {
        Ending::Stopped => Ok(()),
        Ending::WasDown | Ending::Killed => {
            Err(LabError::Environment("the server of the copy did not shut down in order".to_owned()))
        }
    }
}
