//! Whether a trial kept an objective.

use plimsoll_model::summary::{LatencyMs, Point};
use plimsoll_plan::lab::Objective;
use plimsoll_stats::search::Outcome;

/// [`plimsoll_stats::search::Objective::judge`] of what a trial left: percentiles, not the histogram. Percentiles that
/// are not among these are interpolated.
///
/// An arrival that was dropped has no response time, and a transaction that failed has one that means nothing; both
/// count as answered too late. One dropped arrival does not miss the objective by itself: those that wait when the
/// window ends are dropped too, and with Poisson arrivals some wait at any load.
pub fn judge(point: &Point, objective: &Objective) -> Outcome {
    let Some(responses) = point.response_ms else { return Outcome::Missed };
    let late = point.counts.dropped.saturating_add(point.counts.failed) as f64;
    let ended = point.transactions.saturating_add(point.rollbacks) as f64;
    let within = share_within(&responses, objective.limit_ms);
    // Rounding must not miss what lies exactly at the limit.
    let wanted = objective.quantile * (1.0 - f64::EPSILON);
    let kept = point.transactions > 0 && within * ended >= wanted * (ended + late);
    if kept { Outcome::Kept } else { Outcome::Missed }
}

/// Share of all response times that is at most `limit_ms`, 0 to 1: straight lines between the percentiles.
fn share_within(responses: &LatencyMs, limit_ms: f64) -> f64 {
    let LatencyMs { min, p50, p90, p95, p99, p999, max, .. } = *responses;
    let known = [(0.0, min), (0.5, p50), (0.9, p90), (0.95, p95), (0.99, p99), (0.999, p999), (1.0, max)];
    let mut reached = (0.0, 0.0);
    for (share, ms) in known.into_iter().filter_map(|(share, ms)| Some((share, ms?))) {
        if ms > limit_ms {
            let (below, from) = reached;
            return below + (share - below) * (limit_ms - from) / (ms - from);
        }
        reached = (share, ms);
    }
    reached.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::summary::Counts;

    fn objective(quantile: f64, limit_ms: f64) -> Objective {
        Objective { text: String::new(), quantile, limit_ms }
    }

    fn point(dropped: u64, failed: u64) -> Point {
        let response_ms = LatencyMs {
            min: Some(1.0),
            p50: Some(4.0),
            p90: Some(8.0),
            p95: Some(10.0),
            p99: Some(20.0),
            p999: Some(29.0),
            max: Some(40.0),
            ..LatencyMs::default()
        };
        let counts = Counts { dropped, failed, ..Counts::default() };
        Point { transactions: 10_000, response_ms: Some(response_ms), counts, ..Point::default() }
    }

    #[test]
    fn an_objective_is_kept_up_to_its_limit() {
        assert_eq!(judge(&point(0, 0), &objective(0.99, 20.0)), Outcome::Kept);
        assert_eq!(judge(&point(0, 0), &objective(0.99, 19.99)), Outcome::Missed);
        assert_eq!(judge(&point(0, 0), &objective(0.5, 4.0)), Outcome::Kept);
        assert_eq!(judge(&point(0, 0), &objective(1.0, 40.0)), Outcome::Kept);
        assert_eq!(judge(&point(0, 0), &objective(1.0, 39.0)), Outcome::Missed);
        assert_eq!(judge(&point(0, 0), &objective(0.98, 17.6)), Outcome::Kept, "a quarter below p99");
        assert_eq!(judge(&point(0, 0), &objective(0.98, 17.4)), Outcome::Missed);
    }

    #[test]
    fn what_was_not_answered_was_not_answered_in_time() {
        // 99.2 % of 10,000 are within 22 ms: room for 20 others.
        assert_eq!(judge(&point(20, 0), &objective(0.99, 22.0)), Outcome::Kept);
        assert_eq!(judge(&point(21, 0), &objective(0.99, 22.0)), Outcome::Missed);
        assert_eq!(judge(&point(10, 11), &objective(0.99, 22.0)), Outcome::Missed);
        assert_eq!(judge(&point(1, 0), &objective(0.99, 20.0)), Outcome::Missed);
    }

    #[test]
    fn without_samples_it_is_missed() {
        assert_eq!(judge(&Point { response_ms: None, ..point(0, 0) }, &objective(0.5, 1e9)), Outcome::Missed);
        assert_eq!(judge(&Point { transactions: 0, ..point(0, 0) }, &objective(0.5, 1e9)), Outcome::Missed);
        let empty = Point { response_ms: Some(LatencyMs::default()), ..point(0, 0) };
        assert_eq!(judge(&empty, &objective(0.5, 1e9)), Outcome::Missed);
    }
}
