//! The tables: entries, the rows that they are written beside, and of each client the sum of its entries.

use crate::dataset::DatasetNames;

/// What each client has written, one row per transaction; no row is ever changed.
pub const ENTRIES: &str = "ledger_entry";
/// Rows that are there from the beginning; each holds the last entry that was written beside it.
pub const ROWS: &str = "ledger_row";
/// Of each client how many entries it has, the last, and the exclusive or of their checksums.
pub const CLIENTS: &str = "ledger_client";

/// Bytes that a row of [`ROWS`] is filled with.
pub const FILLER: usize = 200;

/// What the data consist of.
pub fn names() -> DatasetNames {
    DatasetNames { tables: [ENTRIES, ROWS, CLIENTS].map(str::to_owned).into(), ..DatasetNames::default() }
}

pub fn create_entries() -> String {
    format!(
        "CREATE TABLE {ENTRIES} (client INT UNSIGNED NOT NULL, number BIGINT UNSIGNED NOT NULL, row_id INT UNSIGNED NOT \
         NULL, checksum INT UNSIGNED NOT NULL, PRIMARY KEY (client, number)) ENGINE = innodb"
    )
}

pub fn create_rows() -> String {
    format!(
        "CREATE TABLE {ROWS} (id INT UNSIGNED NOT NULL PRIMARY KEY, client INT UNSIGNED NOT NULL, number BIGINT UNSIGNED \
         NOT NULL, checksum INT UNSIGNED NOT NULL, filler CHAR({FILLER}) CHARACTER SET ascii NOT NULL) ENGINE = innodb"
    )
}

pub fn create_clients() -> String {
    format!(
        "CREATE TABLE {CLIENTS} (client INT UNSIGNED NOT NULL PRIMARY KEY, entries BIGINT UNSIGNED NOT NULL, last BIGINT \
         UNSIGNED NOT NULL, checksum BIGINT UNSIGNED NOT NULL) ENGINE = innodb"
    )
}

/// The columns of all tables, in their order, for a check: table, column, type.
pub const COLUMNS: [(&str, &str, &str); 13] = [
    (CLIENTS, "client", "int"),
    (CLIENTS, "entries", "bigint"),
    (CLIENTS, "last", "bigint"),
    (CLIENTS, "checksum", "bigint"),
    (ENTRIES, "client", "int"),
    (ENTRIES, "number", "bigint"),
    (ENTRIES, "row_id", "int"),
    (ENTRIES, "checksum", "int"),
    (ROWS, "id", "int"),
    (ROWS, "client", "int"),
    (ROWS, "number", "bigint"),
    (ROWS, "checksum", "int"),
    (ROWS, "filler", "char"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_are_those_of_the_tables() {
        for (table, create) in [(ENTRIES, create_entries()), (ROWS, create_rows()), (CLIENTS, create_clients())] {
            let columns = COLUMNS.iter().filter(|(of, ..)| *of == table);
            let places: Vec<usize> = columns
                .map(|(_, name, kind)| create.find(&format!("{name} {}", kind.to_uppercase())).expect("in the table"))
                .collect();
            assert!(places.is_sorted() && places.len() >= 4, "{create}");
        }
    }
}
