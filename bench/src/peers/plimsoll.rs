//! Plimsoll itself, as a user would run it: the release binary, its JSON summary.

use super::{DATABASE, LOAD_PATIENCE, Load, Measured, TABLE_SIZE, TABLES};
use crate::arena::Arena;
use anyhow::Context;
use plimsoll_model::summary::Summary;
use serde_json::Value;
use std::time::Duration;

/// Loads what all contestants run on, once for each server.
pub fn prepare(arena: &Arena) -> anyhow::Result<()> {
    if arena.prepared.get() {
        return Ok(());
    }
    eprintln!("loading {TABLES} tables of {TABLE_SIZE} rows");
    arena.empty_database(DATABASE)?;
    load(arena, DATABASE, TABLES, TABLE_SIZE, 2)?;
    arena.prepared.set(true);
    Ok(())
}

pub fn run(arena: &Arena, load: &Load) -> anyhow::Result<Measured> {
    let mut command = arena.plimsoll("run", load.workload, DATABASE);
    command.args(["--json", "--report-interval=0"]);
    command.args([format!("--connections={}", load.connections), format!("--time={}s", load.seconds)]);
    let finished = arena.run(command, load.patience())?;
    let value: Value = serde_json::from_str(&finished.stdout).context("the summary of plimsoll")?;
    let events_min = value.pointer("/points/0/fairness/events_min").and_then(Value::as_u64);
    let summary: Summary = serde_json::from_value(value).context("the summary of plimsoll")?;
    let point = summary.points.first().context("the summary of plimsoll has no point")?;
    let rate = point.transactions_per_second.context("plimsoll finished no transaction")?;
    Ok(Measured {
        loop_us_per_query: point.client.cpu_us_per_query,
        events_min,
        ..Measured::new(&finished, rate, point.queries as f64)
    })
}

/// Loads the tables of `sbtest` into `database`; how long the whole command took.
pub fn load(arena: &Arena, database: &str, tables: u64, rows: u64, threads: usize) -> anyhow::Result<Duration> {
    let mut command = arena.plimsoll("load", "oltp_read_write", database);
    command.args([format!("--tables={tables}"), format!("--table-size={rows}"), format!("--threads={threads}")]);
    arena.run(command, LOAD_PATIENCE).map(|finished| finished.wall)
}
