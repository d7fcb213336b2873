//! The table: its DDL as super-smack has it, and the columns by which `check` recognises it.

use super::parameters::Engine;
use crate::dataset::Names;
use crate::oltp::schema::Column;

pub const TABLE_NAME: &str = "http_auth";

const fn text(name: &'static str) -> Column {
    Column { name, data_type: "char", characters: Some(25) }
}

const fn integer(name: &'static str) -> Column {
    Column { name, data_type: "int", characters: None }
}

/// In the order of the table.
pub const COLUMNS: &[Column] = &[text("username"), text("pass"), integer("uid"), integer("gid")];

/// What the data consist of.
pub fn names() -> Names {
    Names { tables: [TABLE_NAME.to_owned()].into(), ..Names::default() }
}

/// The original names no engine and takes the server's default, which has changed since.
pub fn create_table(engine: Engine) -> String {
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
            create_table(Engine::MyIsam),
            "CREATE TABLE http_auth (username CHAR(25) NOT NULL PRIMARY KEY, pass CHAR(25), uid INTEGER NOT NULL, \
             gid INTEGER NOT NULL) ENGINE = myisam"
        );
    }

    #[test]
    fn the_columns_are_those_of_the_table() {
        let ddl = create_table(Engine::InnoDb);
        let places: Vec<_> = COLUMNS.iter().map(|column| ddl.find(column.name).expect("in the table")).collect();
        assert!(places.is_sorted());
    }
}
