//! How far the means and percentiles of a load point can be trusted: its seconds, kept until the window ends.

use crate::summarise::{Edge, completed, waited};
use hdrhistogram::Histogram;
use plimsoll_load::tally::{Names, Tally};
use plimsoll_model::samples::HostSample;
use plimsoll_model::summary::{OperationKind, Point, Stalled};
use plimsoll_model::{Estimate, total};
use plimsoll_stats::batch_means::{Piece, ratio};
use plimsoll_stats::percentile::Clusters;
use plimsoll_stats::stalls::{Progress, SHORTEST, Stall, silences, stalls};
use std::collections::BTreeMap;

/// Percentiles by the name of their field in a summary.
const PERCENTILES: [(&str, f64); 5] = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];
const MS_PER_NS: f64 = 1e-6;
/// An interval shorter than this many seconds, the last of a window, shows chance rather than the server.
const WHOLE: f64 = 0.9;

/// The seconds of a measured window. Every mean of a load point is a ratio of two sums over them.
#[derive(Debug, Default)]
pub struct Seconds {
    /// By the path of the field that is their ratio.
    pieces: BTreeMap<String, Vec<Piece>>,
    /// What tells stalls, interval by interval.
    progress: Vec<Progress>,
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
        let counters = &tally.counters;
        let seconds = tally.end_ns.saturating_sub(tally.start_ns) as f64 / 1e9;
        let queries = counters.queries as f64;
        let ended = total([counters.transactions, counters.rollbacks]) as f64;
        let loop_cpu_us = counters.loop_cpu_ns as f64 / 1e3;
        self.piece("transactions_per_second", counters.transactions as f64, seconds);
        self.piece("queries_per_second", queries, seconds);
        self.piece("client.cpu_us_per_query", loop_cpu_us, queries);
        self.piece("client.cpu_us_per_transaction", loop_cpu_us, ended);
        self.piece("client.cpu_fraction", loop_cpu_us / 1e6, seconds * around.loops as f64);
        for (name, kind) in tally.kinds(names) {
            self.piece(&format!("committed_per_second.{name}"), kind.committed as f64, seconds);
        }
        self.outside(around, seconds, queries, ended);
        self.latencies(tally);
    }

    /// The mean of the window that belongs at this path of a point; `None` if nothing was counted of it.
    pub fn mean(&self, path: &str) -> Option<Estimate> {
        ratio(self.pieces.get(path)?).ok()
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
    pub fn stall(&self) -> Option<Stall> {
        longest(stalls(&self.progress))
    }

    fn transactions(&self) -> &[Piece] {
        self.pieces.get("transactions_per_second").map_or(&[], Vec::as_slice)
    }

    fn piece(&mut self, path: &str, numerator: f64, denominator: f64) {
        let piece = Piece { numerator, denominator };
        match self.pieces.get_mut(path) {
            Some(pieces) => pieces.push(piece),
            None => drop(self.pieces.insert(path.to_owned(), vec![piece])),
        }
    }

    /// What the server's process and the host did meanwhile.
    fn outside(&mut self, around: &Around, seconds: f64, queries: f64, ended: f64) {
        if let Some((before, after)) = around.edges {
            let process_us = after.process_cpu.saturating_sub(before.process_cpu).as_secs_f64() * 1e6;
            self.piece("client.process_cpu_us_per_query", process_us, queries);
            if let Some(waited) = waited(before.process_wait, after.process_wait) {
                self.piece("client.threads_waiting_for_cpu", waited.as_secs_f64(), seconds);
            }
            if let (Some(before), Some(after)) = (before.server, after.server) {
                let cpu_us = after.cpu_us().saturating_sub(before.cpu_us()) as f64;
                self.piece("server.cpu_us_per_query", cpu_us, queries);
                self.piece("server.cpu_us_per_transaction", cpu_us, ended);
                self.piece("server.cpus_busy", cpu_us / 1e6, seconds);
                let moved = |before: Option<u64>, after: Option<u64>| Some(after?.saturating_sub(before?) as f64);
                if let Some(bytes) = moved(before.read_bytes, after.read_bytes) {
                    self.piece("server.read_bytes_per_query", bytes, queries);
                }
                if let Some(bytes) = moved(before.written_bytes, after.written_bytes) {
                    self.piece("server.written_bytes_per_query", bytes, queries);
                }
            }
        }
        if let Some(host) = around.host {
            let busy = 1.0 - host.idle - host.iowait;
            for (path, share) in [
                ("host.busy", busy),
                ("host.user", host.user),
                ("host.system", host.system),
                ("host.iowait", host.iowait),
                ("host.steal", host.steal),
            ] {
                self.piece(path, share, 1.0);
            }
        }
    }

    fn latencies(&mut self, tally: &Tally) {
        let (service, response) = (tally.service(), tally.response());
        let [service_piece, response_piece] = [&service, &response].map(|histogram| sum_and_count(histogram));
        self.progress.push(progress(tally, &service, &response));
        self.piece("latency_ms.mean", service_piece.numerator, service_piece.denominator);
        self.piece("response_ms.mean", response_piece.numerator, response_piece.denominator);
        self.service.add(&service);
        self.response.add(&response);
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
        for (path, pieces) in &self.pieces {
            let is_share = path.starts_with("host.") || path == "client.cpu_fraction";
            let most = if is_share { 1.0 } else { f64::INFINITY };
            let bounded = |found: Estimate| Estimate { high: found.high.map(|high| high.min(most)), ..found };
            point.estimates.extend(ratio(pieces).ok().map(|found| (path.clone(), bounded(found))));
        }
        for (field, clusters) in [("latency_ms", &self.service), ("response_ms", &self.response)] {
            for (name, quantile) in PERCENTILES {
                let found = clusters.percentile(quantile).ok();
                point.estimates.extend(found.map(|ns| (format!("{field}.{name}"), ns.scaled(MS_PER_NS))));
            }
        }
        self.judge_operations(point, names);
        point.stalled = longest(silences(&self.progress)).map(|Stall { start, seconds }| Stalled { start, seconds });
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
                None => (self.mean("latency_ms.mean"), self.mean("response_ms.mean")),
            };
            (operation.latency_mean_ms, operation.response_mean_ms) = (service, response);
        }
    }
}

