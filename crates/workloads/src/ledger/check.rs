//! What must hold for the tables: a transaction is in all three of them or in none, and every entry is as it was written.

use super::parameters::LedgerParameters;
use super::schema::{CLIENTS, COLUMNS, ENTRIES, ROWS};
use crate::check::{ASKED, Check, Expectation, Moment};

/// Checks that the tables exist and have their columns; also asked before a run.
pub fn layout() -> Vec<Check> {
    let row = |(table, column, kind): &(&str, &str, &str)| [*table, *column, *kind].map(|text| Some(text.to_owned()));
    vec![Check::new(
        "columns of the ledger",
        format!(
            "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = DATABASE() \
             AND table_name IN ('{CLIENTS}', '{ENTRIES}', '{ROWS}')"
        ),
        Expectation::Rows(COLUMNS.iter().map(|column| row(column).to_vec()).collect()),
    )]
}

/// Everything that must hold, the layout first.
pub fn checks(parameters: &LedgerParameters, moment: Moment) -> Vec<Check> {
    let mut all = layout();
    let rows = parameters.rows.to_string();
    let expected = [rows.as_str(), "1", &rows].map(|text| Some(text.to_owned()));
    all.push(Check::new(
        "rows of the ledger",
        format!("SELECT COUNT(*), MIN(id), MAX(id) FROM {ROWS}"),
        Expectation::Rows(vec![expected.to_vec()]),
    ));
    if moment == Moment::Loaded {
        let none = format!("SELECT (SELECT COUNT(*) FROM {ENTRIES}) + (SELECT COUNT(*) FROM {CLIENTS})");
        all.push(Check::new("entries of the ledger", none, Expectation::None));
        return all;
    }
    all.extend([entries_are_whole(), clients_are_their_entries(), rows_have_their_entries()]);
    all
}

fn empty(name: &str, sql: String, columns: &'static [&'static str]) -> Check {
    Check::new(name, format!("{sql} LIMIT {ASKED}"), Expectation::Empty { columns, within: String::new() })
}

fn entries_are_whole() -> Check {
    empty(
        "every entry is as it was written",
        format!("SELECT client, number FROM {ENTRIES} WHERE checksum <> CRC32(CONCAT_WS('/', client, number, row_id))"),
        &["client", "number"],
    )
}

/// The sums of a client are written with each entry; one that was written by half has only one of them.
fn clients_are_their_entries() -> Check {
    empty(
        "each client has its entries",
        format!(
            "SELECT client FROM (SELECT client, entries, last, checksum FROM {CLIENTS} UNION ALL SELECT client, COUNT(*), \
             MAX(number), BIT_XOR(checksum) FROM {ENTRIES} GROUP BY client) AS sums GROUP BY client \
             HAVING COUNT(*) <> 2 OR MIN(entries) <> MAX(entries) OR MIN(last) <> MAX(last) OR MIN(checksum) <> MAX(checksum)"
        ),
        &["client"],
    )
}

/// Nothing is written into a row but with an entry.
fn rows_have_their_entries() -> Check {
    empty(
        "each row has the entry that it names",
        format!(
            "SELECT r.id FROM {ROWS} AS r LEFT JOIN {ENTRIES} AS e ON e.client = r.client AND e.number = r.number \
             WHERE r.number > 0 AND (e.row_id IS NULL OR e.row_id <> r.id OR e.checksum <> r.checksum)"
        ),
        &["row"],
    )
}

/// The query for the numbers of the entries of a client.
pub fn numbers_of(client: u64) -> String {
    format!("SELECT number FROM {ENTRIES} WHERE client = {client}")
}

/// The query for the number of all entries.
pub fn count() -> String {
    format!("SELECT COUNT(*) FROM {ENTRIES}")
}

/// The query for all clients that have entries.
pub fn clients() -> String {
    format!("SELECT DISTINCT client FROM {ENTRIES}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_were_loaded_have_no_entries() {
        let names = |moment| {
            let checks = checks(&LedgerParameters::default(), moment);
            checks.into_iter().map(|check| check.name).collect::<Vec<_>>()
        };
        assert_eq!(names(Moment::Loaded).last().map(String::as_str), Some("entries of the ledger"));
        assert_eq!(names(Moment::Driven).len(), 5);
    }
}
