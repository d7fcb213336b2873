//! A load that agents make, or one process, as a user would have it made.

use super::namespaces::Namespaces;
use super::{AROUND_A_RUN, LOAD_PATIENCE};
use crate::arena::{Arena, free_port};
use anyhow::{Context, ensure};
use plimsoll_lab::null_server::{NullAnswer, NullServer};
use plimsoll_model::StatementKind;
use plimsoll_model::summary::Summary;
use plimsoll_record::read;
use plimsoll_testkit::programs::write_script;
use std::fmt;
use std::path::Path;
use std::time::Duration;

const FLEET: &str = "bench_fleet";
const TABLE_SIZE: u64 = 100_000;

/// Loads what both run on, anew.
pub fn prepare(arena: &Arena) -> anyhow::Result<()> {
    arena.empty_database(FLEET)?;
    let mut command = arena.plimsoll("load", "oltp_read_only", &arena.socket_target(FLEET));
    command.args(["--tables=1".to_owned(), format!("--table-size={TABLE_SIZE}")]);
    arena.run(command, LOAD_PATIENCE).map(drop)
}

/// What a load is sent to.
pub enum FleetTarget {
    /// The arena's server.
    Server,
    /// A server that knows nothing and answers at once, so that the agents alone are measured.
    Null { _server: NullServer, _directory: tempfile::TempDir, target: String },
}

impl FleetTarget {
    pub fn null() -> anyhow::Result<FleetTarget> {
        // The path of a socket must be short.
        let directory = tempfile::tempdir()?;
        let socket = directory.path().join("null");
        let server = NullServer::listen(&socket, null_answer)?;
        let target = format!("mysql://root@localhost/{FLEET}?socket={}", socket.display());
        Ok(FleetTarget::Null { _server: server, _directory: directory, target })
    }

    fn target(&self, arena: &Arena) -> String {
        match self {
            FleetTarget::Server => arena.socket_target(FLEET),
            FleetTarget::Null { target, .. } => target.clone(),
        }
    }
}

/// To whoever looks for the columns of the table, those; one value to everything else.
fn null_answer(statement: &str) -> NullAnswer {
    match statement.contains("information_schema.columns") {
        true => &[
            &[Some(b"id"), Some(b"int"), None],
            &[Some(b"k"), Some(b"int"), None],
            &[Some(b"c"), Some(b"char"), Some(b"120")],
            &[Some(b"pad"), Some(b"char"), Some(b"60")],
        ],
        false => &[&[Some(b"1")]],
    }
}

/// A fleet of this machine, which ends with this: each agent in a network namespace of its own, where they can be made.
pub struct LocalFleet<'a> {
    arena: &'a Arena<'a>,
    pub address: String,
    namespaces: Option<Namespaces>,
    is_down: bool,
}

impl<'a> LocalFleet<'a> {
    /// One whose agents may load these.
    pub fn up(arena: &'a Arena<'a>, agents: usize, loads: &[&FleetTarget]) -> anyhow::Result<LocalFleet<'a>> {
        let namespaces = Namespaces::make(agents)?;
        let mut command = arena.plimsoll_alone("fleet");
        command.args(["up", "--within=120s"]);
        command.args(loads.iter().map(|load| format!("--allow-target={}", load.target(arena))));
        match &namespaces {
            Some(namespaces) => {
                let (scratch, plimsoll) = (arena.scratch().display(), arena.tools().plimsoll.display());
                let ssh = script(arena, "ssh", "exec ip netns exec \"$2\" sh -c \"$3\"");
                let there = format!("PLIMSOLL_HOME={scratch}/there exec {plimsoll} \"$@\"");
                command.arg(format!("--hosts={}", namespaces.names().join(",")));
                command.arg(format!("--listen={}:{}", namespaces.here(), free_port()?));
                command.args(["--ssh", &ssh, "--remote-plimsoll", &script(arena, "plimsoll-there", &there)]);
            }
            None => drop(command.arg(format!("--local={agents}"))),
        }
        let up = arena.run(command, AROUND_A_RUN)?;
        Ok(LocalFleet { arena, address: up.stdout.trim().to_owned(), namespaces, is_down: false })
    }

    /// Whether each agent is in a network namespace of its own.
    pub fn is_apart(&self) -> bool {
        self.namespaces.is_some()
    }

    pub fn down(mut self) -> anyhow::Result<()> {
        self.is_down = true;
        self.end()
    }

    fn end(&self) -> anyhow::Result<()> {
        let mut command = self.arena.plimsoll_alone("fleet");
        command.arg("down");
        self.arena.run(command, AROUND_A_RUN).map(drop)
    }
}

