//! What a load must leave behind, whoever loaded: as many rows in each table, and every index.

use crate::arena::Arena;
use crate::peers::WAREHOUSES;
use anyhow::{Context, bail};

/// Orders have 5 to 15 lines each, by chance.
const LINES_TOLERANCE: f64 = 0.01;

/// Rows of the tables with W warehouses (clause 4.3.3.1): W times the first number plus the second.
const ROWS: [(&str, u64, u64); 9] = [
    ("warehouse", 1, 0),
    ("district", 10, 0),
    ("customer", 30_000, 0),
    ("history", 30_000, 0),
    ("new_order", 9_000, 0),
    ("orders", 30_000, 0),
    ("order_line", 300_000, 0),
    ("item", 0, 100_000),
    ("stock", 100_000, 0),
];

/// Primary keys, and what payment and order-status look customers and orders up by.
const INDEXES: [(&str, &str); 10] = [
    ("warehouse", "w_id"),
    ("district", "d_w_id,d_id"),
    ("customer", "c_w_id,c_d_id,c_id"),
    ("customer", "c_w_id,c_d_id,c_last,c_first"),
    ("new_order", "no_w_id,no_d_id,no_o_id"),
    ("orders", "o_w_id,o_d_id,o_id"),
    ("orders", "o_w_id,o_d_id,o_c_id,o_id"),
    ("order_line", "ol_w_id,ol_d_id,ol_o_id,ol_number"),
    ("item", "i_id"),
    ("stock", "s_w_id,s_i_id"),
];

/// What sysbench-tpcc has besides.
const MORE_INDEXES: [(&str, &str); 4] = [
    ("stock", "s_i_id"),
    ("order_line", "ol_supply_w_id,ol_i_id"),
    ("history", "h_c_w_id,h_c_d_id,h_c_id"),
    ("history", "h_w_id,h_d_id"),
];

/// How tables are called, and which indexes they have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PeerSchema {
    Spec,
    /// Of sysbench-tpcc, its first set of tables.
    Sysbench,
}

impl PeerSchema {
    fn table(self, table: &str) -> String {
        match (self, table) {
            (PeerSchema::Spec, table) => table.to_owned(),
            (PeerSchema::Sysbench, "new_order") => "new_orders1".to_owned(),
            (PeerSchema::Sysbench, table) => format!("{table}1"),
        }
    }

    fn indexes(self) -> Vec<(&'static str, &'static str)> {
        match self {
            PeerSchema::Spec => INDEXES.to_vec(),
            PeerSchema::Sysbench => [&INDEXES[..], &MORE_INDEXES].concat(),
        }
    }
}

/// Makes sure that `database` holds everything.
///
/// # Errors
/// What is missing.
pub fn verify(arena: &Arena, database: &str, schema: PeerSchema) -> anyhow::Result<()> {
    let what = || format!("what was loaded into {database}");
    for (table, each, once) in ROWS {
        let name = schema.table(table);
        let found = arena.number(&format!("SELECT COUNT(*) FROM `{database}`.`{name}`")).with_context(what)?;
        let expected = (WAREHOUSES * each + once) as f64;
        let tolerance = if table == "order_line" { expected * LINES_TOLERANCE } else { 0.0 };
        if (found - expected).abs() > tolerance {
            bail!("{}: {name} has {found} rows instead of {expected}", what());
        }
    }
    let found = arena.rows(&format!(
        "SELECT table_name, GROUP_CONCAT(column_name ORDER BY seq_in_index) FROM information_schema.statistics \
         WHERE table_schema = '{database}' GROUP BY table_name, index_name"
    ))?;
    let found: Vec<(&str, &str)> = found.pairs().collect();
    match missing(schema, &found).as_slice() {
        [] => Ok(()),
        missing => bail!("{}: there is no index {}", what(), missing.join(", ")),
    }
}

/// Indexes that no other one begins with. Nobody needs the order's number at the end of an index by customer: a
/// primary key follows by itself.
fn missing(schema: PeerSchema, found: &[(&str, &str)]) -> Vec<String> {
    let is_there = |(table, columns): &(&str, &str)| {
        let columns = columns.strip_suffix("o_c_id,o_id").map_or(columns.to_string(), |start| format!("{start}o_c_id"));
        found.iter().any(|(name, there)| {
            *name == schema.table(table) && format!("{there},").starts_with(&format!("{columns},"))
        })
    };
    let expected = schema.indexes().into_iter().filter(|index| !is_there(index));
    expected.map(|(table, columns)| format!("{}({columns})", schema.table(table))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_that_was_forgotten_is_found() {
        let names: Vec<String> = MORE_INDEXES.iter().map(|(table, _)| PeerSchema::Sysbench.table(table)).collect();
        let mut all: Vec<(&str, &str)> = INDEXES.to_vec();
        assert!(missing(PeerSchema::Spec, &all).is_empty());
        assert!(missing(PeerSchema::Sysbench, &all).contains(&"new_orders1(no_w_id,no_d_id,no_o_id)".to_owned()));
        all.retain(|(_, columns)| *columns != "c_w_id,c_d_id,c_last,c_first");
        assert_eq!(missing(PeerSchema::Spec, &all), ["customer(c_w_id,c_d_id,c_last,c_first)"]);
        all.push(("customer", "c_w_id,c_d_id,c_last"));
        assert_eq!(missing(PeerSchema::Spec, &all).len(), 1, "a part of it is not enough");
        assert_eq!(names, ["stock1", "order_line1", "history1", "history1"]);
    }
}
