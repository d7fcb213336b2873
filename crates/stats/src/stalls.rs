//! Stalls: stretches without progress that chance does not explain.

/// Probability of a false alarm in a window.
const FALSE_ALARM: f64 = 0.001;

/// Consecutive intervals in which nothing was completed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    /// Seconds from the window's start.
    pub start: f64,
    pub seconds: f64,
}

/// The runs of intervals in which nothing was completed and that chance does not explain, in their order. `progress` is
/// the completions and seconds of each interval of a window; `longest` is the seconds that transactions take there,
/// such as their 99th percentile.
///
/// Completions that come by chance, at the window's mean rate, leave a stretch of t seconds empty with probability
/// exp(−rate · t) (Poisson). A run may begin with any interval, so that it is a stall if that is below one thousandth
/// divided by the number of intervals (Bonferroni): a window without stalls shows one in at most 1 of 1,000 cases.
/// Connections that begin together also end together, in bursts, so that a run must be longer than `longest` as well. A
/// window in which nothing at all was completed has no rate, and no stall.
pub fn stalls(progress: &[(u64, f64)], longest: f64) -> Vec<Stall> {
    let completions: u64 = progress.iter().map(|&(completions, _)| completions).sum();
    let whole: f64 = progress.iter().map(|&(_, seconds)| seconds).sum();
    let tolerated = FALSE_ALARM / progress.len() as f64;
    let mut runs = runs(progress);
    let by_chance = |run: &Stall| (-(completions as f64) * run.seconds / whole).exp();
    runs.retain(|run| run.seconds > longest && by_chance(run) < tolerated);
    runs
}

/// Every stretch without completions.
fn runs(progress: &[(u64, f64)]) -> Vec<Stall> {
    let mut start = 0.0;
    let mut runs = Vec::new();
    for same in progress.chunk_by(|before, after| (before.0 == 0) == (after.0 == 0)) {
        let seconds = same.iter().map(|&(_, seconds)| seconds).sum();
        if same[0].0 == 0 {
            runs.push(Stall { start, seconds });
        }
        start += seconds;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_without_intervals_or_completions_has_no_stall() {
        assert_eq!(stalls(&[], 0.0), []);
        assert_eq!(stalls(&[(0, 1.0); 100], 0.0), []);
        assert_eq!(stalls(&[(0, 0.0)], 0.0), []);
    }

    #[test]
    fn steady_progress_has_no_stall() {
        assert_eq!(stalls(&[(3, 1.0); 100], 0.0), []);
    }

    #[test]
    fn a_run_is_a_stall_from_the_length_on_that_chance_does_not_reach() {
        // Ten intervals, rate r = 9 c / 10: one empty second is a stall from exp(-r) < 0.0001 on, r > 9.2103.
        let with = |completions: u64| {
            let mut progress = vec![(completions, 1.0); 9];
            progress.insert(4, (0, 1.0));
            stalls(&progress, 0.0)
        };
        assert_eq!(with(10), []);
        assert_eq!(with(11), [Stall { start: 4.0, seconds: 1.0 }]);
    }

    #[test]
    fn runs_are_whole_and_apart_and_reach_both_ends() {
        let busy = [(100, 1.0); 3];
        let progress = [&[(0, 1.0), (0, 1.0)][..], &busy, &[(0, 1.0)], &busy, &[(0, 1.0), (0, 0.5)]].concat();
        let expected = [(0.0, 2.0), (5.0, 1.0), (9.0, 1.5)].map(|(start, seconds)| Stall { start, seconds });
        assert_eq!(stalls(&progress, 0.0), expected);
    }

    #[test]
    fn connections_in_step_have_bursts_and_no_stalls() {
        // 64 connections whose transactions of 3 s begin and end together.
        let bursts = [(0, 1.0), (0, 1.0), (64, 1.0)].repeat(20);
        assert_eq!(stalls(&bursts, 3.0), []);
        let held_up = [&bursts[..], &[(0, 1.0); 4], &bursts].concat();
        assert_eq!(stalls(&held_up, 3.0), [Stall { start: 60.0, seconds: 6.0 }]);
    }
}