impl Drop for LocalFleet<'_> {
    fn drop(&mut self) {
        if !self.is_down {
            let _ = self.end();
        }
    }
}

/// A program of one line in the arena's scratch directory; its path.
fn script(arena: &Arena, name: &str, line: &str) -> String {
    let path = arena.scratch().join(name);
    write_script(&path, &format!("#!/bin/sh\n{line}\n"));
    path.display().to_string()
}

/// What became of a run.
#[derive(Clone, Debug)]
pub struct FleetRun {
    /// Of the process that the user starts.
    pub cpu_ms_per_second: f64,
    pub p50_ms: f64,
    /// Seconds that an agent has not told of, over all of them.
    pub missing: f64,
    /// Statements that the server has executed, less those that were told of; 0 of a server that does not count.
    pub untold: f64,
    pub stored_ms: f64,
    pub skew_ms: f64,
    /// Of the machine, by whomever; no number where the recording has none.
    pub cpus_busy_percent: f64,
}

/// Runs it for so many seconds over as many connections as there are agents.
pub fn run(
    arena: &Arena,
    loaded: &FleetTarget,
    fleet: Option<&str>,
    agents: usize,
    rate: u32,
    seconds: u32,
) -> anyhow::Result<FleetRun> {
    let mut command = arena.plimsoll("run", "oltp_point_select", &loaded.target(arena));
    command.args(["--json", "--report-interval=0", "--tables=1", "--warmup=1s"]);
    command.args([format!("--table-size={TABLE_SIZE}"), format!("--connections={agents}"), format!("--rate={rate}")]);
    command.arg(format!("--time={seconds}s"));
    command
        .args(fleet.iter().flat_map(|fleet| ["--fleet".to_owned(), (*fleet).to_owned(), format!("--agents={agents}")]));
    let before = executed(arena)?;
    let finished = arena.run(command, Duration::from_secs(seconds.into()) + AROUND_A_RUN)?;
    let counted = executed(arena)? - before;
    let summary: Summary = serde_json::from_str(&finished.stdout).context("the summary of plimsoll")?;
    let point = summary.points.first().context("the summary of plimsoll has no point")?;
    let recording = summary.recording.as_deref().context("the run was not recorded")?;
    let trials = read::open(Path::new(recording))?.trials;
    let trial = trials.first().context("the recording has no trial")?;
    ensure!(point.agents.len() == if fleet.is_some() { agents } else { 0 }, "{} agents", point.agents.len());
    let series = trial.series()?;
    let stored: Vec<f64> = series.agents.iter().map(|sample| sample.stored_us as f64 / 1e3).collect();
    let bound_us = point.agents.iter().map(|agent| agent.clock_bound_us).fold(0.0, f64::max);
    Ok(FleetRun {
        cpu_ms_per_second: finished.cpu.as_secs_f64() * 1e3 / point.seconds,
        p50_ms: point.latency_ms.p50.unwrap_or(f64::NAN),
        missing: series.intervals.iter().map(|interval| interval.missing).sum::<u64>() as f64,
        untold: match loaded {
            FleetTarget::Server => counted - summary.totals.statements[StatementKind::Select] as f64,
            FleetTarget::Null { .. } => 0.0,
        },
        stored_ms: quantile(stored, 0.99),
        skew_ms: 2.0 * bound_us / 1e3,
        cpus_busy_percent: point.host.map_or(f64::NAN, |host| 100.0 * host.busy),
    })
}

/// Prepared statements that the server has executed since it started: those of loads alone.
fn executed(arena: &Arena) -> anyhow::Result<f64> {
    let rows = arena.rows("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'")?;
    let found = rows.pairs().find_map(|(_, count)| count.parse().ok());
    found.context("the server does not count what it executes")
}

fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * share).ceil() as usize;
    values.get(at.saturating_sub(1)).copied().unwrap_or(0.0)
}

impl fmt::Display for FleetRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FleetRun { cpu_ms_per_second, p50_ms, missing, untold, stored_ms, .. } = self;
        write!(
            f,
            "{cpu_ms_per_second:.1} ms CPU per second, p50 {p50_ms:.3} ms, {missing:.0} missing, {untold:.0} untold, stored \
             within {stored_ms:.1} ms"
        )
    }
}
