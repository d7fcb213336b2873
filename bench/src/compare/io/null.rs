//! Engines that do nothing: what the measuring itself costs.

use super::super::{BenchExtent, BenchTarget, PeerComparison, in_turn};
use super::{both, ratio};
use crate::ground::Ground;
use crate::peers::{FileLoad, Transfers, engines, fio};

const PER_CORE: BenchTarget = BenchTarget::AtLeast(2e6);

pub fn compare(ground: &Ground, load: FileLoad, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let title = format!("io-null: {load}");
    let sides = in_turn(
        &title,
        extent.pairs as usize,
        [("plimsoll", &|| engines::run(ground, &load)), ("fio", &|| fio::run(ground, &load))],
        Transfers::to_string,
    )?;
    let rates = both("fio", "operations/s", 0, &sides, |run| Some(run.iops));
    let [ours, theirs] =
        both("fio", "operations per second of CPU", 0, &sides, |run| Some(1e6 / run.cpu_us_per_operation()));
    let ours = ours.with_target(PER_CORE);
    let findings = vec![ours.finding_on("io-null-per-core", "no storage")];
    let per_cores = [ours, theirs];
    let over = ratio("fio", "operations per second of CPU", &per_cores);
    let rows = rates.into_iter().chain(per_cores).chain([over]).collect();
    let notes = vec!["neither fio's nor Plimsoll's engine of that name touches the file".to_owned()];
    Ok(PeerComparison { title, rows, findings, notes, ..PeerComparison::default() })
}
