//! The main figure: throughput over load with its peak and its knee, and latency below on the same axis.

use super::{LEFT, Panel, WIDTH, thinned, whisker};
use crate::format::{decimals_for, number, tick};
use crate::input::{PointSeries, Report};
use crate::interval::Measured;
use crate::scale::{Scale, spread};
use crate::svg::{Anchor, Svg};
use crate::sweep::{Sweep, Unit, measured_latency, shown_latency};
use plimsoll_model::samples::{Interval, Phase};
use plimsoll_model::summary::{LatencyMs, Point};

const THROUGHPUT: Panel = Panel { left: LEFT, right: 712.0, top: 40.0, bottom: 300.0 };
const LATENCY: Panel = Panel { left: LEFT, right: 712.0, top: 358.0, bottom: 508.0 };
/// Latencies that differ by more than this factor are drawn on a logarithmic axis.
const LINEAR_UP_TO: f64 = 12.0;

/// So many straight pieces look like a curve.
const CURVE_STEPS: usize = 80;

/// `None` with fewer than two load points.
pub fn throughput_and_latency(report: &Report) -> Option<String> {
    let sweep = Sweep::new(report);
    let points = sweep.by_load();
    let (first, last) = (sweep.x(points.first()?), sweep.x(points.last()?));
    if points.len() < 2 {
        return None;
    }
    let description =
        format!("Throughput and latency over {}. {}", sweep.axis_title(), crate::sentence::answer(report));
    let mut svg = Svg::new(WIDTH, 552.0, &description);
    let x = Scale::logarithmic((first, last), (THROUGHPUT.left + 20.0, THROUGHPUT.right - 20.0));
    let spans: Vec<Span> = spans(report, &sweep);
    let y = Scale::from_zero(1.08 * highest(&sweep, &spans), THROUGHPUT.vertical(), 5);

    knee_interval(&mut svg, &sweep, &x);
    THROUGHPUT.frame(&mut svg, &y, 5, "Throughput", sweep.unit.name());
    knee(&mut svg, &sweep, &x, &y);
    for span in &spans {
        let at = x.at(span.load);
        svg.line((at, y.at(span.slowest)), (at, y.at(span.fastest)), "span s1");
    }
    model(&mut svg, &sweep, (first, last), &x, &y);
    throughput(&mut svg, &sweep, &x, &y);
    latency(&mut svg, &sweep, &points, &x);
    let mut ticks: Vec<(f64, String)> =
        points.iter().map(|point| (x.at(sweep.x(point)), tick(sweep.x(point)))).collect();
    ticks.dedup();
    LATENCY.horizontal_axis(&mut svg, &thinned(ticks), &format!("{}, logarithmic", sweep.axis_title()));
    Some(svg.finish())
}

/// The highest value that has to be inside the panel; ends of intervals far beyond all values are cut off instead.
fn highest(sweep: &Sweep<'_>, spans: &[Span]) -> f64 {
    let means = sweep.points.iter().filter_map(|point| sweep.throughput(point)).fold(0.0, f64::max);
    let ends = sweep.points.iter().filter_map(|point| sweep.measured(point).ends().1);
    let others = ends.filter(|end| *end < 1.5 * means).chain(spans.iter().map(|span| span.fastest));
    others.fold(means, f64::max)
}

/// The slowest and the fastest second of a load point.
struct Span {
    load: f64,
    slowest: f64,
    fastest: f64,
}

/// The seconds of order entry do not tell its new orders apart, so it has none.
fn spans(report: &Report, sweep: &Sweep<'_>) -> Vec<Span> {
    if sweep.unit == Unit::NewOrders {
        return Vec::new();
    }
    let paired =
        sweep.points.iter().zip(&report.timeline).filter(|(point, series)| point.connections == series.connections);
    paired.filter_map(|(point, series)| span(sweep.x(point), series)).collect()
}

