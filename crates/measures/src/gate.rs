//! Limits against what was measured.

mod of_lab;

use crate::lab::change_with_interval;
use crate::rounds::over;
pub use of_lab::{gate_places, is_gateable, slower_variants};
use plimsoll_model::Estimate;
use plimsoll_model::Metric;
use plimsoll_model::comparison::{Difference, Row, Verdict, unlike_in_words};
use plimsoll_model::gate::{Decision, GateFinding, GateLimit, Limited};
use plimsoll_model::number::{counted, number, percent, short, tick};
use plimsoll_model::stopping::{CarriedOver, MAY_BE_CARRIED_OVER};
use plimsoll_model::summary::Point;
use plimsoll_model::total;

const NOTHING_MEASURED: &str = "nothing was measured";
/// So many deviations from its mean a normal variable is beyond in 1 of 20 cases.
const TWO_SIDED: f64 = 1.96;

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
    let unanswered = Unanswered::of(limit.of, &place.rounds);
    let by_samples = measured.as_ref().map_or(Decision::Failed, |measured| limit.decide(measured.low, measured.high));
    let decision = match &unanswered {
        Some(unanswered) if by_samples != Decision::Failed => unanswered.decision(),
        _ => by_samples,
    };
    let why = match &measured {
        Some(measured) if decision != by_samples || decision == Decision::Failed && unanswered.is_some() => {
            let unanswered = unanswered.map(|unanswered| unanswered.in_words()).unwrap_or_default();
            format!("{}{unanswered}", in_words(limit.of, measured))
        }
        Some(measured) => format!("{}{}", in_words(limit.of, measured), remedy(decision, measured)),
        None if place.rounds.is_empty() => NOTHING_MEASURED.to_owned(),
        None => "there are no samples".to_owned(),
    };
    GateFinding { limit: limit.text.clone(), at: Some(place.at.clone()), decision, measured, why }
}

/// Arrivals at a set rate that were not answered, where they are more than may be later than a percentile: they count as
/// answered later than any limit.
struct Unanswered {
    lost: f64,
    offered: f64,
    /// How many may be later.
    most: f64,
}

impl Unanswered {
    fn of(of: Limited, rounds: &[&Point]) -> Option<Unanswered> {
        let Limited::Metric(Metric::Time(statistic)) = of else { return None };
        let later = 1.0 - statistic.quantile()?;
        let sum = |of: fn(&Point) -> u64| {
            total(rounds.iter().filter(|point| point.load.rate.is_some()).map(|point| of(point))) as f64
        };
        let lost = sum(|point| point.counts.dropped.saturating_add(point.counts.failed));
        let offered = sum(|point| point.counts.offered);
        Some(Unanswered { lost, offered, most: later * offered }).filter(|found| found.lost > found.most)
    }

    /// It fails if they are more than that by more than chance: some wait at the end of a window at any load.
    fn decision(&self) -> Decision {
        if self.lost - TWO_SIDED * self.lost.sqrt() > self.most { Decision::Failed } else { Decision::Undecided }
    }

    /// `, but 600 of 5,000 arrivals were not answered`.
    fn in_words(&self) -> String {
        format!(", but {} of {} arrivals were not answered", number(self.lost, 0), number(self.offered, 0))
    }
}

