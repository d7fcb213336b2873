//! The lightest query there is, which measures the client more than the server: CPU per query and throughput.

use super::{BenchExtent, BenchFinding, BenchRow, BenchTarget, PeerComparison, in_turn};
use crate::arena::Arena;
use crate::peers::{PeerLoad, PeerMeasurement, floor, plimsoll, sysbench};

const CONNECTIONS: usize = 64;
/// Plimsoll's CPU per query over sysbench's …
const CPU: BenchTarget = BenchTarget::AtMost(0.60);
/// … or over the floor's, where the floor itself is above this over sysbench's: then the machine allows no less.
const OVER_FLOOR: BenchTarget = BenchTarget::AtMost(1.10);
const FLOOR_HIGH: f64 = 0.55;
const THROUGHPUT: BenchTarget = BenchTarget::AtLeast(1.05);

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let load = PeerLoad { workload: "oltp_point_select", connections: CONNECTIONS, seconds: extent.seconds };
    let title = format!("point-select on {}: {CONNECTIONS} connections, prepared, Unix socket", arena.label());
    plimsoll::prepare(arena)?;
    // Once without counting: whoever comes first fills the caches.
    plimsoll::run(arena, &load)?;
    let [ours, theirs, least] = in_turn(
        &title,
        extent.pairs as usize,
        [
            ("plimsoll", &|| plimsoll::run(arena, &load)),
            ("sysbench", &|| sysbench::run(arena, &load)),
            ("floor", &|| floor::run(arena, &load)),
        ],
        PeerMeasurement::to_string,
    )?;
    let rate = |who: &str, all: &[PeerMeasurement]| {
        BenchRow::new(format!("{who}: queries/s"), 0, all.iter().map(|m| m.transactions_per_second))
    };
    let cpu = |who: &str, all: &[PeerMeasurement]| {
        BenchRow::new(format!("{who}: CPU µs/query, whole process"), 2, all.iter().map(|m| m.process_us_per_query))
    };
    let in_loop = |who: &str, all: &[PeerMeasurement]| {
        BenchRow::new(format!("{who}: CPU µs/query, loop only"), 2, all.iter().filter_map(|m| m.loop_us_per_query))
    };
    let rates = [rate("plimsoll", &ours), rate("sysbench", &theirs), rate("floor", &least)];
    let cpus = [cpu("plimsoll", &ours), cpu("sysbench", &theirs), cpu("floor", &least)];
    let loops = [in_loop("plimsoll", &ours), in_loop("floor", &least)];
    let throughput = BenchRow::ratio("queries/s: plimsoll ÷ sysbench", &rates[0], &rates[1]).with_target(THROUGHPUT);
    let over_sysbench = BenchRow::ratio("CPU: plimsoll ÷ sysbench", &cpus[0], &cpus[1]).with_target(CPU);
    let floor_over_sysbench = BenchRow::ratio("CPU: floor ÷ sysbench", &cpus[2], &cpus[1]);
    let over_floor = BenchRow::ratio("CPU: plimsoll ÷ floor", &cpus[0], &cpus[2]);
    let loop_over_floor = BenchRow::ratio("CPU, loop only: plimsoll ÷ floor", &loops[0], &loops[1]);
    let floor_is_high = floor_over_sysbench.spread().is_some_and(|spread| spread.median > FLOOR_HIGH);
    let over_floor = if floor_is_high { over_floor.with_target(OVER_FLOOR) } else { over_floor };
    let findings =
        vec![cpu_finding(arena, &over_sysbench, &over_floor), throughput.finding("point-select-throughput", arena)];
    let ratios = [throughput, over_sysbench, floor_over_sysbench, over_floor, loop_over_floor];
    let rows = rates.into_iter().chain(cpus).chain(loops).chain(ratios).collect();
    let notes = vec![
        "whole process: user and system time from start to end over the queries of the measured time; connecting, \
         preparing and reporting are in it"
            .to_owned(),
    ];
    Ok(PeerComparison { title, rows, findings, notes, ..PeerComparison::default() })
}

/// Met by either way; the floor's ratio is shown where it decides.
fn cpu_finding(arena: &Arena, over_sysbench: &BenchRow, over_floor: &BenchRow) -> BenchFinding {
    let finding = over_sysbench.finding("point-select-cpu", arena);
    match over_floor.met() {
        None => finding,
        Some(near_floor) => BenchFinding {
            value: format!("{}; {} × floor", finding.value, over_floor.in_short()),
            target: format!("{CPU}, or {OVER_FLOOR} × floor"),
            met: finding.met.map(|met| met || near_floor),
            ..finding
        },
    }
}
