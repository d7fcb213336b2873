//! A dataset as the loader sees it: tables, and rows that are a pure function of table and id.

use std::collections::BTreeMap;

/// One table and how to fill it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    pub create: String,
    /// Statements between creation and the first row.
    pub before: Vec<String>,
    /// Statements after the last row: the secondary indexes.
    pub after: Vec<String>,
    pub rows: u64,
    /// Disk space that it will take, bytes, indexes included; an estimate.
    pub bytes: u64,
    /// Takes lines of [`Dataset::row_tsv`].
    pub load_data: String,
    /// Takes lists of [`Dataset::row_values`].
    pub insert: String,
}

/// Data that can be loaded: any chunk of rows can be made by any thread, at any time, again.
pub trait Dataset: Send + Sync {
    fn family(&self) -> &'static str;

    /// The parameters that shape the data, by snake_case name.
    fn parameters(&self) -> BTreeMap<String, serde_json::Value>;

    fn seed(&self) -> u64;

    fn tables(&self) -> Vec<Table>;

    /// Appends row `id` (from 1) of table `table` (from 0) as a line for LOAD DATA.
    fn row_tsv(&self, table: usize, id: u64, out: &mut Vec<u8>);

    /// Appends the same row as a list for INSERT.
    fn row_values(&self, table: usize, id: u64, out: &mut Vec<u8>);
}
