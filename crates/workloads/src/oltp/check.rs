//! What must hold for the data of the OLTP family, table by table.

use super::OltpKind;
use super::load::{PAD_OF_0_4, rows_per_table};
use super::schema::{OltpSchema, SchemaColumn};
use super::statements::PAD_OF_0_4_INSERTS;
use super::values::{OltpParameters, SysbenchLayout};
use crate::check::{Check, Expectation, Moment, cells};

/// Checks that the tables exist and have the columns that `kind` needs; also asked before a run.
pub fn layout(kind: OltpKind, parameters: &OltpParameters) -> Vec<Check> {
    let schema = OltpSchema::new(kind, parameters);
    schema.tables().map(|table| columns(&schema, table)).collect()
}

/// Everything that must hold for the tables of `kind`, table by table, the layout first. If that is broken, the
/// server may refuse the queries that follow; an error answer counts as a broken check.
pub fn checks(kind: OltpKind, parameters: &OltpParameters, moment: Moment) -> Vec<Check> {
    let schema = OltpSchema::new(kind, parameters);
    let mut all = Vec::new();
    for table in schema.tables() {
        all.push(columns(&schema, table));
        all.push(indexes(&schema, table));
        all.push(row_formats(kind, parameters, &schema.table_name(table)));
        all.extend(equal_counts(&schema, table));
        if moment == Moment::Loaded {
            all.push(row_count(&schema.table_name(table), rows_per_table(kind, parameters)));
        }
    }
    all
}

fn columns(schema: &OltpSchema, table: u64) -> Check {
    let name = schema.table_name(table);
    let row = |column: &SchemaColumn| {
        vec![Some(column.name.to_owned()), Some(column.data_type.to_owned()), column.characters.map(|n| n.to_string())]
    };
    Check {
        name: format!("columns of {name}"),
        sql: format!(
            "SELECT column_name, data_type, character_maximum_length FROM information_schema.columns \
             WHERE table_schema = DATABASE() AND table_name = '{name}' ORDER BY ordinal_position"
        ),
        expectation: Expectation::Rows(schema.columns().iter().map(row).collect()),
    }
}

fn indexes(schema: &OltpSchema, table: u64) -> Check {
    let name = schema.table_name(table);
    let mut expected = vec![cells([schema.id_index(), "id"])];
    expected.extend(schema.k_index(table).map(|index| cells([&index, "k"])));
    Check {
        name: format!("indexes of {name}"),
        sql: format!(
            "SELECT index_name, column_name FROM information_schema.statistics \
             WHERE table_schema = DATABASE() AND table_name = '{name}' AND seq_in_index = 1"
        ),
        expectation: Expectation::Including(expected),
    }
}

fn row_formats(kind: OltpKind, parameters: &OltpParameters, name: &str) -> Check {
    let valid = match (kind, parameters.layout) {
        (OltpKind::BulkInsert, _) => "k = id".to_owned(),
        (_, SysbenchLayout::Sysbench10) => {
            "k > 0 AND c REGEXP '^([0-9]{11}-){9}[0-9]{11}$' AND pad REGEXP '^([0-9]{11}-){4}[0-9]{11}$'".to_owned()
        }
        (_, SysbenchLayout::Sysbench04) => format!("pad IN ('{PAD_OF_0_4}', '{PAD_OF_0_4_INSERTS}')"),
    };
    Check {
        name: format!("row formats of {name}"),
        sql: format!("SELECT COUNT(*) FROM {name} WHERE NOT ({valid})"),
        expectation: Expectation::None,
    }
}

/// Both indexes must contain the same rows: it compares their number and the sums of what both contain.
fn equal_counts(schema: &OltpSchema, table: u64) -> Option<Check> {
    let name = schema.table_name(table);
    let by = |index: &str, alias: &str| {
        format!("(SELECT COUNT(*) AS n, SUM(id) AS ids, SUM(k) AS ks FROM {name} FORCE INDEX ({index})) AS {alias}")
    };
    schema.k_index(table).map(|k_index| Check {
        name: format!("equal counts of {name} by id and by k"),
        sql: format!(
            "SELECT a.n, a.ids, a.ks, b.n, b.ids, b.ks FROM {}, {}",
            by(schema.id_index(), "a"),
            by(&k_index, "b")
        ),
        expectation: Expectation::Halves,
    })
}

