//! What was counted in one interval. Tallies add up: over loops to an interval, over intervals to a point.

use hdrhistogram::Histogram;
use plimsoll_model::samples::Phase;
use plimsoll_model::statements::StatementCounts;
use plimsoll_model::summary::{Counts, ReadWriteOther};
use plimsoll_stats::latency::{HIGHEST_NS, LOWEST_NS, new_histogram};
use std::collections::BTreeMap;

/// Records a latency; what lies outside the histogram's range is counted at its edge.
#[inline]
pub fn record(histogram: &mut Histogram<u64>, ns: u64) {
    histogram.saturating_record(ns.clamp(LOWEST_NS, HIGHEST_NS));
}

/// One kind of statement of a workload.
#[derive(Clone, Debug)]
pub struct StatementTally {
    pub latency: Histogram<u64>,
    pub errors: u64,
}

/// What is counted in an interval, apart from latencies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    pub transactions: u64,
    pub rollbacks: u64,
    pub queries: u64,
    pub statements: ReadWriteOther,
    pub sent: StatementCounts,
    pub errors: BTreeMap<u16, u64>,
    pub retries: u64,
    pub reconnects: u64,
    /// What happened in this interval, whatever the due time.
    pub counts: Counts,
    pub loop_cpu_ns: u64,
    pub lag_ns_max: u64,
}

impl Counters {
    fn add(&mut self, other: &Counters) {
        self.transactions += other.transactions;
        self.rollbacks += other.rollbacks;
        self.queries += other.queries;
        self.statements.read += other.statements.read;
        self.statements.write += other.statements.write;
        self.statements.other += other.statements.other;
        self.sent += other.sent;
        for (code, count) in &other.errors {
            *self.errors.entry(*code).or_default() += count;
        }
        self.retries += other.retries;
        self.reconnects += other.reconnects;
        add_counts(&mut self.counts, &other.counts);
        self.loop_cpu_ns += other.loop_cpu_ns;
        self.lag_ns_max = self.lag_ns_max.max(other.lag_ns_max);
    }
}

#[derive(Clone, Debug)]
pub struct Tally {
    pub phase: Phase,
    pub start_ns: u64,
    pub end_ns: u64,
    pub counters: Counters,
    /// First send to final answer of each transaction.
    pub service: Histogram<u64>,
    /// Due time to final answer; empty in a closed loop.
    pub response: Histogram<u64>,
    /// One for each statement name of the workload.
    pub operations: Vec<StatementTally>,
}

impl Tally {
    /// `operations` is the number of statement names of the workload.
    pub fn new(operations: usize) -> Tally {
        Tally {
            phase: Phase::WarmUp,
            start_ns: 0,
            end_ns: 0,
            counters: Counters::default(),
            service: new_histogram(),
            response: new_histogram(),
            operations: vec![StatementTally { latency: new_histogram(), errors: 0 }; operations],
        }
    }

    /// Empties a tally for another interval, keeping its memory.
    pub fn reset(&mut self) {
        self.counters = Counters::default();
        self.service.reset();
        self.response.reset();
        for operation in &mut self.operations {
            operation.latency.reset();
            operation.errors = 0;
        }
    }

    /// Adds what another loop, or another interval, counted; the time covered becomes that of both.
    pub fn add(&mut self, other: &Tally) {
        self.start_ns = self.start_ns.min(other.start_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
        self.counters.add(&other.counters);
        add_histogram(&mut self.service, &other.service);
        add_histogram(&mut self.response, &other.response);
        for (mine, theirs) in self.operations.iter_mut().zip(&other.operations) {
            add_histogram(&mut mine.latency, &theirs.latency);
            mine.errors += theirs.errors;
        }
    }
}

fn add_histogram(sum: &mut Histogram<u64>, other: &Histogram<u64>) {
    sum.add(other).expect("all latency histograms have the same bounds");
}

pub fn add_counts(sum: &mut Counts, other: &Counts) {
    sum.offered += other.offered;
    sum.started += other.started;
    sum.finished += other.finished;
    sum.failed += other.failed;
    sum.unfinished += other.unfinished;
    sum.late += other.late;
    sum.dropped += other.dropped;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_is_the_sum_of_its_parts() {
        let mut whole = Tally::new(1);
        let mut parts = [Tally::new(1), Tally::new(1)];
        for (i, part) in parts.iter_mut().enumerate() {
            part.counters.transactions = 3 + i as u64;
            part.counters.errors.insert(1213, 2);
            record(&mut part.service, 5_000 * (i as u64 + 1));
            record(&mut part.operations[0].latency, 2_000);
            part.operations[0].errors = 1;
        }
        parts.iter().for_each(|part| whole.add(part));
        assert_eq!((whole.counters.transactions, whole.counters.errors[&1213]), (7, 4));
        assert_eq!((whole.service.len(), whole.operations[0].latency.len(), whole.operations[0].errors), (2, 2, 2));
        whole.reset();
        assert_eq!((whole.service.len(), whole.operations[0].latency.len()), (0, 0));
        assert_eq!(whole.counters, Counters::default());
    }

    #[test]
    fn latencies_outside_the_bounds_are_counted_at_the_edge() {
        let mut histogram = new_histogram();
        record(&mut histogram, 1);
        record(&mut histogram, u64::MAX);
        assert_eq!(histogram.len(), 2);
    }
}
