//! What a sweep over connections tells.

use plimsoll_model::Metric;
use plimsoll_model::scaling::{Scaling, ScalingSample};
use plimsoll_model::summary::Point;
use plimsoll_stats::scaling::scaling;

/// The knee and the fit over the points' connections; `None` for a single load point, and where rates were set: what
/// is carried then is what was offered.
pub fn of(points: &[Point]) -> Option<Scaling> {
    let mut loads: Vec<usize> = points.iter().map(|point| point.load.connections).collect();
    loads.sort_unstable();
    loads.dedup();
    if loads.len() < 2 || points.iter().any(|point| point.load.rate.is_some()) {
        return None;
    }
    let counts_orders = points.iter().any(|point| point.nopm.is_some_and(|nopm| nopm > 0.0));
    let metric = if counts_orders { Metric::Nopm } else { Metric::TransactionsPerSecond };
    let sample = |point: &Point| {
        Some(ScalingSample { load: point.load.connections as f64, throughput: point.estimates.get(metric)?.clone() })
    };
    let samples: Vec<ScalingSample> = points.iter().filter_map(sample).collect();
    Some(scaling(metric, &samples))
}
