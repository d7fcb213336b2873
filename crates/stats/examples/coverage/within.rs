use crate::noise::{autoregression, generator, normal};
use crate::table::{Row, Wanted};
use fastrand::Rng;
use plimsoll_model::Estimate;
use plimsoll_stats::batch_means::{Piece, ratio};
use plimsoll_stats::latency::new_histogram;
use plimsoll_stats::percentile::Clusters;
use plimsoll_stats::stalls::{IntervalProgress, StallStretch, stalls};
use std::ops::Range;

/// Batches and seconds of a window; the first is the shortest that has an interval, and the default.
const WINDOWS: [(usize, usize); 4] = [(3, 10), (5, 20), (8, 64), (20, 320)];
/// Coefficient of variation of the throughput of a second.
const VARIATION: f64 = 0.13;

/// What is estimated within one trial.
pub fn rows(simulations: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for window in WINDOWS {
        rows.extend([0.2, 0.4, 0.6].map(|correlation| mean(simulations, window, correlation)));
    }
    rows.extend(WINDOWS.map(|window| latency_mean(simulations, window)));
    for window in WINDOWS {
        rows.extend([0.2, 0.6].map(|correlation| percentiles(simulations, window, correlation)).concat());
    }
    rows.extend([1.0, 5.0].map(|rate| false_stalls(simulations, rate)));
    rows.push(found_stall(simulations));
    rows
}

fn mean(simulations: usize, window: (usize, usize), correlation: f64) -> Row {
    let estimates = (0..simulations).map(|simulation| {
        let levels = autoregression(&mut generator(1, simulation), window.1, correlation);
        let second = |level| Piece { numerator: 1.0 + VARIATION * level, denominator: 1.0 };
        ratio(&levels.into_iter().map(second).collect::<Vec<_>>()).ok()
    });
    let row = Covered::of(estimates, 1.0);
    row.row("mean of a window", described(window, correlation), window.0, Wanted::INTERVAL)
}

/// Both the number of transactions and their latency vary from second to second; the last is only part of one.
fn latency_mean(simulations: usize, window: (usize, usize)) -> Row {
    let estimates = (0..simulations).map(|simulation| {
        let rng = &mut generator(2, simulation);
        let (counts, latencies) = (autoregression(rng, window.1, 0.6), autoregression(rng, window.1, 0.6));
        let second = |(count, latency): (&f64, &f64)| {
            let denominator = 1.0 + VARIATION * count;
            Piece { numerator: denominator * (1.0 + VARIATION * latency), denominator }
        };
        let mut pieces: Vec<Piece> = counts.iter().zip(&latencies).map(second).collect();
        if let Some(last) = pieces.last_mut() {
            *last = Piece { numerator: 0.4 * last.numerator, denominator: 0.4 * last.denominator };
        }
        ratio(&pieces).ok()
    });
    let situation = format!("{}, partial last second", described(window, 0.6));
    Covered::of(estimates, 1.0).row("mean latency", situation, window.0, Wanted::INTERVAL)
}

/// Name, share of the values, and the standard normal value that as large a share does not exceed.
const PERCENTILES: [(&str, f64, f64); 3] =
    [("50th percentile", 0.5, 0.0), ("95th percentile", 0.95, 1.644_854), ("99th percentile", 0.99, 2.326_348)];
const MEDIAN_NS: f64 = 200_000.0;
/// Standard deviations of the logarithm of latencies within a second, and of their medians from second to second.
const WITHIN: f64 = 0.5;
const BETWEEN: f64 = 0.15;
/// Values in a window.
const VALUES: usize = 4_000;

