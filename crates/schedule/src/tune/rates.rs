//! How much a configuration carries within a limit, where that is the objective: the highest rate of arrivals at which the
//! limit holds, by a few trials, each of which suggests the rate of the next. The search of [`crate::load_line`] is surer, and
//! takes more trials than there is time for with each of many configurations.

use crate::judge::judge;
use crate::load_line::{START, three_digits};
use plimsoll_model::lab::{TrialOutcome, TrialStatus};
use plimsoll_plan::lab::Objective;
use plimsoll_stats::search::SearchOutcome;

/// Trials of one configuration at most.
const MOST: usize = 10;
/// From the first rate to the next; as long as all were kept or all were missed, each step is the square of the one before, up to
/// the longest.
const STEP: f64 = 1.25;
const LONGEST_STEP: f64 = 2.0;
/// Two rates of which one was kept and the other missed are close enough if they differ by no more than this factor.
const CLOSE: f64 = 1.06;

/// The rates of one configuration.
pub(super) struct TriedRates {
    keep: Objective,
    /// Where the rates begin.
    start: Option<f64>,
    /// Of the next trial; none for a closed loop, which shows what the server can do at all.
    rate: Option<f64>,
    step: f64,
    kept: Option<(f64, TrialOutcome)>,
    missed: Option<f64>,
    trials: usize,
}

impl TriedRates {
    /// `rate` is what another configuration has carried, if that is known.
    pub fn new(keep: &Objective, rate: Option<f64>) -> TriedRates {
        TriedRates { keep: keep.clone(), start: rate, rate, step: STEP, kept: None, missed: None, trials: 0 }
    }

    /// Those of the next configuration: it is likely to carry about as much.
    pub fn of_another(&self) -> TriedRates {
        TriedRates::new(&self.keep, self.kept.as_ref().map(|(rate, _)| *rate).or(self.start))
    }

    /// Arrivals per second of the next trial; none for a closed loop.
    pub fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// What the configuration comes to, if this was its last trial: the outcome at the highest rate that was kept, one without a
    /// point if none was, or that of a trial which failed.
    pub fn tell(&mut self, outcome: &TrialOutcome) -> Option<TrialOutcome> {
        self.trials += 1;
        let point = outcome.point.as_ref().filter(|_| outcome.status == TrialStatus::Done);
        let Some(rate) = self.rate else {
            let reached = point.and_then(|point| point.transactions_per_second).filter(|reached| *reached > 0.0);
            self.rate = reached.map(|reached| three_digits(START * reached));
            self.start = self.rate;
            return self.rate.is_none().then(|| without_point(outcome));
        };
        match point.map(|point| judge(point, &self.keep)) {
            // With fewer arrivals it did run.
            None if self.kept.is_some() => self.missed = Some(rate),
            None => return Some(outcome.clone()),
            Some(SearchOutcome::Kept) => self.kept = Some((rate, outcome.clone())),
            Some(SearchOutcome::Missed) => self.missed = Some(rate),
        }
        let is_over = self.go_on_from(rate) || self.trials >= MOST;
        is_over.then(|| self.kept.as_ref().map_or_else(|| without_point(outcome), |(_, outcome)| outcome.clone()))
    }

    /// Whether the line is known well enough.
    fn go_on_from(&mut self, rate: f64) -> bool {
        let kept = self.kept.as_ref().map(|(rate, _)| *rate);
        let (next, is_known) = match (kept, self.missed) {
            (Some(kept), Some(missed)) => ((kept * missed).sqrt(), missed <= CLOSE * kept),
            (Some(kept), None) => (kept * self.step, false),
            (None, _) => (rate / self.step, false),
        };
        self.step = (self.step * self.step).min(LONGEST_STEP);
        self.rate = Some(three_digits(next));
        is_known
    }
}

fn without_point(outcome: &TrialOutcome) -> TrialOutcome {
    TrialOutcome { point: None, ..outcome.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::summary::{LatencyMs, Point};

    /// A server that answers within a limit of 20 ms up to so many arrivals per second.
    fn outcome(carries: f64, rate: Option<f64>) -> TrialOutcome {
        let p99 = if rate.is_some_and(|rate| rate <= carries) { 10.0 } else { 50.0 };
        let point = Point {
            seconds: 10.0,
            transactions: 1_000,
            transactions_per_second: Some(rate.unwrap_or(1.1 * carries)),
            response_ms: rate.map(|_| LatencyMs { p99: Some(p99), ..LatencyMs::default() }),
            ..Point::default()
        };
        TrialOutcome { point: Some(point), ..TrialOutcome::new(TrialStatus::Done) }
    }

    /// The throughput that a configuration comes to, and how many trials it took.
    fn found(mut rates: TriedRates, carries: f64) -> (Option<f64>, usize) {
        loop {
            if let Some(outcome) = rates.tell(&outcome(carries, rates.rate())) {
                return (outcome.point.and_then(|point| point.transactions_per_second), rates.trials);
            }
        }
    }

    fn keep() -> Objective {
        Objective { text: "p99 < 20ms".to_owned(), quantile: 0.99, limit_ms: 20.0 }
    }

    #[test]
    fn a_few_trials_find_the_highest_rate_that_is_kept() {
        let cases = [(None, 1_000.0), (Some(1_000.0), 1_000.0), (Some(900.0), 1_200.0), (Some(5_000.0), 1_000.0)];
        for (start, carries) in cases.into_iter().chain([(Some(300.0), 1_000.0), (Some(2_000.0), 1_020.0)]) {
            let (carried, trials) = found(TriedRates::new(&keep(), start), carries);
            let carried = carried.expect("some rate was kept");
            assert!(carried <= carries && carried > 0.9 * carries, "{start:?}: {carried} of {carries}");
            assert!(trials <= MOST, "{trials}");
        }
    }

    #[test]
    fn a_server_that_keeps_nothing_or_does_not_run_carries_nothing() {
        assert_eq!(found(TriedRates::new(&keep(), Some(1_000.0)), 1.0).0, None);
        let failed =
            TrialOutcome { why: Some("it did not start".to_owned()), ..TrialOutcome::new(TrialStatus::Failed) };
        let mut rates = TriedRates::new(&keep(), None);
        assert_eq!(rates.tell(&failed), Some(without_point(&failed)));
        let mut rates = TriedRates::new(&keep(), Some(1_000.0));
        assert_eq!(rates.tell(&failed), Some(failed.clone()));
        let mut rates = TriedRates::new(&keep(), Some(1_000.0));
        assert_eq!((rates.tell(&outcome(1_000.0, Some(1_000.0))), rates.tell(&failed)), (None, None), "it did run");
    }

    #[test]
    fn the_next_configuration_begins_where_the_last_one_ended() {
        let mut rates = TriedRates::new(&keep(), Some(1_000.0));
        while rates.tell(&outcome(2_000.0, rates.rate())).is_none() {}
        let mut another = rates.of_another();
        let next = another.rate().expect("a rate");
        assert!((1_700.0..=2_000.0).contains(&next), "{next}");
        while another.tell(&outcome(1.0, another.rate())).is_none() {}
        assert_eq!(another.of_another().rate(), Some(next), "what carries nothing says nothing of others");
    }
}
