//! The recordings of a name over time: where their level changed.

use crate::rounds::over;
use plimsoll_model::lab::{Cell, LabSummary};
use plimsoll_model::summary::{Point, Summary};
use plimsoll_model::trend::{LevelChange, SCHEMA_VERSION, Trend, TrendLine, TrendRecording};
use plimsoll_model::{Estimate, Metric};
use plimsoll_stats::levels::{fewest, levels};

/// In so many of all trends without a change one is told, whatever the number of lines.
const FALSE_ALARMS: f64 = 0.02;
/// Smaller changes are not told, as a share.
const SMALLEST: f64 = 0.01;

/// A recording and what it measured: place, metric and number.
pub struct TrendPoint {
    pub recording: TrendRecording,
    pub measured: Vec<(String, Metric, Estimate)>,
}

/// What the load points of a run measured.
pub fn of_run(summary: &Summary) -> Vec<(String, Metric, Estimate)> {
    let of_point = |point: &Point| {
        let rate = match (point.load.rate, point.nopm) {
            (Some(_), _) => None,
            (None, Some(nopm)) if nopm > 0.0 => Some(Metric::Nopm),
            (None, _) => Some(Metric::TransactionsPerSecond),
        };
        let told = |metric: Metric| Some((point.load.to_string(), metric, over(metric, [point])?));
        rate.into_iter().chain([Metric::P99]).filter_map(told).collect::<Vec<_>>()
    };
    summary.points.iter().flat_map(of_point).collect()
}

/// What the variants of a lab measured.
pub fn of_lab(summary: &LabSummary) -> Vec<(String, Metric, Estimate)> {
    let of_cell = |cell: &Cell| {
        let at = format!("{} at {}", cell.variant, cell.load);
        let rate = match (cell.load.rate, &cell.nopm) {
            (Some(_), _) => None,
            (None, Some(nopm)) => Some((Metric::Nopm, nopm.clone())),
            (None, None) => cell.transactions_per_second.clone().map(|rate| (Metric::TransactionsPerSecond, rate)),
        };
        let p99 = cell.p99_ms.clone().map(|p99| (Metric::P99, p99));
        rate.into_iter().chain(p99).map(move |(metric, estimate)| (at.clone(), metric, estimate)).collect::<Vec<_>>()
    };
    summary.cells.iter().flat_map(of_cell).collect()
}

/// All lines of the recordings, which are in the order of time, and where each changes its level. A change needs three
/// recordings on either side ([`levels`]).
pub fn trend(name: &str, points: Vec<TrendPoint>, left_out: Vec<String>) -> Trend {
    let mut places: Vec<(&String, Metric)> = Vec::new();
    for (at, metric, _) in points.iter().flat_map(|point| &point.measured) {
        if !places.contains(&(at, *metric)) {
            places.push((at, *metric));
        }
    }
    let rare = FALSE_ALARMS / places.len().max(1) as f64;
    let line = |(at, metric): &(&String, Metric)| {
        let value = |point: &TrendPoint| {
            let is_it = |(place, of, _): &&(String, Metric, Estimate)| place == *at && of == metric;
            point.measured.iter().find(is_it).map(|(.., estimate)| estimate.clone())
        };
        let values: Vec<Option<Estimate>> = points.iter().map(value).collect();
        TrendLine { at: (*at).clone(), metric: *metric, changes: changes(&values, rare), values }
    };
    let lines = places.iter().map(line).collect();
    let recordings = points.into_iter().map(|point| point.recording).collect();
    Trend { schema_version: SCHEMA_VERSION, name: name.to_owned(), recordings, lines, fewest: fewest(rare), left_out }
}

