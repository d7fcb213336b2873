//! How a dataset is made: loaded into a server with Plimsoll's baseline, its statistics pinned, stopped clean and slowly.

use super::recipe::Recipe;
use super::{Rigs, stopped};
use crate::error::LabError;
use crate::load::load;
use crate::target::{DATABASE, OpenTarget};
use crate::watch::{Event, Watcher};
use jiff::Timestamp;
use plimsoll_engine::control::Control;
use plimsoll_server::instance::{Opening, PrivateServer};
use plimsoll_server::process::Ending;
use plimsoll_server::snapshot::store::{Content, Description, Making, Stored};
use plimsoll_server::snapshot::tree;
use plimsoll_server::{Rig, Settings};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// A slow shutdown merges all buffered changes and purges all old versions first.
const STOPS_WITHIN: Duration = Duration::from_secs(3600);
/// CHECKSUM TABLE and ANALYZE TABLE read whole tables.
const READ_WITHIN: Duration = Duration::from_secs(6 * 3600);

/// Builds the dataset of `recipe` in the rig of the data, and moves it into the store beside it.
pub(super) fn build(rigs: &Rigs, recipe: &Recipe, watcher: &mut dyn Watcher) -> Result<Stored, LabError> {
    let rig = &rigs.data;
    let making = Making::begin(rig.home(), &recipe.id())?;
    rigs.clear()?;
    let made = fill(rig, recipe, watcher).and_then(|checksums| {
        forget_identity(&rig.data())?;
        watcher.tell(Event::Doing("storing the dataset"));
        stopped(tree::take_in(&rig.data(), &making.data(), &mut || !watcher.interrupted()))?;
        let bytes = tree::files(&making.data())?.iter().map(|(_, bytes)| bytes).sum();
        Ok(making.finish(&description(recipe, checksums, bytes))?)
    });
    // What a failure has left in the rig; after success there is nothing.
    let cleared = rigs.clear();
    let stored = made?;
    cleared?;
    Ok(stored)
}

fn description(recipe: &Recipe, checksums: BTreeMap<String, String>, bytes: u64) -> Description {
    Description {
        plimsoll_dataset: 1,
        id: recipe.id(),
        build: recipe.build.clone(),
        fixed: recipe.fixed_values(),
        contents: vec![Content {
            database: DATABASE.to_owned(),
            family: recipe.data.family().to_owned(),
            parameters: recipe.parameters(),
            seed: recipe.data.seed(),
        }],
        checksums,
        bytes,
        made: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        origin: "built".to_owned(),
    }
}

/// Makes the data in the rig, loads them and stops the server: the checksums of the tables.
fn fill(rig: &Rig, recipe: &Recipe, watcher: &mut dyn Watcher) -> Result<BTreeMap<String, String>, LabError> {
    let settings = recipe.settings()?;
    let server = open(rig, recipe, &settings, watcher)?;
    let mut target = OpenTarget::of_server(server, settings, DATABASE)?;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    load(&mut target, recipe.data.as_ref(), threads, watcher)?;
    target.control.set_limit(READ_WITHIN);
    let names: Vec<String> = recipe.data.tables().into_iter().map(|table| table.name).collect();
    watcher.tell(Event::Doing("pinning the statistics of the tables"));
    pin_statistics(&mut target.control, &names)?;
    watcher.tell(Event::Doing("asking the tables for their checksums"));
    let checksums = checksums(&mut target.control, &names)?;
    watcher.tell(Event::Doing("a clean slow shutdown of the server that loaded"));
    stop(target)?;
    Ok(checksums)
}

fn open(rig: &Rig, recipe: &Recipe, settings: &Settings, watcher: &mut dyn Watcher) -> Result<PrivateServer, LabError> {
    let opening = Opening::new("plimsoll, building a dataset").watched_by(|step, since| {
        watcher.tell(Event::Server { step, since });
        if watcher.interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    stopped(rig.open(&recipe.build, settings, opening))
}

/// Makes statistics anew and keeps the server from doing so by itself later: a recalculation in the background would
/// change plans in the middle of a trial (MySQL manual, "Configuring Persistent Optimizer Statistics Parameters").
fn pin_statistics(control: &mut Control, tables: &[String]) -> Result<(), LabError> {
    let failed = |failure| LabError::sql("pinning the statistics of the tables", &failure);
    let query =
        "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND engine = 'InnoDB'";
    let found = control.rows(query).map_err(failed)?;
    let found: Vec<&str> = found.rows.iter().filter_map(|row| row.first()?.as_deref()).collect();
    for table in tables.iter().filter(|table| found.contains(&table.as_str())) {
        control.run(&format!("ALTER TABLE `{table}` STATS_AUTO_RECALC = 0")).map_err(failed)?;
    }
    control.rows(&format!("ANALYZE TABLE {}", list(tables))).map_err(failed)?;
    Ok(())
}

/// Checksums of tables of the current database, by `database.table`, row by row (CHECKSUM TABLE … EXTENDED). How long a
/// statement may take is set on `control`.
///
/// # Errors
/// [`LabError::Environment`] with the server's words.
pub fn checksums(control: &mut Control, tables: &[String]) -> Result<BTreeMap<String, String>, LabError> {
    let failed = |failure| LabError::sql("asking for the checksums of the tables", &failure);
    let rows = control.rows(&format!("CHECKSUM TABLE {} EXTENDED", list(tables))).map_err(failed)?;
    Ok(rows.pairs().map(|(table, sum)| (table.to_owned(), sum.to_owned())).collect())
}

fn list(tables: &[String]) -> String {
    tables.iter().map(|table| format!("`{table}`")).collect::<Vec<_>>().join(", ")
}

/// Stops the server so that it leaves nothing to be done at the next start: no redo to apply, nothing to purge or merge
/// (`innodb_fast_shutdown = 0`).
fn stop(mut target: OpenTarget) -> Result<(), LabError> {
    let slow = target.control.run("SET GLOBAL innodb_fast_shutdown = 0");
    slow.map_err(|failure| LabError::sql("asking for a slow shutdown", &failure))?;
    drop(target.control);
    match target.server.map(|server| server.stop(STOPS_WITHIN)).transpose()? {
        Some(Ending::Stopped) | None => Ok(()),
        Some(Ending::WasDown | Ending::Killed) => Err(LabError::Environment(format!(
            "the server that loaded the dataset did not shut down in order within {STOPS_WITHIN:?}"
        ))),
    }
}

/// Otherwise every copy would claim to be the same server.
fn forget_identity(data: &Path) -> Result<(), LabError> {
    let path = data.join("auto.cnf");
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(LabError::Environment(format!("cannot remove {}: {error}", path.display())))
        }
        _ => Ok(()),
    }
}
