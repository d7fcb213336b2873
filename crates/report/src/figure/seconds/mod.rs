//! Trials second by second: throughput, latency, CPU, devices and the server's own counters, with the phases.

mod columns;
mod tracks;

use super::label::{LineEnd, axis_room, names, shortened};
use super::{Panel, thinned};
use crate::document::NARROW;
use crate::document::{Axis, Band, Chart, ChartLine, ChartPanel, Figure};
use crate::scale::Scale;
use crate::subject::Trial;
use crate::svg::{Anchor, Svg};
use crate::table::{Column, Table};
use columns::{Columns, Put};
use plimsoll_model::layout::clean;
use plimsoll_model::number::{NOTHING, short, tick};
use plimsoll_model::samples::Phase;
use tracks::{Segment, Strip, Track, segments, strips};

/// Most columns that seconds are merged into, in a chart and by the width of a drawing.
const COLUMNS: usize = 300;
const NARROW_COLUMNS: usize = 110;

/// With more trials than the first number, the chart does not separate phases; with more than the second, nor trials.
const MOST_PHASED: usize = 24;
const MOST_BANDS: usize = 60;

/// With more trials than this, their lines are not separated.
const MOST_PARTED: usize = 40;

/// Latencies that differ by more than this factor are drawn on a logarithmic axis.
const LINEAR_UP_TO: f64 = 30.0;

/// Trials one after the other on one axis of time; `None` without any series. Where there are too many samples to see,
/// they are merged into mean, least and most, so that the figure stays small however long the recording is.
pub fn draw(id: &str, trials: &[&Trial], caption: &str) -> Option<Figure> {
    let segments = segments(trials);
    let end = segments.last().map(|last| last.start + last.length)?;
    let strips = strips(&segments);
    let figure = Figure::drawn(id, caption, table(&segments, &strips), |width| drawing(&segments, &strips, end, width));
    Some(Figure { chart: Some(chart(&segments, &strips, end)), ..figure })
}

