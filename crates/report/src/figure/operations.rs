//! Latency of each operation at one load point: a line from the median to the 99th percentile.

use super::label::shortened;
use super::{Panel, thinned};
use crate::document::Figure;
use crate::document::NARROW;
use crate::points;
use crate::scale::{Scale, spread};
use crate::svg::{Anchor, Svg};
use plimsoll_model::number::{short, tick};
use plimsoll_model::summary::{Operation, OperationKind, Point};

const ROW: f64 = 26.0;
/// With the name above its line.
const NARROW_ROW: f64 = 38.0;
const TOP: f64 = 34.0;
const MOST_ROWS: usize = 40;

/// `None` if no operation was completed.
pub fn draw(point: &Point, caption: &str) -> Option<Figure> {
    let shown: Vec<&Operation> =
        point.operations.iter().filter(|op| op.latency_ms.p50.is_some_and(|ms| ms > 0.0)).take(MOST_ROWS).collect();
    let any = !shown.is_empty();
    any.then(|| Figure::drawn("operations", caption, points::operations(point), |width| drawing(&shown, width)))
}

fn drawing(shown: &[&Operation], width: f64) -> String {
    let values = shown.iter().flat_map(|op| [op.latency_ms.p50, op.latency_ms.p99, op.latency_ms.max]).flatten();
    let (lowest, highest) = values.fold((f64::INFINITY, 0.0), |(low, high), ms| (ms.min(low), ms.max(high)));
    let (left, pitch) = if width > NARROW { (190.0, ROW) } else { (20.0, NARROW_ROW) };
    let panel = Panel { left, right: width - 40.0, top: TOP, bottom: TOP + pitch * shown.len() as f64 };
    let mut svg = Svg::new(width, panel.bottom + 44.0, "Latency of each operation: p50, p95, p99 and maximum");
    let x = Scale::logarithmic_round((lowest, highest), (panel.left, panel.right));
    let ticks: Vec<f64> = x.ticks(if width > NARROW { 10 } else { 5 });
    for &value in &ticks {
        svg.line((x.at(value), panel.top - 4.0), (x.at(value), panel.bottom), "grid");
    }
    for (at, operation) in shown.iter().enumerate() {
        row(&mut svg, operation, &panel, panel.top + pitch * at as f64, &x);
    }
    if let Some(first) = shown.first() {
        key(&mut svg, first, &panel, &x);
    }
    svg.line((panel.left, panel.bottom), (panel.right, panel.bottom), "axis");
    let labels = ticks.into_iter().map(|value| (x.at(value), tick(value))).collect();
    panel.horizontal_axis(&mut svg, &thinned(labels), "milliseconds, logarithmic");
    svg.finish()
}

/// The row that begins at `top`.
fn row(svg: &mut Svg, operation: &Operation, panel: &Panel, top: f64, x: &Scale) {
    let class = if operation.kind == OperationKind::Transaction { "s1" } else { "s2" };
    let latency = &operation.latency_ms;
    let name = shortened(&operation.name, 170.0);
    let y = match panel.left > 100.0 {
        true => {
            svg.text((panel.left - 12.0, top + 0.5 * ROW + 4.0), Anchor::End, "label", &name);
            top + 0.5 * ROW
        }
        false => {
            svg.text((panel.left, top + 16.0), Anchor::Start, "label halo", &name);
            top + 27.0
        }
    };
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
fn key(svg: &mut Svg, operation: &Operation, panel: &Panel, x: &Scale) {
    let latency = &operation.latency_ms;
    let marks = [("p50", latency.p50), ("p95", latency.p95), ("p99", latency.p99), ("max", latency.max)];
    let marks: Vec<(&str, f64)> = marks.into_iter().filter_map(|(name, ms)| Some((name, x.at(ms?)))).collect();
    let wanted: Vec<f64> = marks.iter().map(|mark| mark.1).collect();
    for (mark, at) in marks.iter().zip(spread(&wanted, 28.0, (panel.left, panel.right + 28.0))) {
        svg.text((at, TOP - 2.0), Anchor::Middle, "tick", mark.0);
    }
}