fn row_count(name: &str, rows: u64) -> Check {
    let expected = match rows {
        0 => vec![Some("0".to_owned()), None, None],
        rows => cells([&rows.to_string(), "1", &rows.to_string()]),
    };
    Check {
        name: format!("rows of {name} right after a load"),
        sql: format!("SELECT COUNT(*), MIN(id), MAX(id) FROM {name}"),
        expectation: Expectation::Rows(vec![expected]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: OltpKind, pairs: &[(&str, &str)], moment: Moment) -> Vec<Check> {
        checks(kind, &OltpParameters::parse(kind, pairs.iter().copied()).expect("accepted"), moment)
    }

    fn check(part: &str, pairs: &[(&str, &str)]) -> Check {
        let mut all = of(OltpKind::ReadWrite, pairs, Moment::Loaded);
        all.retain(|check| check.name.contains(part));
        assert_eq!(all.len(), 1, "{part}");
        all.remove(0)
    }

    #[test]
    fn every_table_is_checked_and_the_count_only_after_a_load() {
        assert_eq!(of(OltpKind::ReadWrite, &[("tables", "3")], Moment::Driven).len(), 12);
        assert_eq!(of(OltpKind::ReadWrite, &[("tables", "3")], Moment::Loaded).len(), 15);
        assert_eq!(of(OltpKind::ReadWrite, &[("create-secondary", "off")], Moment::Driven).len(), 3);
        assert_eq!(of(OltpKind::BulkInsert, &[], Moment::Driven).len(), 3);
    }

    #[test]
    fn columns_are_compared_whatever_the_case() {
        let check = check("columns", &[]);
        let row = |name: &str, kind: &str, length: Option<&str>| {
            vec![Some(name.to_owned()), Some(kind.to_owned()), length.map(str::to_owned)]
        };
        let good = [
            row("id", "int", None),
            row("K", "INT", None),
            row("c", "char", Some("120")),
            row("pad", "char", Some("60")),
        ];
        assert_eq!(check.verdict(&good), Ok(()));
        let other = check.verdict(&good[..3]).expect_err("a column is missing");
        assert!(other.contains("expected (id, int, NULL)"), "{other}");
        assert!(check.verdict(&[]).expect_err("no table").contains("missing"));
    }

    #[test]
    fn more_indexes_are_fine_fewer_are_not() {
        let check = check("indexes", &[]);
        let all = [cells(["PRIMARY", "id"]), cells(["k_1", "k"]), cells(["mine", "pad"])];
        assert_eq!(check.verdict(&all), Ok(()));
        let found = check.verdict(&all[..1]).expect_err("k_1 is missing");
        assert_eq!(found, "found (PRIMARY, id), without (k_1, k)");
    }

    #[test]
    fn violations_are_counted() {
        let check = check("row formats", &[]);
        assert_eq!(
            check.sql,
            "SELECT COUNT(*) FROM sbtest1 WHERE NOT (k > 0 AND c REGEXP '^([0-9]{11}-){9}[0-9]{11}$' \
             AND pad REGEXP '^([0-9]{11}-){4}[0-9]{11}$')"
        );
        assert_eq!(check.verdict(&[cells(["0"])]), Ok(()));
        assert_eq!(check.verdict(&[cells(["3"])]).expect_err("3"), "found 3 rows that violate it, expected none");
        assert!(check.verdict(&[]).is_err());
    }

    #[test]
    fn both_indexes_must_agree() {
        let check = check("equal counts", &[]);
        assert_eq!(check.verdict(&[cells(["5", "15", "9", "5", "15", "9"])]), Ok(()));
        assert_eq!(check.verdict(&[vec![Some("0".to_owned()), None, Some("0".to_owned()), None]]), Ok(()));
        assert!(check.verdict(&[cells(["5", "15", "9", "5", "15", "8"])]).is_err());
        assert!(check.verdict(&[]).is_err());
    }

    #[test]
    fn the_row_count_is_that_of_the_load() {
        let check = check("right after", &[("table-size", "50")]);
        assert_eq!(check.verdict(&[cells(["50", "1", "50"])]), Ok(()));
        assert!(check.verdict(&[cells(["49", "1", "50"])]).is_err());
        let empty = of(OltpKind::Insert, &[("auto-inc", "off")], Moment::Loaded).pop().expect("row count");
        assert_eq!(empty.verdict(&[vec![Some("0".to_owned()), None, None]]), Ok(()));
    }
}
