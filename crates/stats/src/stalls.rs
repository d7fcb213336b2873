//! Stalls: stretches without progress that chance does not explain.

/// Probability of a false alarm in a window.
const FALSE_ALARM: f64 = 0.001;
/// Shorter stretches are not stalls, seconds: those within an interval are not seen.
pub const SHORTEST: f64 = 1.0;
/// If this many transactions waited through a stretch, it is not the accident of one.
const SEVERAL: u64 = 2;
/// Transactions sometimes take longer than usual by less than this factor: a choice.
const LONGER: f64 = 1.5;

/// What was completed in one interval of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IntervalProgress {
    pub completions: u64,
    pub seconds: f64,
    /// When the first and the last were completed, seconds from the interval's start; if that is not known, they are
    /// taken to reach from its start to its end.
    pub span: Option<(f64, f64)>,
    /// Seconds that transactions took, such as their 99th percentile.
    pub usual: f64,
    /// Those that were completed [`SHORTEST`] or more after they were due, if they have a due time.
    pub overdue: u64,
    /// Seconds in which the load generator did not run, so that it could neither send nor see an answer.
    pub absent: f64,
}

/// A stretch in which nothing was completed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StallStretch {
    /// Seconds from the window's start.
    pub start: f64,
    pub seconds: f64,
}

/// The stretches in which nothing was completed and that neither chance nor an absence of the load generator explains,
/// in order. `progress` is that of each interval of a window.
///
/// Completions that come by chance, at the window's mean rate, leave a stretch of t seconds empty with probability
/// exp(−rate · t) (Poisson). A stretch may begin with any completion whose time is known, else with any interval, so
/// that it is a stall if that is below one thousandth divided by their number (Bonferroni): a window without stalls
/// shows one in at most 1 of 1,000 cases. Where the rate is too low for that, several transactions that were due and
/// waited through it tell the same. Connections that begin together also end together, in bursts, and long transactions
/// leave stretches empty, so that one must be longer than transactions usually take as well: by half than the median of
/// `usual` over the other intervals, since what a stall holds up takes as long as the stall. A window in which nothing
/// at all was completed has no rate, and no stall.
pub fn stalls(progress: &[IntervalProgress]) -> Vec<StallStretch> {
    let chance = Chance::of(progress);
    let held_up = |stretch: &Stretch, usual: f64| usual < SHORTEST && stretch.overdue >= SEVERAL;
    let is_stall = |stretch: &Stretch, usual: f64| chance.excludes(stretch.seconds) || held_up(stretch, usual);
    found(progress, is_stall)
}

/// The same with stretches that chance may explain but that a due transaction waited through.
pub fn silences(progress: &[IntervalProgress]) -> Vec<StallStretch> {
    let chance = Chance::of(progress);
    found(progress, |stretch, _| chance.excludes(stretch.seconds) || stretch.overdue > 0)
}

fn found(progress: &[IntervalProgress], counts: impl Fn(&Stretch, f64) -> bool) -> Vec<StallStretch> {
    if progress.iter().all(|interval| interval.completions == 0) {
        return Vec::new();
    }
    let is_found = |stretch: &Stretch| {
        let usual = usual(progress, stretch.ended_in);
        stretch.seconds - stretch.absent >= SHORTEST && stretch.seconds > LONGER * usual && counts(stretch, usual)
    };
    let stretches = stretches(progress).into_iter().filter(is_found);
    stretches.map(|stretch| StallStretch { start: stretch.start, seconds: stretch.seconds }).collect()
}

/// Completions that come by chance.
struct Chance {
    rate: f64,
    tolerated: f64,
}

impl Chance {
    fn of(progress: &[IntervalProgress]) -> Chance {
        let completions: f64 = progress.iter().map(|interval| interval.completions as f64).sum();
        let whole: f64 = progress.iter().map(|interval| interval.seconds).sum();
        let beginnings = match progress.iter().any(|interval| interval.span.is_some()) {
            true => completions + 1.0,
            false => progress.len() as f64,
        };
        Chance { rate: completions / whole, tolerated: FALSE_ALARM / beginnings }
    }

    fn excludes(&self, seconds: f64) -> bool {
        (-self.rate * seconds).exp() < self.tolerated
    }
}

