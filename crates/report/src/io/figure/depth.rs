//! Page reads and writes over depth: rate above, latency below.

use super::{logarithmic, names, positive};
use crate::document::Figure;
use crate::document::WIDTH;
use crate::figure::{LEFT, Panel, thinned, whisker};
use crate::interval::Measured;
use crate::io::tables::{self, iops};
use crate::scale::Scale;
use crate::svg::Svg;
use plimsoll_model::io::Probe;
use plimsoll_model::metric::Statistic;
use plimsoll_model::number::{decimals_for, short, tick};
use plimsoll_model::{OpKind, ProbeMetric};
use std::collections::BTreeSet;

const RATE: Panel = Panel { left: LEFT, right: 650.0, top: 44.0, bottom: 214.0 };
const LATENCY: Panel = Panel { left: LEFT, right: 650.0, top: 264.0, bottom: 434.0 };

const PERCENTILES: [Statistic; 2] = [Statistic::P50, Statistic::P99];

/// What is drawn: its name, kind of operation and colour, and its measurements.
struct Line<'a> {
    name: &'static str,
    kind: OpKind,
    class: &'static str,
    probes: Vec<&'a Probe>,
}

/// `None` without at least two depths of reads or of writes.
pub fn draw(probes: &[Probe], caption: &str) -> Option<Figure> {
    let lines: Vec<Line> = [(6, "reads", OpKind::Read, "s1"), (7, "writes", OpKind::Write, "s4")]
        .into_iter()
        .map(|(probe, name, kind, class)| Line { name, kind, class, probes: sweep(probes, probe) })
        .filter(|line| line.probes.len() > 1)
        .collect();
    let drawn = || lines.iter().flat_map(|line| &line.probes);
    let x = depths_scale(drawn())?;
    let mut svg =
        Svg::new(WIDTH, LATENCY.bottom + 44.0, "Page reads and writes per second and their latency over depth");
    rates(&mut svg, &lines, &x);
    latencies(&mut svg, &lines, &x);
    let ticks: BTreeSet<u64> = drawn().filter_map(|probe| probe.number("depth")).map(|d| d as u64).collect();
    let ticks = ticks.into_iter().map(|depth| (x.at(depth as f64), tick(depth as f64))).collect();
    LATENCY.horizontal_axis(&mut svg, &thinned(ticks), "reads or writes under way at once, logarithmic");
    let behind: Vec<&Probe> = drawn().copied().collect();
    Some(super::figure("depth", svg, caption, tables::probes(&behind, true)))
}

/// The measurements of a probe with the engine and block that most of them have, smallest depth first.
fn sweep(probes: &[Probe], wanted: u8) -> Vec<&Probe> {
    let usable = |probe: &&Probe| {
        probe.probe == wanted && positive(probe.iops).is_some() && positive(probe.number("depth")).is_some()
    };
    Probe::sweep(&probes.iter().filter(usable).collect::<Vec<_>>())
}

fn depths_scale<'a>(probes: impl Iterator<Item = &'a &'a Probe>) -> Option<Scale> {
    let depths = probes.filter_map(|probe| probe.number("depth"));
    let (low, high) = depths.fold((f64::INFINITY, 0.0), |(low, high), depth| (depth.min(low), depth.max(high)));
    (low <= high).then(|| Scale::logarithmic((low, high), (RATE.left + 12.0, RATE.right - 12.0)))
}

fn depth(probe: &Probe) -> f64 {
    probe.number("depth").unwrap_or(1.0)
}

fn rates(svg: &mut Svg, lines: &[Line<'_>], x: &Scale) {
    let highest = lines.iter().flat_map(|line| &line.probes).filter_map(|probe| probe.iops).fold(0.0, f64::max);
    let y = Scale::from_zero(highest, RATE.vertical(), 4);
    RATE.frame(svg, &y, 4, "Rate", "pages per second");
    let mut ends = Vec::new();
    for line in lines {
        let place = |probe: &&Probe| (x.at(depth(probe)), y.at(probe.iops.unwrap_or(0.0)));
        let places: Vec<(f64, f64)> = line.probes.iter().map(place).collect();
        svg.polyline(&places, &format!("line {}", line.class));
        for (probe, place) in line.probes.iter().zip(&places) {
            let rate = iops(probe);
            whisker(svg, &RATE, &y, place.0, &rate, "interval");
            let hint = format!("{} at {}: {}", line.name, short(depth(probe)), rate.label_in("per second", 0));
            svg.dot(*place, 3.5, &format!("dot {}", line.class), &hint);
        }
        ends.extend(places.last().map(|place| (line.name.to_owned(), line.class, *place)));
    }
    names(svg, &ends, (RATE.top, RATE.bottom));
}

fn latencies(svg: &mut Svg, lines: &[Line<'_>], x: &Scale) {
    let of =
        |line: &Line<'_>, probe: &Probe, statistic| positive(ProbeMetric::Latency(line.kind, statistic).value(probe));
    let all = lines.iter().flat_map(|line| line.probes.iter().map(move |probe| (line, *probe)));
    let all = all.flat_map(|(line, probe)| PERCENTILES.map(|statistic| of(line, probe, statistic))).flatten();
    let Some(y) = logarithmic(all, LATENCY.vertical()) else {
        return svg.panel_title((LATENCY.left, LATENCY.top - 14.0), "Latency", "not measured");
    };
    LATENCY.frame(svg, &y, 6, "Latency", "microseconds, logarithmic");
    let mut ends = Vec::new();
    for line in lines {
        for statistic in PERCENTILES {
            let name = statistic.field();
            let weight = if statistic == Statistic::P99 { "line" } else { "line thin" };
            let known = line.probes.iter().filter_map(|probe| Some((*probe, of(line, probe, statistic)?)));
            let known: Vec<(&Probe, f64)> = known.collect();
            let places: Vec<(f64, f64)> = known.iter().map(|(probe, us)| (x.at(depth(probe)), y.at(*us))).collect();
            svg.polyline(&places, &format!("{weight} {}", line.class));
            for ((probe, us), place) in known.iter().zip(&places) {
                let told = Measured::of_probe(probe, ProbeMetric::Latency(line.kind, statistic));
                whisker(svg, &LATENCY, &y, place.0, &told, &format!("interval {}", line.class));
                let hint = format!(
                    "{} at {}: {name} {}",
                    line.name,
                    short(depth(probe)),
                    told.label_in("µs", decimals_for(*us))
                );
                svg.dot(*place, 2.5, &format!("dot {}", line.class), &hint);
            }
            ends.extend(places.last().map(|place| (format!("{} {name}", line.kind), line.class, *place)));
        }
    }
    names(svg, &ends, (LATENCY.top, LATENCY.bottom));
}
