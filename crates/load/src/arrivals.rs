//! When transactions are due in an open loop.

use crate::seed::Rng;
use std::collections::VecDeque;

/// The stream from which gaps are drawn; no connection has this number.
const STREAM: u64 = u64::MAX;

/// How transactions are offered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Each connection sends its next transaction when the previous one is done.
    Closed,
    /// One every `1 / rate` seconds.
    Constant { rate: f64 },
    /// Exponential gaps with mean `1 / rate` seconds.
    Poisson { rate: f64 },
}

impl Arrivals {
    /// Transactions per second, `None` in a closed loop.
    pub fn rate(self) -> Option<f64> {
        match self {
            Arrivals::Closed => None,
            Arrivals::Constant { rate } | Arrivals::Poisson { rate } => Some(rate),
        }
    }
}

/// A transaction that is due: the first of a stream of its own, or the next of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub stream: u64,
    /// Its number within the stream.
    pub number: u64,
    pub due_ns: u64,
}

/// The arrivals that one of `loops` event loops serves: every loop draws the whole arrival schedule and takes each
/// `loops`-th arrival, so the schedule is the same for any number of loops. Waiting arrivals are kept in order up to a
/// bound; beyond it, new ones are dropped.
#[derive(Debug)]
pub struct ArrivalSchedule {
    arrivals: Arrivals,
    start_ns: u64,
    rng: Rng,
    elapsed: f64,
    drawn: u64,
    share: (u64, u64),
    next: Arrival,
    waiting: VecDeque<Arrival>,
    bound: usize,
    /// Arrivals in all, over all loops.
    events: u64,
}

/// Seconds of arrivals that may wait before new ones are dropped.
const BACKLOG_SECONDS: f64 = 10.0;

impl ArrivalSchedule {
    /// `share` is (this loop's index, number of loops); there are `events` arrivals in all. `None` in a closed loop.
    pub fn new(
        arrivals: Arrivals,
        events: u64,
        seed: u64,
        start_ns: u64,
        share: (usize, usize),
    ) -> Option<ArrivalSchedule> {
        let rate = arrivals.rate()?;
        let mut schedule = ArrivalSchedule {
            arrivals,
            start_ns,
            rng: Rng::new(seed, STREAM, 0),
            elapsed: 0.0,
            drawn: 0,
            share: (share.0 as u64, share.1 as u64),
            next: Arrival { stream: 0, number: 0, due_ns: start_ns },
            waiting: VecDeque::new(),
            events,
            bound: ((BACKLOG_SECONDS * rate / share.1 as f64).ceil() as usize).max(1),
        };
        schedule.draw();
        Some(schedule)
    }

    /// Draws up to the next arrival of our share.
    fn draw(&mut self) {
        loop {
            let number = self.drawn;
            if number >= self.events {
                self.next = Arrival { stream: number, number: 0, due_ns: u64::MAX };
                return;
            }
            self.drawn += 1;
            self.elapsed = match self.arrivals {
                Arrivals::Poisson { rate } => self.elapsed - (1.0 - self.rng.unit()).ln() / rate,
                // By multiplication, so that rounding errors do not add up.
                Arrivals::Constant { rate } => number as f64 / rate,
                Arrivals::Closed => return,
            };
            if number % self.share.1 == self.share.0 {
                // One that is due after the end of time is never due.
                let due_ns = self.start_ns.saturating_add((self.elapsed * 1e9) as u64);
                self.next = Arrival { stream: number, number: 0, due_ns };
                return;
            }
        }
    }

    /// When the next arrival that is not due yet will be due.
    pub fn next_due_ns(&self) -> u64 {
        self.next.due_ns
    }

    /// Moves what is due by `now` into the queue, and calls `dropped` for arrivals that find it full.
    pub fn advance(&mut self, now_ns: u64, mut dropped: impl FnMut(Arrival)) {
        while self.next.due_ns <= now_ns {
            if self.waiting.len() < self.bound {
                self.waiting.push_back(self.next);
            } else {
                dropped(self.next);
            }
            self.draw();
        }
    }