fn span(load: f64, series: &PointSeries) -> Option<Span> {
    // A short last interval would show chance, not the server.
    let whole = |interval: &&Interval| interval.phase == Phase::Measure && interval.seconds >= 0.9;
    let rates = series.intervals.iter().filter(whole).map(|interval| interval.transactions as f64 / interval.seconds);
    let (slowest, fastest) = rates.fold((f64::INFINITY, 0.0), |(low, high), rate| (rate.min(low), rate.max(high)));
    (slowest < fastest && load > 0.0).then_some(Span { load, slowest, fastest })
}

/// A band where the knee may lie, to the panel's edge where there is no end; below everything else.
fn knee_interval(svg: &mut Svg, sweep: &Sweep<'_>, x: &Scale) {
    let Some(knee) = sweep.knee() else { return };
    let ends = Measured::from(&knee.load).ends();
    if ends == (None, None) {
        return;
    }
    let place = |end: Option<f64>, edge| end.map_or(edge, |end| x.at(end).clamp(THROUGHPUT.left, THROUGHPUT.right));
    let (left, right) = (place(ends.0, THROUGHPUT.left), place(ends.1, THROUGHPUT.right));
    svg.rect((left, THROUGHPUT.top), (right - left, LATENCY.bottom - THROUGHPUT.top), "knee-band");
}

fn knee(svg: &mut Svg, sweep: &Sweep<'_>, x: &Scale, y: &Scale) {
    let Some(knee) = sweep.knee() else { return };
    let (at, height) = (x.at(knee.load.value), y.at(knee.throughput));
    svg.line((at, height), (at, LATENCY.bottom), "guide");
    svg.line((at, height), (x.at(knee.peak_load), height), "guide");
    let label = format!("knee: 95 % of the peak at about {}", Measured::from(&knee.load).label(0));
    let (offset, anchor) = if at < 480.0 { (9.0, Anchor::Start) } else { (-9.0, Anchor::End) };
    svg.text((at + offset, THROUGHPUT.bottom - 12.0), anchor, "note", &label);
}

/// The fitted curve with its name at its end, as far as it lies within the panel.
fn model(svg: &mut Svg, sweep: &Sweep<'_>, (first, last): (f64, f64), x: &Scale, y: &Scale) {
    let Some(model) = sweep.scaling.and_then(|scaling| scaling.saturation.as_ref()) else { return };
    let load = |step: usize| first * (last / first).powf(step as f64 / CURVE_STEPS as f64);
    let places = (0..=CURVE_STEPS).map(|step| (x.at(load(step)), y.at(model.at(load(step)))));
    let within: Vec<(f64, f64)> =
        places.filter(|place| (THROUGHPUT.top..=THROUGHPUT.bottom).contains(&place.1)).collect();
    svg.polyline(&within, "model");
    let Some(&(at, height)) = within.last() else { return };
    svg.text((at + 9.0, height + 4.0), Anchor::Start, "model-name", "model");
    if model.poor.is_some() {
        svg.text((at + 9.0, height + 18.0), Anchor::Start, "model-name", "(poor)");
    }
}

