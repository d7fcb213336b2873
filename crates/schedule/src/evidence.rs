//! Whether the trials of a search show a load line.
//!
//! Trials on a busy machine are left out, unless the plan permits using them: whether they met the objective or missed
//! it says as much about what else ran as about the server. The remaining trials have to
//! - enclose the line: if others were left out, the rest both met and missed the objective;
//! - agree with one line: no rate was met so far above a missed one that no blur of the search's model explains it;
//! - confirm it: at least half of those that ran its lower end again met the objective, since in the search's model the
//!   line is the rate at which half of all trials do. A single one has to meet it.

use plimsoll_model::lab::Tried;
use plimsoll_model::{Estimate, Refusal};
use plimsoll_stats::search::{Search, SearchOutcome};
use std::borrow::Cow;

/// Why a search has no load line. Rates are arrivals per second.
#[derive(Clone, Debug, PartialEq)]
pub enum NoLine {
    /// No trial was completed.
    NothingMeasured,
    /// The search was cut short.
    CutShort,
    /// The closed loop that shows where to search failed, for this reason.
    ClosedLoopFailed(String),
    /// No transaction was completed in that loop.
    NothingCompleted,
    /// This many trials were left out of so many, and the rest do not enclose a line.
    BusyMachine {
        left_out: usize,
        trials: usize,
    },
    /// One rate met the objective although one far below it missed it.
    Contradiction {
        missed: f64,
        kept: f64,
    },
    Refused(Refusal),
    /// No confirmation was done.
    NoConfirmation,
    /// All confirmations of this rate were left out.
    BusyConfirmation {
        rate: f64,
    },
    NotConfirmed {
        rate: f64,
        kept: usize,
        trials: usize,
    },
    /// The interval is too wide to name a rate.
    TooWide {
        low: f64,
        high: f64,
    },
}

/// What a search tried, and what counts of it.
pub(crate) struct SearchEvidence<'a> {
    tried: &'a [Tried],
    noisy_host: bool,
    /// Told what counts.
    search: Cow<'a, Search>,
}

impl<'a> SearchEvidence<'a> {
    /// For a search that was told everything that was tried.
    pub fn new(search: &'a Search, tried: &'a [Tried], noisy_host: bool) -> SearchEvidence<'a> {
        let search = match noisy_host || tried.iter().all(|tried| !tried.disturbed) {
            true => Cow::Borrowed(search),
            false => Cow::Owned(told(search.anew(), tried)),
        };
        SearchEvidence { tried, noisy_host, search }
    }

    /// The line, which still has to be confirmed, or why there is none.
    pub fn line(&self) -> Result<Estimate, NoLine> {
        let line = self.search.estimate();
        let left_out = self.left_out(self.tried.iter());
        if left_out > 0 && (line.is_err() || !self.search.has_missed()) {
            return Err(NoLine::BusyMachine { left_out, trials: self.tried.len() });
        }
        if let Some((missed, kept)) = self.search.contradiction() {
            return Err(NoLine::Contradiction { missed, kept });
        }
        line.map_err(NoLine::Refused)
    }

    /// The line, or why there is none or why it was not confirmed.
    pub fn confirmed_line(&self) -> Result<Estimate, NoLine> {
        let line = self.line()?;
        let confirmations = || self.tried.iter().filter(|tried| tried.confirmation);
        let Some(Tried { rate: lower_end, .. }) = confirmations().next() else {
            return Err(NoLine::NoConfirmation);
        };
        let (all, left_out) = (confirmations().count(), self.left_out(confirmations()));
        let kept = confirmations().filter(|tried| tried.kept && self.counts(tried)).count();
        let rate = *lower_end;
        if kept > 0 && 2 * kept >= all - left_out {
            known_well_enough(line)
        } else if left_out == all {
            Err(NoLine::BusyConfirmation { rate })
        } else {
            Err(NoLine::NotConfirmed { rate, kept, trials: all - left_out })
        }
    }

    fn counts(&self, tried: &Tried) -> bool {
        self.noisy_host || !tried.disturbed
    }

    fn left_out<'t>(&self, tried: impl Iterator<Item = &'t Tried>) -> usize {
        tried.filter(|tried| !self.counts(tried)).count()
    }
}

