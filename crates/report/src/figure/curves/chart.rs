//! The curves as a chart for the script.

use super::{CurvePoint, Curves, Drawn, Line, Pick, knee, known, latency_range, latency_title, loads, percentiles};
use super::{highest_place, is_logarithmic, knee_label, peak_label, throughputs};
use crate::document::{Axis, Band, Chart, ChartLine, ChartPanel, NamedPlace, PlaceKind};
use crate::interval::Measured;
use plimsoll_model::layout::capitalised;

pub(super) fn chart(curves: &Curves, lines: &[Drawn<'_>]) -> Chart {
    let at = loads(curves);
    let throughput = |drawn: &Drawn<'_>| {
        let seconds = |of: fn((f64, f64)) -> f64| along(drawn.line, &at, |place| place.seconds.map(of));
        let (least, most) = match (lines.len(), throughputs(drawn.line).any(|(place, _)| place.seconds.is_some())) {
            (1, true) => (seconds(|ends| ends.0), seconds(|ends| ends.1)),
            _ => (Vec::new(), Vec::new()),
        };
        ChartLine { least, most, ..line(drawn, &at, drawn.name(), drawn.class(), |place| &place.throughput) }
    };
    let mut throughputs: Vec<ChartLine> = lines.iter().map(throughput).collect();
    let (mut bands, mut marks) = (Vec::new(), Vec::new());
    throughputs.extend(lines.iter().filter_map(|drawn| model(drawn, &at, lines.len() > 1)));
    marks.extend(lines.iter().filter_map(|drawn| knee_mark(drawn, lines.len() == 1)));
    marks.extend(lines.iter().flat_map(|drawn| disturbed(drawn.line)));
    if let [only] = lines {
        bands.extend(knee_band(only.line, &at));
        marks.extend(peak_mark(only.line));
    }
    let mut panels = vec![ChartPanel { y: axis(&capitalised(&curves.what), &curves.unit, false), lines: throughputs }];
    let latencies = latencies(lines, &at);
    if !latencies.is_empty() {
        let (lowest, highest) = latency_range(lines);
        let y = axis(latency_title(curves), "ms", is_logarithmic(lowest, highest));
        panels.push(ChartPanel { y, lines: latencies });
    }
    Chart { x: axis(&curves.axis, "", true), at, panels, bands, marks, ..Chart::default() }
}

fn axis(title: &str, unit: &str, logarithmic: bool) -> Axis {
    Axis { title: title.to_owned(), unit: unit.to_owned(), logarithmic }
}

fn along(line: &Line, at: &[f64], of: impl Fn(&CurvePoint) -> Option<f64>) -> Vec<Option<f64>> {
    at.iter().map(|x| line.places.iter().find(|place| place.x == *x).and_then(&of)).collect()
}

fn line(drawn: &Drawn<'_>, at: &[f64], name: String, class: String, pick: Pick) -> ChartLine {
    ChartLine {
        name,
        class,
        dashed: drawn.line.is_published,
        values: along(drawn.line, at, |place| pick(place).value),
        low: along(drawn.line, at, |place| pick(place).ends().0),
        high: along(drawn.line, at, |place| pick(place).ends().1),
        ..ChartLine::default()
    }
}

fn latencies(lines: &[Drawn<'_>], at: &[f64]) -> Vec<ChartLine> {
    let mut latencies = Vec::new();
    for drawn in lines {
        for (name, class, pick) in percentiles(lines).iter().filter(|(_, _, pick)| known(drawn.line, *pick).count() > 0)
        {
            let (title, class) = match lines.len() {
                1 => ((*name).to_owned(), (*class).to_owned()),
                _ => (format!("{} {name}", drawn.name()), drawn.class()),
            };
            latencies.push(line(drawn, at, title, class, *pick));
        }
    }
    latencies
}

fn model(drawn: &Drawn<'_>, at: &[f64], is_named: bool) -> Option<ChartLine> {
    let model = drawn.line.scaling.as_ref()?.saturation.as_ref()?;
    let values = at.iter().map(|load| Some(model.at(*load)).filter(|value| value.is_finite())).collect();
    let (name, class) = match is_named {
        true => (format!("{}, model", drawn.name()), drawn.class()),
        false => ("Universal Scalability Law".to_owned(), "aside".to_owned()),
    };
    Some(ChartLine { name, class, dashed: true, values, ..ChartLine::default() })
}

/// Where the knee may lie.
fn knee_band(line: &Line, at: &[f64]) -> Option<Band> {
    let (low, high) = Measured::from(&knee(line)?.load).ends();
    let (from, to) = (low.or(at.first().copied())?, high.or(at.last().copied())?);
    (low.is_some() || high.is_some()).then(|| Band { from, to, name: String::new(), measured: false })
}

/// The load points that were disturbed.
fn disturbed(line: &Line) -> impl Iterator<Item = NamedPlace> {
    let of_them = super::throughputs(line).filter(|(place, _)| place.disturbed);
    of_them.map(|(place, y)| NamedPlace { x: place.x, y, name: "disturbed".to_owned(), kind: PlaceKind::Disturbed })
}

/// Its name would lie on those of other lines.
fn knee_mark(drawn: &Drawn<'_>, is_named: bool) -> Option<NamedPlace> {
    let knee = knee(drawn.line)?;
    let name = if is_named { knee_label(knee) } else { String::new() };
    Some(NamedPlace { x: knee.load.value, y: knee.throughput, name, kind: PlaceKind::Knee })
}

fn peak_mark(line: &Line) -> Option<NamedPlace> {
    let (place, y) = highest_place(line)?;
    Some(NamedPlace { x: place.x, y, name: peak_label(place, y), kind: PlaceKind::Peak })
}
