//! Plimsoll's own terminals, as many as are asked for, on one loop's thread against a null server in the same process:
//! they pace themselves as clause 5.2.5 has it, and each transaction is one SELECT, so that what is measured is the pacing.

use crate::args::TerminalsArgs;
use anyhow::{Context, bail};
use plimsoll_data::target::private_endpoint;
use plimsoll_engine::workload::Input;
use plimsoll_engine::{DeclaredWorkload, Failure, LoopEvent, Protocol, Run, RunSpec, Session, Statement};
use plimsoll_lab::null_server::NullServer;
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::recorder::End;
use plimsoll_load::seed::Rng;
use plimsoll_load::tally::Tally;
use plimsoll_load::window::Limit;
use plimsoll_model::samples::Phase;
use plimsoll_workloads::null::Null;
use plimsoll_workloads::tpcc::{Tpcc, TpccParameters};
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::Arc;
use std::time::Duration;

const CONNECTIONS: usize = 64;
const WARMUP_SECONDS: f64 = 5.0;
const LOOK: Duration = Duration::from_millis(50);

const SEED: u64 = 1;
const PER_WAREHOUSE: u64 = 10;

/// What a run comes to.
#[derive(Debug, Serialize, Deserialize)]
pub struct TerminalReport {
    pub transactions_per_second: f64,
    /// From due to answered, 99th percentile.
    pub response_ms: f64,
    /// From sent to answered, 99th percentile.
    pub service_ms: f64,
    /// Transactions that were still waiting for a connection when the time was over.
    pub dropped: u64,
    pub loop_cpu_us: f64,
}

/// That role: lets the terminals run, then prints one line of JSON.
pub fn serve(args: &TerminalsArgs) -> anyhow::Result<()> {
    // The path of a socket must be short.
    let directory = tempfile::tempdir()?;
    let socket = directory.path().join("null");
    let _null_server = NullServer::listen(&socket, |_| &[&[Some(b"1")]])?;
    let ns = |seconds: f64| (seconds * 1e9) as u64;
    let spec = RunSpec {
        endpoint: private_endpoint(&socket),
        connections: CONNECTIONS,
        loops: 1,
        arrivals: Arrivals::Closed,
        limit: Limit::Time(ns(args.seconds.into())),
        warmup_ns: ns(WARMUP_SECONDS),
        seed: SEED,
        protocol: Protocol::Prepared,
        outage_limit_ns: ns(10.0),
        ignore_errors: Vec::new(),
        private: true,
        ask: None,
        part: None,
        commits: None,
    };
    let run = Run::begin(spec, Arc::new(Paced::new(args.terminals)?));
    let measured = measure(&run);
    run.finish();
    let measured = measured?;
    let milliseconds = |ns: u64| ns as f64 / 1e6;
    let seconds = (measured.end_ns - measured.start_ns) as f64 / 1e9;
    let transactions = measured.counters.transactions as f64;
    let said = TerminalReport {
        transactions_per_second: transactions / seconds,
        response_ms: milliseconds(measured.response().value_at_quantile(0.99)),
        service_ms: milliseconds(measured.service().value_at_quantile(0.99)),
        dropped: measured.counters.counts.dropped,
        loop_cpu_us: measured.counters.loop_cpu_ns as f64 / 1e3 / transactions,
    };
    serde_json::to_writer(io::stdout(), &said)?;
    Ok(())
}

/// What the one loop counted in the measured window.
pub(super) fn measure(run: &Run) -> anyhow::Result<Tally> {
    let mut sum: Option<Box<Tally>> = None;
    loop {
        match run.next(LOOK) {
            Some(LoopEvent::Ready(_)) => {
                run.start();
            }
            Some(LoopEvent::Interval(tally)) if tally.phase == Phase::Measure => match &mut sum {
                Some(sum) => sum.add(&tally),
                None => sum = Some(tally),
            },
            Some(LoopEvent::Interval(_)) | None => {}
            Some(LoopEvent::Drained(_)) => return sum.map(|sum| *sum).context("nothing was measured"),
            Some(LoopEvent::Failed(reason)) => bail!("{reason}"),
        }
        if run.ended() > 0 {
            bail!("the event loop ended by itself");
        }
    }
}

/// Order entry of which only the pauses are left: its transactions ask for nothing.
struct Paced(Tpcc);

impl Paced {
    fn new(terminals: u64) -> anyhow::Result<Paced> {
        let warehouses = terminals.div_ceil(PER_WAREHOUSE).to_string();
        let parameters = TpccParameters::parse([("warehouses", warehouses.as_str()), ("pacing", "spec")])?;
        Ok(Paced(Tpcc::new(&parameters, None, SEED)))
    }
}

impl DeclaredWorkload for Paced {
    type State = ();

    fn statements(&self) -> Vec<Statement> {
        Null.statements()
    }

    fn terminals(&self) -> Option<u64> {
        self.0.terminals()
    }

    fn pause_ns(&self, done: Option<Rng>, next: Rng, rng: &mut Rng) -> u64 {
        self.0.pause_ns(done, next, rng)
    }

    fn state(&self, _connection: usize, _connections: usize) {}

    async fn transaction(&self, _: &mut (), session: &mut Session, input: &mut Input) -> Result<End, Failure> {
        Null.transaction(&mut (), session, input).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_terminals_as_asked_for_pause_for_seconds() {
        let paced = Paced::new(20).unwrap();
        assert_eq!(paced.terminals(), Some(20));
        let pause = |done| paced.pause_ns(done, Rng::new(1, 2, 4), &mut Rng::new(1, 2, 5));
        assert!(pause(Some(Rng::new(1, 2, 3))) >= 2_000_000_000);
        assert!(pause(None) < 150_000_000_000);
    }
}
