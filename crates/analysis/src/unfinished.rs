//! What was measured before a trial ended: a killed Plimsoll leaves seconds, but no sum of them.
//!
//! The seconds are counted again as they were when they came, so that a sum of what is left is the same as that of a
//! window that was as short.

use plimsoll_load::source::Spent;
use plimsoll_load::tally::{Counters, Names, Tally};
use plimsoll_measures::estimates::{Around, Seconds};
use plimsoll_measures::summarise::{self, Edge, MeasuredPoint};
use plimsoll_model::LoadPoint;
use plimsoll_model::Metric;
use plimsoll_model::samples::{HostSample, Interval, Phase, ServerSample};
use plimsoll_model::series::Series;
use plimsoll_model::summary::{Counts, Point, ServerCost};
use plimsoll_model::total;
use plimsoll_record::RecordError;
use plimsoll_record::read::TrialView;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// Samples are taken where an interval ends; one further off than this many nanoseconds belongs to another.
const NEAR_NS: u64 = 500_000_000;
/// A window that lacks less than this is whole: ends of seconds are not met to the microsecond.
const WHOLE_SECONDS: f64 = 0.1;

/// The measured window as far as it came, nanoseconds since the trial's start; none before it began.
pub fn window(intervals: &[Interval]) -> Option<Range<u64>> {
    let measured = || intervals.iter().filter(|interval| interval.phase == Phase::Measure);
    Some(measured().next()?.t_ns..measured().map(end_ns).max()?)
}

/// The seconds of the measured window that were recorded, as a load point; none before it began. `loops` is the number
/// of loop threads. Counts by due time, fairness, and single statements are not in the seconds and are left out.
///
/// # Errors
/// If what was sampled cannot be read.
pub fn point(trial: &TrialView, loops: usize) -> Result<Option<Point>, RecordError> {
    let series = trial.series()?;
    let Some(window) = window(&series.intervals) else { return Ok(None) };
    let names = Names { transactions: &["transaction"], ..Names::default() };
    let measured: Vec<&Interval> = series.intervals.iter().filter(|i| i.phase == Phase::Measure).collect();
    let mut sums = Sums { trial, series: &series, loops, names: &names, seconds: Seconds::default(), whole: None };
    sums.add_all(&measured, window)?;
    let Sums { seconds, whole, .. } = sums;
    let host: Vec<HostSample> =
        measured.iter().filter_map(|i| near(&series.host, end_ns(i), |sample| sample.t_ns)).cloned().collect();
    let asked = asked(trial);
    let mut point = summarise::point(
        whole.as_ref(),
        &MeasuredPoint {
            point: asked,
            loops,
            names: &names,
            open_loop: measured.iter().any(|interval| interval.response_ms.is_some()),
            counts: Counts::default(),
            served: &[],
            edges: None,
            host: &host,
            ceiling: None,
            round_trip: None,
        },
    );
    seconds.judge(&mut point, &names);
    complete(&mut point, &seconds, &series, &measured);
    Ok(Some(point))
}

/// Connections and rate that were asked for.
pub fn asked(trial: &TrialView) -> LoadPoint {
    trial.facts.load().map(|load| load.point).unwrap_or_default()
}

/// In which second a trial ended that was to measure `wanted` seconds; none if it measured them all.
///
/// # Errors
/// If its seconds cannot be read.
pub fn ended_in(trial: &TrialView, wanted: f64) -> Result<Option<String>, RecordError> {
    let (what, intervals) = (asked(trial), trial.intervals()?);
    let Some(window) = window(&intervals) else {
        return Ok(Some(match intervals.last() {
            Some(last) => {
                format!("{what} ended in second {:.0} of its warm-up, before it was measured", seconds(end_ns(last)))
            }
            None => format!("{what} ended before its load began"),
        }));
    };
    let measured = seconds(window.end.saturating_sub(window.start));
    let is_whole = measured > wanted - WHOLE_SECONDS;
    Ok((!is_whole).then(|| format!("{what} ended after {measured:.0} of {wanted:.0} s of its measured window")))
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// What a point has that its tally does not tell.
fn complete(point: &mut Point, seconds: &Seconds, series: &Series, measured: &[&Interval]) {
    let mean = |metric| seconds.mean(metric).map(|estimate| estimate.value);
    point.retries = total(measured.iter().map(|interval| interval.retries));
    point.client.process_cpu_us_per_query = mean(Metric::ClientProcessCpuUsPerQuery);
    point.server = mean(Metric::ServerCpusBusy).map(|cpus_busy| ServerCost {
        cpu_us_per_query: mean(Metric::ServerCpuUsPerQuery),
        cpu_us_per_transaction: mean(Metric::ServerCpuUsPerTransaction),
        cpus_busy: Some(cpus_busy),
        read_bytes_per_query: mean(Metric::ServerReadBytesPerQuery),
        written_bytes_per_query: mean(Metric::ServerWrittenBytesPerQuery),
        resident_bytes: series.server.last().map(|sample| sample.resident_bytes),
        ..ServerCost::default()
    });
}

/// The seconds of a window as they are counted again, one in memory at a time.
struct Sums<'t> {
    trial: &'t TrialView,
    series: &'t Series,
    loops: usize,
    names: &'t Names,
    seconds: Seconds,
    whole: Option<Tally>,
}

