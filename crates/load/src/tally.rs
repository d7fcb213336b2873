//! What was counted in one interval. Tallies add up: over loops to an interval, over intervals to a load point.

use crate::histogram;
use hdrhistogram::Histogram;
use plimsoll_model::samples::Phase;
use plimsoll_model::statements::StatementCounts;
use plimsoll_model::summary::{Counts, ReadWriteOther};
use plimsoll_model::total;
use plimsoll_stats::latency::{HIGHEST_NS, LOWEST_NS, new_histogram};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Records a latency; one outside the histogram's range is counted at its edge.
#[inline]
pub fn record(histogram: &mut Histogram<u64>, ns: u64) {
    histogram.saturating_record(ns.clamp(LOWEST_NS, HIGHEST_NS));
}

/// A workload's names of what is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    pub transactions: &'static [&'static str],
    pub statements: Vec<&'static str>,
    /// Its own counters.
    pub counters: &'static [&'static str],
}

impl Names {
    pub fn shape(&self) -> Shape {
        Shape {
            transactions: self.transactions.len(),
            statements: self.statements.len(),
            counters: self.counters.len(),
        }
    }
}

/// How many names there are of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    pub transactions: usize,
    pub statements: usize,
    pub counters: usize,
}

/// One kind of statement of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatementTally {
    #[serde(with = "histogram::text")]
    pub latency: Histogram<u64>,
    pub errors: u64,
}

impl StatementTally {
    fn new() -> StatementTally {
        StatementTally { latency: new_histogram(), errors: 0 }
    }
}

/// One kind of transaction of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionTally {
    /// First send to final answer.
    #[serde(with = "histogram::text")]
    pub service: Histogram<u64>,
    /// Due time to final answer; empty in a closed loop.
    #[serde(with = "histogram::text")]
    pub response: Histogram<u64>,
    pub committed: u64,
    /// Rolled back intentionally by the workload.
    pub rollbacks: u64,
    pub failed: u64,
    pub retries: u64,
}

impl TransactionTally {
    fn new() -> TransactionTally {
        let (service, response) = (new_histogram(), new_histogram());
        TransactionTally { service, response, committed: 0, rollbacks: 0, failed: 0, retries: 0 }
    }

    fn reset(&mut self) {
        reset_histogram(&mut self.service);
        reset_histogram(&mut self.response);
        (self.committed, self.rollbacks, self.failed, self.retries) = (0, 0, 0, 0);
    }

    fn add(&mut self, other: &TransactionTally) {
        add_histogram(&mut self.service, &other.service);
        add_histogram(&mut self.response, &other.response);
        add(&mut self.committed, other.committed);
        add(&mut self.rollbacks, other.rollbacks);
        add(&mut self.failed, other.failed);
        add(&mut self.retries, other.retries);
    }
}

/// What is counted in an interval, apart from latencies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    pub transactions: u64,
    pub rollbacks: u64,
    pub queries: u64,
    pub statements: ReadWriteOther,
    pub sent: StatementCounts,
    pub errors: BTreeMap<u16, u64>,
    /// Retries by the code of the error that made them necessary.
    pub retried: BTreeMap<u16, u64>,
    /// Time of attempts that ended in an error, by its code.
    pub failed_attempts_ns: BTreeMap<u16, u64>,
    /// Exchanges that ended with the connection, without an error from the server.
    pub lost_connections: u64,
    /// Writes that decide a transaction and whose answer was lost.
    pub unknown: u64,
    pub reconnects: u64,
    /// When the first and the last transaction ended, on the clock of the tally.
    pub completed_ns: Option<(u64, u64)>,
    /// What happened in this interval, whatever the due time.
    pub counts: Counts,
    pub loop_cpu_ns: u64,
    pub lag_ns_max: u64,
    /// Time in the code of a workload's script, and the longest stretch of it without a question.
    pub script_ns: u64,
    pub script_ns_max: u64,
    /// Transactions that are due and wait for a connection at the end of the interval: of one, not of several.
    pub waiting: u64,
}

impl Counters {
    pub fn retries(&self) -> u64 {
        total(self.retried.values().copied())
    }

    /// A transaction ended at this time.
    #[inline]
    pub fn completed(&mut self, now_ns: u64) {
        let (first, last) = self.completed_ns.unwrap_or((now_ns, now_ns));
        self.completed_ns = Some((first.min(now_ns), last.max(now_ns)));
    }

