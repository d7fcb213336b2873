//! A dataset as the loader sees it: tables, and rows that are a pure function of table and id.

use plimsoll_model::NamedScalars;
use std::collections::BTreeSet;

/// One table and how to fill it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetTable {
    pub name: String,
    pub create: String,
    /// Statements between creation and the first row.
    pub before: Vec<String>,
    /// Statements after the last row: the secondary indexes.
    pub after: Vec<String>,
    /// Ids go from 1 to this; each makes one row, or the few rows that belong together.
    pub ids: u64,
    /// The rows that all ids make.
    pub rows: u64,
    /// Ids of one transaction of the load. Those of one warehouse, or another natural part, are a multiple of it.
    pub chunk: u64,
    /// Whether an uncommitted chunk leaves nothing behind; with an engine that does not roll back, rows that exist are
    /// skipped.
    pub rolls_back: bool,
    /// The column of the ids of an engine that does not roll back, where no unique key keeps rows from coming twice.
    pub doubles: Option<&'static str>,
    /// Disk space that it will take, bytes, indexes included; an estimate.
    pub bytes: u64,
    /// The statement that takes lines of [`Dataset::append_tsv`], in any SQL mode.
    pub load_data: String,
    /// The statement that takes lists of [`Dataset::append_values`].
    pub insert: String,
}

/// A part of a dataset that is not a table: a stored procedure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routine {
    pub name: String,
    /// `CREATE PROCEDURE …`
    pub create: String,
}

/// Data that can be loaded: any thread can make any chunk of rows at any time, repeatedly.
pub trait Dataset: Send + Sync {
    fn family(&self) -> &'static str;

    /// The parameters that shape the data, by snake_case name.
    fn parameters(&self) -> NamedScalars;

    fn seed(&self) -> u64;

    fn tables(&self) -> Vec<DatasetTable>;

    /// Stored procedures, made before the first row.
    fn routines(&self) -> Vec<Routine> {
        Vec::new()
    }

    /// Statements after the last row and the last index of all tables, in this order: the foreign keys.
    fn after_all(&self) -> Vec<String> {
        Vec::new()
    }

    /// Appends the rows of `id` (from 1) of table `table` (from 0) as lines for LOAD DATA; returns their number.
    fn append_tsv(&self, table: usize, id: u64, out: &mut Vec<u8>) -> u64;

    /// Appends the same rows as lists for INSERT, separated by commas; returns their number.
    fn append_values(&self, table: usize, id: u64, out: &mut Vec<u8>) -> u64;
}

/// What the data of a family were loaded with, according to their marker.
#[derive(Clone, Copy, Debug)]
pub struct Loaded<'a> {
    /// By snake_case name, as [`Dataset::parameters`] gave them.
    pub parameters: &'a NamedScalars,
    pub seed: u64,
}

/// The names of the tables and procedures of loaded data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatasetNames {
    pub tables: BTreeSet<String>,
    pub routines: BTreeSet<String>,
}

impl DatasetNames {
    pub fn of(dataset: &dyn Dataset) -> DatasetNames {
        DatasetNames {
            tables: dataset.tables().into_iter().map(|table| table.name).collect(),
            routines: dataset.routines().into_iter().map(|routine| routine.name).collect(),
        }
    }
}
