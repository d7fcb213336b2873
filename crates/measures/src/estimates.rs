//! How far the means and percentiles of a load point can be trusted: its seconds, kept until the window ends.

use crate::summarise::{Edge, completed, seconds, waited};
use hdrhistogram::Histogram;
use plimsoll_load::tally::{Names, Tally};
use plimsoll_model::metric::{Metric, Statistic, Sum};
use plimsoll_model::samples::HostSample;
use plimsoll_model::summary::{OperationKind, Point, Stalled};
use plimsoll_model::{Estimate, total};
use plimsoll_stats::batch_means::{Piece, ratio};
use plimsoll_stats::percentile::Clusters;
use plimsoll_stats::stalls::{IntervalProgress, SHORTEST, StallStretch, silences, stalls};
use std::collections::BTreeMap;

const MS_PER_NS: f64 = 1e-6;
/// An interval shorter than this many seconds, the last of a window, shows chance rather than the server.
const WHOLE: f64 = 0.9;

/// The seconds of a measured window. Every mean of a load point is a ratio of two sums over them.
#[derive(Debug, Default)]
pub struct Seconds {
    /// By the metric that is their ratio.
    pieces: BTreeMap<Metric, Vec<Piece>>,
    /// By the name of a kind of transactions: those committed, and seconds.
    committed: BTreeMap<&'static str, Vec<Piece>>,
    /// What tells stalls, interval by interval.
    progress: Vec<IntervalProgress>,
    service: Clusters,
    response: Clusters,
    /// Sum and count of each transaction's and statement's latency, milliseconds, in the order of [`operations`].
    operations: Vec<[Vec<Piece>; 2]>,
}

/// What else is known of an interval, beside its tally.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    pub loops: usize,
    /// What was looked at outside the loops before the interval and after it.
    pub edges: Option<(Edge, Edge)>,
    pub host: Option<&'a HostSample>,
}

impl Seconds {
    /// Adds an interval of the window.
    pub fn add(&mut self, tally: &Tally, names: &Names, around: &Around) {
        let (service, response) = (tally.service(), tally.response());
        let sums = sums(tally, around, [&service, &response]);
        for metric in Metric::all() {
            let of = |sum: Sum| sums.get(&sum).copied();
            let ratio = metric.ratio().and_then(|(numerator, denominator)| Some((of(numerator)?, of(denominator)?)));
            if let Some((numerator, denominator)) = ratio {
                self.pieces.entry(metric).or_default().push(Piece { numerator, denominator });
            }
        }
        let seconds = seconds(tally);
        for (name, kind) in tally.kinds(names) {
            let piece = Piece { numerator: kind.committed as f64, denominator: seconds };
            self.committed.entry(name).or_default().push(piece);
        }
        self.latencies(tally, &service, &response);
    }

    /// The mean of the window; `None` if nothing was counted of it.
    pub fn mean(&self, metric: Metric) -> Option<Estimate> {
        ratio(self.pieces.get(&metric)?).ok()
    }

    /// Transactions per second in each whole second of the window, in their order.
    pub fn rates(&self) -> Vec<f64> {
        let whole = |piece: &&Piece| piece.denominator >= WHOLE;
        self.transactions().iter().filter(whole).map(|piece| piece.numerator / piece.denominator).collect()
    }

    /// Length of the window, seconds.
    pub fn length(&self) -> f64 {
        self.progress.iter().map(|interval| interval.seconds).sum()
    }

    /// The longest stretch of the window in which nothing was completed, and that chance does not explain.
    pub fn stall(&self) -> Option<StallStretch> {
        longest(stalls(&self.progress))
    }

    fn transactions(&self) -> &[Piece] {
        self.pieces.get(&Metric::TransactionsPerSecond).map_or(&[], Vec::as_slice)
    }

    fn latencies(&mut self, tally: &Tally, service: &Histogram<u64>, response: &Histogram<u64>) {
        self.progress.push(progress(tally, service, response));
        self.service.add(service);
        self.response.add(response);
        let kinds = tally.transactions.iter().map(|kind| (&kind.service, Some(&kind.response)));
        let all = kinds.chain(tally.statements.iter().map(|statement| (&statement.latency, None)));
        self.operations.resize_with(tally.transactions.len() + tally.statements.len(), Default::default);
        for ([service, response], (of_service, of_response)) in self.operations.iter_mut().zip(all) {
            service.push(sum_and_count(of_service));
            response.extend(of_response.map(sum_and_count));
        }
    }

