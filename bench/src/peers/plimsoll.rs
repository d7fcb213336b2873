//! Plimsoll itself, as a user would run it: the release binary, its JSON summary.

use super::{
    DATABASE, LOAD_PATIENCE, OrderEntryRun, OrderLoad, PeerLoad, PeerMeasurement, TABLE_SIZE, TABLES, WAREHOUSES,
};
use crate::arena::Arena;
use crate::child::FinishedProcess;
use anyhow::Context;
use plimsoll_model::lab::LabSummary;
use plimsoll_model::summary::{Point, Summary};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;
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

pub fn run(arena: &Arena, load: &PeerLoad) -> anyhow::Result<PeerMeasurement> {
    run_build(arena, load, &arena.tools().plimsoll)
}

/// The same with another build of it.
pub fn run_build(arena: &Arena, load: &PeerLoad, program: &Path) -> anyhow::Result<PeerMeasurement> {
    measured(&arena.run(command(arena, load, program), load.patience())?)
}

/// From start to end of a process that has nothing to do.
pub fn start(arena: &Arena, program: &Path) -> anyhow::Result<Duration> {
    arena.run(arena.build_of_plimsoll(program, "--version"), LOAD_PATIENCE).map(|finished| finished.wall)
}

/// The same in front of a terminal, on which it shows its live view.
pub fn run_on(arena: &Arena, load: &PeerLoad, terminal: OwnedFd) -> anyhow::Result<PeerMeasurement> {
    let mut command = command(arena, load, &arena.tools().plimsoll);
    command.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR");
    measured(&arena.run_on(command, Some(terminal), load.patience())?)
}

fn command(arena: &Arena, load: &PeerLoad, program: &Path) -> Command {
    let mut command = arena.build_of_plimsoll(program, "run");
    command.arg(load.workload).arg(format!("--target={}", arena.socket_target(DATABASE)));
    command.args(["--json", "--report-interval=0"]);
    command.args([format!("--connections={}", load.connections), format!("--time={}s", load.seconds)]);
    command
}

fn measured(finished: &FinishedProcess) -> anyhow::Result<PeerMeasurement> {
    let point = point(finished)?;
    let rate = point.transactions_per_second.context("plimsoll finished no transaction")?;
    Ok(PeerMeasurement {
        loop_us_per_query: point.client.cpu_us_per_query,
        events_min: point.fairness.events_min,
        ..PeerMeasurement::new(finished, rate, point.queries as f64)
    })
}

/// The one load point of a run.
fn point(finished: &FinishedProcess) -> anyhow::Result<Point> {
    let summary: Summary = serde_json::from_str(&finished.stdout).context("the summary of plimsoll")?;
    summary.points.into_iter().next().context("the summary of plimsoll has no point")
}

/// The lab that executes this plan, which is written as `NAME.toml`.
pub fn lab(arena: &Arena, name: &str, plan: &str) -> anyhow::Result<Command> {
    let path = arena.scratch().join(format!("{name}.toml"));
    fs::write(&path, plan).with_context(|| format!("writing {}", path.display()))?;
    let mut command = arena.plimsoll_alone("lab");
    command.arg(&path).arg("--allow-commands").arg("--server").arg(&arena.build().binary);
    Ok(command)
}

/// Lets a lab run, and reads what it says.
pub fn summary_of_lab(arena: &Arena, mut lab: Command, patience: Duration) -> anyhow::Result<LabSummary> {
    lab.arg("--json");
    let finished = arena.run(lab, patience)?;
    serde_json::from_str(&finished.stdout).context("the summary of plimsoll lab")
}

/// Loads the tables of `sbtest` into `database`; how long the whole command took.
pub fn load(arena: &Arena, database: &str, tables: u64, rows: u64, threads: usize) -> anyhow::Result<Duration> {
    let mut command = arena.plimsoll("load", "oltp_read_write", &arena.socket_target(database));
    command.args([format!("--tables={tables}"), format!("--table-size={rows}"), format!("--threads={threads}")]);
    arena.run(command, LOAD_PATIENCE).map(|finished| finished.wall)
}

/// Loads the warehouses of `profile` into the database of `target`; how long the whole command took.
pub fn load_orders(arena: &Arena, target: &str, profile: &[&str], threads: usize) -> anyhow::Result<Duration> {
    let mut command = arena.plimsoll("load", "tpcc", target);
    command.args(profile).args([format!("--warehouses={WAREHOUSES}"), format!("--threads={threads}")]);
    arena.run(command, LOAD_PATIENCE).map(|finished| finished.wall)
}

/// Runs order entry with the options of `profile` against the database of `target`.
pub fn run_orders(arena: &Arena, target: &str, profile: &[&str], load: &OrderLoad) -> anyhow::Result<OrderEntryRun> {
    let mut command = arena.plimsoll("run", "tpcc", target);
    command.args(profile).args([format!("--connections={}", load.connections), format!("--time={}s", load.seconds)]);
    finish_orders(arena, command, load.patience())
}

/// Runs `events` transactions of one type, one after the other: `mix` has a weight for that type only.
pub fn run_one_type(
    arena: &Arena,
    target: &str,
    profile: &[&str],
    mix: &str,
    events: u64,
) -> anyhow::Result<OrderEntryRun> {
    let mut command = arena.plimsoll("run", "tpcc", target);
    command.args(profile).args(["--connections=1".to_owned(), format!("--mix={mix}"), format!("--events={events}")]);
    finish_orders(arena, command, LOAD_PATIENCE)
}

fn finish_orders(arena: &Arena, mut command: Command, patience: Duration) -> anyhow::Result<OrderEntryRun> {
    command.args([format!("--warehouses={WAREHOUSES}")]).args(["--json", "--report-interval=0"]);
    let finished = arena.run(command, patience)?;
    let point = point(&finished)?;
    Ok(OrderEntryRun {
        transactions: (point.transactions + point.rollbacks) as f64,
        queries: Some(point.queries as f64),
        seconds: point.seconds,
        cpu: finished.cpu,
    })
}
