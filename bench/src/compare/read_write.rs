//! Transactions of twenty statements, in which the server does most of the work: throughput.

use super::{BenchExtent, BenchRow, BenchTarget, PeerComparison, in_turn};
use crate::arena::Arena;
use crate::peers::{PeerLoad, PeerMeasurement, plimsoll, sysbench};

const CONNECTIONS: usize = 64;
const THROUGHPUT: BenchTarget = BenchTarget::AtLeast(1.02);

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let load = PeerLoad { workload: "oltp_read_write", connections: CONNECTIONS, seconds: extent.seconds };
    let title = format!("read-write on {}: {CONNECTIONS} connections, prepared, Unix socket", arena.label());
    plimsoll::prepare(arena)?;
    plimsoll::run(arena, &load)?;
    let [ours, theirs] = in_turn(
        &title,
        extent.pairs as usize,
        [("plimsoll", &|| plimsoll::run(arena, &load)), ("sysbench", &|| sysbench::run(arena, &load))],
        PeerMeasurement::to_string,
    )?;
    let rate = |who: &str, all: &[PeerMeasurement]| {
        BenchRow::new(format!("{who}: transactions/s"), 0, all.iter().map(|m| m.transactions_per_second))
    };
    let cpu = |who: &str, all: &[PeerMeasurement]| {
        BenchRow::new(format!("{who}: CPU µs/query, whole process"), 2, all.iter().map(|m| m.process_us_per_query))
    };
    let rates = [rate("plimsoll", &ours), rate("sysbench", &theirs)];
    let cpus = [cpu("plimsoll", &ours), cpu("sysbench", &theirs)];
    let ratio = BenchRow::ratio("transactions/s: plimsoll ÷ sysbench", &rates[0], &rates[1]).with_target(THROUGHPUT);
    let cpu_ratio = BenchRow::ratio("CPU: plimsoll ÷ sysbench", &cpus[0], &cpus[1]);
    let findings = vec![ratio.finding("read-write-throughput", arena)];
    let rows = rates.into_iter().chain(cpus).chain([ratio, cpu_ratio]).collect();
    Ok(PeerComparison { title, rows, findings, ..PeerComparison::default() })
}