    fn add(&mut self, other: &Counters) {
        add(&mut self.transactions, other.transactions);
        add(&mut self.rollbacks, other.rollbacks);
        add(&mut self.queries, other.queries);
        add(&mut self.statements.read, other.statements.read);
        add(&mut self.statements.write, other.statements.write);
        add(&mut self.statements.other, other.statements.other);
        self.sent += other.sent;
        add_by_code(&mut self.errors, &other.errors);
        add_by_code(&mut self.retried, &other.retried);
        add_by_code(&mut self.failed_attempts_ns, &other.failed_attempts_ns);
        add(&mut self.lost_connections, other.lost_connections);
        add(&mut self.unknown, other.unknown);
        add(&mut self.reconnects, other.reconnects);
        if let Some((first, last)) = other.completed_ns {
            self.completed(first);
            self.completed(last);
        }
        add_counts(&mut self.counts, &other.counts);
        add(&mut self.loop_cpu_ns, other.loop_cpu_ns);
        self.lag_ns_max = self.lag_ns_max.max(other.lag_ns_max);
        add(&mut self.script_ns, other.script_ns);
        self.script_ns_max = self.script_ns_max.max(other.script_ns_max);
        add(&mut self.waiting, other.waiting);
    }
}

/// One loop's interval, or the sum of several. Once a recorder has closed it, its times are nanoseconds since the load
/// began: whoever adds tallies up need not know the clock of the loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    pub phase: Phase,
    pub start_ns: u64,
    pub end_ns: u64,
    pub counters: Counters,
    /// One for each transaction name of the workload.
    pub transactions: Vec<TransactionTally>,
    /// One for each statement name.
    pub statements: Vec<StatementTally>,
    /// One for each counter.
    pub counted: Vec<u64>,
}

impl Tally {
    pub fn new(shape: Shape) -> Tally {
        Tally {
            phase: Phase::WarmUp,
            start_ns: 0,
            end_ns: 0,
            counters: Counters::default(),
            // Each is created separately: a copy would touch all its memory.
            transactions: (0..shape.transactions).map(|_| TransactionTally::new()).collect(),
            statements: (0..shape.statements).map(|_| StatementTally::new()).collect(),
            counted: vec![0; shape.counters],
        }
    }

    pub fn shape(&self) -> Shape {
        Shape { transactions: self.transactions.len(), statements: self.statements.len(), counters: self.counted.len() }
    }

    /// Lets its times count from `origin_ns` on the clock that they are on.
    pub fn count_from(&mut self, origin_ns: u64) {
        self.start_ns = self.start_ns.saturating_sub(origin_ns);
        self.end_ns = self.end_ns.saturating_sub(origin_ns);
        if let Some((first, last)) = &mut self.counters.completed_ns {
            *first = first.saturating_sub(origin_ns);
            *last = last.saturating_sub(origin_ns);
        }
    }

    /// Empties a tally for another interval, keeping its memory.
    pub fn reset(&mut self) {
        self.counters = Counters::default();
        self.transactions.iter_mut().for_each(TransactionTally::reset);
        for statement in &mut self.statements {
            reset_histogram(&mut statement.latency);
            statement.errors = 0;
        }
        self.counted.fill(0);
    }

    /// Adds what another loop, or another interval, counted; the time covered becomes that of both.
    pub fn add(&mut self, other: &Tally) {
        self.start_ns = self.start_ns.min(other.start_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
        self.counters.add(&other.counters);
        self.transactions.iter_mut().zip(&other.transactions).for_each(|(mine, theirs)| mine.add(theirs));
        for (mine, theirs) in self.statements.iter_mut().zip(&other.statements) {
            add_histogram(&mut mine.latency, &theirs.latency);
            add(&mut mine.errors, theirs.errors);
        }
        self.counted.iter_mut().zip(&other.counted).for_each(|(mine, theirs)| add(mine, *theirs));
    }

    /// Each kind of transaction with its name, where there are several.
    pub fn kinds<'a>(&'a self, names: &'a Names) -> impl Iterator<Item = (&'static str, &'a TransactionTally)> {
        let several = names.transactions.len() > 1;
        names.transactions.iter().copied().zip(&self.transactions).filter(move |_| several)
    }

