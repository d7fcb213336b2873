//! The static binary of the packages against the one that this machine builds: what a query costs each, and how fast it
//! starts.

use super::{BenchExtent, BenchRow, BenchTarget, PeerComparison, in_turn};
use crate::arena::Arena;
use crate::peers::{PeerLoad, PeerMeasurement, plimsoll};
use std::path::Path;

const CONNECTIONS: usize = 64;
/// Not worse, as far as the spread of a ratio of medians can tell.
const CPU: BenchTarget = BenchTarget::AtMost(1.02);
/// Milliseconds.
const START: BenchTarget = BenchTarget::AtMost(10.0);
const MISSING: &str = "SKIPPED: there is no static binary; `make packages` builds it";

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let title = format!("packaged on {}: {CONNECTIONS} connections of point-select, Unix socket", arena.label());
    let Some(packaged) = &arena.tools().packaged else {
        eprintln!("{title}\n  {MISSING}");
        return Ok(PeerComparison { title, notes: vec![MISSING.to_owned()], ..PeerComparison::default() });
    };
    let load = PeerLoad { workload: "oltp_point_select", connections: CONNECTIONS, seconds: extent.seconds };
    plimsoll::prepare(arena)?;
    // Once without counting: whoever comes first fills the caches.
    plimsoll::run(arena, &load)?;
    let own = &arena.tools().plimsoll;
    let both = |program: &Path| {
        Ok((plimsoll::run_build(arena, &load, program)?, plimsoll::start(arena, program)?.as_secs_f64() * 1e3))
    };
    let [fixed, dynamic] = in_turn(
        &title,
        extent.pairs as usize,
        [("static", &|| both(packaged)), ("dynamic", &|| both(own))],
        |(measured, start): &(PeerMeasurement, f64)| format!("{measured}; starts in {start:.1} ms"),
    )?;
    let cpu = |who: &str, all: &[(PeerMeasurement, f64)]| {
        BenchRow::new(format!("{who}: CPU µs/query, whole process"), 2, all.iter().map(|(m, _)| m.process_us_per_query))
    };
    let rate = |who: &str, all: &[(PeerMeasurement, f64)]| {
        BenchRow::new(format!("{who}: queries/s"), 0, all.iter().map(|(m, _)| m.transactions_per_second))
    };
    let start = |who: &str, all: &[(PeerMeasurement, f64)]| {
        BenchRow::new(format!("{who}: ms from start to end of --version"), 1, all.iter().map(|(_, start)| *start))
    };
    let cpus = [cpu("static", &fixed), cpu("dynamic", &dynamic)];
    let rates = [rate("static", &fixed), rate("dynamic", &dynamic)];
    let starts = [start("static", &fixed).with_target(START), start("dynamic", &dynamic)];
    let cost = BenchRow::ratio("CPU: static ÷ dynamic", &cpus[0], &cpus[1]).with_target(CPU);
    let throughput = BenchRow::ratio("queries/s: static ÷ dynamic", &rates[0], &rates[1]);
    let findings = vec![cost.finding("packaged-cpu", arena), starts[0].finding("packaged-start", arena)];
    let rows = rates.into_iter().chain(cpus).chain(starts).chain([throughput, cost]).collect();
    Ok(PeerComparison { title, rows, findings, ..PeerComparison::default() })
}
