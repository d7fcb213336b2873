//! Which working sets a cache answers, and how long it absorbs writes: probe 13.

use super::evidence::{MeasuredValue, SheetEvidence, has, latency, number};
use super::figures::iops;
use super::figures::{bytes, time, times};
use super::{line, line_if_known, warning_if};
use plimsoll_model::io::{Probe, Second, SheetLine};
use plimsoll_model::metric::Statistic;
use plimsoll_model::number::three_digits;
use plimsoll_model::{OpKind, ProbeMetric, Scalar};

const TOPIC: &str = "Cache";
/// A median this many times that of the smallest set comes from another tier.
const STEP: f64 = 2.0;
/// If the last quarter of a burst keeps less than this share of its first seconds, it has filled something.
const KEPT: f64 = 0.7;
/// Seconds that define the level at the start of a burst.
const AT_FIRST: usize = 3;
/// With fewer seconds than this there is no level after the burst.
const LEAST_SECONDS: usize = 8;

pub fn lines(evidence: &SheetEvidence<'_>) -> Vec<SheetLine> {
    [cached_set(evidence), burst(evidence)].into_iter().flatten().collect()
}

/// The largest set before the first step of the median read.
fn cached_set(evidence: &SheetEvidence<'_>) -> Option<SheetLine> {
    let reads = evidence.of(13).into_iter().filter(|probe| has(probe, &[("what", "read".into())]));
    let mut sets: Vec<(&Probe, f64)> = reads
        .filter_map(|probe| Some((probe, latency(probe, OpKind::Read, Statistic::P50).filter(|us| *us > 0.0)?)))
        .collect();
    sets.sort_by(|a, b| size(a.0).total_cmp(&size(b.0)));
    let (&(smallest, fast), &(largest, slow)) = (sets.first()?, sets.last()?);
    if size(smallest) == size(largest) {
        return None;
    }
    let probes: Vec<&Probe> = sets.iter().map(|(probe, _)| *probe).collect();
    let beyond_cache = |(probe, us): (&Probe, f64)| {
        let median = |probe, us| MeasuredValue::of(probe, ProbeMetric::Latency(OpKind::Read, Statistic::P50), us);
        evidence.differs(median(smallest, fast), median(probe, us), STEP)
    };
    let step = sets.windows(2).find(|next| beyond_cache(next[1]) == Some(true)).map(|next| (next[0], next[1]));
    let figures = format!(
        "a random read takes {} over {} and {} over {} (medians)",
        time(fast),
        bytes(size(smallest)),
        time(slow),
        bytes(size(largest))
    );
    let (statement, value) = match (step, beyond_cache((largest, slow))) {
        (Some(((within, below), (beyond, above))), _) => (
            format!(
                "A cache answers working sets of up to {}: a random read takes {} there (median), {} or {} as much \
                 over {}. A server whose pages fit in it will seem faster than this storage is.",
                bytes(size(within)),
                time(below),
                time(above),
                times(above / below),
                bytes(size(beyond))
            ),
            Some(Scalar::from(size(within) as u64)),
        ),
        (None, Some(_)) => {
            (format!("No cache was seen: {figures}. Either there is none, or a larger one answers everything."), None)
        }
        (None, None) => (format!("Whether a cache answers small working sets {}: {figures}.", evidence.untold()), None),
    };
    Some(line_if_known(TOPIC, "cached_set", statement, value, "bytes", &probes))
}

fn size(probe: &Probe) -> f64 {
    number(probe, "set_bytes")
}

/// How long writes kept their initial rate, and what came after.
fn burst(evidence: &SheetEvidence<'_>) -> Option<SheetLine> {
    let probe = evidence.find(13, &[("what", "burst".into())]).filter(|probe| probe.series.len() >= LEAST_SECONDS)?;
    let series = &probe.series;
    let (first, last) = (median(&series[..AT_FIRST]), median(&series[series.len() - series.len() / 4..]));
    let falls = last < KEPT * first;
    let seconds = series.len() as f64;
    let (statement, value) = match falls {
        true => {
            let lasted = until_below(series, (first + last) / 2.0);
            let written = bytes(megabytes_per_op(probe) * 1e6 * series[..lasted].iter().map(|s| s.iops).sum::<f64>());
            (
                format!(
                    "A burst of writes lasts {lasted} s ({written}) at {} per second, then {} per second remain: \
                     longer loads can only count on the lower rate.",
                    three_digits(first),
                    three_digits(last)
                ),
                lasted as f64,
            )
        }
        false => (
            format!(
                "Writes do not slow down within {} s: {} per second at first, {} at last.",
                three_digits(seconds),
                three_digits(first),
                three_digits(last)
            ),
            seconds,
        ),
    };
    Some(warning_if(falls, line(TOPIC, "write_burst", statement, value, "s", &[probe])))
}

fn median(seconds: &[Second]) -> f64 {
    let mut rates: Vec<f64> = seconds.iter().map(|second| second.iops).collect();
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Seconds before the rate falls below `level` for two seconds in a row.
fn until_below(series: &[Second], level: f64) -> usize {
    let below = series.windows(2).position(|two| two.iter().all(|second| second.iops < level));
    below.unwrap_or(series.len())
}

fn megabytes_per_op(probe: &Probe) -> f64 {
    probe.mb_per_second.unwrap_or(0.0) / iops(probe)
}
