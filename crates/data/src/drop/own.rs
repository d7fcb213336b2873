//! What belongs to the dataset: a marker is a table that others can write, so its names are only believed if loading
//! creates them.

use crate::DataError;
use crate::dataset::{Marker, TABLE};
use plimsoll_engine::control::Control;
use plimsoll_model::text::escaped;
use plimsoll_workloads::dataset::DatasetNames;
use std::collections::BTreeSet;

/// Checks that the marker names only what loading with its parameters creates, which is `names`.
///
/// # Errors
/// The name that is not, in words that are safe to show.
pub(crate) fn made_by_load(marker: &Marker, names: Result<Option<DatasetNames>, DataError>) -> Result<(), String> {
    let by_hand = format!("check the table {TABLE}, and drop by hand what is yours");
    let family = escaped(&marker.family);
    let names = match names {
        Ok(Some(names)) => names,
        Ok(None) => return Err(format!("no workload has data of the family `{family}`; {by_hand}")),
        Err(error) => {
            let error = escaped(&error.to_string());
            return Err(format!("the parameters in the marker of `{family}` are not accepted: {error}; {by_hand}"));
        }
    };
    let foreign = |listed: &[String], made: &BTreeSet<String>, what: &str| {
        listed.iter().find(|name| !made.contains(*name)).map(|name| format!("the {what} `{}`", escaped(name)))
    };
    let description = &marker.description;
    let found = foreign(&description.tables, &names.tables, "table")
        .or_else(|| foreign(&description.routines, &names.routines, "procedure"));
    match found {
        Some(what) => Err(format!(
            "the marker of `{family}` names {what}, which loading with its parameters does not create; \
                         {by_hand}"
        )),
        None => Ok(()),
    }
}

/// What others have put in the place of one of these tables, or attached to it: it would be dropped with the table.
pub(super) fn put_there_by_others(control: &mut Control, tables: &[String]) -> Result<Option<String>, DataError> {
    let ours: BTreeSet<&str> = tables.iter().map(String::as_str).collect();
    let failed = |failure| DataError::sql("examining what is to be dropped", &failure);
    let query = "SELECT table_name, table_type FROM information_schema.tables \
                 WHERE table_schema = DATABASE() AND table_type <> 'BASE TABLE'";
    let others = control.rows(query).map_err(failed)?;
    if let Some((name, kind)) = others.pairs().find(|(name, _)| ours.contains(name)) {
        let (name, kind) = (escaped(name), escaped(&kind.to_lowercase()));
        return Ok(Some(format!("`{name}` is now a {kind}, which Plimsoll did not create; drop it yourself")));
    }
    let query = "SELECT event_object_table, trigger_name FROM information_schema.triggers \
                 WHERE event_object_schema = DATABASE()";
    let triggers = control.rows(query).map_err(failed)?;
    let on_ours = triggers.pairs().find(|(table, _)| ours.contains(table));
    Ok(on_ours.map(|(table, trigger)| {
        let (table, trigger) = (escaped(table), escaped(trigger));
        format!(
            "the table `{table}` has the trigger `{trigger}`, which Plimsoll did not create; drop the trigger \
                 yourself first"
        )
    }))
}
