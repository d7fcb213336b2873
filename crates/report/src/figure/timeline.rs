//! The run second by second: throughput with its phases, and the host's CPUs below.

use super::{LEFT, Panel, WIDTH, thinned};
use crate::format::tick;
use crate::input::{PointSeries, Report};
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use plimsoll_model::samples::{HostSample, Phase};

const THROUGHPUT: Panel = Panel { left: LEFT, right: 736.0, top: 68.0, bottom: 228.0 };
const HOST: Panel = Panel { left: LEFT, right: 736.0, top: 272.0, bottom: 342.0 };
/// More points than this do not show at the figure's width; seconds are then averaged.
const MOST_POINTS: usize = 1500;

/// One trial on the common axis of time.
struct Segment<'a> {
    series: &'a PointSeries,
    /// Where it starts on the axis, and the time of the trial that stands there; seconds.
    start: f64,
    origin: f64,
    length: f64,
}

impl Segment<'_> {
    fn x(&self, t_ns: u64) -> f64 {
        self.start + (seconds(t_ns) - self.origin).clamp(0.0, self.length)
    }
}

/// `None` without intervals.
pub fn seconds_of_load(report: &Report) -> Option<String> {
    let segments = segments(&report.timeline);
    let end = segments.last().map(|last| last.start + last.length)?;
    let has_host = segments.iter().any(|segment| segment.series.host.len() > 1);
    let lowest = if has_host { HOST } else { THROUGHPUT };
    let mut svg = Svg::new(WIDTH, lowest.bottom + 44.0, "Throughput second by second, load point after load point");
    let x = Scale::linear((0.0, end), (THROUGHPUT.left, THROUGHPUT.right));
    let rates: Vec<Vec<Rate>> = segments.iter().map(|segment| rates(segment, all_points(&segments))).collect();
    let highest = rates.iter().flatten().map(|rate| rate.per_second).fold(0.0, f64::max);
    let y = Scale::from_zero(highest, THROUGHPUT.vertical(), 4);

    for segment in &segments {
        bands(&mut svg, segment, &x, lowest.bottom);
    }
    THROUGHPUT.frame(&mut svg, &y, 4, "", "");
    svg.panel_title((THROUGHPUT.left, 20.0), "Throughput", "transactions per second");
    heads(&mut svg, &segments, &x, lowest.bottom);
    for rates in &rates {
        throughput(&mut svg, rates, &x, &y);
    }
    if has_host {
        host(&mut svg, &segments, &x);
    }
    let ticks = x.ticks(8).into_iter().map(|value| (x.at(value), tick(value))).collect();
    lowest.horizontal_axis(&mut svg, &thinned(ticks), "seconds of load, one load point after the other");
    Some(svg.finish())
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn segments(timeline: &[PointSeries]) -> Vec<Segment<'_>> {
    let mut start = 0.0;
    let mut segments = Vec::new();
    for series in timeline.iter().filter(|series| !series.intervals.is_empty()) {
        let origin = series.intervals.iter().map(|i| seconds(i.t_ns)).fold(f64::INFINITY, f64::min);
        let end = series.intervals.iter().map(|i| seconds(i.t_ns) + i.seconds.max(0.0)).fold(origin, f64::max);
        segments.push(Segment { series, start, origin, length: end - origin });
        start += end - origin;
    }
    segments
}

fn all_points(segments: &[Segment<'_>]) -> usize {
    segments.iter().map(|segment| segment.series.intervals.len()).sum()
}

/// Throughput over one interval, or over a few where there are too many to draw.
struct Rate {
    /// Middle of the interval on the axis.
    at: f64,
    per_second: f64,
    measured: bool,
}

fn rates(segment: &Segment<'_>, all: usize) -> Vec<Rate> {
    let mut rates = Vec::new();
    for phase in segment.series.intervals.chunk_by(|a, b| a.phase == b.phase) {
        for chunk in phase.chunks(all.div_ceil(MOST_POINTS).max(1)) {
            let length: f64 = chunk.iter().map(|interval| interval.seconds).sum();
            // Shorter remains would draw spikes.
            if length < 0.25 {
                continue;
            }
            let transactions: u64 = chunk.iter().map(|interval| interval.transactions).sum();
            let per_second = transactions as f64 / length;
            let at = segment.x(chunk[0].t_ns) + 0.5 * length;
            rates.push(Rate { at, per_second, measured: chunk[0].phase == Phase::Measure });
        }
    }
    rates
}

fn throughput(svg: &mut Svg, rates: &[Rate], x: &Scale, y: &Scale) {
    let place = |rate: &Rate| (x.at(rate.at), y.at(rate.per_second));
    svg.polyline(&rates.iter().map(place).collect::<Vec<_>>(), "line thin aside");
    for run in rates.chunk_by(|a, b| a.measured == b.measured).filter(|run| run[0].measured) {
        svg.polyline(&run.iter().map(place).collect::<Vec<_>>(), "line s1");
    }
}

/// Shades what was not measured: warm-up and drain.
fn bands(svg: &mut Svg, segment: &Segment<'_>, x: &Scale, bottom: f64) {
    for phase in segment.series.intervals.chunk_by(|a, b| a.phase == b.phase) {
        if phase[0].phase == Phase::Measure {
            continue;
        }
        let (from, last) = (x.at(segment.x(phase[0].t_ns)), &phase[phase.len() - 1]);
        let to = x.at(segment.x(last.t_ns) + last.seconds);
        svg.rect((from, THROUGHPUT.top), (to - from, bottom - THROUGHPUT.top), "band");
    }
}

/// The number of connections above each trial and a rule between trials.
fn heads(svg: &mut Svg, segments: &[Segment<'_>], x: &Scale, bottom: f64) {
    let middle = |segment: &Segment<'_>| x.at(segment.start + 0.5 * segment.length);
    let labels = segments.iter().map(|segment| (middle(segment), tick(segment.series.connections as f64))).collect();
    for (at, label) in thinned(labels) {
        svg.text((at, THROUGHPUT.top - 14.0), Anchor::Middle, "head", &label);
    }
    svg.text((LEFT - 8.0, THROUGHPUT.top - 14.0), Anchor::End, "axis-title", "connections");
    for segment in segments.iter().skip(1) {
        let at = x.at(segment.start);
        svg.line((at, THROUGHPUT.top - 26.0), (at, bottom), "divide");
    }
}

fn host(svg: &mut Svg, segments: &[Segment<'_>], x: &Scale) {
    let y = Scale::linear((0.0, 100.0), HOST.vertical());
    HOST.frame(svg, &y, 2, "Host CPU", "% busy");
    let busy = |sample: &HostSample| 100.0 * (sample.user + sample.system + sample.steal).clamp(0.0, 1.0);
    for segment in segments {
        let step = segment.series.host.len().div_ceil(MOST_POINTS).max(1);
        let places: Vec<(f64, f64)> = segment
            .series
            .host
            .iter()
            .step_by(step)
            .map(|sample| (x.at(segment.x(sample.t_ns)), y.at(busy(sample))))
            .collect();
        if let (Some(first), Some(last), true) = (places.first(), places.last(), places.len() > 1) {
            let mut area = places.clone();
            area.extend([(last.0, HOST.bottom), (first.0, HOST.bottom)]);
            svg.polygon(&area, "area s5");
            svg.polyline(&places, "line thin s5");
        }
    }
}
