//! What it costs a crash trial that each commit is written to a file before its connection sends the next statement: the workload
//! `ledger` with that log and without.

use super::{BenchExtent, BenchRow, BenchTarget, PeerComparison, in_turn};
use crate::arena::Arena;
use crate::peers::{PeerLoad, PeerMeasurement, ledger};
use plimsoll_engine::meter::thread_cpu_ns;
use plimsoll_engine::{CommitLog, LoggedCommit};

/// As many as a crash trial has unless it is told otherwise.
const CONNECTIONS: usize = 8;
/// Percent of the throughput.
const COST: BenchTarget = BenchTarget::AtMost(3.0);
/// Warming up, and what is around a run.
const AROUND_SECONDS: u64 = 2;
/// Commits that are written down without a load, to see what one takes.
const NOTES: u64 = 100_000;

pub fn expected_seconds(pairs: u64, seconds: u64) -> u64 {
    (pairs + 1) * 2 * (seconds + AROUND_SECONDS) + 10
}

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let load = PeerLoad { workload: "ledger", connections: CONNECTIONS, seconds: extent.seconds };
    let title = format!("ledger on {}: {CONNECTIONS} connections, with a log of commits and without", arena.label());
    ledger::prepare(arena)?;
    // Once without counting: whoever comes first fills the caches.
    ledger::run(arena, &load, true)?;
    let [with, without] = in_turn(
        &title,
        extent.pairs as usize,
        [("with the log", &|| ledger::run(arena, &load, true)), ("without", &|| ledger::run(arena, &load, false))],
        PeerMeasurement::to_string,
    )?;
    let rate = |who: &str, all: &[PeerMeasurement]| {
        BenchRow::new(format!("transactions/s, {who}"), 0, all.iter().map(|measured| measured.transactions_per_second))
    };
    let cpu = |who: &str, all: &[PeerMeasurement]| {
        BenchRow::new(format!("CPU µs/query, {who}"), 2, all.iter().map(|measured| measured.process_us_per_query))
    };
    let (rates, cpus) = (
        [rate("with the log", &with), rate("without", &without)],
        [cpu("with the log", &with), cpu("without", &without)],
    );
    let ratio = BenchRow::ratio("transactions/s: with ÷ without", &rates[0], &rates[1]);
    let lost = ratio.samples.iter().map(|ratio| 100.0 * (1.0 - ratio));
    let cost = BenchRow::new("what the log costs: % of transactions/s", 1, lost).with_target(COST);
    let findings = vec![cost.finding("ledger-log", arena)];
    let notes_us = (0..extent.pairs).map(|_| note_us(arena)).collect::<anyhow::Result<Vec<_>>>()?;
    let shares = notes_us.iter().zip(&rates[1].samples).map(|(us, rate)| us * rate / 1e6 * 100.0);
    let share = BenchRow::new("that, of every commit without: % of one core", 1, shares);
    let ratios = [ratio, cost, BenchRow::ratio("CPU: with ÷ without", &cpus[0], &cpus[1])];
    let alone = [BenchRow::new("CPU µs to write a commit down, alone", 2, notes_us), share];
    let rows = rates.into_iter().chain(cpus).chain(ratios).chain(alone).collect();
    let notes = vec![
        "the log is a file in the home, as a crash trial has it in its recording; it is written, not synced".to_owned(),
        "where others use the machine, two runs differ by more than the log costs: then more --pairs are needed"
            .to_owned(),
    ];
    Ok(PeerComparison { title, rows, findings, notes, ..PeerComparison::default() })
}

/// CPU time of writing one commit down.
fn note_us(arena: &Arena) -> anyhow::Result<f64> {
    let log = CommitLog::new(tempfile::tempfile_in(arena.scratch())?);
    let begun_ns = thread_cpu_ns();
    (0..NOTES).for_each(|number| log.note(LoggedCommit { connection: 0, number, t_ns: number }));
    let taken_ns = thread_cpu_ns() - begun_ns;
    // Whether all of them are there.
    log.commits()?;
    Ok(taken_ns as f64 / 1e3 / NOTES as f64)
}
