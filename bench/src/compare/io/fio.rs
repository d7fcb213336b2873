//! Against fio with the same engine: operations per second, CPU per operation, and whether the percentiles lie farther from
//! fio's than those of two runs of fio differ.

use super::super::{BenchExtent, BenchRow, BenchTarget, PeerComparison, in_turn};
use super::{both, ratio};
use crate::ground::Ground;
use crate::peers::fio::RESOLUTION;
use crate::peers::{FileLoad, Transfers, engines, fio};
use crate::stats::{SampleSpread, ratios};

const IOPS: BenchTarget = BenchTarget::AtLeast(0.97);
const CPU: BenchTarget = BenchTarget::AtMost(1.05);

pub fn compare(ground: &Ground, load: FileLoad, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let on = load.to_string();
    let title = format!("io-fio: {on}");
    let sides = in_turn(
        &title,
        extent.pairs as usize,
        [("plimsoll", &|| engines::run(ground, &load)), ("fio", &|| fio::run(ground, &load))],
        Transfers::to_string,
    )?;
    let rates = both("fio", "operations/s", 0, &sides, |run| Some(run.iops));
    let cpus = both("fio", "CPU µs/operation, whole process", 2, &sides, |run| Some(run.cpu_us_per_operation()));
    let loops = both("fio", "CPU µs/operation, loop only", 2, &sides, Transfers::loop_us_per_operation);
    let under_way = both("fio", "operations under way, by Little's law", 1, &sides, Transfers::under_way);
    let p50s = both("fio", "median, µs", 0, &sides, |run| run.p50_us);
    let p99s = both("fio", "99th percentile, µs", 0, &sides, |run| run.p99_us);
    let rate = ratio("fio", "operations/s", &rates).with_target(IOPS);
    let cpu = ratio("fio", "CPU", &cpus).with_target(CPU);
    let loop_cpu = ratio("fio", "CPU, loop only", &loops);
    let [p50, p50_again] = beside_itself("median", &p50s);
    let [p99, p99_again] = beside_itself("99th percentile", &p99s);
    let findings = vec![
        rate.finding_on("io-fio-rate", &on),
        cpu.finding_on("io-fio-cpu", &on),
        p50.finding_on("io-fio-p50", &on),
        p99.finding_on("io-fio-p99", &on),
    ];
    let ratios = [rate, cpu, loop_cpu, p50, p50_again, p99, p99_again];
    let rows =
        rates.into_iter().chain(cpus).chain(loops).chain(p50s).chain(p99s).chain(under_way).chain(ratios).collect();
    let notes = vec![
        format!(
            "percentiles: the median of plimsoll ÷ fio may be off 1 by as much as, in the middle, a run of fio lies from \
             fio's run before it; {:.1} % at least, as fio tells them no finer. Below: less CPU per operation is less to \
             wait for",
            RESOLUTION * 100.0
        ),
        "Little's law: rate × mean latency; as many as the depth, or latencies leave something out".to_owned(),
    ];
    Ok(PeerComparison { title, rows, findings, notes, ..PeerComparison::default() })
}

/// A percentile of ours over theirs, judged by how far consecutive runs of theirs lie apart; and these.
fn beside_itself(what: &str, rows: &[BenchRow; 2]) -> [BenchRow; 2] {
    let theirs = &rows[1].samples;
    let again = ratios(theirs.get(1..).unwrap_or_default(), theirs);
    let apart: Vec<f64> = again.iter().map(|ratio| (ratio - 1.0).abs()).collect();
    let ours = ratio("fio", what, rows);
    let ours = match SampleSpread::of(&apart) {
        Some(SampleSpread { median, .. }) => {
            let allowed = median.max(RESOLUTION);
            ours.with_target(BenchTarget::Within(1.0 - allowed, 1.0 + allowed))
        }
        None => ours,
    };
    [ours, BenchRow::new(format!("{what}: fio ÷ fio before"), 3, again)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(ours: [f64; 4], theirs: [f64; 4]) -> Option<bool> {
        let rows = [BenchRow::new("plimsoll", 0, ours), BenchRow::new("fio", 0, theirs)];
        beside_itself("median", &rows)[0].met()
    }

    #[test]
    fn percentiles_may_be_off_by_as_much_as_those_of_fio_differ() {
        let restless = [100.0, 120.0, 100.0, 120.0];
        assert_eq!(judged([110.0; 4], restless), Some(true));
        assert_eq!(judged([140.0; 4], restless), Some(false));
        assert_eq!(judged([101.0; 4], [100.0; 4]), Some(true), "finer than fio tells");
        assert_eq!(judged([103.0; 4], [100.0; 4]), Some(false));
        assert_eq!(judged([80.0; 4], [100.0; 4]), Some(false));
    }

    #[test]
    fn one_run_of_fio_has_nothing_beside_it() {
        let rows = [BenchRow::new("plimsoll", 0, [1.0]), BenchRow::new("fio", 0, [1.0])];
        assert_eq!(beside_itself("median", &rows)[0].met(), None);
    }
}
