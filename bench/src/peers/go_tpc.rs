//! go-tpc: a goroutine and a connection per terminal, binary prepared statements, rows of an order in one statement.
//!
//! It knows no Unix sockets, asks for TLS where a server has it, and prints each error and each worker that ends; TLS
//! and the printing are turned off, and a deadlock, which would end a worker for good, is ignored.

use super::{LOAD_PATIENCE, OrderEntryRun, OrderLoad, WAREHOUSES};
use crate::arena::{Arena, USER};
use anyhow::Context;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn command(arena: &Arena, program: &Path, database: &str, threads: usize) -> Command {
    let mut command = Command::new(program);
    command.args(["tpcc", "--host=127.0.0.1", "--conn-params=tls=false"]);
    command.args([format!("--port={}", arena.port()), format!("--user={USER}"), format!("--db={database}")]);
    command.args([format!("--warehouses={WAREHOUSES}"), format!("--threads={threads}")]);
    command
}

/// Loads `database`; how long the whole command took. Its check of what it loaded is left out.
pub fn load(arena: &Arena, program: &Path, database: &str, threads: usize) -> anyhow::Result<Duration> {
    let mut command = command(arena, program, database, threads);
    command.args(["prepare", "--no-check"]);
    arena.run(command, LOAD_PATIENCE).map(|finished| finished.wall)
}

pub fn run(arena: &Arena, program: &Path, load: &OrderLoad) -> anyhow::Result<OrderEntryRun> {
    let mut command = command(arena, program, load.database, load.connections);
    command.args(["run", "--weight=45,43,4,4,4", "--ignore-error", "--silence", "--interval=24h"]);
    command.arg(format!("--time={}s", load.seconds));
    let finished = arena.run(command, load.patience())?;
    let said = Said::read(&finished.stdout).with_context(|| format!("go-tpc printed:\n{}", finished.stdout))?;
    Ok(OrderEntryRun { transactions: said.transactions, queries: None, seconds: said.seconds, cpu: finished.cpu })
}

/// The numbers in its summary.
#[derive(Debug, PartialEq)]
struct Said {
    /// Of all types; new orders that were rolled back are among them.
    transactions: f64,
    /// From its first new order to its last, by its own clock.
    seconds: f64,
}

impl Said {
    fn read(report: &str) -> Option<Said> {
        let (mut transactions, mut seconds) = (0.0, None);
        for line in report.lines().filter_map(|line| line.strip_prefix("[Summary] ")) {
            let (operation, figures) = line.split_once(" - ")?;
            if operation.trim_end().ends_with("_ERR") {
                continue;
            }
            let figure = |label: &str| {
                let text = figures.split(", ").find_map(|figure| figure.strip_prefix(label)?.strip_prefix(": "))?;
                text.parse::<f64>().ok()
            };
            let count = figure("Count")?;
            transactions += count;
            if operation.trim_end() == "NEW_ORDER" {
                // Its seconds are rounded to a tenth, its rate is not.
                seconds = Some(count * 60.0 / figure("TPM").filter(|rate| *rate > 0.0)?);
            }
        }
        Some(Said { transactions, seconds: seconds? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "Finished
[Summary] DELIVERY - Takes(s): 10.0, Count: 260, TPM: 1558.2, Sum(ms): 11468.4, Avg(ms): 44.1, 50th(ms): 33.6
[Summary] DELIVERY_ERR - Takes(s): 10.0, Count: 2, TPM: 12.0, Sum(ms): 144.2, Avg(ms): 71.8, 50th(ms): 54.5
[Summary] NEW_ORDER - Takes(s): 10.0, Count: 2700, TPM: 16200.0, Sum(ms): 82255.3, Avg(ms): 30.7
[Summary] PAYMENT - Takes(s): 10.0, Count: 2520, TPM: 15118.7, Sum(ms): 55515.9, Avg(ms): 22.0, 50th(ms): 16.8
tpmC: 16200.0, tpmTotal: 35476.5, efficiency: 31302.3%
";

    #[test]
    fn its_summary_is_understood() {
        assert_eq!(Said::read(REPORT), Some(Said { transactions: 5480.0, seconds: 10.0 }));
        assert_eq!(Said::read("Finished\n"), None, "nothing was done");
        assert_eq!(Said::read(&REPORT.replace("16200.0", "0.0")), None);
    }
}
