//! What a sweep over connections tells.

use plimsoll_model::scaling::{Sample, Scaling};
use plimsoll_model::summary::Point;
use plimsoll_stats::scaling::scaling;

/// The knee and the fit over the points' connections; `None` for a single load point, and where rates were set: what
/// is carried then is what was offered.
pub fn of(points: &[Point]) -> Option<Scaling> {
    let mut loads: Vec<usize> = points.iter().map(|point| point.connections).collect();
    loads.sort_unstable();
    loads.dedup();
    if loads.len() < 2 || points.iter().any(|point| point.rate_offered.is_some()) {
        return None;
    }
    let counts_orders = points.iter().any(|point| point.nopm.is_some_and(|nopm| nopm > 0.0));
    let metric = if counts_orders { "nopm" } else { "transactions_per_second" };
    let sample = |point: &Point| {
        Some(Sample { load: point.connections as f64, throughput: point.estimates.get(metric)?.clone() })
    };
    let samples: Vec<Sample> = points.iter().filter_map(sample).collect();
    Some(scaling(metric, &samples))
}
