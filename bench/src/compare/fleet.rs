//! A fleet of agents on this machine against one process that makes the same load: whether anything is lost or doubled on
//! the way, what the coordinator spends, and how long the broker takes. How much merging a thousand agents would cost is
//! simulated with the code that merges.

use super::{BenchExtent, BenchRow, BenchTarget, PeerComparison, in_turn};
use crate::arena::Arena;
use crate::peers::fleet::{self, FleetRun, FleetTarget, LocalFleet};
use plimsoll_load::assembly::Assembly;
use plimsoll_load::lines;
use plimsoll_load::source::LoadEvent;
use plimsoll_load::tally::{Names, Tally, record};
use plimsoll_load::window::SECOND_NS;
use plimsoll_model::samples::Phase;
use std::time::Instant;

const AGENTS: usize = 64;
/// Transactions per second of all together: an open loop that leaves most of the CPUs idle.
const RATE: u32 = 640;
/// Milliseconds of CPU that the coordinator may spend for each second of the load.
const SPENT: BenchTarget = BenchTarget::AtMost(100.0);
/// Milliseconds until the broker has what it was told, of 99 in 100 seconds of an agent.
const STORED: BenchTarget = BenchTarget::AtMost(100.0);
/// Milliseconds between the first agent's start and the last one's, at most: twice the worst bound of a clock.
const SKEW: BenchTarget = BenchTarget::AtMost(5.0);
/// Percent of the machine's CPUs: what is measured is not how agents wait for one another.
const BUSY: BenchTarget = BenchTarget::AtMost(30.0);
const NONE: BenchTarget = BenchTarget::AtMost(0.0);
const SIMULATED: usize = 1000;
/// Latencies that an agent counts in a simulated second.
const COUNTED: u64 = 2000;

pub fn expected_seconds(pairs: u64, seconds: u64) -> u64 {
    pairs * 3 * (seconds + 12) + 90
}

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let title = format!("fleet on {}: {AGENTS} agents and one process, {RATE} point-selects per second", arena.label());
    fleet::prepare(arena)?;
    let (server, null) = (FleetTarget::Server, FleetTarget::null()?);
    let own = LocalFleet::up(arena, AGENTS, &[&server, &null])?;
    let is_apart = own.is_apart();
    let run =
        |loaded: &FleetTarget, address: Option<&str>| fleet::run(arena, loaded, address, AGENTS, RATE, extent.seconds);
    let [agents, here, idle] = in_turn(
        &title,
        extent.pairs as usize,
        [
            ("agents", &|| run(&server, Some(&own.address))),
            ("one process", &|| run(&server, None)),
            ("agents, null server", &|| run(&null, Some(&own.address))),
        ],
        FleetRun::to_string,
    )?;
    own.down()?;
    let on_server = of_agents(&agents, "");
    let unlike = row("statements that the server counted and nobody told of", 0, &agents, |run| run.untold);
    let unlike = unlike.with_target(NONE);
    let on_null = of_agents(&idle, ", null server");
    let spent = row("CPU ms of one process for a second", 1, &here, |run| run.cpu_ms_per_second);
    let p50 =
        [row("p50 ms, agents", 3, &agents, |run| run.p50_ms), row("p50 ms, one process", 3, &here, |run| run.p50_ms)];
    let merged = merged_ms(SIMULATED, extent.pairs);
    let [lost, stored, skew, merge, _] = &on_server;
    let findings = vec![
        lost.finding("fleet-lost", arena),
        unlike.finding("fleet-counted", arena),
        stored.finding("fleet-stored", arena),
        skew.finding("fleet-skew", arena),
        merge.finding("fleet-merge", arena),
    ];
    let ratio = BenchRow::ratio("p50: agents ÷ one process", &p50[0], &p50[1]);
    let rows = on_server.into_iter().chain([unlike]).chain(on_null).chain([spent]).chain(p50).chain([ratio, merged]);
    let where_from = if is_apart { "in network namespaces of their own, " } else { "" };
    let notes = vec![
        format!(
            "{AGENTS} agents are {AGENTS} processes, {where_from}on the CPUs of the server: what they do to its latency is \
             theirs, not that of a fleet on machines of its own"
        ),
        format!(
            "simulated: {SIMULATED} agents that count {COUNTED} latencies in a second, read and added by one thread"
        ),
    ];
    Ok(PeerComparison { title, rows: rows.collect(), findings, notes, ..PeerComparison::default() })
}

fn row(what: &str, digits: usize, all: &[FleetRun], value: fn(&FleetRun) -> f64) -> BenchRow {
    BenchRow::new(what, digits, all.iter().map(value))
}

/// What became of what the agents told: lost, stored, begun together, merged; and how busy the machine was.
fn of_agents(all: &[FleetRun], on: &str) -> [BenchRow; 5] {
    let row = |what: &str, digits, value, target| row(&format!("{what}{on}"), digits, all, value).with_target(target);
    [
        row("seconds that an agent is missing from", 0, |run| run.missing, NONE),
        row("ms until the broker has it, p99", 1, |run| run.stored_ms, STORED),
        row("ms between first and last start, at most", 2, |run| run.skew_ms, SKEW),
        row("CPU ms of the coordinator for a second", 1, |run| run.cpu_ms_per_second, SPENT),
        row("% of the machine's CPUs busy", 1, |run| run.cpus_busy_percent, BUSY),
    ]
}

/// How long one thread takes to read and add a second of so many agents.
fn merged_ms(agents: usize, rounds: u32) -> BenchRow {
    let names = Names { transactions: &["point_select"], statements: vec!["select"], counters: &[] };
    let told: Vec<String> = (0..agents as u64).map(|agent| told(&names, agent)).collect();
    let once = || {
        let (begun, mut assembly) = (Instant::now(), Assembly::new(agents));
        for line in &told {
            if let Ok(LoadEvent::Interval(tally)) = lines::read(line, names.shape()) {
                assembly.add(*tally);
            }
        }
        assert!(assembly.next_whole().is_some(), "all have told of it");
        begun.elapsed().as_secs_f64() * 1e3
    };
    let target = BenchTarget::AtMost(1000.0);
    BenchRow::new(format!("ms to merge a second of {agents} agents"), 1, (0..rounds).map(|_| once()))
        .with_target(target)
}

/// A second of one of them, as it is told.
fn told(names: &Names, agent: u64) -> String {
    let mut tally = Tally::new(names.shape());
    (tally.phase, tally.end_ns) = (Phase::Measure, SECOND_NS);
    let mut random = plimsoll_load::seed::Rng::new(1, agent, 0);
    for _ in 0..COUNTED {
        let ns = random.between(20_000, 5_000_000);
        record(&mut tally.transactions[0].service, ns);
        record(&mut tally.statements[0].latency, ns);
    }
    lines::write(&LoadEvent::Interval(Box::new(tally)))
}
