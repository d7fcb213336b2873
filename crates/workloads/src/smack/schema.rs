//! The table: its DDL as in super-smack, and the columns by which `check` recognises it.

use super::parameters::TableEngine;
use crate::dataset::DatasetNames;
use crate::oltp::schema::SchemaColumn;

pub const TABLE_NAME: &str = "http_auth";

const fn text(name: &'static str) -> SchemaColumn {
    SchemaColumn { name, data_type: "char", characters: Some(25) }
}

const fn integer(name: &'static str) -> SchemaColumn {
    SchemaColumn { name, data_type: "int", characters: None }
}

/// In the order of the table.
pub const COLUMNS: &[SchemaColumn] = &[text("username"), text("pass"), integer("uid"), integer("gid")];

/// What the data consist of.
pub fn names() -> DatasetNames {
    DatasetNames { tables: [TABLE_NAME.to_owned()].into(), ..DatasetNames::default() }
}

/// The original names no engine and takes the server's default, which has changed since.
pub fn create_table(engine: TableEngine) -> String {
    format!(
        "CREATE TABLE {TABLE_NAME} (username CHAR(25) NOT NULL PRIMARY KEY, pass CHAR(25), uid INTEGER NOT NULL, \
         gid INTEGER NOT NULL) ENGINE = {}",
        engine.name()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_super_smack_with_an_engine() {
        assert_eq!(
            create_table(TableEngine::MyIsam),
            "CREATE TABLE http_auth (username CHAR(25) NOT NULL PRIMARY KEY, pass CHAR(25), uid INTEGER NOT NULL, \
             gid INTEGER NOT NULL) ENGINE = myisam"
        );
    }

    #[test]
    fn the_columns_are_those_of_the_table() {
        let ddl = create_table(TableEngine::InnoDb);
        let places: Vec<_> = COLUMNS.iter().map(|column| ddl.find(column.name).expect("in the table")).collect();
        assert!(places.is_sorted());
    }
}
