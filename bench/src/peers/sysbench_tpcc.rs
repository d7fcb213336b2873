//! sysbench-tpcc: order entry as scripts for sysbench, text statements only, one for each row.

use super::{LOAD_PATIENCE, OrderEntryRun, OrderLoad, WAREHOUSES, sysbench};
use crate::arena::Arena;
use anyhow::Context;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Its `prepare` sleeps this long between the tables and their rows.
pub const SLEEPS: Duration = Duration::from_secs(30);

/// The scripts find each other only from where they are.
fn command(arena: &Arena, scripts: &Path, script: &Path, database: &str, threads: usize) -> Command {
    let mut command = arena.sysbench(script, database);
    command.current_dir(scripts).args(["--tables=1", "--trx_level=RR"]);
    command.args([format!("--scale={WAREHOUSES}"), format!("--threads={threads}")]);
    command
}

/// Loads `database`, foreign keys declared as is its default; how long the whole command took.
pub fn load(arena: &Arena, scripts: &Path, database: &str, threads: usize) -> anyhow::Result<Duration> {
    let mut command = command(arena, scripts, &scripts.join("tpcc.lua"), database, threads);
    command.arg("prepare");
    arena.run(command, LOAD_PATIENCE).map(|finished| finished.wall)
}

pub fn run(arena: &Arena, scripts: &Path, load: &OrderLoad) -> anyhow::Result<OrderEntryRun> {
    let mut command = command(arena, scripts, &scripts.join("tpcc.lua"), load.database, load.connections);
    command.args(["--use_fk=0", "--report-interval=0", "run"]).arg(format!("--time={}", load.seconds));
    finish(arena, command, load.patience())
}

/// Runs `events` transactions of one type, one after the other: `function` is what its script calls it.
pub fn run_one_type(
    arena: &Arena,
    scripts: &Path,
    database: &str,
    function: &str,
    events: u64,
) -> anyhow::Result<OrderEntryRun> {
    let script = arena.scratch().join(format!("{function}.lua"));
    fs::write(&script, format!("require(\"tpcc\")\nfunction event() {function}() end\n"))?;
    let mut command = command(arena, scripts, &script, database, 1);
    command.args(["--use_fk=0", "--report-interval=0", "--time=0", "run"]).arg(format!("--events={events}"));
    finish(arena, command, LOAD_PATIENCE)
}

fn finish(arena: &Arena, command: Command, patience: Duration) -> anyhow::Result<OrderEntryRun> {
    let finished = arena.run(command, patience)?;
    let said = sysbench::SysbenchReport::read(&finished.stdout)
        .with_context(|| format!("sysbench printed:\n{}", finished.stdout))?;
    Ok(OrderEntryRun {
        transactions: said.transactions,
        queries: Some(said.queries),
        seconds: said.seconds,
        cpu: finished.cpu,
    })
}