    /// First send to final answer of all transactions.
    pub fn service(&self) -> Cow<'_, Histogram<u64>> {
        self.merged(|transaction| &transaction.service)
    }

    /// Due time to final answer of all transactions.
    pub fn response(&self) -> Cow<'_, Histogram<u64>> {
        self.merged(|transaction| &transaction.response)
    }

    fn merged(&self, of: fn(&TransactionTally) -> &Histogram<u64>) -> Cow<'_, Histogram<u64>> {
        match self.transactions.as_slice() {
            [] => Cow::Owned(new_histogram()),
            [only] => Cow::Borrowed(of(only)),
            [first, rest @ ..] => {
                let mut sum = of(first).clone();
                rest.iter().for_each(|transaction| add_histogram(&mut sum, of(transaction)));
                Cow::Owned(sum)
            }
        }
    }
}

/// Empty histograms are not touched, so that their memory is never really allocated.
fn reset_histogram(histogram: &mut Histogram<u64>) {
    if !histogram.is_empty() {
        histogram.reset();
    }
}

fn add_histogram(sum: &mut Histogram<u64>, other: &Histogram<u64>) {
    if other.is_empty() {
        return;
    }
    sum.add(other).expect("all latency histograms have the same bounds");
}

fn add(sum: &mut u64, count: u64) {
    *sum = total([*sum, count]);
}

fn add_by_code(sum: &mut BTreeMap<u16, u64>, other: &BTreeMap<u16, u64>) {
    for (code, count) in other {
        add(sum.entry(*code).or_default(), *count);
    }
}

pub fn add_counts(sum: &mut Counts, other: &Counts) {
    add(&mut sum.offered, other.offered);
    add(&mut sum.started, other.started);
    add(&mut sum.finished, other.finished);
    add(&mut sum.failed, other.failed);
    add(&mut sum.unfinished, other.unfinished);
    add(&mut sum.late, other.late);
    add(&mut sum.dropped, other.dropped);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_is_the_sum_of_its_parts() {
        let shape = Shape { transactions: 2, statements: 1, counters: 1 };
        let mut whole = Tally::new(shape);
        let mut parts = [Tally::new(shape), Tally::new(shape)];
        for (i, part) in parts.iter_mut().enumerate() {
            part.counters.transactions = 3 + i as u64;
            part.counters.errors.insert(1213, 2);
            part.counters.retried.insert(1205, 1);
            part.counters.failed_attempts_ns.insert(1205, 500);
            (part.counters.lost_connections, part.counters.unknown) = (2, 1);
            part.counters.completed(100 + i as u64);
            part.counters.completed(200 - i as u64);
            part.transactions[i].committed = 5;
            part.counted[0] = 7;
            record(&mut part.transactions[i].service, 5_000 * (i as u64 + 1));
            record(&mut part.statements[0].latency, 2_000);
            part.statements[0].errors = 1;
        }
        parts.iter().for_each(|part| whole.add(part));
        assert_eq!((whole.counters.transactions, whole.counters.errors[&1213]), (7, 4));
        assert_eq!((whole.counters.retried[&1205], whole.counted[0]), (2, 14));
        assert_eq!((whole.counters.failed_attempts_ns[&1205], whole.counters.completed_ns), (1000, Some((100, 200))));
        assert_eq!((whole.counters.lost_connections, whole.counters.unknown), (4, 2));
        assert_eq!(whole.transactions.iter().map(|transaction| transaction.committed).collect::<Vec<_>>(), [5, 5]);
        assert_eq!((whole.service().len(), whole.response().len()), (2, 0));
        assert_eq!((whole.statements[0].latency.len(), whole.statements[0].errors), (2, 2));
        whole.reset();
        assert_eq!((whole.service().len(), whole.statements[0].latency.len(), whole.counted[0]), (0, 0, 0));
        assert_eq!((whole.counters, whole.transactions[0].committed), (Counters::default(), 0));
    }

    #[test]
    fn latencies_outside_the_bounds_are_counted_at_the_edge() {
        let mut histogram = new_histogram();
        record(&mut histogram, 1);
        record(&mut histogram, u64::MAX);
        assert_eq!(histogram.len(), 2);
    }
}
