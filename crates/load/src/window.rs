//! What is measured: the window [w0, w1) and how a run ends.

use plimsoll_model::samples::Phase;

pub const SECOND_NS: u64 = 1_000_000_000;

/// What ends the measured phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Nanoseconds after the window's start.
    Time(u64),
    /// Transactions over all connections.
    Events(u64),
    EventsPerConnection(u64),
}

/// More events than any limit that is meant to be reached.
const ENDLESS: u64 = u64::MAX / 2;

impl Limit {
    /// Whether it lets a load go on until somebody ends it.
    pub fn is_endless(self) -> bool {
        matches!(self, Limit::Events(events) | Limit::EventsPerConnection(events) if events > ENDLESS)
    }

    /// How many transactions all connections send together; `None` without such a limit.
    pub fn events(self, connections: usize) -> Option<u64> {
        match self {
            Limit::Time(_) => None,
            Limit::Events(events) => Some(events),
            Limit::EventsPerConnection(events) => Some(events.saturating_mul(connections as u64)),
        }
    }

    /// How many transactions this connection sends; `None` without such a limit. Transaction n belongs to
    /// connection n mod `connections`.
    pub fn quota(self, connection: usize, connections: usize) -> Option<u64> {
        match self {
            Limit::Time(_) => None,
            Limit::EventsPerConnection(events) => Some(events),
            Limit::Events(events) => Some(events.saturating_sub(connection as u64).div_ceil(connections.max(1) as u64)),
        }
    }
}

/// The window on the monotonic clock. With a limit of events `w1_ns` is set when the last one is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub start_ns: u64,
    pub w0_ns: u64,
    pub w1_ns: Option<u64>,
}

impl Window {
    pub fn new(start_ns: u64, warmup_ns: u64, limit: Limit) -> Window {
        let w0_ns = start_ns + warmup_ns;
        let w1_ns = match limit {
            Limit::Time(length) => Some(w0_ns + length),
            _ => None,
        };
        Window { start_ns, w0_ns, w1_ns }
    }

    pub fn contains(&self, t_ns: u64) -> bool {
        t_ns >= self.w0_ns && self.w1_ns.is_none_or(|w1| t_ns < w1)
    }

    pub fn is_over(&self, now_ns: u64) -> bool {
        self.w1_ns.is_some_and(|w1| now_ns >= w1)
    }

    /// The interval that `t_ns` lies in: its phase, start and end. Intervals are seconds counted from w0,
    /// backwards during warm-up, so that none lies across w0.
    pub fn interval(&self, t_ns: u64) -> (Phase, u64, u64) {
        if self.is_over(t_ns) {
            return (Phase::Drain, self.w1_ns.unwrap_or(t_ns), u64::MAX);
        }
        if t_ns < self.w0_ns {
            let left = (self.w0_ns - t_ns).div_ceil(SECOND_NS) * SECOND_NS;
            let start = self.w0_ns.saturating_sub(left).max(self.start_ns);
            return (Phase::WarmUp, start, self.w0_ns + SECOND_NS - left);
        }
        let start = t_ns - (t_ns - self.w0_ns) % SECOND_NS;
        let end = (start + SECOND_NS).min(self.w1_ns.unwrap_or(u64::MAX));
        (Phase::Measure, start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_add_up_to_the_events() {
        for (events, connections) in [(10, 3), (2, 5), (0, 4), (64, 64)] {
            let quotas = (0..connections).map(|c| Limit::Events(events).quota(c, connections).unwrap());
            assert_eq!(quotas.sum::<u64>(), events);
        }
        assert_eq!(Limit::Events(10).quota(0, 3), Some(4));
        assert_eq!(Limit::EventsPerConnection(7).quota(2, 3), Some(7));
        assert_eq!(Limit::Time(1).quota(0, 1), None);
    }

    #[test]
    fn intervals_are_seconds_from_w0_and_never_lie_across_it() {
        let window = Window::new(0, 1_500_000_000, Limit::Time(2_500_000_000));
        let cases = [
            (0, (Phase::WarmUp, 0, 500_000_000)),
            (500_000_000, (Phase::WarmUp, 500_000_000, 1_500_000_000)),
            (1_499_999_999, (Phase::WarmUp, 500_000_000, 1_500_000_000)),
            (1_500_000_000, (Phase::Measure, 1_500_000_000, 2_500_000_000)),
            (3_900_000_000, (Phase::Measure, 3_500_000_000, 4_000_000_000)),
            (4_000_000_000, (Phase::Drain, 4_000_000_000, u64::MAX)),
        ];
        for (t, expected) in cases {
            assert_eq!(window.interval(t), expected, "at {t}");
        }
        assert!(!window.contains(1_499_999_999) && window.contains(1_500_000_000));
        assert!(window.contains(3_999_999_999) && !window.contains(4_000_000_000));
    }
}
