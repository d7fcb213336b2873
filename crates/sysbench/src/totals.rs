//! What was counted, as reports have it: in an interval, since a checkpoint, in the whole run.

use crate::lattice::Lattice;
use plimsoll_load::recorder::Served;
use plimsoll_load::tally::Tally;
use plimsoll_model::samples::Phase;

/// Codes of errors that are reconnects in sysbench's reports, and no errors.
const LOST: [u16; 4] = [2006, 2011, 2013, 2055];

#[derive(Clone, Debug, Default)]
pub struct RunTotals {
    /// From when to when, nanoseconds after the start.
    span_ns: Option<(u64, u64)>,
    pub events: u64,
    /// Of each kind, with what is no event.
    pub kinds: Vec<u64>,
    pub reads: u64,
    pub writes: u64,
    pub other: u64,
    pub errors: u64,
    pub reconnects: u64,
    pub latency: Lattice,
    /// Milliseconds; of no event 0.
    pub least: f64,
    pub most: f64,
    pub sum: f64,
}

impl RunTotals {
    /// Adds what the loops counted in an interval. With a rate, latencies count from when events were due. A test that
    /// `leaves_out_the_end` has no events after its window, and that time is part of it.
    pub fn add(&mut self, tally: &Tally, is_open_loop: bool, leaves_out_the_end: bool) {
        let is_inside = tally.phase == Phase::Measure;
        let latencies = if is_open_loop { tally.response() } else { tally.service() };
        if is_inside || leaves_out_the_end {
            let (start, end) = self.span_ns.unwrap_or((tally.start_ns, tally.end_ns));
            self.span_ns = Some((start.min(tally.start_ns), end.max(tally.end_ns)));
        }
        self.kinds.resize(tally.transactions.len(), 0);
        self.kinds.iter_mut().zip(&tally.transactions).for_each(|(kind, all)| *kind += all.committed);
        self.reads += tally.counters.statements.read;
        self.writes += tally.counters.statements.write;
        self.other += tally.counters.statements.other;
        let errors = tally.counters.errors.iter().filter(|(code, _)| !LOST.contains(code));
        self.errors += errors.map(|(_, count)| count).sum::<u64>();
        self.reconnects += tally.counters.reconnects;
        if latencies.is_empty() || leaves_out_the_end && !is_inside {
            return;
        }
        let (least, most) = (latencies.min() as f64 / 1e6, latencies.max() as f64 / 1e6);
        self.least = if self.events == 0 { least } else { self.least.min(least) };
        self.most = self.most.max(most);
        self.sum += latencies.mean() * latencies.len() as f64 / 1e6;
        self.events += latencies.len();
        self.latency.add(&latencies);
    }

    pub fn queries(&self) -> u64 {
        self.reads + self.writes + self.other
    }

    pub fn seconds(&self) -> f64 {
        self.span_ns.map_or(0.0, |(start, end)| end.saturating_sub(start) as f64 / 1e9)
    }

    /// So many per second; 0 of no time.
    pub fn rate(&self, count: u64) -> f64 {
        if self.seconds() > 0.0 { count as f64 / self.seconds() } else { 0.0 }
    }

    /// Milliseconds; 0 of no event.
    pub fn mean(&self) -> f64 {
        if self.events > 0 { self.sum / self.events as f64 } else { 0.0 }
    }
}

/// How evenly the threads were served: mean and standard deviation of their events, and of the seconds that those took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThreadsFairness {
    pub events: (f64, f64),
    pub seconds: (f64, f64),
}

impl ThreadsFairness {
    pub fn of(served: &[Served]) -> ThreadsFairness {
        ThreadsFairness {
            events: spread(served.iter().map(|served| served.events as f64)),
            seconds: spread(served.iter().map(|served| served.busy_ns as f64 / 1e9)),
        }
    }

    /// The means alone, where only sums are known; the deviations are 0.
    pub fn means(totals: &RunTotals, threads: usize) -> ThreadsFairness {
        let threads = threads.max(1) as f64;
        ThreadsFairness { events: (totals.events as f64 / threads, 0.0), seconds: (totals.sum / 1e3 / threads, 0.0) }
    }
}

/// Mean and standard deviation of a whole population.
fn spread(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count().max(1) as f64;
    // The sum of nothing is minus zero, which would be printed.
    let mean = values.clone().fold(0.0, |sum, value| sum + value) / count;
    let variance = values.map(|value| (value - mean).powi(2)).fold(0.0, |sum, square| sum + square) / count;
    (mean, variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_load::tally::Shape;

    #[test]
    fn what_is_done_after_the_last_event_takes_time_where_it_is_no_event() {
        let seconds_of = |leaves_out_the_end| {
            let mut totals = RunTotals::default();
            for (phase, start_ns, end_ns) in
                [(Phase::Measure, 0, 2_000_000_000), (Phase::Drain, 2_000_000_000, 5_000_000_000)]
            {
                let mut tally = Tally::new(Shape { transactions: 1, statements: 1, counters: 0 });
                (tally.phase, tally.start_ns, tally.end_ns) = (phase, start_ns, end_ns);
                totals.add(&tally, false, leaves_out_the_end);
            }
            totals.seconds()
        };
        assert_eq!((seconds_of(false), seconds_of(true)), (2.0, 5.0));
    }

    #[test]
    fn the_spread_is_that_of_a_whole_population() {
        let served = |events| Served { events, busy_ns: events * 1_000_000_000 };
        let fairness = ThreadsFairness::of(&[served(3), served(0)]);
        // As sysbench printed it of two threads, one of which did all three events: 1.5000/1.50.
        assert_eq!((fairness.events, fairness.seconds), ((1.5, 1.5), (1.5, 1.5)));
        assert_eq!(ThreadsFairness::of(&[]), ThreadsFairness::default());
    }

    #[test]
    fn the_means_are_exact_where_only_sums_are_known() {
        let totals = RunTotals { events: 3, sum: 1500.0, ..RunTotals::default() };
        let fairness = ThreadsFairness::means(&totals, 2);
        assert_eq!((fairness.events, fairness.seconds), ((1.5, 0.0), (0.75, 0.0)));
        assert_eq!(ThreadsFairness::means(&RunTotals::default(), 0), ThreadsFairness::default());
    }
}
