//! What comes before the first row: examining what is there, then the database, the marker, the tables, the procedures.

use super::INDEX_EXISTS;
use crate::DataError;
use crate::dataset::{self, DatasetState, Description, Marker};
use crate::drop::{drop_routines, made_by_load};
use crate::target::OpenTarget;
use plimsoll_engine::Failure;
use plimsoll_engine::control::Control;
use plimsoll_host::sample::disk_free;
use plimsoll_wire::text::identifier;
use plimsoll_workloads::chosen::names_of;
use plimsoll_workloads::dataset::{Dataset, DatasetNames, DatasetTable, Routine};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Room needed on top of the estimate: redo and temporary files of index builds.
const DISK_MARGIN: f64 = 1.25;
/// Error codes for a user who may not create procedures: no right in the database (1044), to a command (1142), to a
/// definer or an object of others (1227, 1370), to what the binary log would replicate (1418, 1419).
const ROUTINE_REFUSED: [u16; 6] = [1044, 1142, 1227, 1370, 1418, 1419];
/// "Procedure already exists", one that this login does not see.
const ROUTINE_EXISTS: u16 = 1304;

/// How far an earlier load came.
pub struct PreparedLoad {
    pub done: BTreeSet<String>,
    pub resumed: bool,
    /// Why there are no stored procedures, if there should be some.
    pub without_routines: Option<String>,
}

/// Creates the database, the marker, the tables and the procedures, or finds how far an earlier load came.
pub fn prepare(target: &mut OpenTarget, dataset: &dyn Dataset) -> Result<PreparedLoad, DataError> {
    let created = !target.enter_database()?;
    let tables = dataset.tables();
    let mut description = Description::of(dataset, created);
    let found = if created { None } else { dataset::marker(&mut target.control, dataset.family())? };
    if let Some(marker) = found {
        let existing = dataset::existing_tables(&mut target.control, &marker.description.tables)?;
        let stale = existing.is_empty();
        match marker.state {
            DatasetState::Loading if !stale && marker.description.same_data(&description) => {
                return go_on(target, dataset, marker);
            }
            _ if !stale => return Err(already(target, &marker)),
            // Its tables are gone, so it means nothing any more.
            _ => {
                description.created_database = marker.description.created_database;
                // Its parameters may differ; a family that no workload has is the caller's own.
                let names = names_of(&marker.family, marker.description.loaded());
                let names =
                    names.map(|names| names.or_else(|| Some(DatasetNames::of(dataset)))).map_err(DataError::from);
                made_by_load(&marker, names).map_err(DataError::Refused)?;
                drop_routines(&mut target.control, &marker.description.routines)?;
                dataset::forget(&mut target.control, dataset.family())?;
            }
        }
    }
    if !created {
        nothing_of_others(target, &tables, &dataset.routines())?;
    }
    enough_disk(target, &tables)?;
    if created {
        let make = format!("CREATE DATABASE {}", identifier(&target.database));
        target.control.run(&make).map_err(|failure| DataError::sql("creating the database", &failure))?;
        target.enter_database()?;
    }
    dataset::begin(&mut target.control, dataset.family(), &description)?;
    make_tables(&mut target.control, &tables, false)?;
    let without_routines = make_routines(target, dataset, &mut description)?;
    Ok(PreparedLoad { done: BTreeSet::new(), resumed: false, without_routines })
}

fn go_on(target: &mut OpenTarget, dataset: &dyn Dataset, marker: Marker) -> Result<PreparedLoad, DataError> {
    make_tables(&mut target.control, &dataset.tables(), true)?;
    let mut description = marker.description;
    let without_routines = make_routines(target, dataset, &mut description)?;
    Ok(PreparedLoad { done: marker.done, resumed: true, without_routines })
}

fn already(target: &OpenTarget, marker: &Marker) -> DataError {
    let state = match marker.state {
        DatasetState::Loading => "loading with other parameters has not finished",
        DatasetState::Loaded => "it is loaded",
        DatasetState::Driven => "it is loaded and has been written to by a run",
    };
    DataError::Refused(format!(
        "the database `{}` already has the dataset `{}` ({state}): {}; to load it again, `plimsoll drop` it first",
        target.database,
        marker.family,
        marker.description.words()
    ))
}

