//! Drifts, warm-ups and changes of level within a series of one value per second.

use crate::noise::{autoregression, generator};
use crate::table::{Row, Wanted};
use plimsoll_stats::change_points::change_points;
use plimsoll_stats::steady::{Steadiness, TOLERANCE, WarmUpProgress, steadiness, trend, warm_up_end};

/// What the throughput of neighbouring seconds shows on real servers.
const CORRELATIONS: [f64; 3] = [0.2, 0.4, 0.6];
/// Coefficient of variation of the seconds.
const VARIATION: f64 = 0.05;
/// Seconds after which a warm-up has to have ended.
const LIMIT: usize = 120;
/// Seconds that are measured after a warm-up.
const MEASURED: usize = 30;

pub fn rows(simulations: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for correlation in CORRELATIONS {
        for batches in [(5, 4), (8, 4), (20, 8)] {
            rows.extend([0.0, 0.2].map(|change| drift(simulations, batches, correlation, change)));
            rows.push(false_drift(simulations, batches, correlation));
        }
        rows.extend([60, 300].map(|seconds| false_change(simulations, seconds, correlation)));
        rows.push(found_change(simulations, if correlation < 0.5 { 60 } else { 120 }, correlation));
        rows.extend([5.0, 20.0].map(|constant| warm_up(simulations, constant, correlation)));
    }
    rows
}

/// One value per second around a level near 1.
fn throughput(simulation: usize, seconds: usize, correlation: f64, level: impl Fn(usize) -> f64) -> Vec<f64> {
    let row = (1_000.0 * correlation) as u64 + seconds as u64;
    let noise = autoregression(&mut generator(row, simulation), seconds, correlation);
    noise.into_iter().enumerate().map(|(second, off)| level(second) * (1.0 + VARIATION * off)).collect()
}

fn share(simulations: usize, holds: impl Fn(usize) -> bool) -> f64 {
    (0..simulations).filter(|&simulation| holds(simulation)).count() as f64 / simulations as f64
}

fn drift(simulations: usize, (batches, length): (usize, usize), correlation: f64, change: f64) -> Row {
    let seconds = batches * length;
    let level = |second: usize| 1.0 + change * ((second as f64 + 0.5) / seconds as f64 - 0.5);
    let found = (0..simulations).filter_map(|run| trend(&throughput(run, seconds, correlation, level)).ok());
    let intervals: Vec<(f64, f64)> = found.filter_map(|estimate| estimate.interval()).collect();
    let covered = intervals.iter().filter(|(low, high)| (*low..=*high).contains(&change)).count();
    let mut widths: Vec<f64> = intervals.iter().map(|(low, high)| (high - low) / 2.0).collect();
    widths.sort_by(f64::total_cmp);
    Row {
        estimator: "drift of a window",
        situation: format!(
            "{batches} batches of {length} s, drift of {:.0} %, lag-1 autocorrelation {correlation}",
            100.0 * change
        ),
        n: batches,
        share: covered as f64 / simulations as f64,
        wanted: Wanted::INTERVAL,
        half_width: widths.get(widths.len() / 2).copied(),
    }
}

fn false_drift(simulations: usize, (batches, length): (usize, usize), correlation: f64) -> Row {
    let alarm = |simulation| {
        let values = throughput(simulation, batches * length, correlation, |_| 1.0);
        !matches!(steadiness(&values, TOLERANCE), Steadiness::Steady { .. })
    };
    Row {
        estimator: "verdict: drifting",
        situation: format!("steady, {batches} batches of {length} s, lag-1 autocorrelation {correlation}"),
        n: batches,
        share: share(simulations, alarm),
        wanted: Wanted::FALSE_ALARMS,
        half_width: None,
    }
}

fn false_change(simulations: usize, seconds: usize, correlation: f64) -> Row {
    let alarm = |simulation| !change_points(&throughput(simulation, seconds, correlation, |_| 1.0), 0.0).is_empty();
    Row {
        estimator: "change points, any",
        situation: format!("{seconds} s without a change, lag-1 autocorrelation {correlation}"),
        n: seconds,
        share: share(simulations, alarm),
        wanted: Wanted::FALSE_ALARMS,
        half_width: None,
    }
}

/// With an autocorrelation of 0.6, 60 s show such a change in 4 of 5 cases only.
fn found_change(simulations: usize, seconds: usize, correlation: f64) -> Row {
    let middle = seconds / 2;
    let found = |simulation| {
        let level = |second| if second < middle { 1.0 } else { 0.8 };
        let changes = change_points(&throughput(simulation, seconds, correlation, level), TOLERANCE);
        matches!(changes[..], [change] if change.at.abs_diff(middle) <= 3)
    };
    Row {
        estimator: "change points, the one",
        situation: format!("20 % less from the middle of {seconds} s on, ±3 s, lag-1 autocorrelation {correlation}"),
        n: seconds,
        share: share(simulations, found),
        wanted: Wanted::AT_LEAST,
        half_width: None,
    }
}

/// Share of the warm-ups that end in time, and after which the true level of what is then measured is within 2 % of the
/// final one.
fn warm_up(simulations: usize, constant: f64, correlation: f64) -> Row {
    let level = |second: usize| 1.0 - 0.4 * (-(second as f64) / constant).exp();
    let unbiased = |simulation| {
        let values = throughput(simulation, LIMIT, correlation, level);
        let over = |seconds: &usize| matches!(warm_up_end(&values[..*seconds]), WarmUpProgress::Ended { .. });
        let Some(start) = (1..=LIMIT).find(over) else { return false };
        let measured = (start..start + MEASURED).map(level).sum::<f64>() / MEASURED as f64;
        measured >= 0.98
    };
    Row {
        estimator: "end of a warm-up",
        situation: format!(
            "from 60 % with a time constant of {constant} s; the true mean of the next {MEASURED} s is within 2 %; \
             lag-1 autocorrelation {correlation}"
        ),
        n: LIMIT,
        share: share(simulations, unbiased),
        wanted: Wanted::AT_LEAST,
        half_width: None,
    }
}
