//! Tallies to intervals and points: counting becomes numbers here, and nowhere else.

use plimsoll_load::recorder::Served;
use plimsoll_load::source::Spent;
use plimsoll_load::tally::{Names, Shape, Tally, TransactionTally};
use plimsoll_model::LoadPoint;
use plimsoll_model::metric::Estimates;
use plimsoll_model::samples::{Completed, HostSample, Interval, ServerSample};
use plimsoll_model::summary::{ClientCost, Counts, Fairness, HostShares, Operation, OperationKind, Point, ServerCost};
use plimsoll_model::total;
use plimsoll_stats::fairness::mean_stddev;
use plimsoll_stats::latency::latency_ms;
use std::time::Duration;

/// One second of the load as a line of the recording, counted from the start of the load.
pub fn interval(tally: &Tally, names: &Names, open_loop: bool) -> Interval {
    let counters = &tally.counters;
    Interval {
        t_ns: tally.start_ns,
        phase: tally.phase,
        seconds: seconds(tally),
        transactions: counters.transactions,
        rollbacks: counters.rollbacks,
        committed: tally.kinds(names).map(|(name, kind)| (name.to_owned(), kind.committed)).collect(),
        queries: counters.queries,
        statements: counters.statements,
        sent: counters.sent,
        errors: counters.errors.clone(),
        retries: counters.retries(),
        lost_connections: counters.lost_connections,
        reconnects: counters.reconnects,
        counts: counters.counts,
        latency_ms: latency_ms(&tally.service()),
        response_ms: open_loop.then(|| latency_ms(&tally.response())),
        loop_cpu_us: counters.loop_cpu_ns as f64 / 1e3,
        scheduling_lag_ms_max: counters.lag_ns_max as f64 / 1e6,
        completed: completed(tally),
        script_us: (counters.script_ns > 0).then(|| counters.script_ns as f64 / 1e3),
        missing: 0,
    }
}

/// When its first and its last transaction ended.
pub(crate) fn completed(tally: &Tally) -> Option<Completed> {
    let since_start = |ns: u64| ns.saturating_sub(tally.start_ns) as f64 / 1e9;
    tally.counters.completed_ns.map(|(first, last)| Completed { first: since_start(first), last: since_start(last) })
}

/// How long it counted, seconds.
pub(crate) fn seconds(tally: &Tally) -> f64 {
    tally.end_ns.saturating_sub(tally.start_ns) as f64 / 1e9
}

/// What was looked at outside the loops at w0 and at w1.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edge {
    /// By the processes that make the load; `None` where that is not known.
    pub spent: Option<Spent>,
    pub server: Option<ServerSample>,
    pub server_switches: Option<u64>,
    /// What its threads waited for a CPU so far.
    pub server_wait: Option<Duration>,
}

/// What a point is made from, beside its tally.
pub struct MeasuredPoint<'a> {
    pub point: LoadPoint,
    pub loops: usize,
    pub names: &'a Names,
    /// Transactions have a due time, so their response counts from it.
    pub open_loop: bool,
    pub counts: Counts,
    pub served: &'a [Served],
    pub edges: Option<(Edge, Edge)>,
    /// The host's samples inside the window.
    pub host: &'a [HostSample],
    /// Queries per second that one loop can send; `None` before `calibrate`.
    pub ceiling: Option<f64>,
    /// There and back, before the load began.
    pub round_trip: Option<Duration>,
}

/// The whole window as one point. `tally` is the sum of its intervals; `None` if there were none.
pub fn point(tally: Option<&Tally>, measured: &MeasuredPoint) -> Point {
    let empty = Tally::new(Shape::default());
    let tally = tally.unwrap_or(&empty);
    let counters = &tally.counters;
    let seconds = seconds(tally);
    let per_second = |count: u64| (seconds > 0.0).then(|| count as f64 / seconds);
    Point {
        trial: None,
        load: measured.point,
        seconds,
        transactions: counters.transactions,
        rollbacks: counters.rollbacks,
        queries: counters.queries,
        statements: counters.statements,
        transactions_per_second: per_second(counters.transactions),
        queries_per_second: per_second(counters.queries),
        latency_ms: latency_ms(&tally.service()),
        response_ms: measured.open_loop.then(|| latency_ms(&tally.response())),
        errors: counters.errors.clone(),
        retries: counters.retries(),
        retried: counters.retried.clone(),
        failed_attempts_ms: counters.failed_attempts_ns.iter().map(|(code, ns)| (*code, *ns as f64 / 1e6)).collect(),
        lost_connections: counters.lost_connections,
        unknown_commits: counters.unknown,
        reconnects: counters.reconnects,
        stalled: None,
        fairness: fairness(measured.served),
        counts: measured.counts,
        operations: operations(tally, measured),
        client: client(tally, measured),
        server: server(tally, measured),
        host: host(measured.host),
        storage_cpus: None,
        program_cpus: None,
        agents: Vec::new(),
        nopm: None,
        estimates: Estimates::default(),
        order_entry: None,
        original_listing: None,
        rounds: Vec::new(),
    }
}

