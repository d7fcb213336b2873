//! How fast pages that are not in the buffer pool are read: probes 6 and 12.

use super::evidence::{SheetEvidence, has, latency, number};
use super::figures::iops;
use super::figures::{bytes, rate, time};
use super::line;
use plimsoll_model::io::{Probe, SheetLine};
use plimsoll_model::metric::Statistic;
use plimsoll_model::number::{counted, three_digits, whole_percent};
use plimsoll_model::scaling::ScalingSample;
use plimsoll_model::{Estimate, OpKind, ProbeMetric};
use plimsoll_stats::knee::{REACHED, knee};

const TOPIC: &str = "Page reads";

pub fn lines(evidence: &SheetEvidence<'_>) -> Vec<SheetLine> {
    let depths = Probe::sweep(&evidence.of(6));
    [alone(&depths), most(&depths), knee_of(&depths), scans(evidence)].into_iter().flatten().collect()
}

/// How long one session waits for a page.
fn alone(depths: &[&Probe]) -> Option<SheetLine> {
    let probe = depths.first().filter(|probe| number(probe, "depth") == 1.0)?;
    let waits = match (latency(probe, OpKind::Read, Statistic::P50), latency(probe, OpKind::Read, Statistic::P99)) {
        (Some(p50), Some(p99)) => {
            format!(": it waits {} for a page (median; 99 % within {})", time(p50), time(p99))
        }
        _ => String::new(),
    };
    let statement = format!(
        "A session that misses the buffer pool reads {} pages of {} per second{waits}.",
        rate(probe),
        bytes(number(probe, "block"))
    );
    Some(line(TOPIC, "page_reads_1", statement, iops(probe), "pages/s", &[probe]))
}

/// The ceiling, and how it was reached.
fn most(depths: &[&Probe]) -> Option<SheetLine> {
    let best = depths.iter().copied().max_by(|a, b| iops(a).total_cmp(&iops(b)))?;
    let mut statement = format!(
        "At most {} page reads per second, with {} reads under way",
        rate(best),
        three_digits(number(best, "depth"))
    );
    if depths.len() > 1 {
        let each = depths.iter().map(|probe| {
            let within = latency(probe, OpKind::Read, Statistic::P99)
                .map_or(String::new(), |p99| format!(" (99 % within {})", time(p99)));
            format!("{} at {}{within}", three_digits(iops(probe)), three_digits(number(probe, "depth")))
        });
        statement += &format!("; by reads under way: {}", each.collect::<Vec<_>>().join(", "));
    }
    let set = number(best, "set_bytes");
    if set > 0.0 {
        statement += &format!("; at random over {}", bytes(set));
    }
    Some(line(TOPIC, "page_reads_max", statement + ".", iops(best), "pages/s", depths))
}

fn knee_of(depths: &[&Probe]) -> Option<SheetLine> {
    let sample = |probe: &&Probe| ScalingSample {
        load: number(probe, "depth"),
        throughput: ProbeMetric::Iops.estimate(probe).cloned().unwrap_or_else(|| {
            Estimate::bare(iops(probe), 1.0, "mean of the window".to_owned(), "it was not estimated".to_owned())
        }),
    };
    let samples: Vec<ScalingSample> = depths.iter().filter(|probe| number(probe, "depth") >= 1.0).map(sample).collect();
    let knee = knee(&samples).ok()?;
    let (depth, deepest) = (knee.load.value, samples.iter().map(|sample| sample.load).fold(0.0, f64::max));
    let below = samples.iter().map(|sample| sample.load).filter(|load| *load < deepest).fold(0.0, f64::max);
    let reached = match (knee.load.interval(), &knee.load.missing) {
        (Some((low, high)), _) => {
            format!(
                "about {} reads under way (95 % interval {} to {})",
                three_digits(depth.round()),
                three_digits(low),
                three_digits(high)
            )
        }
        (None, Some(why)) => format!("about {} reads under way (no interval: {why})", three_digits(depth.round())),
        (None, None) => format!("about {} reads under way", three_digits(depth.round())),
    };
    let share = whole_percent(REACHED);
    let statement = match (depth > below, depth <= 1.0) {
        (_, true) => format!(
            "One read under way already reaches {share} of the ceiling: sessions that miss the buffer pool at the same \
             time only wait longer."
        ),
        (true, _) => format!(
            "The rate still grew at {} reads under way, the most that were tried; {share} of it is reached with {reached}.",
            three_digits(deepest)
        ),
        (false, _) => format!(
            "{share} of the ceiling is reached with {reached}: that many read threads, or sessions that miss the \
             buffer pool, are useful; more only wait longer."
        ),
    };
    Some(line(TOPIC, "page_reads_knee", statement, depth, "reads", depths))
}

/// Sequential reads: table scans, backups, copies.
fn scans(evidence: &SheetEvidence<'_>) -> Option<SheetLine> {
    let speed = |probe: &Probe| probe.mb_per_second.unwrap_or(0.0);
    let direct: Vec<&Probe> = evidence.of(12).into_iter().filter(|p| has(p, &[("direct", true.into())])).collect();
    let all = if direct.is_empty() { evidence.of(12) } else { direct };
    let best = all.into_iter().filter(|probe| speed(probe) > 0.0).max_by(|a, b| speed(a).total_cmp(&speed(b)))?;
    let statement = format!(
        "Scans and backups read {} MB per second, with {}.",
        three_digits(speed(best)),
        counted(number(best, "streams"), "stream")
    );
    Some(line(TOPIC, "scan_speed", statement, speed(best), "MB/s", &[best]))
}
