//! `plimsoll sysbench` against sysbench, with the same command line: a script of one's own, a test that comes with both, and
//! both without a server, where nothing is measured but what Lua and its surroundings cost.

use super::{BenchExtent, BenchFinding, BenchRow, BenchTarget, PeerComparison, in_turn};
use crate::arena::Arena;
use crate::peers::{DATABASE, PeerLoad, PeerMeasurement, plimsoll, sysbench};
use anyhow::Context;
use plimsoll_plan::Plan;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The transactions of `oltp_read_write` without its delete and insert, as somebody would write them.
const SCRIPT: &str = include_str!("own_read_write.lua");
const CONNECTIONS: usize = 64;
const MANY: usize = 2000;
/// Starting 2,000 threads takes seconds of the time that is measured.
const MANY_SECONDS: u32 = 10;
/// It is a matter of whole factors.
const MANY_ROUNDS: u32 = 3;

const CPU: BenchTarget = BenchTarget::AtMost(0.75);
const THROUGHPUT: BenchTarget = BenchTarget::AtLeast(1.0);
const DRY_CPU: BenchTarget = BenchTarget::AtMost(3.0);
const DRY_CPU_OF_MANY: BenchTarget = BenchTarget::AtMost(0.7);
/// By the clock: a slice that is not preempted takes no longer than its CPU time.
const SLICE_MS: BenchTarget = BenchTarget::AtMost(3.0);
const MEMORY_MB: BenchTarget = BenchTarget::AtMost(350.0);
/// sysbench's own counting of its events is no query: without a server all are.
const DRY: [&str; 1] = ["--mysql-dry-run"];

pub fn expected_seconds(pairs: u32, seconds: u64) -> u64 {
    let many = u64::from(pairs.min(MANY_ROUNDS)) * 2 * (u64::from(MANY_SECONDS) + 5);
    u64::from(pairs) * 7 * seconds + many + 10
}

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    plimsoll::prepare(arena)?;
    let script = arena.scratch().join("own_read_write.lua");
    fs::write(&script, SCRIPT)?;
    let mut all = PeerComparison {
        title: format!("sysbench on {}: the same command line, Unix socket", arena.label()),
        ..PeerComparison::default()
    };
    own_script(arena, extent, &script, &mut all)?;
    bundled_test(arena, extent, &mut all)?;
    without_a_server(arena, extent, &script, &mut all)?;
    many_without_a_server(arena, extent, &script, &mut all)?;
    Ok(all)
}

fn load(connections: usize, seconds: u32) -> PeerLoad {
    PeerLoad { workload: "oltp_read_write", connections, seconds }
}

/// A test by both programs, in turn.
fn both(
    arena: &Arena,
    title: &str,
    rounds: u32,
    test: &Path,
    load: &PeerLoad,
    options: &[&str],
) -> anyhow::Result<[Vec<PeerMeasurement>; 2]> {
    let by = |command: Command| sysbench::run_by(arena, command, load, options);
    in_turn(
        title,
        rounds as usize,
        [
            ("plimsoll sysbench", &|| by(arena.drop_in(test, DATABASE))),
            ("sysbench", &|| by(arena.sysbench(test, DATABASE))),
        ],
        PeerMeasurement::to_string,
    )
}

fn cpu(what: &str, who: &str, all: &[PeerMeasurement]) -> BenchRow {
    BenchRow::new(format!("{what}, {who}: CPU µs/query"), 2, all.iter().map(|m| m.process_us_per_query))
}

fn rate(what: &str, who: &str, all: &[PeerMeasurement]) -> BenchRow {
    BenchRow::new(format!("{what}, {who}: transactions/s"), 0, all.iter().map(|m| m.transactions_per_second))
}

fn own_script(arena: &Arena, extent: &BenchExtent, script: &Path, all: &mut PeerComparison) -> anyhow::Result<()> {
    let what = "own script";
    let load = load(CONNECTIONS, extent.seconds);
    let title = format!("{what} on {}: {CONNECTIONS} connections", arena.label());
    let [ours, theirs] = both(arena, &title, extent.pairs, script, &load, &[])?;
    let cpus = [cpu(what, "plimsoll", &ours), cpu(what, "sysbench", &theirs)];
    let rates = [rate(what, "plimsoll", &ours), rate(what, "sysbench", &theirs)];
    let cost = BenchRow::ratio(format!("{what}: CPU, plimsoll ÷ sysbench"), &cpus[0], &cpus[1]).with_target(CPU);
    let pace = BenchRow::ratio(format!("{what}: transactions/s, plimsoll ÷ sysbench"), &rates[0], &rates[1])
        .with_target(THROUGHPUT);
    all.findings.extend([cost.finding("own-script-cpu", arena), pace.finding("own-script-throughput", arena)]);
    all.rows.extend(cpus.into_iter().chain(rates).chain([cost, pace]));
    Ok(())
}