fn fairness(served: &[Served]) -> Fairness {
    let events: Vec<f64> = served.iter().map(|served| served.events as f64).collect();
    let busy: Vec<f64> = served.iter().map(|served| served.busy_ns as f64 / 1e9).collect();
    let (events, busy) = (mean_stddev(&events), mean_stddev(&busy));
    Fairness {
        events_min: served.iter().map(|served| served.events).min(),
        events_mean: events.map(|(mean, _)| mean),
        events_stddev: events.map(|(_, stddev)| stddev),
        seconds_mean: busy.map(|(mean, _)| mean),
        seconds_stddev: busy.map(|(_, stddev)| stddev),
    }
}

/// The transaction as a whole, each kind of it where there are several, then the statements.
fn operations(tally: &Tally, measured: &MeasuredPoint) -> Vec<Operation> {
    let whole = TransactionTally {
        service: tally.service().into_owned(),
        response: tally.response().into_owned(),
        rollbacks: tally.counters.rollbacks,
        failed: total(tally.transactions.iter().map(|kind| kind.failed)),
        retries: tally.counters.retries(),
        committed: tally.counters.transactions,
    };
    let names = measured.names;
    let kinds = tally.kinds(names).filter(|(_, kind)| !kind.service.is_empty() || kind.failed > 0);
    let statements = names.statements.iter().zip(&tally.statements);
    let statements = statements.filter(|(_, s)| !s.latency.is_empty() || s.errors > 0).map(|(name, s)| Operation {
        kind: OperationKind::Statement,
        name: (*name).to_owned(),
        count: s.latency.len(),
        errors: s.errors,
        latency_ms: latency_ms(&s.latency),
        latency_mean_ms: None,
        response_ms: None,
        response_mean_ms: None,
        rollbacks: 0,
        retries: 0,
    });
    std::iter::once(transaction("transaction", &whole, measured.open_loop))
        .chain(kinds.map(|(name, kind)| transaction(name, kind, measured.open_loop)))
        .chain(statements)
        .collect()
}

fn transaction(name: &str, kind: &TransactionTally, open_loop: bool) -> Operation {
    Operation {
        kind: OperationKind::Transaction,
        name: name.to_owned(),
        count: kind.service.len(),
        errors: kind.failed,
        latency_ms: latency_ms(&kind.service),
        latency_mean_ms: None,
        response_ms: open_loop.then(|| latency_ms(&kind.response)),
        response_mean_ms: None,
        rollbacks: kind.rollbacks,
        retries: kind.retries,
    }
}

/// Transactions that ended as they were meant to.
fn ended(tally: &Tally) -> Option<f64> {
    let ended = total([tally.counters.transactions, tally.counters.rollbacks]);
    (ended > 0).then_some(ended as f64)
}

/// What threads waited for a CPU between two looks; none if some that had waited have ended.
pub(crate) fn waited(before: Option<Duration>, after: Option<Duration>) -> Option<Duration> {
    after?.checked_sub(before?)
}

/// Threads that waited for a CPU, on average.
fn waiting(before: Option<Duration>, after: Option<Duration>, seconds: f64) -> Option<f64> {
    let waited = waited(before, after)?;
    (seconds > 0.0).then(|| waited.as_secs_f64() / seconds)
}

