//! What must hold for the table. No round adds or removes a row, so its keys remain those of the load.

use super::keys::{dictionary, usernames};
use super::load::HttpAuthRows;
use super::parameters::{SmackParameters, TableEngine};
use super::schema::{COLUMNS, TABLE_NAME};
use crate::check::{Check, Expectation, Moment};
use crate::oltp::schema::SchemaColumn;

/// Checks that the table exists and has its columns and the storage engine that results will name; also asked before a
/// run.
pub fn layout(parameters: &SmackParameters) -> Vec<Check> {
    vec![columns(), engine(parameters.engine)]
}

/// Everything that must hold for the table, the layout first. With the `seed` that it was loaded with, its rows and
/// keys are known; `None` for data of unknown origin.
pub fn checks(parameters: &SmackParameters, moment: Moment, seed: Option<u64>) -> Vec<Check> {
    let mut all = layout(parameters);
    all.push(usernames_are_valid());
    all.push(passwords_are_valid(moment));
    if let Some(seed) = seed {
        all.push(row_count(parameters.rows));
        all.push(dictionary_is_there(HttpAuthRows::new(seed), parameters.rows));
    }
    all
}

fn columns() -> Check {
    let row = |column: &SchemaColumn| {
        vec![Some(column.name.to_owned()), Some(column.data_type.to_owned()), column.characters.map(|n| n.to_string())]
    };
    Check {
        name: format!("columns of {TABLE_NAME}"),
        sql: format!(
            "SELECT column_name, data_type, character_maximum_length FROM information_schema.columns \
             WHERE table_schema = DATABASE() AND table_name = '{TABLE_NAME}' ORDER BY ordinal_position"
        ),
        expectation: Expectation::Rows(COLUMNS.iter().map(row).collect()),
    }
}

fn engine(engine: TableEngine) -> Check {
    Check {
        name: format!("engine of {TABLE_NAME}"),
        sql: format!(
            "SELECT engine FROM information_schema.tables \
             WHERE table_schema = DATABASE() AND table_name = '{TABLE_NAME}'"
        ),
        expectation: Expectation::Rows(vec![vec![Some(engine.name().to_owned())]]),
    }
}

fn usernames_are_valid() -> Check {
    violations("user names", "username REGEXP CONCAT('^[a-y]{12}', uid, '$')")
}

/// Loaded passwords are 25 letters; an update writes a user name in their place.
fn passwords_are_valid(moment: Moment) -> Check {
    violations(
        "passwords",
        match moment {
            Moment::Loaded => "pass REGEXP '^[a-y]{25}$'",
            Moment::Driven => "pass REGEXP '^([a-y]{25}|[a-y]{12}[0-9]+)$'",
        },
    )
}

/// A NULL is neither valid nor invalid for the server; here it counts as invalid.
fn violations(what: &str, valid: &str) -> Check {
    Check {
        name: format!("{what} of {TABLE_NAME}"),
        sql: format!("SELECT COUNT(*) FROM {TABLE_NAME} WHERE ({valid}) IS NOT TRUE"),
        expectation: Expectation::None,
    }
}

fn row_count(rows: u64) -> Check {
    let rows = rows.to_string();
    let expected = [rows.as_str(), &rows, "1", &rows].map(|text| Some(text.to_owned()));
    Check {
        name: format!("rows of {TABLE_NAME}"),
        sql: format!("SELECT COUNT(*), COUNT(DISTINCT uid), MIN(uid), MAX(uid) FROM {TABLE_NAME}"),
        expectation: Expectation::Rows(vec![expected.to_vec()]),
    }
}

fn dictionary_is_there(rows: HttpAuthRows, count: u64) -> Check {
    let keys = usernames(rows, dictionary(rows, count));
    let quoted: Vec<String> = keys.iter().map(|key| format!("'{}'", String::from_utf8_lossy(key))).collect();
    Check {
        name: format!("keys of the dictionary in {TABLE_NAME}"),
        sql: format!("SELECT COUNT(*) FROM {TABLE_NAME} WHERE username IN ({})", quoted.join(", ")),
        expectation: Expectation::Rows(vec![vec![Some(keys.len().to_string())]]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(part: &str, moment: Moment) -> Check {
        let mut all = checks(&SmackParameters::default(), moment, Some(1));
        all.retain(|check| check.name.starts_with(part));
        assert_eq!(all.len(), 1, "{part}");
        all.remove(0)
    }

    fn row<const N: usize>(texts: [&str; N]) -> Vec<Option<String>> {
        texts.iter().map(|text| Some((*text).to_owned())).collect()
    }

    #[test]
    fn rows_and_keys_are_checked_where_the_seed_is_known() {
        assert_eq!(layout(&SmackParameters::default()).len(), 2);
        assert_eq!(checks(&SmackParameters::default(), Moment::Driven, None).len(), 4);
        assert_eq!(checks(&SmackParameters::default(), Moment::Driven, Some(1)).len(), 6);
    }

    #[test]
    fn the_engine_is_compared_whatever_the_case() {
        let check = named("engine", Moment::Driven);
        assert_eq!(check.verdict(&[row(["InnoDB"])]), Ok(()));
        let other = check.verdict(&[row(["MyISAM"])]).expect_err("another engine");
        assert_eq!(other, "found (MyISAM), expected (innodb)");
    }

    #[test]
    fn every_key_of_the_dictionary_must_be_there() {
        let check = named("keys", Moment::Driven);
        assert_eq!(check.sql.matches('\'').count(), 2 * 750);
        assert_eq!(check.verdict(&[row(["750"])]), Ok(()));
        assert!(check.verdict(&[row(["749"])]).is_err());
    }

    #[test]
    fn each_row_is_there_once() {
        let check = named("rows", Moment::Driven);
        assert_eq!(check.verdict(&[row(["90000", "90000", "1", "90000"])]), Ok(()));
        assert!(check.verdict(&[row(["90000", "89999", "1", "90000"])]).is_err());
    }

    #[test]
    fn passwords_may_be_keys_once_the_table_was_driven() {
        assert_eq!(
            named("passwords", Moment::Loaded).sql,
            "SELECT COUNT(*) FROM http_auth WHERE (pass REGEXP '^[a-y]{25}$') IS NOT TRUE"
        );
        assert!(named("passwords", Moment::Driven).sql.contains("[a-y]{12}[0-9]+"));
    }
}
