//! Throughput and latency over connections or rates, a line for each variant (Sun BluePrint, Figures 3-2 and 3-4).

mod chart;

use super::label::{LineEnd, Swatch, axis_room, key, names, widest, width_of};
use super::{Panel, is_logarithmic, thinned, whisker};
use crate::document::Figure;
use crate::document::{NARROW, WIDTH};
use crate::interval::Measured;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use crate::table::{Column, Table};
use plimsoll_model::layout::capitalised;
use plimsoll_model::number::{decimals_for, number, tick};
use plimsoll_model::scaling::{Knee, Scaling};

/// What is drawn over one axis of load points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// `connections`, or `offered` with its unit.
    pub axis: String,
    /// `transactions`, `new orders`
    pub what: String,
    /// `1/s`
    pub unit: String,
    /// What the milliseconds are; latency if empty.
    pub latency: String,
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    pub name: String,
    /// Rising along the axis.
    pub places: Vec<CurvePoint>,
    /// The fitted model and the knee, where there are any.
    pub scaling: Option<Scaling>,
    /// It was printed by a source rather than measured here: drawn dashed.
    pub is_published: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurvePoint {
    pub x: f64,
    pub throughput: Measured,
    /// Throughput of the slowest and of the fastest second.
    pub seconds: Option<(f64, f64)>,
    /// Shown if there is only one line.
    pub p50_ms: Measured,
    pub p95_ms: Measured,
    pub p99_ms: Measured,
    /// It was disturbed: crossed out.
    pub disturbed: bool,
}

type Pick = fn(&CurvePoint) -> &Measured;

const PERCENTILES: [(&str, &str, Pick); 3] =
    [("p50", "s2", |place| &place.p50_ms), ("p95", "s3", |place| &place.p95_ms), ("p99", "s4", |place| &place.p99_ms)];

/// From one line to the next, and from the first to the last, pixels.
const MOST_SHIFT: f64 = 4.0;
const ALL_SHIFTS: f64 = 18.0;

/// This many straight pieces look like a curve.
const CURVE_STEPS: usize = 80;

/// A line with what distinguishes it from the others.
struct Drawn<'a> {
    line: &'a Line,
    /// Numbers its colour and its marker.
    number: usize,
    /// How far right of its place it is drawn, so that the intervals of several lines do not overlap, pixels.
    shift: f64,
}

impl Drawn<'_> {
    fn class(&self) -> String {
        format!("s{}", self.number % 8 + 1)
    }

    fn marker(&self) -> &'static str {
        if self.line.is_published { "ring" } else { "dot" }
    }

    fn name(&self) -> String {
        match self.line.is_published {
            true if !self.line.name.contains("published") => format!("{}, published", self.line.name),
            _ => self.line.name.clone(),
        }
    }
}

/// `None` with fewer than two places on every line.
pub fn draw(id: &str, curves: &Curves, caption: &str) -> Option<Figure> {
    let lines = drawn(curves);
    lines.iter().find(|drawn| throughputs(drawn.line).count() > 1)?;
    let figure = Figure::drawn(id, caption, table(curves, &lines), |width| drawing(curves, &lines, width));
    // For numbers that were only printed, a chart would add nothing to the drawing.
    let chart = lines.iter().any(|drawn| !drawn.line.is_published).then(|| chart::chart(curves, &lines));
    Some(Figure { chart, ..figure })
}

/// A published line has the colour of the measured one of the same name.
fn drawn(curves: &Curves) -> Vec<Drawn<'_>> {
    let mut lines: Vec<Drawn<'_>> = Vec::new();
    let mut next = 0;
    for line in &curves.lines {
        let twin = lines.iter().find(|other| other.line.name == line.name).map(|twin| twin.number);
        lines.push(Drawn { line, number: twin.unwrap_or(next), shift: 0.0 });
        next += usize::from(twin.is_none());
    }
    let step = MOST_SHIFT.min(ALL_SHIFTS / next.max(1) as f64);
    for drawn in &mut lines {
        drawn.shift = step * (drawn.number as f64 - 0.5 * (next.max(1) - 1) as f64);
    }
    lines
}

