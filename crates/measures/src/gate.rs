//! Limits against what was measured.

mod of_lab;

use crate::lab::change_with_interval;
use crate::rounds::over;
pub use of_lab::{gate_places, is_gateable, slower_variants};
use plimsoll_model::Estimate;
use plimsoll_model::comparison::{Difference, Row, unlike_in_words};
use plimsoll_model::gate::{Decision, GateFinding, GateLimit, Limited};
use plimsoll_model::number::{counted, percent, short, tick};
use plimsoll_model::summary::Point;
use plimsoll_model::total;

const NOTHING_MEASURED: &str = "nothing was measured";

/// What was measured in one place: at a load point, of a lab by one variant.
#[derive(Clone, Debug)]
pub struct GatePlace<'a> {
    /// `16 connections`.
    pub at: String,
    /// Every round of it; none if nothing was measured there.
    pub rounds: Vec<&'a Point>,
}

/// Each limit in each place. One fails where there are no samples: nobody knows that it holds.
pub fn judge(limits: &[GateLimit], places: &[GatePlace<'_>]) -> Vec<GateFinding> {
    limits.iter().flat_map(|limit| places.iter().map(move |place| found(limit, place))).collect()
}

fn found(limit: &GateLimit, place: &GatePlace<'_>) -> GateFinding {
    let measured = measured(limit.of, &place.rounds);
    let decision = match &measured {
        Some(measured) => limit.decide(measured.low, measured.high),
        None => Decision::Failed,
    };
    let why = match &measured {
        Some(measured) => format!("{}{}", in_words(limit.of, measured), remedy(decision, measured)),
        None if place.rounds.is_empty() => NOTHING_MEASURED.to_owned(),
        None => "there are no samples".to_owned(),
    };
    GateFinding { limit: limit.text.clone(), at: Some(place.at.clone()), decision, measured, why }
}

/// Whether b is slower than a by more than `limit`, a share, judging by the row that decides between them. It fails only if
/// the whole interval says so, and passes only if the whole of it says that b is not.
pub fn slower(a: &str, b: &str, unlike_work: &[Difference], row: &Row, limit: f64) -> GateFinding {
    let decision = match row.worse_by_more_than(limit) {
        _ if !unlike_work.is_empty() => Decision::Undecided,
        Some(true) => Decision::Failed,
        Some(false) => Decision::Passed,
        None => Decision::Undecided,
    };
    let why = match unlike_work {
        [] => format!("{} {}{}", row.metric.unit(), change_with_interval(&row.change), remedy(decision, &row.change)),
        unlike => format!("they did not do the same work ({})", unlike_in_words(unlike)),
    };
    GateFinding { decision, measured: Some(row.change.clone()), why, ..nothing_measured(a, b, limit) }
}

/// The same of two that no round could compare.
pub fn nothing_measured(a: &str, b: &str, limit: f64) -> GateFinding {
    GateFinding {
        limit: format!("{b} slower than {a} by more than {} %", tick(100.0 * limit)),
        at: None,
        decision: Decision::Failed,
        measured: None,
        why: NOTHING_MEASURED.to_owned(),
    }
}

/// None where a round has no samples, or there is no round.
fn measured(of: Limited, rounds: &[&Point]) -> Option<Estimate> {
    if rounds.is_empty() {
        return None;
    }
    let sum = |of: fn(&Point) -> u64| total(rounds.iter().map(|point| of(point))) as f64;
    let failed = || sum(|point| point.counts.failed);
    match of {
        Limited::Metric(metric) => over(metric, rounds.iter().copied()),
        Limited::Errors => Some(exactly(sum(Point::error_count))),
        Limited::Failed => Some(exactly(failed())),
        Limited::FailedShare => {
            Some(sum(|point| point.counts.started)).filter(|started| *started > 0.0).map(|all| exactly(failed() / all))
        }
    }
}

/// What was counted, and is not the sample of anything.
fn exactly(count: f64) -> Estimate {
    Estimate::new(count, (count, count), 1.0, count, "counted".to_owned())
}

fn in_words(of: Limited, measured: &Estimate) -> String {
    match of {
        Limited::Metric(metric) => format!("{} {}{}", short(measured.value), metric.unit(), ends(measured)),
        Limited::Errors => counted(measured.value, "error"),
        Limited::Failed => format!("{} failed", counted(measured.value, "transaction")),
        Limited::FailedShare => format!("{} of the transactions failed", percent(measured.value)),
    }
}

/// ` (95 % interval 24.0 – 26.5)`, or what is known of it.
fn ends(measured: &Estimate) -> String {
    match (measured.low, measured.high) {
        (Some(low), Some(high)) => format!(" (95 % interval {} – {})", short(low), short(high)),
        (Some(low), None) => format!(" (at least {})", short(low)),
        (None, Some(high)) => format!(" (at most {})", short(high)),
        (None, None) => String::new(),
    }
}

/// What would decide it.
fn remedy(decision: Decision, measured: &Estimate) -> String {
    match (decision, &measured.missing) {
        (Decision::Undecided, Some(missing)) => format!("; {missing}"),
        (Decision::Undecided, None) => "; more rounds, or a quieter machine, would narrow it".to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Metric;
    use plimsoll_model::comparison::Verdict;
    use plimsoll_model::gate::Beyond;
    use plimsoll_model::metric::Statistic;
    use plimsoll_model::summary::{Counts, LatencyMs};

    fn limit(of: Limited, beyond: Beyond, value: f64) -> GateLimit {
        GateLimit { text: "limit".to_owned(), of, beyond, value }
    }

    fn point(tps: f64, p99: f64) -> Point {
        Point {
            transactions_per_second: Some(tps),
            latency_ms: LatencyMs { p99: Some(p99), ..LatencyMs::default() },
            counts: Counts { started: 200, failed: 3, ..Counts::default() },
            errors: [(1213, 4)].into(),
            lost_connections: 1,
            ..Point::default()
        }
    }

    fn one(limit: &GateLimit, rounds: &[&Point]) -> GateFinding {
        let place = GatePlace { at: "16 connections".to_owned(), rounds: rounds.to_vec() };
        judge(std::slice::from_ref(limit), &[place]).remove(0)
    }

    #[test]
    fn one_round_is_judged_by_its_own_interval() {
        let mut point = point(1000.0, 25.0);
        let estimate = Estimate::new(25.0, (24.0, 26.5), 0.95, 8.0, "8 batches".to_owned());
        point.estimates.insert(Metric::Latency(Statistic::P99), estimate);
        let above = |value| one(&limit(Limited::Metric(Metric::P99), Beyond::Above, value), &[&point]);
        assert_eq!(above(20.0).decision, Decision::Failed);
        assert_eq!(above(30.0).decision, Decision::Passed);
        let open = above(25.0);
        assert_eq!(
            open.sentence(),
            "gate undecided: limit at 16 connections: 25.0 ms at the 99th percentile (95 % interval 24.0 – 26.5); \
             more rounds, or a quieter machine, would narrow it"
        );
    }

    #[test]
    fn several_rounds_are_judged_by_what_they_differ() {
        let below = limit(Limited::Metric(Metric::TransactionsPerSecond), Beyond::Below, 1000.0);
        let rounds = [point(900.0, 1.0), point(905.0, 1.0), point(895.0, 1.0)];
        let all: Vec<&Point> = rounds.iter().collect();
        assert_eq!(one(&below, &all).decision, Decision::Failed);
        let two = one(&below, &all[..2]);
        assert_eq!(two.decision, Decision::Undecided, "{two:?}");
        assert!(two.why.contains("2 rounds cannot have an interval; 3 can"), "{two:?}");
    }

    #[test]
    fn what_is_counted_is_exact_and_added_over_rounds() {
        let rounds = [point(900.0, 1.0), point(905.0, 1.0)];
        let all: Vec<&Point> = rounds.iter().collect();
        let above = |of, value| one(&limit(of, Beyond::Above, value), &all);
        assert_eq!(above(Limited::Errors, 10.0).decision, Decision::Passed);
        assert_eq!(above(Limited::Errors, 9.0).sentence(), "gate failed: limit at 16 connections: 10 errors");
        assert_eq!(above(Limited::Failed, 5.0).why, "6 transactions failed");
        let share = above(Limited::FailedShare, 0.01);
        assert_eq!((share.decision, share.why.as_str()), (Decision::Failed, "1.5 % of the transactions failed"));
    }

    #[test]
    fn without_samples_it_fails() {
        let above = limit(Limited::Metric(Metric::P99), Beyond::Above, 20.0);
        assert_eq!(one(&above, &[]).sentence(), "gate failed: limit at 16 connections: nothing was measured");
        let nothing = Point::default();
        let found = one(&above, &[&nothing, &point(1.0, 1.0)]);
        assert_eq!((found.decision, found.why.as_str()), (Decision::Failed, "there are no samples"));
        let none_started = one(&limit(Limited::FailedShare, Beyond::Above, 0.01), &[&nothing]);
        assert_eq!(none_started.decision, Decision::Failed);
    }

    fn compared(metric: Metric, change: f64, interval: Option<(f64, f64)>) -> Row {
        let change = match interval {
            Some(ends) => Estimate::new(change, ends, 0.95, 5.0, "5 pairs".to_owned()),
            None => {
                Estimate::bare(change, 1.0, "1 pair".to_owned(), "1 pair cannot have an interval; 3 can".to_owned())
            }
        };
        let verdict = Verdict::Unclear;
        Row { load: None, metric, a: 1.0, b: 1.0 + change.value, change, verdict, detectable: None, pairs_needed: None }
    }

    #[test]
    fn slower_is_only_what_the_whole_interval_says_is_slower() {
        let decided = |row: &Row, limit| slower("base", "new", &[], row, limit);
        let row = compared(Metric::TransactionsPerSecond, -0.152, Some((-0.174, -0.129)));
        let failed = decided(&row, 0.05);
        assert_eq!(
            failed.sentence(),
            "gate failed: new slower than base by more than 5 %: transactions per second −15.2 % (95 % interval −17.4 % to \
             −12.9 %)"
        );
        assert_eq!((failed.decision, decided(&row, 0.4).decision), (Decision::Failed, Decision::Passed));
        let longer = compared(Metric::P99, 0.2, Some((0.15, 0.25)));
        let limits = [0.1, 0.2, 0.3].map(|limit| decided(&longer, limit).decision);
        assert_eq!(limits, [Decision::Failed, Decision::Undecided, Decision::Passed]);
        let faster = compared(Metric::TransactionsPerSecond, 0.12, Some((0.1, 0.14)));
        assert_eq!(decided(&faster, 0.05).decision, Decision::Passed);
    }

    #[test]
    fn what_nobody_knows_is_undecided() {
        let wide = compared(Metric::TransactionsPerSecond, -0.05, Some((-0.58, 0.53)));
        let wide = slower("base", "new", &[], &wide, 0.05);
        assert!(wide.why.ends_with("; more rounds, or a quieter machine, would narrow it"), "{wide:?}");
        let once = slower("base", "new", &[], &compared(Metric::Nopm, -0.5, None), 0.05);
        assert!(once.why.ends_with("; 1 pair cannot have an interval; 3 can"), "{once:?}");
        let (a, b) = (Some("100000".to_owned()), Some("250000".to_owned()));
        let unlike = [Difference { what: "table_size".to_owned(), a, b }];
        let certain = compared(Metric::TransactionsPerSecond, -0.152, Some((-0.174, -0.129)));
        let other = slower("base", "new", &unlike, &certain, 0.05);
        assert_eq!(other.why, "they did not do the same work (table_size 100000 and 250000)");
        assert_eq!([wide.decision, once.decision, other.decision], [Decision::Undecided; 3]);
    }
}