/// From one completion to the next, or to an end of the window.
struct Stretch {
    start: f64,
    seconds: f64,
    /// The interval whose first completion ended it.
    ended_in: Option<usize>,
    overdue: u64,
    absent: f64,
}

/// Every stretch without completions that lies across the end of an interval.
fn stretches(progress: &[IntervalProgress]) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    let (mut at, mut since, mut absent) = (0.0, 0.0, 0.0);
    for (place, interval) in progress.iter().enumerate() {
        let end = at + interval.seconds;
        absent += interval.absent;
        if interval.completions > 0 {
            let (first, last) = interval.span.unwrap_or((0.0, interval.seconds));
            let (seconds, overdue) = (at + first - since, interval.overdue);
            stretches.push(Stretch { start: since, seconds, ended_in: Some(place), overdue, absent });
            (since, absent) = (at + last, interval.absent);
        }
        at = end;
    }
    stretches.push(Stretch { start: since, seconds: at - since, ended_in: None, overdue: 0, absent });
    stretches
}

/// What transactions take but for those that ended in this interval, unless there are no others.
fn usual(progress: &[IntervalProgress], but_for: Option<usize>) -> f64 {
    let of = |but_for: Option<usize>| {
        let counted =
            |(place, interval): &(usize, &IntervalProgress)| interval.completions > 0 && Some(*place) != but_for;
        let mut all: Vec<f64> =
            progress.iter().enumerate().filter(counted).map(|(_, interval)| interval.usual).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied()
    };
    of(but_for).or_else(|| of(None)).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds with so many completions each, of transactions that take `usual`.
    fn counted(progress: &[(u64, f64)], usual: f64) -> Vec<IntervalProgress> {
        let of =
            |&(completions, seconds)| IntervalProgress { completions, seconds, usual, ..IntervalProgress::default() };
        progress.iter().map(of).collect()
    }

    #[test]
    fn a_window_without_intervals_or_completions_has_no_stall() {
        assert_eq!(stalls(&[]), []);
        assert_eq!(stalls(&counted(&[(0, 1.0); 100], 0.0)), []);
        assert_eq!(stalls(&counted(&[(0, 0.0)], 0.0)), []);
    }

    #[test]
    fn steady_progress_has_no_stall() {
        assert_eq!(stalls(&counted(&[(3, 1.0); 100], 0.0)), []);
    }

    #[test]
    fn a_run_is_a_stall_from_the_length_on_that_chance_does_not_reach() {
        // Ten intervals, rate r = 9 c / 10: one empty second is a stall from exp(-r) < 0.0001 on, r > 9.2103.
        let with = |completions: u64| {
            let mut progress = vec![(completions, 1.0); 9];
            progress.insert(4, (0, 1.0));
            stalls(&counted(&progress, 0.0))
        };
        assert_eq!(with(10), []);
        assert_eq!(with(11), [StallStretch { start: 4.0, seconds: 1.0 }]);
    }

    #[test]
    fn runs_are_whole_and_apart_and_reach_both_ends() {
        let busy = [(100, 1.0); 3];
        let progress = [&[(0, 1.0), (0, 1.0)][..], &busy, &[(0, 1.0)], &busy, &[(0, 1.0), (0, 0.5)]].concat();
        let expected = [(0.0, 2.0), (5.0, 1.0), (9.0, 1.5)].map(|(start, seconds)| StallStretch { start, seconds });
        assert_eq!(stalls(&counted(&progress, 0.0)), expected);
    }

    #[test]
    fn connections_in_step_have_bursts_and_no_stalls() {
        // 64 connections whose transactions of 3 s begin and end together.
        let bursts = [(0, 1.0), (0, 1.0), (64, 1.0)].repeat(20);
        assert_eq!(stalls(&counted(&bursts, 3.0)), []);
        let held_up = [&bursts[..], &[(0, 1.0); 4], &bursts].concat();
        assert_eq!(stalls(&counted(&held_up, 3.0)), [StallStretch { start: 60.0, seconds: 6.0 }]);
    }

    #[test]
    fn rounds_of_connections_in_step_may_differ() {
        let mut progress = vec![IntervalProgress { seconds: 1.0, ..IntervalProgress::default() }; 24];
        let mut at: f64 = 0.0;
        for round in [2.2, 2.9, 2.4, 2.8, 2.3, 2.95, 2.2, 2.9] {
            at += round;
            let span = Some((at.fract(), at.fract()));
            progress[at as usize] =
                IntervalProgress { completions: 64, seconds: 1.0, span, usual: round, ..IntervalProgress::default() };
        }
        assert_eq!(stalls(&progress), []);
    }

    /// Seconds of 20 completions that take 5 ms each, from the first tenth of each second to its last.
    fn steady(seconds: usize) -> Vec<IntervalProgress> {
        let second = IntervalProgress {
            completions: 20,
            seconds: 1.0,
            span: Some((0.1, 0.9)),
            usual: 0.005,
            ..IntervalProgress::default()
        };
        vec![second; seconds]
    }

    /// Nothing from 0.4 s after the beginning of second 3 on for `seconds`; what was due meanwhile ends then.
    fn stalled(seconds: f64) -> Vec<IntervalProgress> {
        let mut progress = steady(10);
        let end = 3.4 + seconds;
        let ended_in = end as usize;
        progress[3].span = Some((0.1, 0.4));
        progress[4..ended_in].fill(IntervalProgress { seconds: 1.0, ..IntervalProgress::default() });
        let held_up = IntervalProgress { completions: 60, usual: seconds, overdue: 40, ..steady(1)[0] };
        progress[ended_in] = IntervalProgress { span: Some((end - ended_in as f64, 0.95)), ..held_up };
        progress
    }

    #[test]
    fn what_a_stall_holds_up_does_not_hide_it() {
        for seconds in [1.2, 1.5, 2.5, 3.0, 4.0] {
            let found = stalls(&stalled(seconds));
            assert!(found.len() == 1 && (found[0].start - 3.4).abs() < 1e-9, "{seconds}: {found:?}");
            assert!((found[0].seconds - seconds).abs() < 1e-9, "{seconds}: {found:?}");
        }
        assert_eq!(stalls(&stalled(0.9)), [], "shorter than what is looked for");
    }

    #[test]
    fn who_was_not_there_to_ask_has_seen_no_stall() {
        let mut progress = stalled(3.0);
        progress[3].absent = 2.9;
        assert_eq!((stalls(&progress), silences(&progress)), (Vec::new(), Vec::new()));
        progress[3].absent = 1.5;
        assert_eq!(stalls(&progress).len(), 1, "it was away for half of it only");
    }

    #[test]
    fn at_a_low_rate_those_that_waited_tell() {
        let second = |overdue| IntervalProgress { completions: 2, overdue, ..steady(1)[0] };
        let with = |overdue| {
            let mut progress = vec![second(0); 10];
            progress[5..7].fill(IntervalProgress { seconds: 1.0, ..IntervalProgress::default() });
            progress[7] = second(overdue);
            progress
        };
        assert_eq!((stalls(&with(0)), silences(&with(0))), (Vec::new(), Vec::new()), "nothing was due");
        assert_eq!((stalls(&with(1)).len(), silences(&with(1)).len()), (0, 1), "one may be slow by itself");
        assert_eq!((stalls(&with(2)).len(), silences(&with(2)).len()), (1, 1));
    }

    #[test]
    fn long_transactions_leave_stretches_empty() {
        // One connection: 30 short ones, then one of 5 s.
        let short =
            IntervalProgress { completions: 30, seconds: 1.0, span: Some((0.0, 0.6)), usual: 0.02, ..steady(1)[0] };
        let empty = IntervalProgress { seconds: 1.0, ..IntervalProgress::default() };
        let long = IntervalProgress { completions: 12, span: Some((0.6, 0.9)), usual: 5.0, ..short };
        let round = [&[long][..], &[empty; 4]].concat();
        assert_eq!(stalls(&round.repeat(6)), []);
    }

    #[test]
    fn a_stall_in_a_window_of_three_seconds_is_found() {
        let first = IntervalProgress { completions: 100, span: Some((0.0, 0.3)), ..steady(1)[0] };
        let empty = IntervalProgress { seconds: 1.0, ..IntervalProgress::default() };
        let last = IntervalProgress { completions: 40, span: Some((0.8, 0.99)), usual: 2.5, ..first };
        assert_eq!(stalls(&[first, empty, last]), [StallStretch { start: 0.3, seconds: 2.5 }]);
        assert_eq!(stalls(&[first, empty, empty]), [StallStretch { start: 0.3, seconds: 2.7 }], "to the window's end");
    }
}
