//! From the samples of trials to tracks on one axis of time.

use crate::subject::Trial;
use plimsoll_model::samples::{DeviceSample, HostSample, Interval, Phase, StatusSample};
use plimsoll_model::summary::{LatencyMs, Point};
use std::collections::BTreeMap;

/// A shorter remainder of a phase would draw a spike, seconds.
const SHORTEST: f64 = 0.25;

/// The last sample of the host may cover less, mostly time after the load had ended, seconds.
const SHORTEST_BESIDE: f64 = 0.5;

/// At most this many of the user's own numbers are drawn.
const MOST_COLLECTORS: usize = 6;

/// A trial on the common axis of time.
pub(super) struct Segment<'a> {
    pub trial: &'a Trial,
    /// Where it begins on the axis, seconds.
    pub start: f64,
    /// The time of the trial that stands there, seconds.
    origin: f64,
    pub length: f64,
    /// Stretches of one phase on the axis, in its order.
    pub spans: Vec<(Phase, f64, f64)>,
}

impl Segment<'_> {
    /// Where a time of the trial lies on the axis.
    fn at(&self, seconds: f64) -> f64 {
        self.start + (seconds - self.origin).clamp(0.0, self.length)
    }

    fn contains(&self, seconds: f64) -> bool {
        (self.origin..=self.origin + self.length).contains(&seconds)
    }

    /// Whether a place on the axis is in the measured window.
    pub fn is_measured(&self, at: f64) -> bool {
        let before = self.spans.partition_point(|&(_, from, _)| from <= at);
        self.spans[..before].last().is_some_and(|&(phase, _, to)| phase == Phase::Measure && at < to)
    }
}

/// The trials that have intervals, one after the other. Samples taken while there was no load are left out.
pub(super) fn segments<'a>(trials: &[&'a Trial]) -> Vec<Segment<'a>> {
    let mut start = 0.0;
    let mut segments = Vec::new();
    for trial in trials {
        let intervals = &trial.series.intervals;
        let origin = intervals.iter().map(|interval| seconds(interval.t_ns)).fold(f64::INFINITY, f64::min);
        let end = intervals.iter().map(end).fold(origin, f64::max);
        if end > origin {
            let mut segment = Segment { trial, start, origin, length: end - origin, spans: Vec::new() };
            let stretches = intervals.chunk_by(|a, b| a.phase == b.phase);
            let span = |run: &[Interval]| (run[0].phase, segment.at(seconds(run[0].t_ns)), segment.at(end_of(run)));
            segment.spans = stretches.map(span).collect();
            segment.spans.sort_by(|a, b| a.1.total_cmp(&b.1));
            segments.push(segment);
            start += end - origin;
        }
    }
    segments
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn end(interval: &Interval) -> f64 {
    seconds(interval.t_ns) + interval.seconds.clamp(0.0, 1e6)
}

fn end_of(run: &[Interval]) -> f64 {
    run.iter().map(end).fold(0.0, f64::max)
}

/// One value with the time that it covers.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrackSample {
    /// Middle on the axis, seconds.
    pub at: f64,
    /// Weight in a mean, seconds.
    pub seconds: f64,
    pub value: f64,
}

/// One line.
pub(super) struct Track {
    pub name: String,
    pub class: &'static str,
    pub samples: Vec<TrackSample>,
    /// Where several seconds are merged, their spread shows.
    pub shows_extremes: bool,
    /// The value over the whole measured window, if that is not the mean of the samples: a percentile.
    pub whole: Option<fn(&Point) -> Option<f64>>,
}

impl Track {
    /// The samples of one trial; those of all trials stand in the order of the axis.
    pub fn within(&self, segment: &Segment<'_>) -> &[TrackSample] {
        let before = |end: f64| self.samples.partition_point(|sample| sample.at < end);
        let (from, to) = (before(segment.start), before(segment.start + segment.length));
        &self.samples[from.min(to)..to]
    }
}

/// One or several tracks that share an axis.
#[derive(Default)]
pub(super) struct Strip {
    pub what: String,
    pub unit: &'static str,
    pub tracks: Vec<Track>,
    /// Tracks stand on each other, up to 100.
    pub is_stacked: bool,
    pub is_tall: bool,
}