fn changes(values: &[Option<Estimate>], rare: f64) -> Vec<LevelChange> {
    let known: Vec<(usize, f64)> =
        values.iter().enumerate().filter_map(|(place, value)| Some((place, value.as_ref()?.value))).collect();
    let series: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    levels(&series, SMALLEST, rare)
        .into_iter()
        .map(|change| LevelChange {
            recording: known[change.at].0,
            before: change.before,
            after: change.after,
            p_value: change.p_value,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_load::seed::Rng;

    /// Recordings of a metric that is 1000 until it falls by `drop` at a place. Each value is the mean of `rounds` with
    /// normal noise of 5 %.
    fn recordings(seed: u64, of: usize, rounds: u32, drop: Option<(usize, f64)>) -> Vec<TrendPoint> {
        let mut rng = Rng::new(seed, 1, 1);
        let mut noise = || {
            let (u, v) = (rng.unit().max(f64::MIN_POSITIVE), rng.unit());
            (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
        };
        let value = |place: usize| {
            let level = drop.filter(|(at, _)| place >= *at).map_or(1000.0, |(_, share)| 1000.0 * (1.0 - share));
            level * (1.0 + 0.05 * (0..rounds).map(|_| noise()).sum::<f64>() / f64::from(rounds))
        };
        let values: Vec<f64> = (0..of).map(value).collect();
        let bare = |value| Estimate::bare(value, 1.0, String::new(), String::new());
        let point = |(place, value): (usize, f64)| TrendPoint {
            recording: TrendRecording { id: format!("r{place}"), ..TrendRecording::default() },
            measured: vec![("16 connections".to_owned(), Metric::TransactionsPerSecond, bare(value))],
        };
        values.into_iter().enumerate().map(point).collect()
    }

    /// In how many of 100 seeded series of 30 the fall of 10 % is found within one recording of where it is.
    fn found(rounds: u32) -> usize {
        let is_found = |seed: &u64| {
            let at = 5 + (seed % 21) as usize;
            let trend = trend("nightly", recordings(*seed, 30, rounds, Some((at, 0.1))), Vec::new());
            trend.lines[0].changes.iter().any(|change| change.recording.abs_diff(at) <= 1)
        };
        (1..=100_u64).filter(is_found).count()
    }

    /// Of single values with 5 % noise, the likeliest place is within one of the right one in 86 of 100: nobody can find
    /// more. Means of three have less noise.
    #[test]
    fn a_fall_is_found_where_it_is() {
        let (one, three) = (found(1), found(3));
        assert!(one >= 75, "{one} of 100 with one round each");
        assert!(three >= 90, "{three} of 100 with three rounds each");
    }

    #[test]
    fn without_a_change_there_are_few_false_alarms() {
        let alarm =
            |seed: &u64| !trend("nightly", recordings(*seed, 30, 1, None), Vec::new()).lines[0].changes.is_empty();
        let alarms = (1..=100).filter(alarm).count();
        assert!(alarms <= 5, "{alarms} of 100");
    }

    #[test]
    fn recordings_without_a_value_keep_their_places() {
        let mut points = recordings(1, 30, 50, Some((15, 0.2)));
        points[3].measured.clear();
        points[20].measured.clear();
        let trend = trend("nightly", points, Vec::new());
        let line = &trend.lines[0];
        assert_eq!((line.values.len(), line.values[3].is_none()), (30, true));
        let [change] = line.changes[..] else { panic!("{:?}", line.changes) };
        assert_eq!(change.recording, 15);
        assert!((change.share() + 0.2).abs() < 0.02 && line.is_worse(&change), "{change:?}");
    }

    #[test]
    fn all_lines_together_raise_no_more_alarms() {
        let mut all: Vec<TrendPoint> = recordings(1, 30, 1, None);
        for seed in 2..=20 {
            for (point, other) in all.iter_mut().zip(recordings(seed, 30, 1, None)) {
                let moved = other.measured.into_iter().map(|(_, metric, value)| (format!("at {seed}"), metric, value));
                point.measured.extend(moved);
            }
        }
        let trend = trend("nightly", all, Vec::new());
        assert_eq!(trend.lines.len(), 20);
        assert!(trend.lines.iter().all(|line| line.changes.is_empty()));
    }
}
