//! sysbench 1.0: a thread per connection, LuaJIT, the client library of MariaDB.

use super::{DATABASE, LOAD_PATIENCE, PeerLoad, PeerMeasurement, TABLE_SIZE, TABLES};
use crate::arena::Arena;
use anyhow::Context;
use std::process::Command;
use std::time::Duration;

pub fn run(arena: &Arena, load: &PeerLoad) -> anyhow::Result<PeerMeasurement> {
    run_by(arena, arena.sysbench(load.workload, DATABASE), load, &[])
}

/// The same with whoever takes sysbench's command line, and more options.
pub fn run_by(
    arena: &Arena,
    mut command: Command,
    load: &PeerLoad,
    options: &[&str],
) -> anyhow::Result<PeerMeasurement> {
    command.args([format!("--tables={TABLES}"), format!("--table-size={TABLE_SIZE}")]);
    command.args([format!("--threads={}", load.connections), format!("--time={}", load.seconds)]);
    command.args(["--db-ps-mode=auto", "--rand-type=special", "--report-interval=0"]).args(options).arg("run");
    let finished = arena.run(command, load.patience())?;
    let said =
        SysbenchReport::read(&finished.stdout).with_context(|| format!("sysbench printed:\n{}", finished.stdout))?;
    Ok(PeerMeasurement::new(&finished, said.transactions / said.seconds, said.queries))
}

/// Loads the tables of `sbtest` into `database`; how long the whole command took.
pub fn load(arena: &Arena, database: &str, tables: u64, rows: u64, threads: usize) -> anyhow::Result<Duration> {
    let mut command = arena.sysbench("oltp_read_write", database);
    command.args([format!("--tables={tables}"), format!("--table-size={rows}"), format!("--threads={threads}")]);
    command.arg("prepare");
    arena.run(command, LOAD_PATIENCE).map(|finished| finished.wall)
}

/// The numbers in its report.
#[derive(Debug, PartialEq)]
pub struct SysbenchReport {
    pub transactions: f64,
    pub queries: f64,
    pub seconds: f64,
}

impl SysbenchReport {
    pub fn read(report: &str) -> Option<SysbenchReport> {
        let number = |label: &str| {
            let rest = report.lines().find_map(|line| line.trim_start().strip_prefix(label))?;
            let number = rest.split_whitespace().next()?;
            number.trim_end_matches('s').parse::<f64>().ok().filter(|number| *number > 0.0)
        };
        Some(SysbenchReport {
            transactions: number("transactions:")?,
            queries: number("queries:")?,
            seconds: number("total time:")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_report_is_understood() {
        let report = "
SQL statistics:
    queries performed:
        read:                            126
        total:                           180
    transactions:                        9      (8.84 per sec.)
    queries:                             180    (176.83 per sec.)
    ignored errors:                      0      (0.00 per sec.)

General statistics:
    total time:                          1.0166s
    total number of events:              9
";
        assert_eq!(
            SysbenchReport::read(report),
            Some(SysbenchReport { transactions: 9.0, queries: 180.0, seconds: 1.0166 })
        );
        assert_eq!(SysbenchReport::read(&report.replace(" 180 ", " 0 ")), None, "nothing was done");
    }
}