fn client(tally: &Tally, measured: &MeasuredPoint) -> ClientCost {
    let counters = &tally.counters;
    let (seconds, queries) = (seconds(tally), counters.queries as f64);
    let per_query = |cpu_us: f64| (queries > 0.0).then(|| cpu_us / queries);
    let loop_cpu_us = counters.loop_cpu_ns as f64 / 1e3;
    let spent = measured.edges.and_then(|(w0, w1)| w0.spent.zip(w1.spent));
    let process_cpu = spent.map(|(w0, w1)| w1.cpu.saturating_sub(w0.cpu));
    let loop_seconds = seconds * measured.loops as f64;
    ClientCost {
        cpu_us_per_query: per_query(loop_cpu_us),
        cpu_us_per_transaction: ended(tally).map(|ended| loop_cpu_us / ended),
        process_cpu_us_per_query: process_cpu.and_then(|cpu| per_query(cpu.as_secs_f64() * 1e6)),
        cpu_fraction: (loop_seconds > 0.0).then(|| loop_cpu_us / 1e6 / loop_seconds),
        ceiling_fraction: measured
            .ceiling
            .filter(|_| loop_seconds > 0.0)
            .map(|ceiling| queries / loop_seconds / ceiling),
        scheduling_lag_ms_max: (seconds > 0.0).then_some(counters.lag_ns_max as f64 / 1e6),
        threads_waiting_for_cpu: spent.and_then(|(w0, w1)| waiting(w0.waited, w1.waited, seconds)),
        round_trip_us: measured.round_trip.map(|time| time.as_nanos() as f64 / 1e3),
        script_us_per_query: per_query(counters.script_ns as f64 / 1e3).filter(|_| counters.script_ns > 0),
        script_ms_max: (counters.script_ns_max > 0).then(|| counters.script_ns_max as f64 / 1e6),
    }
}

fn server(tally: &Tally, measured: &MeasuredPoint) -> Option<ServerCost> {
    let (w0, w1) = measured.edges?;
    let (before, after) = (w0.server?, w1.server?);
    let queries = tally.counters.queries as f64;
    let seconds = seconds(tally);
    let per_query = |difference: Option<u64>| difference.filter(|_| queries > 0.0).map(|d| d as f64 / queries);
    let between = |before: Option<u64>, after: Option<u64>| Some(after?.saturating_sub(before?));
    let cpu_us = after.cpu_us().saturating_sub(before.cpu_us());
    Some(ServerCost {
        cpu_us_per_query: per_query(Some(cpu_us)),
        cpu_us_per_transaction: ended(tally).map(|ended| cpu_us as f64 / ended),
        cpus_busy: (seconds > 0.0).then(|| cpu_us as f64 / 1e6 / seconds),
        threads_waiting_for_cpu: waiting(w0.server_wait, w1.server_wait, seconds),
        context_switches_per_query: per_query(between(w0.server_switches, w1.server_switches)),
        read_bytes_per_query: per_query(between(before.read_bytes, after.read_bytes)),
        written_bytes_per_query: per_query(between(before.written_bytes, after.written_bytes)),
        resident_bytes: Some(after.resident_bytes),
        statements: None,
    })
}

/// Those of the host that was sampled, which need not be the one that reads it; the loops may be kept to fewer. None
/// where the samples do not tell.
fn cpus(samples: &[HostSample]) -> Option<usize> {
    samples.last().map(|sample| sample.cores.len()).filter(|cpus| *cpus > 0)
}

fn host(samples: &[HostSample]) -> Option<HostShares> {
    let mean = |of: fn(&HostSample) -> f64| samples.iter().map(of).sum::<f64>() / samples.len() as f64;
    if samples.is_empty() {
        return None;
    }
    let cpus = cpus(samples)?;
    let idle = mean(|sample| sample.idle) + mean(|sample| sample.iowait);
    Some(HostShares {
        cpus,
        busy: (1.0 - idle).clamp(0.0, 1.0),
        user: mean(|sample| sample.user),
        system: mean(|sample| sample.system),
        iowait: mean(|sample| sample.iowait),
        steal: mean(|sample| sample.steal),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpus_are_those_of_the_host_that_was_sampled() {
        let sample = |cores: u32| HostSample {
            idle: 0.5,
            cores: (0..cores).map(|core| (core, Default::default())).collect(),
            ..HostSample::default()
        };
        assert_eq!(host(&[sample(3), sample(333)]).map(|host| host.cpus), Some(333));
        assert_eq!(host(&[sample(0)]), None, "not known, rather than those of whoever reads it");
    }
}