fn of_others(target: &OpenTarget, what: &str, name: &str) -> DataError {
    DataError::Refused(format!(
        "the database `{}` has a {what} `{name}` that Plimsoll did not load and does not touch; drop it yourself, or \
         choose another database",
        target.database
    ))
}

fn nothing_of_others(target: &mut OpenTarget, tables: &[DatasetTable], routines: &[Routine]) -> Result<(), DataError> {
    let names: Vec<String> = tables.iter().map(|table| table.name.clone()).collect();
    if let Some(name) = dataset::existing_tables(&mut target.control, &names)?.first() {
        return Err(of_others(target, "table", name));
    }
    if routines.is_empty() {
        return Ok(());
    }
    let existing = dataset::existing_routines(&mut target.control)?;
    match routines.iter().find(|routine| existing.contains(&routine.name)) {
        Some(routine) => Err(of_others(target, "procedure", &routine.name)),
        None => Ok(()),
    }
}

fn make_tables(control: &mut Control, tables: &[DatasetTable], again: bool) -> Result<(), DataError> {
    for table in tables {
        let create = match again {
            true => table.create.replacen("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1),
            false => table.create.clone(),
        };
        for statement in std::iter::once(&create).chain(&table.before) {
            match control.run(statement) {
                Err(Failure::Server(message)) if again && message.code == INDEX_EXISTS => {}
                Err(failure) => return Err(DataError::sql(&format!("creating {}", table.name), &failure)),
                Ok(_) => {}
            }
        }
    }
    Ok(())
}

/// Creates the missing procedures. The description names them before they exist, so that a kill in between leaves none
/// without an owner. Returns why there are none, if the server does not let us create them.
fn make_routines(
    target: &mut OpenTarget,
    dataset: &dyn Dataset,
    description: &mut Description,
) -> Result<Option<String>, DataError> {
    let routines = dataset.routines();
    if routines.is_empty() {
        return Ok(None);
    }
    let existing = dataset::existing_routines(&mut target.control)?;
    let ours = |routine: &Routine| description.routines.contains(&routine.name);
    if let Some(routine) = routines.iter().find(|routine| existing.contains(&routine.name) && !ours(routine)) {
        return Err(of_others(target, "procedure", &routine.name));
    }
    description.routines = routines.iter().map(|routine| routine.name.clone()).collect();
    dataset::describe(&mut target.control, dataset.family(), description)?;
    for (made, routine) in routines.iter().enumerate().filter(|(_, routine)| !existing.contains(&routine.name)) {
        let Err(failure) = target.control.run(&routine.create) else { continue };
        let there = |name: &String| existing.contains(name) || routines[..made].iter().any(|made| made.name == *name);
        description.routines.retain(there);
        dataset::describe(&mut target.control, dataset.family(), description)?;
        match failure {
            Failure::Server(message) if ROUTINE_REFUSED.contains(&message.code) => {
                return Ok(Some(message.to_string()));
            }
            Failure::Server(message) if message.code == ROUTINE_EXISTS => {
                return Err(of_others(target, "procedure", &routine.name));
            }
            other => return Err(DataError::sql(&format!("creating the procedure {}", routine.name), &other)),
        }
    }
    Ok(None)
}

/// Checks that the data fit, if the server's disk can be seen.
fn enough_disk(target: &mut OpenTarget, tables: &[DatasetTable]) -> Result<(), DataError> {
    if target.control.peer_pid().is_none() {
        return Ok(());
    }
    let rows =
        target.control.rows("SELECT @@datadir").map_err(|f| DataError::sql("asking for the data directory", &f))?;
    let Some(directory) = rows.single().map(PathBuf::from) else { return Ok(()) };
    // Another user's server may hide its directory; then the server itself will say when the disk is full.
    let Ok(free) = disk_free(&directory) else { return Ok(()) };
    let wanted = (tables.iter().map(|table| table.bytes).sum::<u64>() as f64 * DISK_MARGIN) as u64;
    if wanted > free {
        return Err(DataError::Environment(format!(
            "the data need about {} MiB, but {} has only {} MiB free; free some, or load fewer rows",
            wanted >> 20,
            directory.display(),
            free >> 20
        )));
    }
    Ok(())
}
