//! The tables: their names, their DDL and the columns by which `check` recognises them.

use super::OltpKind;
use super::values::{OltpParameters, SysbenchLayout};
use crate::dataset::DatasetNames;

/// A column as `information_schema.columns` shows it on every server of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemaColumn {
    pub name: &'static str,
    /// `DATA_TYPE`.
    pub data_type: &'static str,
    /// `CHARACTER_MAXIMUM_LENGTH`.
    pub characters: Option<u32>,
}

const fn integer(name: &'static str) -> SchemaColumn {
    SchemaColumn { name, data_type: "int", characters: None }
}

const fn text(name: &'static str, characters: u32) -> SchemaColumn {
    SchemaColumn { name, data_type: "char", characters: Some(characters) }
}

const SBTEST: &[SchemaColumn] = &[integer("id"), integer("k"), text("c", 120), text("pad", 60)];
const BULK_INSERT: &[SchemaColumn] = &[integer("id"), integer("k")];

/// The tables that one workload loads and drives. Tables are numbered from 1.
#[derive(Clone, Debug)]
pub struct OltpSchema {
    kind: OltpKind,
    layout: SysbenchLayout,
    tables: u64,
    auto_inc: bool,
    secondary: bool,
    create_secondary: bool,
    engine: String,
    options: String,
}

impl OltpSchema {
    pub fn new(kind: OltpKind, parameters: &OltpParameters) -> OltpSchema {
        OltpSchema {
            kind,
            layout: parameters.layout,
            tables: parameters.tables,
            auto_inc: parameters.auto_inc,
            secondary: parameters.secondary,
            create_secondary: parameters.create_secondary,
            engine: parameters.mysql_storage_engine.clone(),
            options: parameters.create_table_options.clone(),
        }
    }

    pub fn tables(&self) -> impl Iterator<Item = u64> + use<> {
        1..=self.tables
    }

    pub fn table_name(&self, table: u64) -> String {
        table_name(self.layout, table)
    }

    pub fn create_table(&self, table: u64) -> String {
        let name = self.table_name(table);
        if self.kind == OltpKind::BulkInsert {
            return format!(
                "CREATE TABLE {name} (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id))"
            );
        }
        let unsigned = if self.layout == SysbenchLayout::Sysbench04 { " UNSIGNED" } else { "" };
        let auto_increment = if self.auto_inc { " AUTO_INCREMENT" } else { "" };
        let key = if self.secondary { "KEY xid (id)" } else { "PRIMARY KEY (id)" };
        let options = format!("/*! ENGINE = {} */ {}", self.engine, self.options);
        format!(
            "CREATE TABLE {name} (\
             id INTEGER{unsigned} NOT NULL{auto_increment}, \
             k INTEGER{unsigned} DEFAULT '0' NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, \
             pad CHAR(60) DEFAULT '' NOT NULL, \
             {key}) {}",
            options.trim_end()
        )
    }

    pub fn drop_table(&self, table: u64) -> String {
        format!("DROP TABLE IF EXISTS {}", self.table_name(table))
    }

    /// The index that finds a row by id.
    pub fn id_index(&self) -> &'static str {
        if self.secondary && self.kind != OltpKind::BulkInsert { "xid" } else { "PRIMARY" }
    }

    /// The index on k, if there is one: sysbench 0.4 always made it, 1.0 makes it unless told not to.
    pub fn k_index(&self, table: u64) -> Option<String> {
        match (self.kind, self.layout) {
            (OltpKind::BulkInsert, _) => None,
            (_, SysbenchLayout::Sysbench04) => Some("k".to_owned()),
            (_, SysbenchLayout::Sysbench10) => self.create_secondary.then(|| format!("k_{table}")),
        }
    }

    /// Statements to run on the empty table. Only sysbench 0.4 indexed before it loaded.
    pub fn indexes_before_load(&self, table: u64) -> Vec<String> {
        if self.layout == SysbenchLayout::Sysbench04 { self.create_k_index(table) } else { Vec::new() }
    }

    /// Statements to run on the loaded table.
    pub fn indexes_after_load(&self, table: u64) -> Vec<String> {
        if self.layout == SysbenchLayout::Sysbench10 { self.create_k_index(table) } else { Vec::new() }
    }

    fn create_k_index(&self, table: u64) -> Vec<String> {
        let name = self.table_name(table);
        self.k_index(table).map(|index| format!("CREATE INDEX {index} ON {name}(k)")).into_iter().collect()
    }

    pub fn columns(&self) -> &'static [SchemaColumn] {
        if self.kind == OltpKind::BulkInsert { BULK_INSERT } else { SBTEST }
    }
}

