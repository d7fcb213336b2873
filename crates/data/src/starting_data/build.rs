//! How a dataset is built: it is loaded into a server with Plimsoll's baseline, its statistics are pinned, the server
//! shuts down cleanly and slowly, and the redo log is made small.

use super::recipe::Recipe;
use super::{TrialDirectories, server, small_redo, stopped};
use crate::DataError;
use crate::load::{TABLES_AT_ONCE, load};
use crate::target::{DATABASE, OpenTarget};
use plimsoll_engine::control::Control;
use plimsoll_server::snapshot::store::{Making, Stored, StoredContent, StoredDescription};
use plimsoll_server::snapshot::tree;
use plimsoll_server::{Settings, TrialDirectory};
use plimsoll_watch::{Event, Watcher};
use plimsoll_wire::text::{identifier, identifiers};
use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

/// CHECKSUM TABLE and ANALYZE TABLE read whole tables.
const READ_WITHIN: Duration = Duration::from_secs(6 * 3600);

/// Builds the dataset of `recipe` in the data's directory, and moves it into the store beside it.
pub(super) fn build(
    directories: &TrialDirectories,
    recipe: &Recipe,
    watcher: &mut dyn Watcher,
) -> Result<Stored, DataError> {
    let directory = &directories.data;
    let making = Making::begin(directory.home(), &recipe.id())?;
    directories.clear()?;
    let made = fill(directory, recipe, watcher).and_then(|checksums| {
        server::forget_identity(&directory.data())?;
        watcher.tell(Event::Doing("storing the dataset"));
        stopped(tree::take_in(&directory.data(), &making.data(), &mut || !watcher.interrupted()))?;
        let bytes = tree::files(&making.data())?.iter().map(|(_, bytes)| bytes).sum();
        Ok(making.finish(&description(recipe, checksums, bytes))?)
    });
    // What a failure left in the trial directory; after success there is nothing.
    let cleared = directories.clear();
    let stored = made?;
    cleared?;
    Ok(stored)
}

fn description(recipe: &Recipe, checksums: BTreeMap<String, String>, bytes: u64) -> StoredDescription {
    StoredDescription {
        plimsoll_dataset: 1,
        id: recipe.id(),
        build: recipe.build.clone(),
        fixed: recipe.fixed_values(),
        contents: vec![StoredContent {
            database: DATABASE.to_owned(),
            family: recipe.data.family().to_owned(),
            parameters: recipe.parameters(),
            seed: recipe.data.seed(),
        }],
        checksums,
        bytes,
        made: plimsoll_host::facts::utc_now(),
        origin: "built".to_owned(),
    }
}

/// Creates the data directory in the trial directory, loads the data and stops the server. Returns the checksums of the tables.
fn fill(
    directory: &TrialDirectory,
    recipe: &Recipe,
    watcher: &mut dyn Watcher,
) -> Result<BTreeMap<String, String>, DataError> {
    let settings = recipe.settings()?;
    let mut target = open(directory, recipe, settings.clone(), watcher)?;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    load(&mut target, recipe.data.as_ref(), threads, watcher)?;
    target.control.set_limit(READ_WITHIN);
    let names: Vec<String> = recipe.data.tables().into_iter().map(|table| table.name).collect();
    watcher.tell(Event::Doing("pinning the statistics of the tables"));
    pin_statistics(&mut target.control, &names)?;
    watcher.tell(Event::Doing("computing the checksums of the tables"));
    let checksums = server::checksums(&mut target.control, &names)?;
    watcher.tell(Event::Doing("shutting the loading server down, slowly and cleanly"));
    server::shut_down(target)?;
    watcher.tell(Event::Doing("making the redo log small"));
    server::shut_down(open(directory, recipe, small_redo::with(settings)?, watcher)?)?;
    Ok(checksums)
}

fn open(
    directory: &TrialDirectory,
    recipe: &Recipe,
    settings: Settings,
    watcher: &mut dyn Watcher,
) -> Result<OpenTarget, DataError> {
    server::open(directory, &recipe.build, settings, "plimsoll, building a dataset", watcher)
}

/// Updates the statistics and stops the server from doing so by itself later: a recalculation in the background would
/// change query plans in the middle of a trial (MySQL manual, "Configuring Persistent Optimizer Statistics
/// Parameters").
fn pin_statistics(control: &mut Control, tables: &[String]) -> Result<(), DataError> {
    let failed = |failure| DataError::sql("pinning the statistics of the tables", &failure);
    let query =
        "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND engine = 'InnoDB'";
    let found = control.rows(query).map_err(failed)?;
    let found: Vec<&str> = found.rows.iter().filter_map(|row| row.first()?.as_deref()).collect();
    for table in tables.iter().filter(|table| found.contains(&table.as_str())) {
        control.run(&format!("ALTER TABLE {} STATS_AUTO_RECALC = 0", identifier(table))).map_err(failed)?;
    }
    for some in tables.chunks(TABLES_AT_ONCE) {
        control.rows(&format!("ANALYZE TABLE {}", identifiers(some))).map_err(failed)?;
    }
    Ok(())
}