impl Sums<'_> {
    /// Adds the measured seconds with the latencies of all transactions of each. Both files are in the order of time.
    fn add_all(&mut self, measured: &[&Interval], window: Range<u64>) -> Result<(), RecordError> {
        let mut rest = measured.iter();
        let mut open = rest.next().map(|interval| (*interval, tally(interval, self.names)));
        let mut latest = 0;
        self.trial.each_latency(
            window,
            |tag| tag.starts_with("txn."),
            |tag, start_ns, values| {
                if start_ns < latest {
                    return Err("it starts before a line that is above it".to_owned());
                }
                latest = start_ns;
                while let Some((interval, tally_of)) = open.take_if(|(i, _)| to_ms(i.t_ns) < to_ms(start_ns)) {
                    self.add(interval, &tally_of);
                    open = rest.next().map(|interval| (*interval, tally(interval, self.names)));
                }
                if let Some((_, tally)) = open.as_mut().filter(|(i, _)| to_ms(i.t_ns) == to_ms(start_ns)) {
                    let is_response = tag.ends_with(".response");
                    for all in &mut tally.transactions {
                        let sum = if is_response { &mut all.response } else { &mut all.service };
                        values.add_to(sum);
                    }
                }
                Ok(())
            },
        )?;
        while let Some((interval, tally_of)) = open {
            self.add(interval, &tally_of);
            open = rest.next().map(|interval| (*interval, tally(interval, self.names)));
        }
        Ok(())
    }

    fn add(&mut self, interval: &Interval, tally: &Tally) {
        let edges = edge(self.series, interval.t_ns).zip(edge(self.series, end_ns(interval)));
        let host = near(&self.series.host, end_ns(interval), |sample| sample.t_ns);
        self.seconds.add(tally, self.names, &Around { loops: self.loops, edges, host });
        match &mut self.whole {
            Some(whole) => whole.add(tally),
            None => self.whole = Some(tally.clone()),
        }
    }
}

/// An interval as it was counted, without latencies.
fn tally(interval: &Interval, names: &Names) -> Tally {
    let mut tally = Tally::new(names.shape());
    (tally.phase, tally.start_ns, tally.end_ns) = (interval.phase, interval.t_ns, end_ns(interval));
    tally.counters = Counters {
        transactions: interval.transactions,
        rollbacks: interval.rollbacks,
        queries: interval.queries,
        statements: interval.statements,
        sent: interval.sent,
        errors: interval.errors.clone(),
        retried: BTreeMap::new(),
        failed_attempts_ns: BTreeMap::new(),
        lost_connections: interval.lost_connections,
        unknown: 0,
        reconnects: interval.reconnects,
        completed_ns: interval.completed.map(|completed| {
            let since_start = |seconds: f64| interval.t_ns.saturating_add((seconds.max(0.0) * 1e9) as u64);
            (since_start(completed.first), since_start(completed.last))
        }),
        counts: interval.counts,
        loop_cpu_ns: (interval.loop_cpu_us * 1e3) as u64,
        script_ns: interval.script_us.map_or(0, |us| (us * 1e3) as u64),
        script_ns_max: 0,
        lag_ns_max: (interval.scheduling_lag_ms_max * 1e6) as u64,
        waiting: 0,
    };
    for all in &mut tally.transactions {
        (all.committed, all.rollbacks) = (interval.transactions, interval.rollbacks);
    }
    tally
}

/// What was looked at outside the loops at this moment.
fn edge(series: &Series, t_ns: u64) -> Option<Edge> {
    let client = near(&series.host, t_ns, |sample| sample.t_ns)?.client.as_ref()?;
    let server: Option<&ServerSample> = near(&series.server, t_ns, |sample| sample.t_ns);
    let cpu = Duration::from_micros(client.cpu_user_us.saturating_add(client.cpu_system_us));
    Some(Edge { spent: Some(Spent { cpu, waited: None }), server: server.copied(), ..Edge::default() })
}

/// The sample that was taken at this moment.
fn near<T>(samples: &[T], t_ns: u64, at: impl Fn(&T) -> u64) -> Option<&T> {
    let next = samples.partition_point(|sample| at(sample) < t_ns);
    let candidates = samples[next.saturating_sub(1)..].iter().take(2);
    candidates.min_by_key(|sample| at(sample).abs_diff(t_ns)).filter(|sample| at(sample).abs_diff(t_ns) < NEAR_NS)
}

fn end_ns(interval: &Interval) -> u64 {
    interval.t_ns.saturating_add((interval.seconds.max(0.0) * 1e9) as u64)
}

/// The log of latencies keeps milliseconds.
fn to_ms(ns: u64) -> u64 {
    ns.saturating_add(500_000) / 1_000_000
}