/// What one interval tells of stalls.
fn progress(tally: &Tally, service: &Histogram<u64>, response: &Histogram<u64>) -> Progress {
    let seconds = |ns: u64| ns as f64 / 1e9;
    Progress {
        completions: tally.counters.counts.finished,
        seconds: seconds(tally.end_ns.saturating_sub(tally.start_ns)),
        span: completed(tally).map(|completed| (completed.first, completed.last)),
        usual: if service.is_empty() { 0.0 } else { seconds(service.value_at_quantile(0.99)) },
        overdue: if response.is_empty() { 0 } else { response.count_between((SHORTEST * 1e9) as u64, u64::MAX) },
        absent: seconds(tally.counters.lag_ns_max),
    }
}

fn longest(stalls: Vec<Stall>) -> Option<Stall> {
    stalls.into_iter().max_by(|one, other| one.seconds.total_cmp(&other.seconds))
}

/// Means that cannot have an interval, with the reason.
fn without_intervals(point: &mut Point) {
    let whole = "every connection is counted: a whole, not a sample of more";
    let edges = "they are read at the two ends of the window only: looking at each thread would disturb the server";
    let connections = point.connections as f64;
    let switches = point.server.as_ref().and_then(|server| server.context_switches_per_query);
    let waiting = point.server.as_ref().and_then(|server| server.threads_waiting_for_cpu);
    for (path, value, n, method, why) in [
        ("fairness.events_mean", point.fairness.events_mean, connections, "mean over connections", whole),
        ("fairness.seconds_mean", point.fairness.seconds_mean, connections, "mean over connections", whole),
        ("server.context_switches_per_query", switches, 1.0, "difference over the window", edges),
        ("server.threads_waiting_for_cpu", waiting, 1.0, "difference over the window", edges),
    ] {
        let bare = |value| Estimate::bare(value, n, method.to_owned(), why.to_owned());
        point.estimates.extend(value.map(|value| (path.to_owned(), bare(value))));
    }
}

fn sum_and_count(values: &Histogram<u64>) -> Piece {
    let count = values.len() as f64;
    let sum_ns = if values.is_empty() { 0.0 } else { values.mean() * count };
    Piece { numerator: sum_ns * MS_PER_NS, denominator: count }
}
