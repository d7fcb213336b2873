//! What a trial is judged by.

use crate::judge::reached_ms;
use plimsoll_model::Estimate;
use plimsoll_model::LoadPoint;
use plimsoll_model::Metric;
use plimsoll_model::lab::{TrialOutcome, TrialStatus};
use plimsoll_model::summary::Point;
use plimsoll_stats::comparison::paired;

/// One number of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    Of(Metric),
    /// Share of what was offered that was neither dropped nor failed.
    Answered,
    RecoverySeconds,
}

impl Quantity {
    /// For a trial that is done, and only if it is above 0: anything else has no ratio.
    pub fn value(self, outcome: &TrialOutcome) -> Option<f64> {
        let point = outcome.point.as_ref().filter(|_| outcome.status == TrialStatus::Done)?;
        let value = match self {
            Quantity::Of(metric) => measured(metric, point),
            Quantity::Answered => {
                let counts = &point.counts;
                let lost = counts.failed.saturating_add(counts.dropped);
                Some(1.0 - lost as f64 / counts.offered.max(1) as f64)
            }
            Quantity::RecoverySeconds => outcome.recovery.as_ref().map(|recovery| recovery.seconds),
        };
        value.filter(|value| *value > 0.0 && value.is_finite())
    }

    pub fn more_is_better(self) -> bool {
        match self {
            Quantity::Of(metric) => metric.more_is_better(),
            Quantity::Answered => true,
            Quantity::RecoverySeconds => false,
        }
    }

    /// A change below this share does not matter, however certain it is.
    pub fn least(self) -> f64 {
        match self {
            Quantity::Answered => 0.001,
            _ => 0.01,
        }
    }
}

/// As [`Metric::value`], but at a set rate a percentile is one of all arrivals: a server that stands still must not gain by
/// those that it never answered.
fn measured(metric: Metric, point: &Point) -> Option<f64> {
    let quantile = match metric {
        Metric::Time(statistic) if point.load.rate.is_some() => statistic.quantile(),
        _ => None,
    };
    let is_answered = point.counts.dropped == 0 && point.counts.failed == 0;
    quantile.filter(|_| !is_answered).map_or_else(|| metric.value(point), |quantile| reached_ms(point, quantile))
}

/// The metric that decides. At set rates, throughput is what was offered, so there it is the 99th percentile; if every
/// completed trial has new orders, it is these.
pub fn deciding<'a>(points: &[LoadPoint], outcomes: impl Iterator<Item = &'a TrialOutcome>) -> Metric {
    let mut done = outcomes.filter(|outcome| outcome.status == TrialStatus::Done).peekable();
    if points.iter().all(|point| point.rate.is_some()) {
        Metric::P99
    } else if done.peek().is_some() && done.all(|outcome| Quantity::Of(Metric::Nopm).value(outcome).is_some()) {
        Metric::Nopm
    } else {
        Metric::TransactionsPerSecond
    }
}

/// Geometric mean of the rounds with the t interval of their logarithms; `None` without rounds.
pub fn over_rounds(values: &[f64]) -> Option<Estimate> {
    // Each round against 1.
    let against_one: Vec<(f64, f64)> = values.iter().map(|value| (1.0, *value)).collect();
    let ratio = paired(&against_one, plimsoll_model::estimate::CONFIDENCE).ok()?;
    let rounds = if values.len() == 1 { "round" } else { "rounds" };
    Some(Estimate {
        value: 1.0 + ratio.value,
        low: ratio.low.map(|low| 1.0 + low),
        high: ratio.high.map(|high| 1.0 + high),
        method: format!("geometric mean of {} {rounds}", values.len()),
        missing: ratio.missing.map(|_| format!("{} {rounds} cannot have an interval; 3 can", values.len())),
        ..ratio
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::summary::{Counts, LatencyMs};

    #[test]
    fn arrivals_that_were_not_answered_count_as_later_than_all_others() {
        let response_ms = LatencyMs { p99: Some(20.0), p999: Some(29.0), max: Some(40.0), ..LatencyMs::default() };
        let of = |dropped, rate| {
            let counts = Counts { offered: 10_000 + dropped, dropped, ..Counts::default() };
            let load = LoadPoint { connections: 8, rate };
            let latency_ms = response_ms;
            let point = Point {
                load,
                transactions: 10_000,
                response_ms: Some(response_ms),
                latency_ms,
                counts,
                ..Point::default()
            };
            let outcome = TrialOutcome { point: Some(point), ..TrialOutcome::new(TrialStatus::Done) };
            Quantity::Of(Metric::P99).value(&outcome)
        };
        assert_eq!(of(0, Some(1e3)), Some(20.0));
        assert!(of(20, Some(1e3)).is_some_and(|ms| (21.9..22.1).contains(&ms)), "{:?}", of(20, Some(1e3)));
        assert_eq!(of(5_000, Some(1e3)), None, "a third was never answered");
        assert_eq!(of(5_000, None), Some(20.0), "a closed loop has no arrivals");
    }
}