/// The places that can be drawn on a logarithmic axis, with their throughput.
fn throughputs(line: &Line) -> impl Iterator<Item = (&CurvePoint, f64)> {
    known(line, |place| &place.throughput)
}

fn known(line: &Line, pick: Pick) -> impl Iterator<Item = (&CurvePoint, f64)> {
    let usable = |place: &&CurvePoint| place.x > 0.0 && place.x.is_finite();
    line.places.iter().filter(usable).filter_map(move |place| {
        let value = pick(place).value.filter(|value| value.is_finite())?;
        Some((place, value))
    })
}

/// All places on the axis, rising.
fn loads(curves: &Curves) -> Vec<f64> {
    let all = curves.lines.iter().flat_map(|line| &line.places).map(|place| place.x);
    let mut loads: Vec<f64> = all.filter(|x| *x > 0.0 && x.is_finite()).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    loads
}

fn table(curves: &Curves, lines: &[Drawn<'_>]) -> Table {
    let loads = loads(curves);
    let mut columns = vec![Column::numbers(&curves.axis, "", loads.iter().map(|load| tick(*load)).collect())];
    let at = |line: &Line, pick: Pick| -> Vec<Measured> {
        let place = |load: &f64| line.places.iter().find(|place| place.x == *load);
        loads.iter().map(|load| place(load).map(|place| pick(place).clone()).unwrap_or_default()).collect()
    };
    for drawn in lines {
        let title = if lines.len() > 1 { drawn.name() } else { curves.what.clone() };
        columns.push(super::column(&title, &curves.unit, 2, &at(drawn.line, |place| &place.throughput)));
    }
    for drawn in lines {
        for (name, _, pick) in percentiles(lines) {
            let cells = at(drawn.line, *pick);
            let title = if lines.len() > 1 { format!("{} {name}", drawn.name()) } else { (*name).to_owned() };
            if cells.iter().any(|cell| cell.value.is_some()) {
                columns.push(super::column(&title, "ms", 2, &cells));
            }
        }
    }
    Table::new(columns)
}

/// With several lines, only the last percentile is shown.
fn percentiles(lines: &[Drawn<'_>]) -> &'static [(&'static str, &'static str, Pick)] {
    if lines.len() > 1 { &PERCENTILES[2..] } else { &PERCENTILES }
}

fn latency_title(curves: &Curves) -> &str {
    if curves.latency.is_empty() { "Latency" } else { &curves.latency }
}

/// What all parts of a drawing share.
struct Frame {
    width: f64,
    left: f64,
    right: f64,
    x: Scale,
    /// Names stand at the ends of lines rather than in a key.
    is_named_at_ends: bool,
}

impl Frame {
    fn new(curves: &Curves, lines: &[Drawn<'_>], width: f64) -> Frame {
        let longest = widest(lines.iter().map(Drawn::name).collect::<Vec<_>>().iter().map(String::as_str));
        let is_named_at_ends = width > NARROW && (2..=8).contains(&lines.len()) && longest <= 190.0;
        let room = if is_named_at_ends { longest + 14.0 } else { 30.0 };
        let (left, right) = (axis_room(highest(lines), width), width - 12.0 - room);
        let loads = loads(curves);
        let ends = (loads.first().copied().unwrap_or(1.0), loads.last().copied().unwrap_or(1.0));
        let margin = if width > NARROW { 20.0 } else { 10.0 };
        Frame { width, left, right, x: Scale::logarithmic(ends, (left + margin, right - margin)), is_named_at_ends }
    }

    fn panel(&self, top: f64, height: f64) -> Panel {
        Panel { left: self.left, right: self.right, top, bottom: top + height }
    }
}

fn drawing(curves: &Curves, lines: &[Drawn<'_>], width: f64) -> String {
    let frame = Frame::new(curves, lines, width);
    let scale = if width > NARROW { 1.0 } else { 0.78 };
    let keyed = lines.len() > 1 && !frame.is_named_at_ends;
    let mut body = Svg::new(width, 0.0, &format!("{} over {}", curves.what, curves.axis));
    let head = if keyed { key(&mut body, &entries(lines), 6.0, width, 14.0) } else { 0.0 };
    let upper = frame.panel(head + 40.0, 260.0 * scale);
    let lower = frame.panel(upper.bottom + 44.0, 150.0 * scale);
    let has_latency = lines.iter().any(|drawn| percentiles(lines).iter().any(|p| known(drawn.line, p.2).count() > 0));
    let last = if has_latency { lower } else { upper };
    if let [only] = lines {
        knee_interval(&mut body, &frame, only.line, upper.top, last.bottom);
    }
    throughput(&mut body, &frame, &upper, last.bottom, curves, lines);
    if has_latency {
        latency(&mut body, &frame, &lower, curves, lines);
    }
    let ticks = loads(curves).into_iter().map(|load| (frame.x.at(load), tick(load))).collect();
    last.horizontal_axis(&mut body, &thinned(ticks), &format!("{}, logarithmic", curves.axis));
    body.with_height(last.bottom + 46.0).finish()
}

fn entries(lines: &[Drawn<'_>]) -> Vec<(Swatch, String, String)> {
    let entry = |drawn: &Drawn<'_>| {
        (Swatch::Marker(drawn.number), format!("{} {}", drawn.marker(), drawn.class()), drawn.name())
    };
    lines.iter().map(entry).collect()
}

/// The highest value that has to be inside the panel; ends of intervals far beyond all values are cut off instead.
fn highest(lines: &[Drawn<'_>]) -> f64 {
    let all = || lines.iter().flat_map(|drawn| throughputs(drawn.line));
    let values = all().map(|(_, value)| value).fold(0.0, f64::max);
    let ends = all().filter_map(|(place, _)| place.throughput.ends().1).filter(|end| *end < 1.5 * values);
    let fastest = all().filter_map(|(place, _)| place.seconds).map(|seconds| seconds.1);
    ends.chain(fastest.filter(|_| lines.len() == 1)).fold(values, f64::max)
}

fn throughput(svg: &mut Svg, frame: &Frame, panel: &Panel, bottom: f64, curves: &Curves, lines: &[Drawn<'_>]) {
    let y = Scale::from_zero(1.08 * highest(lines), panel.vertical(), 5);
    panel.frame(svg, &y, 5, &capitalised(&curves.what), &curves.unit);
    let mut ends = Vec::new();
    for drawn in lines {
        if let [only] = lines {
            spans(svg, frame, &y, only.line);
            guides(svg, frame, panel, bottom, &y, only.line);
        }
        model(svg, frame, panel, &y, drawn, lines.len() == 1);
        let end = line(svg, frame, panel, &y, drawn, &drawn.class(), |place| &place.throughput);
        ends.extend(end.map(|place| LineEnd { name: drawn.name(), class: drawn.class(), place }));
        if let Some(knee) = knee(drawn.line) {
            svg.plimsoll_mark((frame.x.at(knee.load.value) + drawn.shift, y.at(knee.throughput)), 7.0, "mark");
        }
    }
    if frame.is_named_at_ends {
        names(svg, &ends, (panel.top, panel.bottom), frame.width);
    }
    if let [only] = lines {
        peak(svg, frame, panel, &y, only.line);
    }
}

/// A line with its markers and intervals; returns its end.
fn line(
    svg: &mut Svg,
    frame: &Frame,
    panel: &Panel,
    y: &Scale,
    drawn: &Drawn<'_>,
    class: &str,
    pick: Pick,
) -> Option<(f64, f64)> {
    let places: Vec<(f64, f64)> =
        known(drawn.line, pick).map(|(place, value)| (frame.x.at(place.x) + drawn.shift, y.at(value))).collect();
    let stroke = if drawn.line.is_published { "line published" } else { "line" };
    svg.polyline(&places, &format!("{stroke} {class}"));
    for (place, value) in known(drawn.line, pick) {
        let at = frame.x.at(place.x) + drawn.shift;
        whisker(svg, panel, y, at, pick(place), &format!("interval {class}"));
        let hint = format!("{} at {}: {}", drawn.name(), tick(place.x), pick(place).label(decimals_for(value)));
        let hint = if place.disturbed { format!("{hint}; disturbed") } else { hint };
        svg.marker((at, y.at(value)), 3.6, drawn.number, &format!("{} {class}", drawn.marker()), &hint);
        if place.disturbed {
            svg.cross((at, y.at(value)), 6.0, "cross");
        }
    }
    places.last().copied()
}

fn spans(svg: &mut Svg, frame: &Frame, y: &Scale, line: &Line) {
    for (place, _) in throughputs(line) {
        if let Some((slowest, fastest)) = place.seconds {
            let at = frame.x.at(place.x);
            svg.line((at, y.at(slowest)), (at, y.at(fastest)), "span s1");
        }
    }
}

fn knee(line: &Line) -> Option<&Knee> {
    line.scaling.as_ref()?.knee.as_ref().filter(|knee| knee.load.value > 0.0)
}

/// A band where the knee may lie, to the panel's edge where there is no end; below everything else.
fn knee_interval(svg: &mut Svg, frame: &Frame, line: &Line, top: f64, bottom: f64) {
    let Some(ends) = knee(line).map(|knee| Measured::from(&knee.load).ends()) else { return };
    if ends == (None, None) {
        return;
    }
    let place = |end: Option<f64>, edge| end.map_or(edge, |end| frame.x.at(end).clamp(frame.left, frame.right));
    let (left, right) = (place(ends.0, frame.left), place(ends.1, frame.right));
    svg.rect((left, top), (right - left, bottom - top), "knee-band");
}

/// From the knee down to the axis and over to the peak, with a label that says what the knee is.
fn guides(svg: &mut Svg, frame: &Frame, panel: &Panel, bottom: f64, y: &Scale, line: &Line) {
    let Some(knee) = knee(line) else { return };
    let (at, height) = (frame.x.at(knee.load.value), y.at(knee.throughput));
    svg.line((at, height), (at, bottom), "guide");
    svg.line((at, height), (frame.x.at(knee.peak_load), height), "guide");
    let label = match frame.width < WIDTH {
        true => format!("knee: about {}", Measured::from(&knee.load).label_with_ends(0)),
        false => knee_label(knee),
    };
    let fits = at + 9.0 + width_of(&label) < frame.right;
    let (offset, anchor) = if fits { (9.0, Anchor::Start) } else { (-9.0, Anchor::End) };
    svg.text((at + offset, panel.bottom - 12.0), anchor, "note", &label);
}

fn knee_label(knee: &Knee) -> String {
    format!("knee: 95 % of the peak at about {}", Measured::from(&knee.load).label_with_ends(0))
}

/// The fitted curve as far as it lies within the panel; for a single line, with its name at its end.
fn model(svg: &mut Svg, frame: &Frame, panel: &Panel, y: &Scale, drawn: &Drawn<'_>, is_named: bool) {
    let Some(model) = drawn.line.scaling.as_ref().and_then(|scaling| scaling.saturation.as_ref()) else { return };
    let mut loads = throughputs(drawn.line).map(|(place, _)| place.x);
    let Some(first) = loads.next() else { return };
    let last = loads.last().unwrap_or(first);
    let load = |step: usize| first * (last / first).powf(step as f64 / CURVE_STEPS as f64);
    let place = |load: f64| (frame.x.at(load) + drawn.shift, y.at(model.at(load)));
    let places = (0..=CURVE_STEPS).map(|step| place(load(step)));
    let within: Vec<(f64, f64)> = places.filter(|place| (panel.top..=panel.bottom).contains(&place.1)).collect();
    let class = if is_named { String::new() } else { drawn.class() };
    svg.polyline(&within, format!("model {class}").trim_end());
    let Some(&(at, height)) = within.last().filter(|_| is_named) else { return };
    svg.text((at + 9.0, height + 4.0), Anchor::Start, "model-name", "model");
    if model.poor.is_some() {
        svg.text((at + 9.0, height + 18.0), Anchor::Start, "model-name", "(poor)");
    }
}

/// The highest value with its number.
fn peak(svg: &mut Svg, frame: &Frame, panel: &Panel, y: &Scale, line: &Line) {
    let Some((place, rate)) = highest_place(line) else { return };
    let at = frame.x.at(place.x);
    let label = peak_label(place, rate);
    let half = 0.55 * width_of(&label);
    let anchor = match at {
        at if at - half < panel.left => Anchor::Start,
        at if at + half > frame.width => Anchor::End,
        _ => Anchor::Middle,
    };
    let above = [Some(rate), place.throughput.ends().1, place.seconds.map(|seconds| seconds.1)];
    let top = y.at(above.into_iter().flatten().fold(rate, f64::max));
    svg.text((at, (top - 10.0).max(panel.top + 2.0)), anchor, "peak", &label);
}

fn highest_place(line: &Line) -> Option<(&CurvePoint, f64)> {
    throughputs(line).max_by(|a, b| a.1.total_cmp(&b.1))
}

fn peak_label(place: &CurvePoint, rate: f64) -> String {
    format!("peak: {} at {}", place.throughput.label(decimals_for(rate)), number(place.x, 0))
}

/// The least and the most of all that is shown; ends of intervals far beyond all values are cut off instead.
fn latency_range(lines: &[Drawn<'_>]) -> (f64, f64) {
    let picks = || lines.iter().flat_map(|drawn| percentiles(lines).iter().map(|p| (drawn.line, p.2)));
    let values = picks().flat_map(|(line, pick)| known(line, pick).map(|(_, ms)| ms));
    let within = |(low, high): (f64, f64), ms: f64| (ms.min(low), ms.max(high));
    let (low, high) = values.fold((f64::INFINITY, 0.0), within);
    let ends = picks().flat_map(|(line, pick)| known(line, pick).map(move |(place, _)| pick(place).ends()));
    let near = |end: &f64| (0.5 * low..1.5 * high).contains(end);
    ends.flat_map(|(low, high)| [low, high]).flatten().filter(near).fold((low, high), within)
}

fn latency(svg: &mut Svg, frame: &Frame, panel: &Panel, curves: &Curves, lines: &[Drawn<'_>]) {
    let (lowest, highest) = latency_range(lines);
    let (y, ticks, unit) = match is_logarithmic(lowest, highest) {
        true => (Scale::logarithmic_round((lowest, highest), panel.vertical()), 6, "ms, logarithmic"),
        false => (Scale::from_zero(highest, panel.vertical(), 4), 4, "ms"),
    };
    let what = latency_title(curves);
    let title = if lines.len() > 1 { format!("{what}, p99") } else { what.to_owned() };
    panel.frame(svg, &y, ticks, &title, unit);
    let mut ends = Vec::new();
    for drawn in lines {
        for (name, class, pick) in percentiles(lines) {
            let single = lines.len() == 1;
            let (name, class) =
                if single { ((*name).to_owned(), (*class).to_owned()) } else { (drawn.name(), drawn.class()) };
            let end = line(svg, frame, panel, &y, drawn, &class, *pick);
            ends.extend(end.map(|place| LineEnd { name, class, place }));
        }
    }
    if frame.is_named_at_ends || lines.len() == 1 {
        names(svg, &ends, (panel.top, panel.bottom), frame.width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::number::NOTHING;

    #[test]
    fn what_was_not_measured_is_said_by_a_dash() {
        let place =
            |x, value| CurvePoint { x, throughput: Measured { value, ..Measured::default() }, ..CurvePoint::default() };
        let line =
            Line { places: vec![place(1.0, Some(5.0)), place(2.0, None), place(4.0, Some(9.0))], ..Line::default() };
        let figure = draw("f", &Curves { lines: vec![line], ..Curves::default() }, "").expect("two places");
        assert_eq!(figure.table.columns[1].cells, ["5.00", NOTHING, "9.00"]);
        assert!(figure.table.columns[1].spreads.is_empty(), "nothing is said of intervals that nobody looked for");
    }

    #[test]
    fn lines_of_one_name_stand_together_and_others_beside_them() {
        let line = |name: &str| Line { name: name.to_owned(), ..Line::default() };
        let curves = Curves { lines: vec![line("a"), line("b"), line("a")], ..Curves::default() };
        let shifts: Vec<f64> = drawn(&curves).iter().map(|drawn| drawn.shift).collect();
        assert_eq!(shifts, [-2.0, 2.0, -2.0]);
        assert_eq!(drawn(&Curves { lines: vec![line("a")], ..Curves::default() })[0].shift, 0.0);
    }
}