fn throughput(svg: &mut Svg, sweep: &Sweep<'_>, x: &Scale, y: &Scale) {
    let places: Vec<(f64, f64)> = sweep
        .by_load()
        .iter()
        .filter_map(|point| Some((x.at(sweep.x(point)), y.at(sweep.throughput(point)?))))
        .collect();
    if sweep.is_one_line() {
        svg.polyline(&places, "line s1");
    }
    for point in sweep.points.iter().filter(|point| sweep.x(point) > 0.0) {
        let Some(rate) = sweep.throughput(point) else { continue };
        let (at, measured) = (x.at(sweep.x(point)), sweep.measured(point));
        let label = measured.label(decimals_for(rate));
        whisker(svg, &THROUGHPUT, y, at, &measured, "interval");
        svg.dot((at, y.at(rate)), 3.5, "dot s1", &format!("{}: {label} {}", sweep.load_text(point), sweep.unit.name()));
    }
    if let Some(knee) = sweep.knee() {
        svg.plimsoll_mark((x.at(knee.load.value), y.at(knee.throughput)), 7.0, "mark");
    }
    if let Some(peak) = sweep.peak().map(|at| &sweep.points[at]) {
        let rate = sweep.throughput(peak).unwrap_or(0.0);
        let place = (x.at(sweep.x(peak)), y.at(rate));
        svg.dot(place, 5.0, "dot s1", &format!("the peak, {}", sweep.load_text(peak)));
        let anchor = match place.0 {
            left if left < THROUGHPUT.left + 120.0 => Anchor::Start,
            right if right > THROUGHPUT.right - 90.0 => Anchor::End,
            _ => Anchor::Middle,
        };
        let label = sweep.measured(peak).label(decimals_for(rate));
        let above = spans_above(place.1);
        svg.text((place.0, above), anchor, "peak", &format!("peak: {label} at {}", number(sweep.x(peak), 0)));
    }
}

/// Baseline of the peak's label: well above its dot and the span through it, but inside the panel.
fn spans_above(y: f64) -> f64 {
    (y - 18.0).max(THROUGHPUT.top + 2.0)
}

type Pick = fn(&LatencyMs) -> Option<f64>;

const PERCENTILES: [(&str, &str, Pick); 3] =
    [("p50", "s2", |l| l.p50), ("p95", "s3", |l| l.p95), ("p99", "s4", |l| l.p99)];

fn latency(svg: &mut Svg, sweep: &Sweep<'_>, points: &[&Point], x: &Scale) {
    let all = || points.iter().flat_map(|point| PERCENTILES.map(|(_, _, pick)| pick(shown_latency(point)))).flatten();
    let (lowest, highest) = all().fold((f64::INFINITY, 0.0), |(low, high), value| (value.min(low), value.max(high)));
    let what = if points.iter().any(|point| point.response_ms.is_some()) { "Response time" } else { "Latency" };
    if lowest > highest {
        svg.panel_title((LATENCY.left, LATENCY.top - 14.0), what, "no transaction was completed");
        return;
    }
    let wide = lowest > 0.0 && highest / lowest > LINEAR_UP_TO;
    let y = match wide {
        true => Scale::logarithmic_round((lowest, highest), LATENCY.vertical()),
        false => Scale::from_zero(highest, LATENCY.vertical(), 4),
    };
    LATENCY.frame(
        svg,
        &y,
        if wide { 6 } else { 4 },
        what,
        if wide { "milliseconds, logarithmic" } else { "milliseconds" },
    );
    let mut ends = Vec::new();
    for (name, class, pick) in PERCENTILES {
        let places: Vec<(f64, f64)> =
            points.iter().filter_map(|point| Some((x.at(sweep.x(point)), y.at(pick(shown_latency(point))?)))).collect();
        if sweep.is_one_line() {
            svg.polyline(&places, &format!("line thin {class}"));
        }
        for point in points {
            let Some(ms) = pick(shown_latency(point)) else { continue };
            let (at, measured) = (x.at(sweep.x(point)), measured_latency(point, name, pick));
            let hint = format!("{}: {name} {} ms", sweep.load_text(point), measured.label(decimals_for(ms)));
            whisker(svg, &LATENCY, &y, at, &measured, &format!("interval {class}"));
            svg.dot((at, y.at(ms)), 2.5, &format!("dot {class}"), &hint);
        }
        ends.extend(places.last().map(|&(at, height)| (name, class, at, height)));
    }
    let heights: Vec<f64> = ends.iter().map(|end| end.3).collect();
    for (end, height) in ends.iter().zip(spread(&heights, 14.0, (LATENCY.top, LATENCY.bottom))) {
        svg.text((end.2 + 10.0, height + 4.0), Anchor::Start, &format!("name {}", end.1), end.0);
    }
}
