//! The workload `ledger` as a crash trial drives it, with a log of its commits or without, in a process of its own: `plimsoll run`
//! keeps no such log.

use super::terminals::measure;
use super::{LOAD_PATIENCE, PeerLoad, PeerMeasurement};
use crate::arena::Arena;
use crate::args::LedgerArgs;
use anyhow::{Context, ensure};
use plimsoll_data::target::private_endpoint;
use plimsoll_engine::{CommitLog, Endpoint, Protocol, Run, RunSpec};
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::window::Limit;
use plimsoll_workloads::ledger::{LedgerParameters, LedgerWorkload};
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::Arc;

const LEDGER: &str = "bench_ledger";
const WARMUP_SECONDS: u32 = 1;
/// A server that is silent for so long is gone.
const OUTAGE_SECONDS: u32 = 10;
const SEED: u64 = 1;

/// What the process says of itself.
#[derive(Debug, Serialize, Deserialize)]
struct Said {
    transactions_per_second: f64,
    queries: f64,
}

/// Loads the data, anew.
pub fn prepare(arena: &Arena) -> anyhow::Result<()> {
    arena.empty_database(LEDGER)?;
    let command = arena.plimsoll("load", "ledger", &arena.socket_target(LEDGER));
    arena.run(command, LOAD_PATIENCE).map(drop)
}

/// Runs this program in that role.
pub fn run(arena: &Arena, load: &PeerLoad, is_logged: bool) -> anyhow::Result<PeerMeasurement> {
    let mut command = arena.own();
    command.arg("ledger").arg("--socket").arg(arena.socket());
    command.args([format!("--connections={}", load.connections), format!("--seconds={}", load.seconds)]);
    if is_logged {
        command.arg("--log-in").arg(arena.scratch());
    }
    let finished = arena.run(command, load.patience())?;
    let said: Said = serde_json::from_str(&finished.stdout).context("the report of the ledger")?;
    Ok(PeerMeasurement::new(&finished, said.transactions_per_second, said.queries))
}

/// That role: transactions on every connection until the time is over, then one line of JSON.
pub fn serve(args: &LedgerArgs) -> anyhow::Result<()> {
    let log =
        args.log_in.as_ref().map(|directory| anyhow::Ok(Arc::new(CommitLog::new(tempfile::tempfile_in(directory)?))));
    let log = log.transpose()?;
    let ns = |seconds: u32| u64::from(seconds) * 1_000_000_000;
    let spec = RunSpec {
        endpoint: Endpoint { database: Some(LEDGER.to_owned()), ..private_endpoint(&args.socket) },
        connections: args.connections,
        loops: 1,
        arrivals: Arrivals::Closed,
        limit: Limit::Time(ns(args.seconds)),
        warmup_ns: ns(WARMUP_SECONDS),
        seed: SEED,
        protocol: Protocol::Prepared,
        outage_limit_ns: ns(OUTAGE_SECONDS),
        ignore_errors: Vec::new(),
        private: true,
        ask: None,
        part: None,
        commits: log.clone(),
    };
    let run = Run::begin(spec, Arc::new(LedgerWorkload::new(&LedgerParameters::default())));
    let measured = measure(&run);
    run.finish();
    let measured = measured?;
    let transactions = measured.counters.transactions;
    if let Some(log) = log {
        let noted = log.commits()?.len() as u64;
        ensure!(noted >= transactions, "of {transactions} transactions {noted} are in the log");
    }
    let said = Said {
        transactions_per_second: transactions as f64 * 1e9 / (measured.end_ns - measured.start_ns) as f64,
        queries: measured.counters.queries as f64,
    };
    serde_json::to_writer(io::stdout(), &said)?;
    Ok(())
}