/// The whole measured window, a row for each trial: percentiles of all its transactions, otherwise means.
fn table(segments: &[Segment<'_>], strips: &[Strip]) -> Table {
    let trials = || segments.iter().map(|segment| segment.trial);
    let whole = |of: fn(&Trial) -> usize| trials().map(|trial| tick(of(trial) as f64)).collect();
    let mut columns = vec![Column::numbers("trial", "", whole(|trial| trial.index as usize))];
    if trials().any(|trial| trial.variant != segments[0].trial.variant) {
        columns.push(Column::words("variant", trials().map(|trial| trial.variant.clone()).collect()));
    }
    if trials().any(|trial| trial.round != segments[0].trial.round) {
        columns.push(Column::numbers("round", "", whole(|trial| trial.round as usize)));
    }
    columns.push(Column::numbers("connections", "", whole(|trial| trial.load.connections)));
    for strip in strips {
        for track in &strip.tracks {
            let name =
                if strip.tracks.len() > 1 { format!("{}, {}", strip.what, track.name) } else { strip.what.clone() };
            let cells = segments.iter().map(|segment| measured(segment, track).map_or(NOTHING.to_owned(), short));
            columns.push(Column::numbers(&name, strip.unit, cells.collect()));
        }
    }
    Table::new(columns)
}

fn measured(segment: &Segment<'_>, track: &Track) -> Option<f64> {
    if let Some(whole) = track.whole {
        return segment.trial.point.as_ref().and_then(whole);
    }
    let within = track.within(segment).iter().filter(|sample| segment.is_measured(sample.at));
    let (sum, seconds) =
        within.fold((0.0, 0.0), |(sum, seconds), of| (sum + of.value * of.seconds, seconds + of.seconds));
    (seconds > 0.0).then(|| sum / seconds)
}

fn chart(segments: &[Segment<'_>], strips: &[Strip], end: f64) -> Chart {
    let columns = Columns::new(end, COLUMNS);
    let line = |track: &Track| {
        let put = columns.put(&track.samples);
        let along =
            |of: fn(&Put) -> f64| put.iter().map(|put| put.as_ref().map(|put| columns::rounded(of(put)))).collect();
        let (low, high) = match track.shows_extremes && columns.puts_together() {
            true => (along(|put| put.least), along(|put| put.most)),
            false => (Vec::new(), Vec::new()),
        };
        ChartLine {
            name: track.name.clone(),
            class: track.class.to_owned(),
            values: along(|put| put.mean),
            low,
            high,
            ..ChartLine::default()
        }
    };
    let panel = |strip: &Strip| ChartPanel {
        y: Axis { title: strip.what.clone(), unit: strip.unit.to_owned(), logarithmic: scale_kind(strip).is_some() },
        lines: strip.tracks.iter().map(line).collect(),
    };
    Chart {
        x: Axis { title: "time".to_owned(), unit: "s".to_owned(), logarithmic: false },
        at: columns.middles(),
        panels: strips.iter().map(panel).collect(),
        bands: bands(segments),
        ..Chart::default()
    }
}

/// The phases of each trial, or, with too many trials, only the measured stretch of each.
fn bands(segments: &[Segment<'_>]) -> Vec<Band> {
    let is_phased = segments.len() <= MOST_PHASED;
    let has_variants = segments.iter().any(|segment| segment.trial.variant != segments[0].trial.variant);
    let mut bands = Vec::new();
    for segment in segments.iter().filter(|_| segments.len() <= MOST_BANDS) {
        for &(phase, from, to) in segment.spans.iter().filter(|span| is_phased || span.0 == Phase::Measure) {
            let (from, to) = (columns::tenth(from), columns::tenth(to));
            let name = phase_name(segment.trial, phase, has_variants);
            bands.push(Band { from, to, name, measured: phase == Phase::Measure });
        }
    }
    bands
}

/// The load of the measured window: `16 connections`, or `fc, 16 connections` with several variants.
fn phase_name(trial: &Trial, phase: Phase, has_variants: bool) -> String {
    let connections = trial.load.connections_in_words();
    match phase {
        Phase::Measure if has_variants => format!("{}, {connections}", clean(&trial.variant)),
        Phase::Measure => connections,
        Phase::WarmUp => "warm-up".to_owned(),
        Phase::Drain => "drain".to_owned(),
        Phase::Recover => "recovery".to_owned(),
        _ => "not measured".to_owned(),
    }
}

/// The least and the most of a strip whose axis is to be logarithmic.
fn scale_kind(strip: &Strip) -> Option<(f64, f64)> {
    let values = || strip.tracks.iter().flat_map(|track| &track.samples).map(|sample| sample.value);
    let (low, high) = values().fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
    (strip.unit == "ms" && low > 0.0 && high / low > LINEAR_UP_TO).then_some((low, high))
}

/// Height of a strip and the room above it for its title.
fn heights(strip: &Strip) -> (f64, f64) {
    if strip.is_tall { (44.0, 160.0) } else { (42.0, 66.0) }
}

fn drawing(segments: &[Segment<'_>], strips: &[Strip], end: f64, width: f64) -> String {
    let is_narrow = width <= NARROW;
    let highest = strips.iter().flat_map(|strip| &strip.tracks).flat_map(|track| &track.samples);
    let highest = highest.map(|sample| sample.value).fold(0.0, f64::max);
    let (left, right) = (axis_room(highest, width), width - if is_narrow { 62.0 } else { 66.0 });
    let columns = Columns::new(end, if is_narrow { NARROW_COLUMNS } else { COLUMNS });
    let x = Scale::linear((0.0, end), (left, right));
    let mut svg = Svg::new(width, 0.0, "Throughput and what the machine did, second by second");
    let rows = head_rows(segments, &x, width);
    let top = 22.0 + HEAD * rows.len() as f64;
    let bottom = top + strips.iter().map(|strip| heights(strip).0 + heights(strip).1).sum::<f64>() - 8.0;
    shade(&mut svg, segments, &x, top, bottom);
    heads(&mut svg, segments, &rows, &x, bottom);
    let starts = match segments.len() <= MOST_PARTED {
        true => segments.iter().map(|segment| columns.of(segment.start + 0.5)).collect(),
        false => Vec::new(),
    };
    let time = Time { columns, starts, x };
    let mut panel = Panel { left, right, top, bottom: top };
    for strip in strips {
        let (above, height) = heights(strip);
        panel.top = panel.bottom + above - if strip.is_tall { 20.0 } else { 0.0 };
        panel.bottom = panel.top + height;
        draw_strip(&mut svg, &panel, strip, &time, width);
    }
    let ticks = time.x.ticks(if is_narrow { 4 } else { 8 });
    let ticks = ticks.into_iter().map(|value| (time.x.at(value), tick(value))).collect();
    let title = if segments.len() > 1 { "seconds of load, one trial after the other" } else { "seconds of load" };
    panel.horizontal_axis(&mut svg, &thinned(ticks), title);
    svg.with_height(panel.bottom + 46.0).finish()
}

/// The axis of time: columns, those that a trial begins in, and where they lie.
struct Time {
    columns: Columns,
    starts: Vec<usize>,
    x: Scale,
}

impl Time {
    fn at(&self, column: usize) -> f64 {
        self.x.at(self.columns.middle(column))
    }
}

fn draw_strip(svg: &mut Svg, panel: &Panel, strip: &Strip, time: &Time, width: f64) {
    let put: Vec<Vec<Option<Put>>> = strip.tracks.iter().map(|track| time.columns.put(&track.samples)).collect();
    let ticks = if strip.is_tall { 4 } else { 2 };
    let kind = scale_kind(strip);
    let y = match (kind, strip.is_stacked) {
        (Some(ends), _) => Scale::logarithmic_round(ends, panel.vertical()),
        (None, true) => Scale::linear((0.0, 100.0), panel.vertical()),
        (None, false) => Scale::from_zero(highest(strip, &put), panel.vertical(), ticks),
    };
    let unit = if kind.is_some() { format!("{}, logarithmic", strip.unit) } else { strip.unit.to_owned() };
    panel.frame(svg, &y, if kind.is_some() { 3 } else { ticks }, &shortened(&strip.what, 200.0), &unit);
    let places = match strip.is_stacked {
        true => stacked(svg, strip, &put, time, &y),
        false => (0..put.len()).map(|track| line(svg, &strip.tracks[track], &put[track], time, &y)).collect(),
    };
    let mut ends = Vec::new();
    for (at, place) in places.into_iter().enumerate() {
        let is_visible = !strip.is_stacked || put[at].iter().flatten().any(|put| put.mean >= 1.0);
        let (name, class) = (strip.tracks[at].name.clone(), strip.tracks[at].class.to_owned());
        ends.extend(place.filter(|_| is_visible).map(|place| LineEnd {
            name,
            class,
            place: (panel.right - 4.0, place),
        }));
    }
    if strip.tracks.len() > 1 {
        names(svg, &ends, (panel.top - 4.0, panel.bottom), width);
    }
}

fn highest(strip: &Strip, put: &[Vec<Option<Put>>]) -> f64 {
    let of = |track: &Track, put: &Put| if track.shows_extremes { put.most } else { put.mean };
    let all = strip.tracks.iter().zip(put).flat_map(|(track, put)| put.iter().flatten().map(move |put| of(track, put)));
    all.fold(0.0, f64::max)
}

/// The mean as a line, and behind it how far the seconds spread; returns the height that it ends at.
fn line(svg: &mut Svg, track: &Track, put: &[Option<Put>], time: &Time, y: &Scale) -> Option<f64> {
    let class = track.class;
    let mut end = None;
    for run in columns::runs(put, &time.starts) {
        let place = |of: fn(&Put) -> f64| move |(at, put): &(usize, Put)| (time.at(*at), y.at(of(put)));
        if track.shows_extremes && time.columns.puts_together() {
            let mut area: Vec<(f64, f64)> = run.iter().map(place(|put| put.most)).collect();
            area.extend(run.iter().rev().map(place(|put| put.least)));
            svg.polygon(&area, &format!("area {class}"));
        }
        let places: Vec<(f64, f64)> = run.iter().map(place(|put| put.mean)).collect();
        svg.polyline(&places, &format!("line thin {class}"));
        end = places.last().map(|place| place.1).or(end);
    }
    end
}

/// Areas on top of each other; returns the height of each one's middle at its end. The uppermost is drawn first and
/// reaches down to the axis, so that each edge is drawn once.
fn stacked(svg: &mut Svg, strip: &Strip, put: &[Vec<Option<Put>>], time: &Time, y: &Scale) -> Vec<Option<f64>> {
    let mut tops: Vec<Vec<Option<Put>>> = Vec::new();
    for track in put {
        let below = tops.last();
        let top = |at: usize| {
            let foot = below.and_then(|below| below[at]).map_or(0.0, |put| put.mean);
            track[at].map(|put| Put { mean: (foot + put.mean).min(100.0), ..put })
        };
        tops.push((0..track.len()).map(top).collect());
    }
    for (track, tops) in strip.tracks.iter().zip(&tops).rev() {
        for run in columns::runs(tops, &time.starts).iter().filter(|run| run.len() > 1) {
            let mut area: Vec<(f64, f64)> = run.iter().map(|of| (time.at(of.0), y.at(of.1.mean))).collect();
            area.extend([run[run.len() - 1].0, run[0].0].map(|column| (time.at(column), y.at(0.0))));
            svg.polygon(&area, &format!("stack {}", track.class));
        }
    }
    let last = |track: &Vec<Option<Put>>| track.iter().rev().flatten().next().map(|put| put.mean);
    let foot = |at: usize| if at > 0 { last(&tops[at - 1]).unwrap_or(0.0) } else { 0.0 };
    (0..tops.len()).map(|at| last(&tops[at]).map(|top| y.at(0.5 * (foot(at) + top)))).collect()
}

/// Shades what was not measured: warm-up and drain.
fn shade(svg: &mut Svg, segments: &[Segment<'_>], x: &Scale, top: f64, bottom: f64) {
    for &(phase, from, to) in segments.iter().flat_map(|segment| &segment.spans) {
        let (left, width) = (x.at(from), x.at(to) - x.at(from));
        if phase != Phase::Measure && width >= 1.0 {
            svg.rect((left, top), (width, bottom - top), "band");
        }
    }
}

/// A row of labels above the trials: its name, a shorter one, and what it says about a trial.
type Heading = (&'static str, &'static str, fn(&Trial) -> String);

const HEADINGS: [Heading; 2] = [
    ("variant", "variant", |trial| trial.variant.clone()),
    ("connections", "conn.", |trial| tick(trial.load.connections as f64)),
];

/// A row above the trials: its name, and texts with their places.
type HeadRow = (&'static str, Vec<(f64, String)>);

/// The rows in which trials differ, without those that have no room: a few labels out of many would suggest a pattern
/// that is not there.
fn head_rows(segments: &[Segment<'_>], x: &Scale, width: f64) -> Vec<HeadRow> {
    let mut rows = Vec::new();
    for (name, short_name, value) in HEADINGS {
        let runs = segments.chunk_by(|a, b| value(a.trial) == value(b.trial));
        let labels: Vec<(f64, String)> = runs
            .map(|run| {
                let (from, last) = (run[0].start, &run[run.len() - 1]);
                (x.at(0.5 * (from + last.start + last.length)), shortened(&value(run[0].trial), 160.0))
            })
            .collect();
        let shown = thinned(labels.clone());
        if labels.len() > 1 && 2 * shown.len() >= labels.len() {
            rows.push((if width > NARROW { name } else { short_name }, shown));
        }
    }
    rows
}

/// Height of a head row.
const HEAD: f64 = 17.0;

/// The heads of trials and a rule between them, where there is room.
fn heads(svg: &mut Svg, segments: &[Segment<'_>], rows: &[HeadRow], x: &Scale, bottom: f64) {
    for segment in segments.iter().skip(1).filter(|segment| x.at(segment.length) - x.at(0.0) > 5.0) {
        let at = x.at(segment.start);
        svg.line((at, 4.0), (at, bottom), "divide");
    }
    for (row, (name, labels)) in rows.iter().enumerate() {
        let baseline = 14.0 + HEAD * row as f64;
        svg.text((x.at(0.0) - 8.0, baseline), Anchor::End, "axis-title", name);
        for (at, label) in labels {
            svg.text((*at, baseline), Anchor::Middle, "head", label);
        }
    }
}