fn percentiles(simulations: usize, window: (usize, usize), correlation: f64) -> Vec<Row> {
    let estimated = |simulation| {
        let clusters = latencies(&mut generator(3, simulation), window.1, correlation);
        PERCENTILES.map(|(_, quantile, _)| clusters.percentile(quantile).ok())
    };
    let all: Vec<_> = (0..simulations).map(estimated).collect();
    let row = |(index, (name, _, normal)): (usize, (&'static str, f64, f64))| {
        let truth = MEDIAN_NS * (WITHIN.hypot(BETWEEN) * normal).exp();
        let covered = Covered::of(all.iter().map(|estimates| estimates[index].clone()), truth);
        covered.row(name, described(window, correlation), window.0, Wanted::AT_LEAST)
    };
    PERCENTILES.into_iter().enumerate().map(row).collect()
}

/// Lognormal latencies whose median varies from second to second.
fn latencies(rng: &mut Rng, seconds: usize, correlation: f64) -> Clusters {
    let mut clusters = Clusters::default();
    let mut second = new_histogram();
    for level in autoregression(rng, seconds, correlation) {
        second.reset();
        for _ in 0..VALUES / seconds {
            let ns = MEDIAN_NS * (BETWEEN * level + WITHIN * normal(rng)).exp();
            second.saturating_record(ns as u64);
        }
        clusters.add(&second);
    }
    clusters
}

/// Seconds that transactions take where stalls are sought.
const LONGEST: f64 = 0.1;

fn false_stalls(simulations: usize, rate: f64) -> Row {
    let alarms = (0..simulations).filter(|&simulation| {
        let progress = completions(&mut generator(4, simulation), rate, 0.0..0.0);
        !stalls(&progress).is_empty()
    });
    Row {
        estimator: "stall",
        situation: format!("60 s without stalls, {rate} completions/s by chance"),
        n: 60,
        share: alarms.count() as f64 / simulations as f64,
        wanted: Wanted::RARELY,
        half_width: None,
    }
}

/// It is as long as the completions around it are apart.
fn found_stall(simulations: usize) -> Row {
    const RATE: f64 = 100.0;
    let found = (0..simulations).filter(|&simulation| {
        let rng = &mut generator(5, simulation);
        let start = 55.0 * rng.f64();
        let progress = completions(rng, RATE, start..start + 5.0);
        let near = |stall: &StallStretch| (stall.start - start).abs() <= 0.2 && (5.0..=5.4).contains(&stall.seconds);
        matches!(&stalls(&progress)[..], [stall] if near(stall))
    });
    Row {
        estimator: "stall",
        situation: format!("a stall of 5 s in 60 s, {RATE} completions/s by chance"),
        n: 60,
        share: found.count() as f64 / simulations as f64,
        wanted: Wanted::AT_LEAST,
        half_width: None,
    }
}

/// A minute of completions that come by chance, but for `silence`, counted each second.
fn completions(rng: &mut Rng, rate: f64, silence: Range<f64>) -> Vec<IntervalProgress> {
    let mut progress = vec![IntervalProgress { seconds: 1.0, usual: LONGEST, ..IntervalProgress::default() }; 60];
    let mut at = 0.0;
    loop {
        at -= (1.0 - rng.f64()).ln() / rate;
        match progress.get_mut(at as usize) {
            Some(second) if !silence.contains(&at) => {
                let within = at.fract();
                second.completions += 1;
                second.span = Some((second.span.map_or(within, |(first, _)| first), within));
            }
            Some(_) => (),
            None => break progress,
        }
    }
}

fn described((batches, seconds): (usize, usize), correlation: f64) -> String {
    format!("{seconds} s in {batches} batches, lag-1 autocorrelation {correlation}")
}

/// How often an interval contained the truth.
struct Covered {
    share: f64,
    half_width: Option<f64>,
}

impl Covered {
    /// An end that is not there does not exclude anything; no estimate contains nothing.
    fn of(estimates: impl ExactSizeIterator<Item = Option<Estimate>>, truth: f64) -> Covered {
        let simulations = estimates.len() as f64;
        let estimates: Vec<Estimate> = estimates.flatten().collect();
        let contains = |estimate: &&Estimate| {
            estimate.low.is_none_or(|low| low <= truth) && estimate.high.is_none_or(|high| truth <= high)
        };
        let share = estimates.iter().filter(contains).count() as f64 / simulations;
        let mut widths: Vec<f64> =
            estimates.iter().map(|estimate| estimate.half_width().unwrap_or(f64::INFINITY)).collect();
        widths.sort_by(f64::total_cmp);
        let half_width = widths.get(widths.len() / 2).map(|width| width / truth).filter(|width| width.is_finite());
        Covered { share, half_width }
    }

    fn row(self, estimator: &'static str, situation: String, n: usize, wanted: Wanted) -> Row {
        Row { estimator, situation, n, share: self.share, wanted, half_width: self.half_width }
    }
}