    /// The arrival that has waited longest.
    pub fn take(&mut self) -> Option<Arrival> {
        self.waiting.pop_front()
    }

    /// True when every arrival has been taken.
    pub fn is_over(&self) -> bool {
        self.next.stream >= self.events && self.waiting.is_empty()
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(arrivals: Arrivals, share: (usize, usize), until_ns: u64) -> Vec<Arrival> {
        let mut schedule = ArrivalSchedule::new(arrivals, u64::MAX, 7, 1000, share).unwrap();
        let mut all = Vec::new();
        schedule.advance(until_ns, |_| {});
        while let Some(arrival) = schedule.take() {
            all.push(arrival);
        }
        all
    }

    #[test]
    fn constant_arrivals_stand_on_a_grid() {
        let all = due(Arrivals::Constant { rate: 1000.0 }, (0, 1), 3_001_000);
        assert_eq!(all.iter().map(|a| a.due_ns).collect::<Vec<_>>(), [1000, 1_001_000, 2_001_000, 3_001_000]);
    }

    #[test]
    fn loops_share_one_schedule() {
        let arrivals = Arrivals::Poisson { rate: 5000.0 };
        let whole = due(arrivals, (0, 1), 100_000_000);
        let mut parts: Vec<Arrival> = (0..4).flat_map(|i| due(arrivals, (i, 4), 100_000_000)).collect();
        parts.sort_by_key(|arrival| arrival.stream);
        assert_eq!(whole, parts);
        assert!(whole.len() > 300);
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_spread_of_an_exponential() {
        let rate = 1000.0;
        let mut schedule = ArrivalSchedule::new(Arrivals::Poisson { rate }, u64::MAX, 3, 0, (0, 1)).unwrap();
        let mut gaps = Vec::new();
        let mut before = 0;
        while gaps.len() < 20_000 {
            let due = schedule.next_due_ns();
            gaps.push((due - before) as f64 / 1e9);
            before = due;
            schedule.advance(due, |_| {});
            schedule.take();
        }
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n).sqrt();
        // Both are 1 / rate; the standard error of the mean is 1 / (rate sqrt n), 0.7 %.
        assert!((mean * rate - 1.0).abs() < 0.03, "mean {mean}");
        assert!((deviation * rate - 1.0).abs() < 0.05, "deviation {deviation}");
    }

    #[test]
    fn a_fixed_number_of_arrivals_is_shared_out_and_ends() {
        let mut numbers = Vec::new();
        for share in 0..3 {
            let mut schedule = ArrivalSchedule::new(Arrivals::Constant { rate: 1000.0 }, 10, 1, 0, (share, 3)).unwrap();
            schedule.advance(1_000_000_000, |_| {});
            assert!(!schedule.is_over());
            numbers.extend(std::iter::from_fn(|| schedule.take()).map(|arrival| arrival.stream));
            assert!(schedule.is_over());
        }
        numbers.sort_unstable();
        assert_eq!(numbers, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn a_rate_that_comes_to_one_arrival_has_no_second() {
        for arrivals in [Arrivals::Constant { rate: 1e-300 }, Arrivals::Poisson { rate: 1e-300 }] {
            let mut schedule = ArrivalSchedule::new(arrivals, u64::MAX, 1, 1000, (0, 1)).unwrap();
            schedule.advance(u64::MAX - 1, |_| {});
            assert_eq!(schedule.next_due_ns(), u64::MAX);
            assert!(schedule.waiting() <= 1, "the first, at most");
        }
    }

    #[test]
    fn a_full_queue_drops_what_comes_last() {
        let mut schedule = ArrivalSchedule::new(Arrivals::Constant { rate: 1.0 }, u64::MAX, 1, 0, (0, 1)).unwrap();
        let mut dropped = Vec::new();
        schedule.advance(12_000_000_000, |arrival| dropped.push(arrival.stream));
        assert_eq!(schedule.waiting(), 10);
        assert_eq!(dropped, [10, 11, 12]);
        assert_eq!(schedule.take().map(|arrival| arrival.stream), Some(0));
    }
}