/// What the data of these parameters consist of.
pub fn names(kind: OltpKind, parameters: &OltpParameters) -> DatasetNames {
    let schema = OltpSchema::new(kind, parameters);
    DatasetNames { tables: schema.tables().map(|table| schema.table_name(table)).collect(), ..DatasetNames::default() }
}

pub(super) fn table_name(layout: SysbenchLayout, table: u64) -> String {
    match layout {
        SysbenchLayout::Sysbench10 => format!("sbtest{table}"),
        SysbenchLayout::Sysbench04 => "sbtest".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(kind: OltpKind, pairs: &[(&str, &str)]) -> OltpSchema {
        OltpSchema::new(kind, &OltpParameters::parse(kind, pairs.iter().copied()).expect("accepted"))
    }

    #[test]
    fn tables_are_those_of_sysbench_1_0() {
        let schema = schema(OltpKind::ReadWrite, &[("tables", "3")]);
        assert_eq!(
            schema.create_table(2),
            "CREATE TABLE sbtest2 (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) /*! ENGINE = innodb */"
        );
        assert_eq!(schema.indexes_after_load(2), ["CREATE INDEX k_2 ON sbtest2(k)"]);
        assert!(schema.indexes_before_load(2).is_empty());
        assert_eq!(
            schema.tables().map(|t| schema.table_name(t)).collect::<Vec<_>>(),
            ["sbtest1", "sbtest2", "sbtest3"]
        );
        assert_eq!(schema.drop_table(3), "DROP TABLE IF EXISTS sbtest3");
    }

    #[test]
    fn options_change_keys_and_clauses() {
        let schema = schema(
            OltpKind::Insert,
            &[
                ("auto_inc", "off"),
                ("secondary", "on"),
                ("create_secondary", "off"),
                ("mysql_storage_engine", "rocksdb"),
                ("create_table_options", "ROW_FORMAT=COMPRESSED"),
            ],
        );
        assert_eq!(
            schema.create_table(1),
            "CREATE TABLE sbtest1 (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
             pad CHAR(60) DEFAULT '' NOT NULL, KEY xid (id)) /*! ENGINE = rocksdb */ ROW_FORMAT=COMPRESSED"
        );
        assert!(schema.indexes_after_load(1).is_empty());
        assert_eq!(schema.id_index(), "xid");
        assert_eq!(schema.k_index(1), None);
    }

    #[test]
    fn the_older_layout_has_one_unsigned_table_indexed_first() {
        let schema = schema(OltpKind::ReadWrite, &[("layout", "sysbench-0.4")]);
        assert_eq!(
            schema.create_table(1),
            "CREATE TABLE sbtest (id INTEGER UNSIGNED NOT NULL AUTO_INCREMENT, k INTEGER UNSIGNED DEFAULT '0' NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) /*! ENGINE = innodb */"
        );
        assert_eq!(schema.indexes_before_load(1), ["CREATE INDEX k ON sbtest(k)"]);
        assert!(schema.indexes_after_load(1).is_empty());
    }

    #[test]
    fn bulk_insert_has_two_columns() {
        let schema = schema(OltpKind::BulkInsert, &[("tables", "8")]);
        assert_eq!(
            schema.create_table(8),
            "CREATE TABLE sbtest8 (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id))"
        );
        assert!(schema.indexes_after_load(8).is_empty());
        assert_eq!(schema.columns().iter().map(|c| c.name).collect::<Vec<_>>(), ["id", "k"]);
    }
}
