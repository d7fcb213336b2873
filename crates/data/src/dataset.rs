//! The marker of loaded data: the table `plimsoll_dataset`, which says what was loaded, with which parameters, and how
//! far loading came. Only what it lists is ever dropped.

use crate::DataError;
use plimsoll_engine::Failure;
use plimsoll_engine::control::Control;
use plimsoll_model::NamedScalars;
use plimsoll_model::text::escaped;
use plimsoll_wire::Value;
use plimsoll_wire::text::{identifier, put_literal};
use plimsoll_workloads::dataset::{Dataset, Loaded};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

pub const TABLE: &str = "plimsoll_dataset";
const SCHEMA_VERSION: u32 = 1;
/// The part for the dataset as a whole; most other parts are chunks and indexes that are done.
const WHOLE: &str = "";
/// The part with the ledger.
pub const CLIENT: &str = "client";
/// The part with the server settings that loading has changed and has to restore.
pub const INSTANCE: &str = "instance";
/// The server's "table does not exist".
const NO_TABLE: u16 = 1146;

/// How far a dataset has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatasetState {
    Loading,
    Loaded,
    /// Loaded, and since then written to by a run.
    Driven,
}

impl DatasetState {
    fn name(self) -> &'static str {
        match self {
            DatasetState::Loading => "loading",
            DatasetState::Loaded => "loaded",
            DatasetState::Driven => "driven",
        }
    }
}

/// What was loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    pub schema_version: u32,
    pub parameters: NamedScalars,
    pub seed: u64,
    pub tables: Vec<String>,
    /// Stored procedures that were created with it.
    #[serde(default)]
    pub routines: Vec<String>,
    /// Whether the database was created for it and may be dropped with it.
    pub created_database: bool,
}

impl Description {
    pub fn of(dataset: &dyn Dataset, created_database: bool) -> Description {
        Description {
            schema_version: SCHEMA_VERSION,
            parameters: dataset.parameters(),
            seed: dataset.seed(),
            tables: dataset.tables().into_iter().map(|table| table.name).collect(),
            routines: Vec::new(),
            created_database,
        }
    }

    /// Whether the data are the same, whoever created the database and whether or not the server let us create
    /// routines.
    pub fn same_data(&self, other: &Description) -> bool {
        let data = |d: &Description| (d.schema_version, d.parameters.clone(), d.seed, d.tables.clone());
        data(self) == data(other)
    }

    /// In the form that workloads use.
    pub fn loaded(&self) -> Loaded<'_> {
        Loaded { parameters: &self.parameters, seed: self.seed }
    }

    /// The parameters in one line, for messages.
    pub fn words(&self) -> String {
        let pairs = self.parameters.iter().map(|(name, value)| format!("{}={value}", name.replace('_', "-")));
        format!("{}, seed={}", pairs.collect::<Vec<_>>().join(", "), self.seed)
    }
}

/// A dataset as its marker describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    pub family: String,
    pub state: DatasetState,
    pub description: Description,
    /// Chunks and indexes that are done.
    pub done: BTreeSet<String>,
}

/// A text as a literal that means the same in every SQL mode, NO_BACKSLASH_ESCAPES among them.
pub fn literal(text: &str) -> String {
    if text.contains('\\') {
        let digits: Vec<String> = text.bytes().map(|byte| format!("{byte:02X}")).collect();
        return format!("_utf8mb4 0x{}", digits.concat());
    }
    let mut out = Vec::new();
    put_literal(&mut out, &Value::Bytes(text.as_bytes()), false);
    String::from_utf8(out).unwrap_or_default()
}

fn sql(failure: &Failure) -> DataError {
    DataError::sql("reading or writing the table plimsoll_dataset", failure)
}

