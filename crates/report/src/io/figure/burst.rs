//! Writes second by second: how long a burst lasts.

use crate::document::Figure;
use crate::document::WIDTH;
use crate::figure::{LEFT, Panel, thinned};
use crate::scale::Scale;
use crate::svg::Svg;
use crate::table::{Column, Table};
use plimsoll_model::io::{Probe, Second};
use plimsoll_model::number::{short, tick};

const RATE: Panel = Panel { left: LEFT, right: 736.0, top: 44.0, bottom: 204.0 };
/// With more points than this, which the figure's width cannot show, seconds are averaged.
const MOST_POINTS: usize = 600;

/// One figure for each measurement that has enough seconds.
pub fn draw(probes: &[Probe], caption: &str) -> Vec<Figure> {
    let is_long = |probe: &&Probe| probe.probe == 14 || (probe.probe == 13 && probe.word("what") == "burst");
    probes.iter().filter(is_long).filter_map(|probe| burst(probe, caption)).collect()
}

fn burst(probe: &Probe, caption: &str) -> Option<Figure> {
    let seconds: Vec<&Second> = probe.series.iter().filter(|second| second.iops.is_finite()).collect();
    let (first, last) = (seconds.first()?.t, seconds.last()?.t);
    if last <= first {
        return None;
    }
    let chunks = seconds.chunks(seconds.len().div_ceil(MOST_POINTS).max(1));
    let points: Vec<(f64, f64)> = chunks
        .map(|chunk| (chunk[0].t, chunk.iter().map(|second| second.iops).sum::<f64>() / chunk.len() as f64))
        .collect();
    let highest = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let (x, y) = (Scale::linear((first, last), (RATE.left, RATE.right)), Scale::from_zero(highest, RATE.vertical(), 4));
    let mut svg = Svg::new(WIDTH, RATE.bottom + 44.0, &format!("Writes per second over time: {}", probe.id));
    RATE.frame(&mut svg, &y, 4, "Writes", &format!("per second, {}", probe.id));
    let places: Vec<(f64, f64)> = points.iter().map(|&(t, rate)| (x.at(t), y.at(rate))).collect();
    let mut area = places.clone();
    area.extend([(x.at(last), RATE.bottom), (x.at(first), RATE.bottom)]);
    svg.polygon(&area, "area s4");
    svg.polyline(&places, "line s4");
    let ticks = x.ticks(8).into_iter().map(|value| (x.at(value), tick(value))).collect();
    RATE.horizontal_axis(&mut svg, &thinned(ticks), "seconds");
    Some(super::figure(&format!("burst-{}", probe.id), svg, caption, table(&points)))
}

/// What is drawn.
fn table(points: &[(f64, f64)]) -> Table {
    let numbers = |of: fn(&(f64, f64)) -> f64| points.iter().map(|point| short(of(point))).collect();
    Table::new(vec![
        Column::numbers("time", "s", numbers(|point| point.0)),
        Column::numbers("writes", "1/s", numbers(|point| point.1)),
    ])
}
