//! MySQL's own copy of a running server: the clone plugin.

use super::source::{DatasetSource, connect};
use crate::DataError;
use plimsoll_engine::Failure;
use plimsoll_engine::control::Control;
use plimsoll_watch::Watcher;
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

const LIBRARY: &str = "mysql_clone.so";
/// Large datasets take a while.
const COPIED_WITHIN: Duration = Duration::from_secs(24 * 3600);
const LOOK: Duration = Duration::from_millis(50);

/// A table that the plugin would copy without its rows (MySQL Reference Manual, "Clone Plugin Limitations").
const NOT_COPIED: &str = "SELECT CONCAT(table_schema, '.', table_name), engine FROM information_schema.tables \
                          WHERE table_type = 'BASE TABLE' AND engine IN ('MyISAM', 'CSV', 'ARCHIVE', 'MRG_MYISAM') \
                          AND table_schema NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema') LIMIT 1";

/// What prevents the server from cloning itself, if anything.
///
/// # Errors
/// [`DataError::Environment`] if it does not answer.
pub fn lacks(control: &mut Control) -> Result<Option<String>, DataError> {
    let left_out = control.rows(NOT_COPIED).map_err(|failure| sql(&failure))?;
    if let Some((table, engine)) = left_out.pairs().next() {
        return Ok(Some(format!("it copies InnoDB's tables alone, and `{table}` is of {engine}")));
    }
    if is_installed(control)? {
        return Ok(None);
    }
    let rows = control.rows("SELECT @@plugin_dir").map_err(|failure| sql(&failure))?;
    let directory = rows.single().unwrap_or_default();
    let there = Path::new(directory).join(LIBRARY).is_file();
    Ok((!there).then(|| {
        format!("`{LIBRARY}` is not in `{directory}`; MySQL has it since 8.0.17, in the package `mysql-server-core`")
    }))
}

/// Makes the new directory `to` a copy of the data of `source`. Returns whether the plugin was installed for it: then
/// the copy still has it, although the server does not any more.
///
/// # Errors
/// [`DataError::Environment`] with the server's words; [`DataError::Interrupted`].
pub fn copy(source: &mut DatasetSource, to: &Path, watcher: &mut dyn Watcher) -> Result<bool, DataError> {
    let installed = !is_installed(&mut source.control)?;
    if installed {
        let install = format!("INSTALL PLUGIN clone SONAME '{LIBRARY}'");
        source.control.run(&install).map_err(|failure| sql(&failure))?;
    }
    let copied = run(source, to, watcher);
    let removed = match installed {
        true => uninstall(&mut source.control),
        false => Ok(()),
    };
    copied.and(removed).map(|()| installed)
}

/// Uninstalls the plugin from a server.
///
/// # Errors
/// [`DataError::Environment`] with the server's words.
pub fn uninstall(control: &mut Control) -> Result<(), DataError> {
    control.run("UNINSTALL PLUGIN clone").map(drop).map_err(|failure| sql(&failure))
}

fn is_installed(control: &mut Control) -> Result<bool, DataError> {
    let query =
        "SELECT COUNT(*) FROM information_schema.plugins WHERE plugin_name = 'clone' AND plugin_status = 'ACTIVE'";
    let rows = control.rows(query).map_err(|failure| sql(&failure))?;
    Ok(rows.single() == Some("1"))
}

/// The statement has a connection of its own, so that it can be killed.
fn run(source: &mut DatasetSource, to: &Path, watcher: &mut dyn Watcher) -> Result<(), DataError> {
    let (connected, id) = mpsc::channel();
    let copied = thread::scope(|scope| {
        let cloning = scope.spawn(|| execute(&source.socket, to, connected));
        let id = id.recv().ok();
        while !cloning.is_finished() {
            if let Some(id) = id.as_ref().filter(|_| watcher.interrupted()) {
                // A statement that has ended cannot be killed.
                let _ = source.control.run(&format!("KILL QUERY {id}"));
            }
            thread::sleep(LOOK);
        }
        cloning.join()
    });
    match copied {
        _ if watcher.interrupted() => Err(DataError::Interrupted),
        Ok(copied) => copied,
        Err(_) => Err(DataError::Environment("the thread that clones died; this is a bug".to_owned())),
    }
}

/// Clones, after reporting the connection's number.
fn execute(socket: &Path, to: &Path, connected: Sender<String>) -> Result<(), DataError> {
    let mut control = connect(socket)?;
    control.set_limit(COPIED_WITHIN);
    let rows = control.rows("SELECT CONNECTION_ID()").map_err(|failure| sql(&failure))?;
    // The receiver waits for it.
    let _ = connected.send(rows.single().unwrap_or_default().to_owned());
    let path = to.to_string_lossy().replace('\\', "\\\\").replace('\'', "''");
    let statement = format!("CLONE LOCAL DATA DIRECTORY = '{path}'");
    control.run(&statement).map(drop).map_err(|failure| sql(&failure))
}

fn sql(failure: &Failure) -> DataError {
    DataError::sql("copying with MySQL's clone plugin", failure)
}