/// All datasets of the current database.
pub fn markers(control: &mut Control) -> Result<Vec<Marker>, DataError> {
    let rows = match control.rows(&format!("SELECT family, part, state, detail FROM {TABLE} ORDER BY family, part")) {
        Ok(rows) => rows.rows,
        Err(Failure::Server(message)) if message.code == NO_TABLE => return Ok(Vec::new()),
        Err(failure) => return Err(sql(&failure)),
    };
    let mut all: Vec<Marker> = Vec::new();
    for row in rows {
        let [Some(family), Some(part), Some(state), detail] = row.as_slice() else { continue };
        match all.last_mut().filter(|marker| marker.family == *family) {
            Some(_) if part == CLIENT || part == INSTANCE => {}
            Some(marker) => {
                marker.done.insert(part.clone());
            }
            None => all.push(whole(family, part, state, detail.as_deref().unwrap_or_default())?),
        }
    }
    Ok(all)
}

fn whole(family: &str, part: &str, state: &str, detail: &str) -> Result<Marker, DataError> {
    let unreadable = |why: String| {
        let (why, family) = (escaped(&why), escaped(family));
        DataError::Environment(format!(
            "the table {TABLE} is not in the format of this version of Plimsoll ({why}); drop it by hand together with \
             the tables of `{family}`, or use another database"
        ))
    };
    if part != WHOLE {
        return Err(unreadable(format!("its first part is `{part}`")));
    }
    let description: Description = serde_json::from_str(detail).map_err(|error| unreadable(error.to_string()))?;
    if description.schema_version != SCHEMA_VERSION {
        return Err(unreadable(format!("schema version {}", description.schema_version)));
    }
    let state = match state {
        "loading" => DatasetState::Loading,
        "loaded" => DatasetState::Loaded,
        "driven" => DatasetState::Driven,
        other => return Err(unreadable(format!("state `{other}`"))),
    };
    Ok(Marker { family: family.to_owned(), state, description, done: BTreeSet::new() })
}

pub fn marker(control: &mut Control, family: &str) -> Result<Option<Marker>, DataError> {
    Ok(markers(control)?.into_iter().find(|marker| marker.family == family))
}

/// Rows and their mark are one transaction only if the table has transactions, whatever the server's default engine.
fn create() -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {TABLE} (family VARCHAR(32) NOT NULL, part VARCHAR(96) NOT NULL, \
         state VARCHAR(16) NOT NULL, detail LONGTEXT, PRIMARY KEY (family, part)) ENGINE = InnoDB"
    )
}

/// Writes the marker when loading begins.
pub fn begin(control: &mut Control, family: &str, description: &Description) -> Result<(), DataError> {
    control.run(&create()).map_err(|failure| sql(&failure))?;
    let detail = serde_json::to_string(description).map_err(|error| DataError::Environment(error.to_string()))?;
    control.run(&insert(family, WHOLE, DatasetState::Loading, Some(&detail))).map_err(|failure| sql(&failure))?;
    Ok(())
}

/// The statement that marks a part as done, for the transaction that loads it.
pub fn part_done(family: &str, part: &str) -> String {
    insert(family, part, DatasetState::Loaded, None)
}

fn insert(family: &str, part: &str, state: DatasetState, detail: Option<&str>) -> String {
    let detail = detail.map_or("NULL".to_owned(), literal);
    format!(
        "INSERT INTO {TABLE} (family, part, state, detail) VALUES ({}, {}, '{}', {detail})",
        literal(family),
        literal(part),
        state.name()
    )
}

pub fn set_state(control: &mut Control, family: &str, state: DatasetState) -> Result<(), DataError> {
    let statement =
        format!("UPDATE {TABLE} SET state = '{}' WHERE family = {} AND part = ''", state.name(), literal(family));
    control.run(&statement).map_err(|failure| sql(&failure))?;
    Ok(())
}

/// Writes another description of a dataset.
pub fn describe(control: &mut Control, family: &str, description: &Description) -> Result<(), DataError> {
    let detail = serde_json::to_string(description).map_err(|error| DataError::Environment(error.to_string()))?;
    let (family, detail) = (literal(family), literal(&detail));
    let statement = format!("UPDATE {TABLE} SET detail = {detail} WHERE family = {family} AND part = ''");
    control.run(&statement).map_err(|failure| sql(&failure))?;
    Ok(())
}