    /// Fills in what can be said of the numbers of `point`, which was summed up from these seconds.
    pub fn judge(&self, point: &mut Point, names: &Names) {
        for (metric, pieces) in &self.pieces {
            let most = if metric.is_share() { 1.0 } else { f64::INFINITY };
            let bounded = |found: Estimate| Estimate { high: found.high.map(|high| high.min(most)), ..found };
            point.estimates.extend(ratio(pieces).ok().map(|found| (*metric, bounded(found))));
        }
        for (kind, pieces) in &self.committed {
            if let Ok(found) = ratio(pieces) {
                point.estimates.insert_committed(kind, found);
            }
        }
        for statistic in Statistic::ALL {
            let Some(quantile) = statistic.quantile() else { continue };
            let found = |clusters: &Clusters| Some(clusters.percentile(quantile).ok()?.scaled(MS_PER_NS));
            let latency = found(&self.service).map(|ms| (Metric::Latency(statistic), ms));
            let response = found(&self.response).map(|ms| (Metric::Response(statistic), ms));
            point.estimates.extend(latency.into_iter().chain(response));
        }
        self.judge_operations(point, names);
        point.stalled =
            longest(silences(&self.progress)).map(|StallStretch { start, seconds }| Stalled { start, seconds });
        without_intervals(point);
    }

    /// The transaction as a whole comes first in a point, then its kinds and the statements, those without samples left
    /// out.
    fn judge_operations(&self, point: &mut Point, names: &Names) {
        let kinds = names.transactions.iter().map(|name| (OperationKind::Transaction, *name));
        let all = kinds.chain(names.statements.iter().map(|name| (OperationKind::Statement, *name)));
        let known: Vec<_> = all.zip(&self.operations).collect();
        for (place, operation) in point.operations.iter_mut().enumerate() {
            let is_it = |(name, _): &&(_, _)| place > 0 && *name == (operation.kind, operation.name.as_str());
            let (service, response) = match known.iter().find(is_it).map(|(_, pieces)| pieces) {
                Some([service, response]) => (ratio(service).ok(), ratio(response).ok()),
                None => (self.mean(Metric::Latency(Statistic::Mean)), self.mean(Metric::Response(Statistic::Mean))),
            };
            (operation.latency_mean_ms, operation.response_mean_ms) = (service, response);
        }
    }
}

/// What is added up of an interval, as far as it is known.
fn sums(tally: &Tally, around: &Around, [service, response]: [&Histogram<u64>; 2]) -> BTreeMap<Sum, f64> {
    let counters = &tally.counters;
    let seconds = seconds(tally);
    let loop_cpu_us = counters.loop_cpu_ns as f64 / 1e3;
    let [service, response] = [service, response].map(sum_and_count);
    let mut sums = BTreeMap::from([
        (Sum::Transactions, counters.transactions as f64),
        (Sum::Ended, total([counters.transactions, counters.rollbacks]) as f64),
        (Sum::Queries, counters.queries as f64),
        (Sum::Seconds, seconds),
        (Sum::LoopSeconds, seconds * around.loops as f64),
        (Sum::LoopCpuUs, loop_cpu_us),
        (Sum::LoopCpuSeconds, loop_cpu_us / 1e6),
        (Sum::Latency, service.numerator),
        (Sum::Latencies, service.denominator),
        (Sum::Response, response.numerator),
        (Sum::Responses, response.denominator),
    ]);
    if let Some((before, after)) = &around.edges {
        sums.extend(between(before, after));
    }
    if let Some(host) = around.host {
        sums.extend([
            (Sum::HostSamples, 1.0),
            (Sum::HostBusy, 1.0 - host.idle - host.iowait),
            (Sum::HostUser, host.user),
            (Sum::HostSystem, host.system),
            (Sum::HostIowait, host.iowait),
            (Sum::HostSteal, host.steal),
        ]);
    }
    sums
}