/// Whether b is slower than a by more than `limit`, a share, judging by the row that decides between them. It fails only if
/// the whole interval says so, and passes only if the whole of it says that b is not, and nothing larger hides behind what
/// flips of a running server carried over.
pub fn slower(
    a: &str,
    b: &str,
    unlike_work: &[Difference],
    row: &Row,
    carried: Option<&CarriedOver>,
    limit: f64,
) -> GateFinding {
    // A change that was found is larger than what is carried over, or it would have no verdict.
    let is_found = matches!(row.verdict, Verdict::Higher | Verdict::Lower);
    let is_hidden = !is_found && carried.is_some_and(|of| of.hides_more_than(limit));
    let worse = row.worse_by_more_than(limit);
    let decision = match worse {
        _ if !unlike_work.is_empty() => Decision::Undecided,
        Some(false) if is_hidden => Decision::Undecided,
        Some(true) => Decision::Failed,
        Some(false) => Decision::Passed,
        None => Decision::Undecided,
    };
    let remedy = match worse {
        Some(false) if is_hidden => format!("; {MAY_BE_CARRIED_OVER}"),
        _ => remedy(decision, &row.change),
    };
    let why = match unlike_work {
        [] => format!("{} {}{remedy}", row.metric.unit(), change_with_interval(&row.change)),
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
    use plimsoll_model::LoadPoint;
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
    fn what_was_not_answered_at_a_set_rate_is_later_than_any_limit() {
        let judged = |dropped, failed, rate: Option<f64>| {
            let mut point = point(100.0, 4.0);
            point.load = LoadPoint { connections: 8, rate };
            point.counts = Counts { offered: 5000, started: 5000, dropped, failed, ..Counts::default() };
            let estimate = Estimate::new(4.0, (3.8, 4.2), 0.95, 8.0, "8 batches".to_owned());
            point.response_ms = rate.map(|_| point.latency_ms);
            point.estimates.insert(Metric::Latency(Statistic::P99), estimate.clone());
            point.estimates.insert(Metric::Response(Statistic::P99), estimate);
            one(&limit(Limited::Metric(Metric::P99), Beyond::Above, 20.0), &[&point])
        };
        let stalled = judged(400, 200, Some(100.0));
        assert_eq!(stalled.decision, Decision::Failed, "{stalled:?}");
        assert!(stalled.why.ends_with(", but 600 of 5,000 arrivals were not answered"), "{stalled:?}");
        assert_eq!(judged(55, 0, Some(100.0)).decision, Decision::Undecided, "1 % may be late, by chance more");
        assert_eq!(judged(50, 0, Some(100.0)).decision, Decision::Passed);
        assert_eq!(judged(400, 200, None).decision, Decision::Passed, "a closed loop has no arrivals");
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
        let decided = |row: &Row, limit| slower("base", "new", &[], row, None, limit);
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
        let wide = slower("base", "new", &[], &wide, None, 0.05);
        assert!(wide.why.ends_with("; more rounds, or a quieter machine, would narrow it"), "{wide:?}");
        let once = slower("base", "new", &[], &compared(Metric::Nopm, -0.5, None), None, 0.05);
        assert!(once.why.ends_with("; 1 pair cannot have an interval; 3 can"), "{once:?}");
        let (a, b) = (Some("100000".to_owned()), Some("250000".to_owned()));
        let unlike = [Difference { what: "table_size".to_owned(), a, b }];
        let certain = compared(Metric::TransactionsPerSecond, -0.152, Some((-0.174, -0.129)));
        let other = slower("base", "new", &unlike, &certain, None, 0.05);
        assert_eq!(other.why, "they did not do the same work (table_size 100000 and 250000)");
        assert_eq!([wide.decision, once.decision, other.decision], [Decision::Undecided; 3]);
    }

    #[test]
    fn what_flips_carried_over_may_hide_what_is_slower() {
        let row = compared(Metric::TransactionsPerSecond, -0.01, Some((-0.035, 0.015)));
        let carried = |share: f64, restarted| {
            let carried = Estimate::new(share, (share - 0.02, share + 0.02), 0.95, 5.0, "5 rounds".to_owned());
            CarriedOver { carried, restarted }
        };
        let judged = |row: &Row, carried: &CarriedOver| slower("base", "new", &[], row, Some(carried), 0.05);
        let hidden = judged(&row, &carried(0.13, false));
        assert_eq!(hidden.decision, Decision::Undecided, "{hidden:?}");
        assert!(hidden.why.ends_with(&format!("; {MAY_BE_CARRIED_OVER}")), "{hidden:?}");
        assert_eq!(judged(&row, &carried(-0.13, false)).decision, Decision::Undecided);
        assert_eq!(judged(&row, &carried(0.04, false)).decision, Decision::Passed, "no more than the limit");
        assert_eq!(judged(&row, &carried(0.13, true)).decision, Decision::Passed, "the rounds are those of restarts");
        let faster = compared(Metric::TransactionsPerSecond, 0.4, Some((0.35, 0.45)));
        let faster = Row { verdict: Verdict::Higher, ..faster };
        assert_eq!(judged(&faster, &carried(0.13, false)).decision, Decision::Passed, "much more than is carried over");
    }
}
