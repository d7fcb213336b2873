//! What is known about a load point.

use plimsoll_model::samples::{HostSample, Interval, Phase, ServerSample, StatusSample, StorageSample};
use plimsoll_model::summary::Point;
use std::collections::BTreeMap;
use std::ops::Range;

/// Everything that was recorded of one load point's trial. Series may be empty; they hold whole trials, of which
/// [`Observed::window`] is what was measured.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    pub point: &'a Point,
    pub intervals: &'a [Interval],
    pub host: &'a [HostSample],
    pub server: &'a [ServerSample],
    /// For private servers only.
    pub status: &'a [StatusSample],
    /// For network lanes only.
    pub storage: &'a [StorageSample],
    /// Values of the running server's variables, as it reported them, by name.
    pub settings: &'a BTreeMap<String, String>,
}

impl<'a> Observed<'a> {
    /// Of a point without samples.
    #[cfg(test)]
    pub(crate) fn bare(point: &'a Point, settings: &'a BTreeMap<String, String>) -> Observed<'a> {
        Observed { point, intervals: &[], host: &[], server: &[], status: &[], storage: &[], settings }
    }

    /// The measured window on the clock of the series, nanoseconds; `None` if no second of it was recorded.
    pub fn window(&self) -> Option<Range<u64>> {
        let mut measured = self.seconds();
        let first = measured.next()?;
        let last = measured.last().unwrap_or(first);
        Some(first.t_ns..last.t_ns.saturating_add(nanoseconds(last.seconds)))
    }

    /// The load, second by second of the window.
    pub fn seconds(&self) -> impl Iterator<Item = &'a Interval> + use<'a> {
        self.intervals.iter().filter(|interval| interval.phase == Phase::Measure)
    }

    /// Lines of the host that belong to the window: the middle of what each covers lies within it.
    pub fn host(&self) -> Vec<&'a HostSample> {
        self.covering(self.host, |line| (line.t_ns, line.seconds))
    }

    /// The same for what the server reported about itself.
    pub fn status(&self) -> Vec<&'a StatusSample> {
        self.covering(self.status, |line| (line.t_ns, line.seconds))
    }

    /// The same for the two sides of a network lane.
    pub fn storage(&self) -> Vec<&'a StorageSample> {
        self.covering(self.storage, |line| (line.t_ns, line.seconds))
    }

    /// The server's counters nearest to the beginning and to the end of the window; `None` if that is the same line.
    pub fn server(&self) -> Option<(&'a ServerSample, &'a ServerSample)> {
        self.edges(self.server, |line| line.t_ns)
    }

    /// The same for the host, whose lines hold the load generator's counters.
    pub fn host_edges(&self) -> Option<(&'a HostSample, &'a HostSample)> {
        self.edges(self.host, |line| line.t_ns)
    }

    fn edges<T>(&self, lines: &'a [T], at: fn(&T) -> u64) -> Option<(&'a T, &'a T)> {
        let window = self.window()?;
        let nearest = |t_ns: u64| lines.iter().min_by_key(|line| at(line).abs_diff(t_ns));
        nearest(window.start).zip(nearest(window.end)).filter(|(before, after)| at(before) < at(after))
    }

    fn covering<T>(&self, lines: &'a [T], covered: fn(&T) -> (u64, f64)) -> Vec<&'a T> {
        let Some(window) = self.window() else { return Vec::new() };
        let middle = |line: &T| {
            let (t_ns, seconds) = covered(line);
            t_ns.saturating_sub(nanoseconds(seconds) / 2)
        };
        lines.iter().filter(|line| window.contains(&middle(line))).collect()
    }
}

/// `None` for what is not a length.
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// One that ends after `second`, and in which nothing was done.
    pub(crate) fn interval(second: u64, phase: Phase, seconds: f64) -> Interval {
        Interval::empty(second * SECOND, phase, seconds)
    }

    /// Looks at a load with a line of the server and of the host at the end of each of so many seconds.
    fn with(intervals: &[Interval], seconds: u64, look: impl FnOnce(&Observed<'_>)) {
        let (point, settings) = (Point::default(), BTreeMap::new());
        let server = |second| ServerSample { t_ns: second * SECOND, ..ServerSample::default() };
        let host = |second| HostSample { t_ns: second * SECOND + 900_000, seconds: 1.0, ..HostSample::default() };
        let server: Vec<ServerSample> = (1..=seconds).map(server).collect();
        let host: Vec<HostSample> = (1..=seconds).map(host).collect();
        let (host, server) = (&host, &server);
        let (status, storage) = (&[], &[]);
        look(&Observed { point: &point, intervals, host, server, status, storage, settings: &settings });
    }

    #[test]
    fn only_the_window_counts() {
        let intervals = [
            interval(0, Phase::WarmUp, 1.0),
            interval(1, Phase::Measure, 1.0),
            interval(2, Phase::Measure, 1.0),
            interval(3, Phase::Drain, 0.5),
        ];
        with(&intervals, 4, |observed| {
            assert_eq!(observed.window(), Some(SECOND..3 * SECOND));
            let ends: Vec<u64> = observed.host().iter().map(|line| line.t_ns / SECOND).collect();
            assert_eq!(ends, [2, 3]);
            let (before, after) = observed.server().unwrap();
            assert_eq!((before.t_ns, after.t_ns), (SECOND, 3 * SECOND));
        });
    }

    #[test]
    fn a_window_may_be_short_or_missing() {
        with(&[interval(0, Phase::Measure, 1.0)], 1, |observed| {
            assert_eq!((observed.window(), observed.host().len()), (Some(0..SECOND), 1));
            assert_eq!(observed.server(), None, "one line has no difference");
        });
        with(&[interval(0, Phase::WarmUp, 1.0)], 1, |observed| {
            assert_eq!((observed.window(), observed.host().len()), (None, 0));
        });
        with(&[interval(3, Phase::Measure, f64::NAN)], 1, |observed| assert!(observed.host().is_empty()));
    }
}
