//! The server on which a dataset is built or checked: started, asked for the checksums of its tables, and stopped so
//! that it leaves no work for the next start.

use super::stopped;
use crate::DataError;
use crate::load::TABLES_AT_ONCE;
use crate::target::{DATABASE, OpenTarget};
use plimsoll_engine::control::Control;
use plimsoll_model::Build;
use plimsoll_server::{Ending, Opening, Settings, TrialDirectory};
use plimsoll_watch::{Event, Watcher};
use plimsoll_wire::text::identifiers;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// A slow shutdown merges all buffered changes and purges all old versions first.
const STOPS_WITHIN: Duration = Duration::from_secs(3600);

/// Starts a server on the data of a trial directory, or on a new data directory if there are none.
///
/// # Errors
/// As [`TrialDirectory::open`]; [`DataError::Interrupted`].
pub(crate) fn open(
    directory: &TrialDirectory,
    build: &Build,
    settings: Settings,
    holder: &str,
    watcher: &mut dyn Watcher,
) -> Result<OpenTarget, DataError> {
    let opening = Opening::new(holder).watched_by(|step, since| {
        watcher.tell(Event::Server { step, since });
        if watcher.interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let server = stopped(directory.open(build, &settings, opening))?;
    OpenTarget::of_server(server, settings, DATABASE)
}

/// Checksums of tables of the current database, by `database.table`, computed row by row (CHECKSUM TABLE … EXTENDED).
/// The caller sets on `control` how long a statement may take.
///
/// # Errors
/// [`DataError::Environment`] with the server's words.
pub fn checksums(control: &mut Control, tables: &[String]) -> Result<BTreeMap<String, String>, DataError> {
    let failed = |failure| DataError::sql("computing the checksums of the tables", &failure);
    let mut all = BTreeMap::new();
    for some in tables.chunks(TABLES_AT_ONCE) {
        let rows = control.rows(&format!("CHECKSUM TABLE {} EXTENDED", identifiers(some))).map_err(failed)?;
        all.extend(rows.pairs().map(|(table, sum)| (table.to_owned(), sum.to_owned())));
    }
    Ok(all)
}

/// Stops the server so that it leaves no work for the next start: no redo to apply, nothing to purge or merge
/// (`innodb_fast_shutdown = 0`).
///
/// # Errors
/// [`DataError::Environment`] if it does not end by itself.
pub(crate) fn shut_down(mut target: OpenTarget) -> Result<(), DataError> {
    let slow = target.control.run("SET GLOBAL innodb_fast_shutdown = 0");
    slow.map_err(|failure| DataError::sql("asking for a slow shutdown", &failure))?;
    drop(target.control);
    match target.server.map(|server| server.stop(STOPS_WITHIN)).transpose()? {
        Some(Ending::Stopped) | None => Ok(()),
        Some(Ending::WasDown | Ending::Killed) => Err(DataError::Environment(format!(
            "the server of the dataset did not shut down cleanly within {STOPS_WITHIN:?}"
        ))),
    }
}

/// Removes the server's UUID; otherwise every copy would claim to be the same server.
///
/// # Errors
/// [`DataError::Environment`].
pub(crate) fn forget_identity(data: &Path) -> Result<(), DataError> {
    let path = data.join("auto.cnf");
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(DataError::Environment(format!("cannot remove {}: {error}", path.display())))
        }
        _ => Ok(()),
    }
}