/// Whether the interval of a line is narrow enough to name a rate.
pub(crate) fn is_known(line: &Estimate) -> bool {
    !line.is_unsteady()
}

/// The line, unless its interval says nothing.
fn known_well_enough(line: Estimate) -> Result<Estimate, NoLine> {
    match line.interval().filter(|_| !is_known(&line)) {
        Some((low, high)) => Err(NoLine::TooWide { low, high }),
        None => Ok(line),
    }
}

fn told(mut search: Search, tried: &[Tried]) -> Search {
    for tried in tried.iter().filter(|tried| !tried.disturbed) {
        search.tell(tried.rate, if tried.kept { SearchOutcome::Kept } else { SearchOutcome::Missed });
    }
    search
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_stats::search::SearchSpec;

    fn tried(rate: f64, kept: bool, confirmation: bool) -> Tried {
        Tried { rate, kept, confirmation, measured_ms: Some(if kept { 5.0 } else { 50.0 }), disturbed: false }
    }

    fn on_a_busy_machine(tried: Tried) -> Tried {
        Tried { disturbed: true, ..tried }
    }

    fn confirmed(all: &[Tried], noisy_host: bool) -> Result<Estimate, NoLine> {
        let spec = SearchSpec { lowest: 5.0, highest: 1_000.0, start: None, tolerance: 0.05, trials: 12 };
        let mut search = Search::new(spec).expect("a range");
        for tried in all {
            search.tell(tried.rate, if tried.kept { SearchOutcome::Kept } else { SearchOutcome::Missed });
        }
        SearchEvidence::new(&search, all, noisy_host).confirmed_line()
    }

    /// 300/s is missed and 200/s is met, ten times each.
    fn enclosed() -> Vec<Tried> {
        [tried(200.0, true, false), tried(300.0, false, false)].repeat(10)
    }

    #[test]
    fn a_rate_kept_far_above_one_that_was_missed_shows_no_line() {
        let outcomes = [(100.0, false), (12.4, false), (10.0, true), (41.8, true), (50.0, false)];
        let mut all: Vec<Tried> = outcomes.map(|(rate, kept)| tried(rate, kept, false)).to_vec();
        all.push(tried(9.56, true, true));
        let why = confirmed(&all, false).expect_err("one of both is not the rate's doing");
        assert_eq!(why, NoLine::Contradiction { missed: 12.4, kept: 41.8 });
        all[1].rate = 30.0;
        let why = confirmed(&all, false).expect_err("five trials say little");
        assert!(matches!(why, NoLine::TooWide { .. }), "{why:?}");
    }

    #[test]
    fn a_line_stands_on_trials_of_a_quiet_machine() {
        let mut all = enclosed();
        all.push(tried(190.0, true, true));
        let quiet = confirmed(&all, false).expect("a line");
        let odd = [on_a_busy_machine(tried(20.0, false, false)), on_a_busy_machine(tried(180.0, false, true))];
        let with_odd: Vec<Tried> = all.iter().copied().chain(odd).collect();
        let left_out = confirmed(&with_odd, false).expect("the same line");
        assert_eq!((left_out.value, left_out.interval()), (quiet.value, quiet.interval()));
        for tried in &mut all {
            tried.disturbed = true;
        }
        let why = confirmed(&all, false).expect_err("nothing is left");
        assert_eq!(why, NoLine::BusyMachine { left_out: 21, trials: 21 });
        assert_eq!(confirmed(&all, true).expect("with leave").interval(), quiet.interval());
    }

    #[test]
    fn half_of_what_confirms_has_to_keep_it() {
        for (outcomes, is_enough) in [
            (&[true][..], true),
            (&[false], false),
            (&[true, false], true),
            (&[true, false, false], false),
            (&[true, true, false], true),
            (&[], false),
        ] {
            let confirmations = outcomes.iter().map(|kept| tried(190.0, *kept, true));
            let all: Vec<Tried> = enclosed().into_iter().chain(confirmations).collect();
            assert_eq!(confirmed(&all, false).is_ok(), is_enough, "{outcomes:?}");
        }
    }
}
