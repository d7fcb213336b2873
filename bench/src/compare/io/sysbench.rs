//! Against sysbench's fileio: as many threads on both sides.

use super::super::{BenchExtent, BenchTarget, PeerComparison, in_turn};
use super::{both, ratio};
use crate::ground::Ground;
use crate::peers::{FileLoad, Transfers, engines, sysbench_fileio};

const IOPS: BenchTarget = BenchTarget::AtLeast(0.98);

pub fn compare(ground: &Ground, load: FileLoad, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let on = load.to_string();
    let title = format!("io-sysbench: {on}");
    let sides = in_turn(
        &title,
        extent.pairs as usize,
        [("plimsoll", &|| engines::run(ground, &load)), ("sysbench", &|| sysbench_fileio::run(ground, &load))],
        Transfers::to_string,
    )?;
    let rates = both("sysbench", "operations/s", 0, &sides, |run| Some(run.iops));
    let cpus = both("sysbench", "CPU µs/operation, whole process", 2, &sides, |run| Some(run.cpu_us_per_operation()));
    let p99s = both("sysbench", "99th percentile, µs", 0, &sides, |run| run.p99_us);
    let rate = ratio("sysbench", "operations/s", &rates).with_target(IOPS);
    let ratios = [ratio("sysbench", "CPU", &cpus), ratio("sysbench", "99th percentile", &p99s)];
    let findings = vec![rate.finding_on("io-sysbench-rate", &on)];
    let rows = rates.into_iter().chain(cpus).chain(p99s).chain([rate]).chain(ratios).collect();
    Ok(PeerComparison { title, rows, findings, ..PeerComparison::default() })
}