/// What comes with the program costs what `plimsoll run` costs in the same rounds.
fn bundled_test(arena: &Arena, extent: &BenchExtent, all: &mut PeerComparison) -> anyhow::Result<()> {
    let what = "oltp_read_write";
    let load = load(CONNECTIONS, extent.seconds);
    let title = format!("{what} on {}: {CONNECTIONS} connections", arena.label());
    let by = |command: Command| sysbench::run_by(arena, command, &load, &[]);
    let [ours, native, theirs] = in_turn(
        &title,
        extent.pairs as usize,
        [
            ("plimsoll sysbench", &|| by(arena.drop_in(what, DATABASE))),
            ("plimsoll run", &|| plimsoll::run(arena, &load)),
            ("sysbench", &|| by(arena.sysbench(what, DATABASE))),
        ],
        PeerMeasurement::to_string,
    )?;
    let cpus =
        [cpu(what, "plimsoll sysbench", &ours), cpu(what, "plimsoll run", &native), cpu(what, "sysbench", &theirs)];
    let rates = [rate(what, "plimsoll sysbench", &ours), rate(what, "sysbench", &theirs)];
    let of_run = BenchRow::ratio(format!("{what}: CPU, plimsoll run ÷ sysbench"), &cpus[1], &cpus[2]);
    let cost = BenchRow::ratio(format!("{what}: CPU, plimsoll sysbench ÷ sysbench"), &cpus[0], &cpus[2]);
    let cost = match of_run.spread() {
        Some(spread) => cost.with_target(BenchTarget::AtMost(spread.upper_quartile)),
        None => cost,
    };
    let pace = BenchRow::ratio(format!("{what}: transactions/s, plimsoll sysbench ÷ sysbench"), &rates[0], &rates[1])
        .with_target(THROUGHPUT);
    all.findings.extend([cost.finding("bundled-cpu", arena), pace.finding("bundled-throughput", arena)]);
    all.rows.extend(cpus.into_iter().chain(rates).chain([of_run, cost, pace]));
    Ok(())
}

fn without_a_server(
    arena: &Arena,
    extent: &BenchExtent,
    script: &Path,
    all: &mut PeerComparison,
) -> anyhow::Result<()> {
    let what = "dry run";
    let title = format!("{what}: {CONNECTIONS} connections");
    let [ours, theirs] = both(arena, &title, extent.pairs, script, &load(CONNECTIONS, extent.seconds), &DRY)?;
    let cpus = [cpu(what, "plimsoll", &ours), cpu(what, "sysbench", &theirs)];
    let cost = BenchRow::ratio(format!("{what}: CPU, plimsoll ÷ sysbench"), &cpus[0], &cpus[1]).with_target(DRY_CPU);
    all.findings.push(cost.finding("dry-run-cpu", arena));
    all.rows.extend(cpus.into_iter().chain([cost]));
    Ok(())
}

fn many_without_a_server(
    arena: &Arena,
    extent: &BenchExtent,
    script: &Path,
    all: &mut PeerComparison,
) -> anyhow::Result<()> {
    let what = "dry run of 2,000";
    let (rounds, load) = (extent.pairs.min(MANY_ROUNDS), load(MANY, extent.seconds.max(MANY_SECONDS)));
    let [ours, theirs] = both(arena, what, rounds, script, &load, &DRY)?;
    let cpus = [cpu(what, "plimsoll", &ours), cpu(what, "sysbench", &theirs)];
    let memory = |who: &str, all: &[PeerMeasurement]| {
        BenchRow::new(format!("{what}, {who}: resident MB"), 0, all.iter().map(|m| m.resident_bytes as f64 / 1e6))
    };
    let resident = memory("plimsoll", &ours).with_target(MEMORY_MB);
    let cost =
        BenchRow::ratio(format!("{what}: CPU, plimsoll ÷ sysbench"), &cpus[0], &cpus[1]).with_target(DRY_CPU_OF_MANY);
    let slices = longest_slices(arena, rounds as usize)?;
    let slice = BenchRow::new(format!("{what}, plimsoll: longest slice of Lua, ms of the clock"), 2, slices)
        .with_target(SLICE_MS);
    let findings: [BenchFinding; 3] = [
        cost.finding("dry-run-of-2000-cpu", arena),
        resident.finding("dry-run-of-2000-memory", arena),
        slice.finding("dry-run-of-2000-slice", arena),
    ];
    all.findings.extend(findings);
    all.rows.extend(cpus.into_iter().chain([cost, resident, memory("sysbench", &theirs), slice]));
    Ok(())
}

/// For how long the script computed at the longest in each of the last runs, as they were recorded.
fn longest_slices(arena: &Arena, runs: usize) -> anyhow::Result<Vec<f64>> {
    let all = plimsoll_record::read::list(&arena.home()?.recordings())?.recordings;
    let ours = all.iter().filter(|entry| matches!(entry.manifest.plan, Plan::Sysbench(_))).rev().take(runs);
    let longest = ours.map(|entry| {
        let summary = plimsoll_record::read::summary(&entry.directory)?;
        summary
            .and_then(|summary| summary.points.first()?.client.script_ms_max)
            .context("a run without its script's time")
    });
    longest.collect()
}