/// Everything that there is to draw, the load first; counters that never moved are left out.
pub(super) fn strips(segments: &[Segment<'_>]) -> Vec<Strip> {
    let mut strips = vec![throughput(segments), latency(segments), host(segments)];
    strips.extend(storage(segments));
    strips.extend(server(segments));
    strips.extend(collectors(segments));
    for strip in &mut strips {
        let is_all_zero = |track: &Track| track.samples.iter().all(|sample| sample.value == 0.0);
        strip.tracks.retain(|track| !track.samples.is_empty());
        if !strip.is_tall && strip.tracks.iter().all(is_all_zero) {
            strip.tracks.clear();
        }
    }
    strips.retain(|strip| !strip.tracks.is_empty());
    strips
}

/// A track of the load's intervals, which begin at their time.
fn of_load(segments: &[Segment<'_>], name: &str, class: &'static str, value: fn(&Interval) -> Option<f64>) -> Track {
    let mut samples = Vec::new();
    for segment in segments {
        let whole = segment.trial.series.intervals.iter().filter(|interval| interval.seconds >= SHORTEST);
        samples.extend(whole.filter_map(|interval| {
            let at = segment.at(seconds(interval.t_ns) + 0.5 * interval.seconds);
            sample(at, interval.seconds, value(interval)?)
        }));
    }
    track(name, class, samples)
}

fn track(name: &str, class: &'static str, mut samples: Vec<TrackSample>) -> Track {
    samples.sort_by(|a, b| a.at.total_cmp(&b.at));
    Track { name: name.to_owned(), class, samples, shows_extremes: false, whole: None }
}

/// A track of what was sampled beside the load: time of the sample, the seconds up to it that it covers, and the value.
fn beside<'a, S: 'a>(
    segments: &'a [Segment<'a>],
    name: &str,
    class: &'static str,
    series: impl Fn(&'a Trial) -> &'a [S],
    read: impl Fn(&'a Trial, &'a S) -> Option<(u64, f64, f64)>,
) -> Track {
    let mut samples = Vec::new();
    for segment in segments {
        samples.extend(series(segment.trial).iter().filter_map(|of| {
            let (t_ns, covered, value) = read(segment.trial, of)?;
            let covered = if covered > 0.0 { covered.min(60.0) } else { 1.0 };
            let middle = seconds(t_ns) - 0.5 * covered;
            let is_drawn = covered >= SHORTEST_BESIDE && segment.contains(middle);
            is_drawn.then(|| sample(segment.at(middle), covered, value)).flatten()
        }));
    }
    track(name, class, samples)
}

fn sample(at: f64, seconds: f64, value: f64) -> Option<TrackSample> {
    (value.is_finite() && seconds > 0.0).then_some(TrackSample { at, seconds, value })
}

fn throughput(segments: &[Segment<'_>]) -> Strip {
    let rate = |interval: &Interval| Some(interval.transactions as f64 / interval.seconds);
    let tracks = vec![Track { shows_extremes: true, ..of_load(segments, "throughput", "s1", rate) }];
    let (what, unit) = ("Throughput".to_owned(), "transactions per second");
    Strip { what, unit, tracks, is_tall: true, ..Strip::default() }
}

/// The latency of all transactions of a load point.
fn whole(point: &Point) -> &LatencyMs {
    point.response_ms.as_ref().unwrap_or(&point.latency_ms)
}

fn latency(segments: &[Segment<'_>]) -> Strip {
    let p50 = |interval: &Interval| interval.response_ms.unwrap_or(interval.latency_ms).p50;
    let p99 = |interval: &Interval| interval.response_ms.unwrap_or(interval.latency_ms).p99;
    let p50 = Track { whole: Some(|point| whole(point).p50), ..of_load(segments, "p50", "s2", p50) };
    let p99 = of_load(segments, "p99", "s4", p99);
    let p99 = Track { shows_extremes: true, whole: Some(|point| whole(point).p99), ..p99 };
    let tracks = vec![p50, p99];
    let intervals = || segments.iter().flat_map(|segment| &segment.trial.series.intervals);
    let is_response = intervals().any(|interval| interval.response_ms.is_some());
    let what = if is_response { "Response time" } else { "Latency" };
    Strip { what: what.to_owned(), unit: "ms", tracks, ..Strip::default() }
}

/// Name, class and share.
type Kind = (&'static str, &'static str, fn(&HostSample) -> f64);

const KINDS: [Kind; 4] = [
    ("user", "s1", |host| host.user),
    ("system", "s5", |host| host.system),
    ("I/O wait", "s3", |host| host.iowait),
    ("stolen", "s4", |host| host.steal),
];

fn host(segments: &[Segment<'_>]) -> Strip {
    let track = |(name, class, share): Kind| {
        let read =
            move |_: &Trial, host: &HostSample| Some((host.t_ns, host.seconds, 100.0 * share(host).clamp(0.0, 1.0)));
        beside(segments, name, class, |trial| &trial.series.host, read)
    };
    let tracks = KINDS.map(track).into();
    Strip { what: "Host CPU".to_owned(), unit: "% of all CPUs", tracks, is_stacked: true, ..Strip::default() }
}

/// The busiest block device of a trial.
fn busiest(trial: &Trial) -> Option<&str> {
    let mut done: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, device) in trial.series.host.iter().flat_map(|host| &host.devices) {
        let all = done.entry(name).or_default();
        *all = all.saturating_add(device.reads).saturating_add(device.writes);
    }
    done.into_iter().max_by_key(|(_, done)| *done).map(|(name, _)| name)
}

fn storage(segments: &[Segment<'_>]) -> [Strip; 2] {
    let devices: BTreeMap<u32, &str> =
        segments.iter().filter_map(|segment| Some((segment.trial.index, busiest(segment.trial)?))).collect();
    let track = |name: &str, class: &'static str, value: fn(&DeviceSample) -> f64| {
        let read = |trial: &Trial, host: &HostSample| {
            let device = host.devices.get(*devices.get(&trial.index)?)?;
            let covered = if device.seconds > 0.0 { device.seconds } else { host.seconds };
            Some((host.t_ns, covered, value(device) / if covered > 0.0 { covered } else { 1.0 }))
        };
        beside(segments, name, class, |trial| &trial.series.host, read)
    };
    let requests = vec![track("writes", "s4", |d| d.writes as f64), track("reads", "s1", |d| d.reads as f64)];
    let busy = vec![track("busy", "s7", |d| 100.0 * d.busy.clamp(0.0, 1.0) * d.seconds)];
    let strip = |what: &str, unit, tracks| Strip { what: what.to_owned(), unit, tracks, ..Strip::default() };
    [strip("Storage", "requests per second", requests), strip("Storage busy", "% of the time", busy)]
}

/// What the server reports about itself: name, unit, whether it is a counter, and the value.
type Counter = (&'static str, &'static str, bool, fn(&StatusSample) -> Option<f64>);

const MEBIBYTE: f64 = 1024.0 * 1024.0;

const COUNTERS: [Counter; 4] = [
    ("Checkpoint age", "MiB", false, |status| Some(status.checkpoint_age_bytes? as f64 / MEBIBYTE)),
    ("Row-lock waits", "per second", true, |status| status.row_lock_waits.map(|count| count as f64)),
    ("Pool reads", "pages per second", true, |status| status.pool_reads.map(|count| count as f64)),
    ("Deadlocks", "per second", true, |status| status.deadlocks.map(|count| count as f64)),
];

fn server(segments: &[Segment<'_>]) -> Vec<Strip> {
    let strip = |(what, unit, is_counter, value): Counter| {
        let read = move |_: &Trial, status: &StatusSample| {
            let per = if is_counter && status.seconds > 0.0 { status.seconds } else { 1.0 };
            Some((status.t_ns, status.seconds, value(status)? / per))
        };
        let track = beside(segments, what, "s6", |trial| &trial.series.status, read);
        Strip { what: what.to_owned(), unit, tracks: vec![track], ..Strip::default() }
    };
    COUNTERS.map(strip).into()
}

/// The user's own numbers, a strip for each name.
fn collectors(segments: &[Segment<'_>]) -> Vec<Strip> {
    let all = || segments.iter().flat_map(|segment| &segment.trial.series.collectors);
    let mut names: Vec<&str> = Vec::new();
    for collector in all().filter(|collector| collector.value.is_some()) {
        if names.len() < MOST_COLLECTORS && !names.contains(&collector.name.as_str()) {
            names.push(&collector.name);
        }
    }
    let strip = |name: &str| {
        let track = beside(
            segments,
            name,
            "s8",
            |trial| &trial.series.collectors,
            |_, collector| (collector.name == name).then_some((collector.t_ns, 1.0, collector.value?)),
        );
        Strip { what: name.to_owned(), tracks: vec![track], ..Strip::default() }
    };
    names.into_iter().map(strip).collect()
}