/// A part with details, and the database that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    pub database: String,
    pub family: String,
    pub part: String,
    pub detail: String,
}

/// Writes the details of the part of this name.
pub fn set_detail(control: &mut Control, family: &str, part: &str, detail: &str) -> Result<(), DataError> {
    let statement = insert(family, part, DatasetState::Loaded, Some(detail));
    control
        .run(&format!("{statement} ON DUPLICATE KEY UPDATE detail = {}", literal(detail)))
        .map_err(|failure| sql(&failure))?;
    Ok(())
}

/// All parts of this name in all databases that this login sees.
pub fn details(control: &mut Control, part: &str) -> Result<Vec<Detail>, DataError> {
    let databases = control
        .rows(&format!("SELECT table_schema FROM information_schema.tables WHERE table_name = '{TABLE}'"))
        .map_err(|failure| sql(&failure))?;
    let mut all = Vec::new();
    for database in databases.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()) {
        let query =
            format!("SELECT family, detail FROM {}.{TABLE} WHERE part = {}", identifier(&database), literal(part));
        let rows = match control.rows(&query) {
            Ok(rows) => rows,
            // Gone by now, or another table of this name.
            Err(Failure::Server(_)) => continue,
            Err(failure) => return Err(sql(&failure)),
        };
        all.extend(rows.pairs().map(|(family, detail)| Detail {
            database: database.clone(),
            family: family.to_owned(),
            part: part.to_owned(),
            detail: detail.to_owned(),
        }));
    }
    Ok(all)
}

/// Removes such a part.
pub fn forget_detail(control: &mut Control, place: &Detail) -> Result<(), DataError> {
    let (family, part) = (literal(&place.family), literal(&place.part));
    control
        .run(&format!("DELETE FROM {}.{TABLE} WHERE family = {family} AND part = {part}", identifier(&place.database)))
        .map_err(|failure| sql(&failure))?;
    Ok(())
}

/// Forgets a dataset; the marker table goes with its last row, whichever dataset that is.
pub fn forget(control: &mut Control, family: &str) -> Result<(), DataError> {
    control.run(&format!("DELETE FROM {TABLE} WHERE family = {}", literal(family))).map_err(|failure| sql(&failure))?;
    let left = control.rows(&format!("SELECT COUNT(*) FROM {TABLE}")).map_err(|failure| sql(&failure))?;
    if left.single() == Some("0") {
        control.run(&format!("DROP TABLE {TABLE}")).map_err(|failure| sql(&failure))?;
    }
    Ok(())
}

/// Those of `names` that are tables of the current database.
pub fn existing_tables(control: &mut Control, names: &[String]) -> Result<BTreeSet<String>, DataError> {
    let rows = control
        .rows("SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()")
        .map_err(|failure| DataError::sql("asking for the tables of the database", &failure))?;
    let found: BTreeSet<String> = rows.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect();
    Ok(names.iter().filter(|name| found.contains(*name)).cloned().collect())
}

/// The procedures of the current database that this login sees.
pub fn existing_routines(control: &mut Control) -> Result<BTreeSet<String>, DataError> {
    let rows = control
        .rows("SELECT routine_name FROM information_schema.routines WHERE routine_schema = DATABASE()")
        .map_err(|failure| DataError::sql("asking for the procedures of the database", &failure))?;
    Ok(rows.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_mean_the_same_in_every_sql_mode() {
        assert_eq!(literal("sbtest"), "'sbtest'");
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal("a\\\""), "_utf8mb4 0x615C22");
    }

    #[test]
    fn a_mark_is_in_the_transaction_of_its_rows() {
        assert!(create().ends_with("ENGINE = InnoDB"), "{}", create());
    }
}