/// What the processes of the load generator and of the server did between two looks.
fn between(before: &Edge, after: &Edge) -> Vec<(Sum, f64)> {
    let mut sums = Vec::new();
    if let Some((before, after)) = before.spent.zip(after.spent) {
        sums.push((Sum::ProcessCpuUs, after.cpu.saturating_sub(before.cpu).as_secs_f64() * 1e6));
        let waited = waited(before.waited, after.waited);
        sums.extend(waited.map(|waited| (Sum::WaitedSeconds, waited.as_secs_f64())));
    }
    if let (Some(before), Some(after)) = (before.server, after.server) {
        let cpu_us = after.cpu_us().saturating_sub(before.cpu_us()) as f64;
        sums.extend([(Sum::ServerCpuUs, cpu_us), (Sum::ServerCpuSeconds, cpu_us / 1e6)]);
        let moved = |before: Option<u64>, after: Option<u64>| Some(after?.saturating_sub(before?) as f64);
        let read = moved(before.read_bytes, after.read_bytes);
        let written = moved(before.written_bytes, after.written_bytes);
        sums.extend(read.map(|bytes| (Sum::ServerReadBytes, bytes)));
        sums.extend(written.map(|bytes| (Sum::ServerWrittenBytes, bytes)));
    }
    sums
}

/// What one interval tells of stalls.
fn progress(tally: &Tally, service: &Histogram<u64>, response: &Histogram<u64>) -> IntervalProgress {
    let of_ns = |ns: u64| ns as f64 / 1e9;
    IntervalProgress {
        completions: tally.counters.counts.finished,
        seconds: seconds(tally),
        span: completed(tally).map(|completed| (completed.first, completed.last)),
        usual: if service.is_empty() { 0.0 } else { of_ns(service.value_at_quantile(0.99)) },
        overdue: if response.is_empty() { 0 } else { response.count_between((SHORTEST * 1e9) as u64, u64::MAX) },
        absent: of_ns(tally.counters.lag_ns_max),
    }
}

fn longest(stalls: Vec<StallStretch>) -> Option<StallStretch> {
    stalls.into_iter().max_by(|one, other| one.seconds.total_cmp(&other.seconds))
}

/// Means that cannot have an interval, with the reason.
fn without_intervals(point: &mut Point) {
    let whole = "every connection is counted: a whole, not a sample of more";
    let edges = "they are read at the two ends of the window only: looking at each thread would disturb the server";
    let connections = point.load.connections as f64;
    for (metric, n, method, why) in [
        (Metric::TransactionsPerConnection, connections, "mean over connections", whole),
        (Metric::SecondsPerConnection, connections, "mean over connections", whole),
        (Metric::ServerContextSwitchesPerQuery, 1.0, "difference over the window", edges),
        (Metric::ServerThreadsWaiting, 1.0, "difference over the window", edges),
    ] {
        let bare = |value| Estimate::bare(value, n, method.to_owned(), why.to_owned());
        let estimate = metric.value(point).map(bare);
        point.estimates.extend(estimate.map(|estimate| (metric, estimate)));
    }
}

fn sum_and_count(values: &Histogram<u64>) -> Piece {
    let count = values.len() as f64;
    let sum_ns = if values.is_empty() { 0.0 } else { values.mean() * count };
    Piece { numerator: sum_ns * MS_PER_NS, denominator: count }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_interval_of_a_share_reaches_beyond_the_whole() {
        let busy = [0.4, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.9];
        let pieces = busy.map(|numerator| Piece { numerator, denominator: 1.0 }).to_vec();
        let mut seconds = Seconds::default();
        seconds.pieces.insert(Metric::HostBusy, pieces.clone());
        seconds.pieces.insert(Metric::ServerCpusBusy, pieces);
        let mut point = Point::default();
        seconds.judge(&mut point, &Names { transactions: &[], statements: Vec::new(), counters: &[] });
        let high = |metric| point.estimates.get(metric).and_then(Estimate::interval).expect("an interval").1;
        assert!(high(Metric::ServerCpusBusy) > 1.0, "CPUs may be several");
        assert_eq!(high(Metric::HostBusy), 1.0);
    }
}
