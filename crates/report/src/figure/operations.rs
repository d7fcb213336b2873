//! Latency of each operation at one load point: a line from the median to the 99th percentile.

use super::{Panel, WIDTH, thinned};
use crate::format::{short, tick};
use crate::scale::{Scale, spread};
use crate::svg::{Anchor, Svg};
use crate::text::clean;
use plimsoll_model::summary::{Operation, OperationKind, Point};

const ROW: f64 = 26.0;
const TOP: f64 = 34.0;
const MOST_ROWS: usize = 40;

/// `None` if no operation was completed.
pub fn latency_ranges(point: &Point) -> Option<String> {
    let shown: Vec<&Operation> =
        point.operations.iter().filter(|op| op.latency_ms.p50.is_some_and(|ms| ms > 0.0)).take(MOST_ROWS).collect();
    let values = || shown.iter().flat_map(|op| [op.latency_ms.p50, op.latency_ms.p99, op.latency_ms.max]).flatten();
    let (lowest, highest) = values().fold((f64::INFINITY, 0.0), |(low, high), ms| (ms.min(low), ms.max(high)));
    if shown.is_empty() {
        return None;
    }
    let panel = Panel { left: 190.0, right: 720.0, top: TOP, bottom: TOP + ROW * shown.len() as f64 };
    let mut svg = Svg::new(WIDTH, panel.bottom + 44.0, "Latency of each operation: p50, p95, p99 and maximum");
    let x = Scale::logarithmic_round((lowest, highest), (panel.left, panel.right));
    let ticks: Vec<f64> = x.ticks(10);
    for &value in &ticks {
        svg.line((x.at(value), panel.top - 4.0), (x.at(value), panel.bottom), "grid");
    }
    for (at, operation) in shown.iter().enumerate() {
        row(&mut svg, operation, panel.top + ROW * (at as f64 + 0.5), &x);
    }
    key(&mut svg, shown[0], &x);
    svg.line((panel.left, panel.bottom), (panel.right, panel.bottom), "axis");
    let labels = ticks.into_iter().map(|value| (x.at(value), tick(value))).collect();
    panel.horizontal_axis(&mut svg, &thinned(labels), "milliseconds, logarithmic");
    Some(svg.finish())
}

fn row(svg: &mut Svg, operation: &Operation, y: f64, x: &Scale) {
    let class = if operation.kind == OperationKind::Transaction { "s1" } else { "s2" };
    let latency = &operation.latency_ms;
    let name: String = clean(&operation.name).chars().take(26).collect();
    svg.text((178.0, y + 4.0), Anchor::End, "label", &name);
    if let (Some(p50), Some(p99)) = (latency.p50, latency.p99) {
        svg.line((x.at(p50), y), (x.at(p99), y), &format!("line {class}"));
    }
    if let Some(p95) = latency.p95 {
        svg.line((x.at(p95), y - 5.0), (x.at(p95), y + 5.0), &format!("line {class}"));
    }
    let hint = |what: &str, ms: f64| format!("{name}: {what} {} ms", short(ms));
    if let Some(max) = latency.max {
        svg.dot((x.at(max), y), 1.8, "dot aside", &hint("maximum", max));
    }
    if let Some(p99) = latency.p99 {
        svg.dot((x.at(p99), y), 4.0, &format!("ring {class}"), &hint("p99", p99));
    }
    if let Some(p50) = latency.p50 {
        svg.dot((x.at(p50), y), 4.0, &format!("dot {class}"), &hint("p50", p50));
    }
}

/// Names the marks above the first row.
fn key(svg: &mut Svg, operation: &Operation, x: &Scale) {
    let latency = &operation.latency_ms;
    let marks = [("p50", latency.p50), ("p95", latency.p95), ("p99", latency.p99), ("max", latency.max)];
    let marks: Vec<(&str, f64)> = marks.into_iter().filter_map(|(name, ms)| Some((name, x.at(ms?)))).collect();
    let wanted: Vec<f64> = marks.iter().map(|mark| mark.1).collect();
    for (mark, at) in marks.iter().zip(spread(&wanted, 28.0, (190.0, 748.0))) {
        svg.text((at, TOP - 2.0), Anchor::Middle, "tick", mark.0);
    }
}
