//! Whether a trial met an objective.

use plimsoll_model::summary::{LatencyMs, Point};
use plimsoll_plan::lab::Objective;
use plimsoll_stats::search::SearchOutcome;

/// What a share of all arrivals of a trial, 0 to 1, did not exceed, milliseconds: straight lines between the recorded
/// percentiles. `None` if so many arrivals were not answered that there is none.
///
/// A dropped arrival has no response time, and a failed transaction has one that means nothing; both count as answered
/// later than anything else. One dropped arrival does not miss an objective by itself: those that wait when the window
/// ends are dropped, too, and with Poisson arrivals some wait at any load.
pub fn reached_ms(point: &Point, quantile: f64) -> Option<f64> {
    let late = point.counts.dropped.saturating_add(point.counts.failed);
    let ended = point.transactions.saturating_add(point.rollbacks);
    // A closed loop has no due times.
    let responses = point.response_ms.or(point.load.rate.is_none().then_some(point.latency_ms));
    let responses = responses.filter(|_| point.transactions > 0)?;
    of_all_arrivals(&responses, ended, late, quantile)
}

/// What a share of all arrivals, 0 to 1, did not exceed, milliseconds, where so many were answered within `responses` and
/// the others are later than any of those; `None` if they are too many.
pub fn of_all_arrivals(responses: &LatencyMs, answered: u64, unanswered: u64, quantile: f64) -> Option<f64> {
    percentile(responses, quantile * (answered as f64 + unanswered as f64) / answered as f64)
}

/// Whether a trial met the objective, as in [`plimsoll_stats::search::SearchObjective::judge`].
pub fn judge(point: &Point, objective: &Objective) -> SearchOutcome {
    let kept = reached_ms(point, objective.quantile).is_some_and(|ms| ms <= objective.limit_ms);
    if kept { SearchOutcome::Kept } else { SearchOutcome::Missed }
}

/// What a share of all response times, 0 to 1, does not exceed.
fn percentile(responses: &LatencyMs, wanted: f64) -> Option<f64> {
    // Rounding must not ask for more than what is known exactly.
    let wanted = wanted * (1.0 - 2.0 * f64::EPSILON);
    let mut reached = (0.0, 0.0);
    for (share, ms) in responses.known().into_iter().filter_map(|(share, ms)| Some((share, ms?))) {
        if wanted <= share {
            let (below, from) = reached;
            let part = if share > below { (wanted - below) / (share - below) } else { 1.0 };
            // Rounding must not exceed the end of the line.
            return Some((from + (ms - from) * part).min(ms));
        }
        reached = (share, ms);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::LoadPoint;
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
        assert_eq!(judge(&point(0, 0), &objective(0.99, 20.0)), SearchOutcome::Kept);
        assert_eq!(judge(&point(0, 0), &objective(0.99, 19.99)), SearchOutcome::Missed);
        assert_eq!(judge(&point(0, 0), &objective(0.5, 4.0)), SearchOutcome::Kept);
        assert_eq!(judge(&point(0, 0), &objective(1.0, 40.0)), SearchOutcome::Kept);
        assert_eq!(judge(&point(0, 0), &objective(1.0, 39.0)), SearchOutcome::Missed);
        assert_eq!(judge(&point(0, 0), &objective(0.98, 17.6)), SearchOutcome::Kept, "a quarter below p99");
        assert_eq!(judge(&point(0, 0), &objective(0.98, 17.4)), SearchOutcome::Missed);
    }

    #[test]
    fn what_was_not_answered_was_not_answered_in_time() {
        // 99.2 % of 10,000 are within 22 ms: room for 20 others.
        assert_eq!(judge(&point(20, 0), &objective(0.99, 22.0)), SearchOutcome::Kept);
        assert_eq!(judge(&point(21, 0), &objective(0.99, 22.0)), SearchOutcome::Missed);
        assert_eq!(judge(&point(10, 11), &objective(0.99, 22.0)), SearchOutcome::Missed);
        assert_eq!(judge(&point(1, 0), &objective(0.99, 20.0)), SearchOutcome::Missed);
    }

    #[test]
    fn a_closed_loop_has_no_due_times() {
        let latency_ms = point(0, 0).response_ms.unwrap();
        let closed = Point { response_ms: None, latency_ms, ..point(0, 0) };
        assert_eq!(judge(&closed, &objective(0.99, 20.0)), SearchOutcome::Kept);
        assert_eq!(judge(&closed, &objective(0.99, 19.99)), SearchOutcome::Missed);
        let open = Point { load: LoadPoint { connections: 8, rate: Some(100.0) }, ..closed };
        assert_eq!(judge(&open, &objective(0.99, 20.0)), SearchOutcome::Missed, "nothing was answered");
    }

    #[test]
    fn without_samples_it_is_missed() {
        assert_eq!(judge(&Point { response_ms: None, ..point(0, 0) }, &objective(0.5, 1e9)), SearchOutcome::Missed);
        assert_eq!(judge(&Point { transactions: 0, ..point(0, 0) }, &objective(0.5, 1e9)), SearchOutcome::Missed);
        let empty = Point { response_ms: Some(LatencyMs::default()), ..point(0, 0) };
        assert_eq!(judge(&empty, &objective(0.5, 1e9)), SearchOutcome::Missed);
    }
}
