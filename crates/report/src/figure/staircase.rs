//! A ladder as a staircase: what each rung brought, on top of those kept before it (NetApp TR-3693, Figure 3).
//!
//! On a page the stairs go up from left to right; on a phone, and with many rungs, they are rows.

use super::label::{LINE, Swatch, axis_room, key, width_of, wrapped};
use super::rows::Rows;
use super::{Panel, whisker};
use crate::document::Figure;
use crate::document::NARROW;
use crate::interval::Measured;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use crate::table::{Column, Table};
use plimsoll_model::layout::capitalised;
use plimsoll_model::number::signed_percent;
use plimsoll_model::number::{NOTHING, decimals_for, range, short};

/// What is drawn: one bar for the base, and one for each rung.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Staircase {
    /// `new orders`
    pub what: String,
    /// `1/min`
    pub unit: String,
    pub caption: String,
    /// What is known about the base: `the server's defaults`.
    pub base_name: String,
    pub base: Measured,
    pub steps: Vec<StaircaseStep>,
    /// What all kept rungs brought together, a share, if that was measured.
    pub gain: Measured,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StaircaseStep {
    pub rung: String,
    /// With the rung, on top of those kept.
    pub value: Measured,
    /// With ÷ without − 1, a share.
    pub change: Measured,
    /// `kept`, `no effect` …; empty if it was not judged.
    pub verdict: String,
    pub kept: bool,
    /// Classes of durability that it costs, in words; empty for none.
    pub risks: String,
    pub published: Option<f64>,
}

/// With more bars than this, their names have no room beside each other.
const MOST_COLUMNS: usize = 9;

/// A bar with the level that it stands on: the highest kept before it.
struct Stair<'a> {
    name: &'a str,
    value: &'a Measured,
    level: Option<f64>,
    /// `None` for the base.
    step: Option<&'a StaircaseStep>,
}

impl Stair<'_> {
    fn is_kept(&self) -> bool {
        self.step.is_none_or(|step| step.kept)
    }

    fn published(&self) -> Option<f64> {
        self.step.and_then(|step| step.published)
    }

    fn change(&self) -> Option<String> {
        self.step.and_then(|step| step.change.value).map(signed_percent)
    }

    /// The remark on a rung that was not kept or that costs durability.
    fn remark(&self) -> String {
        let Some(step) = self.step else { return String::new() };
        let verdict = if step.kept { "" } else { &step.verdict };
        let comma = if verdict.is_empty() || step.risks.is_empty() { "" } else { ", " };
        format!("{verdict}{comma}{}", step.risks)
    }

    fn name_and_remark(&self) -> String {
        match self.remark() {
            remark if remark.is_empty() => self.name.to_owned(),
            remark => format!("{} ({remark})", self.name),
        }
    }
}

/// `None` without a step that has a value.
pub fn draw(id: &str, staircase: &Staircase) -> Option<Figure> {
    staircase.steps.iter().find(|step| step.value.value.is_some())?;
    let stairs = stairs(staircase);
    Some(Figure::drawn(id, &staircase.caption, table(staircase), |width| {
        match width > NARROW && stairs.len() <= MOST_COLUMNS {
            true => columns(staircase, &stairs, width),
            false => rows(staircase, &stairs, width),
        }
    }))
}

fn stairs(staircase: &Staircase) -> Vec<Stair<'_>> {
    let name = if staircase.base_name.is_empty() { "base" } else { &staircase.base_name };
    let mut level = staircase.base.value;
    let mut stairs = vec![Stair { name, value: &staircase.base, level: None, step: None }];
    for step in &staircase.steps {
        stairs.push(Stair { name: &step.rung, value: &step.value, level, step: Some(step) });
        if step.kept {
            level = step.value.value.or(level);
        }
    }
    stairs
}

fn table(staircase: &Staircase) -> Table {
    let stairs = stairs(staircase);
    let values: Vec<Measured> = stairs.iter().map(|stair| stair.value.clone()).collect();
    let step = |of: fn(&StaircaseStep) -> Measured| {
        stairs.iter().map(|s| s.step.map(of).unwrap_or_default()).collect::<Vec<_>>()
    };
    let words =
        |of: fn(&StaircaseStep) -> &str| stairs.iter().map(|s| s.step.map_or("", of).to_owned()).collect::<Vec<_>>();
    let mut columns = vec![
        Column::words("rung", stairs.iter().map(|stair| stair.name.to_owned()).collect()),
        super::column(&staircase.what, &staircase.unit, 1, &values),
        super::column("change", "%", 1, &step(|step| step.change.scaled(100.0))),
        Column::words("verdict", words(|step| &step.verdict)),
        Column::words("costs", words(|step| &step.risks)),
    ];
    columns.retain(|column| column.is_number || column.cells.iter().any(|cell| !cell.is_empty()));
    if stairs.iter().any(|stair| stair.published().is_some()) {
        let published = stairs.iter().map(|stair| stair.published().map_or(NOTHING.to_owned(), short)).collect();
        columns.push(Column::numbers("published", &staircase.unit, published));
    }
    Table::new(columns)
}

/// The end of the axis: above all values; ends of intervals far beyond all values are cut off instead.
fn highest(stairs: &[Stair<'_>]) -> f64 {
    let values = stairs.iter().flat_map(|stair| [stair.value.value, stair.published()]).flatten().fold(0.0, f64::max);
    stairs.iter().filter_map(|stair| stair.value.ends().1).filter(|end| *end < 1.3 * values).fold(values, f64::max)
}

/// The title and, if there are any, a key to the marks of published numbers and of rungs that were not kept. Returns
/// where it ends.
fn head(svg: &mut Svg, staircase: &Staircase, stairs: &[Stair<'_>], left: f64, width: f64) -> f64 {
    svg.panel_title((left, 14.0), &capitalised(&staircase.what), &staircase.unit);
    if let Some(gain) = gain(staircase) {
        svg.text((width - 16.0, 14.0), Anchor::End, "strong", &gain);
    }
    let mut entries = Vec::new();
    if stairs.iter().any(|stair| stair.published().is_some()) {
        entries.push((Swatch::Printed, String::new(), "published".to_owned()));
    }
    if stairs.iter().any(|stair| !stair.is_kept()) {
        entries.push((Swatch::Area, "not-kept".to_owned(), "not kept".to_owned()));
    }
    22.0 + key(svg, &entries, left, width, 35.0)
}

/// What all kept rungs brought together: `in all +3.1 % (1.8 – 4.4)`; for a published ladder, from its bars.
fn gain(staircase: &Staircase) -> Option<String> {
    let is_published = || staircase.steps.iter().all(|step| step.change.estimate.is_none());
    let share = staircase.gain.value.or_else(|| by_bars(staircase).filter(|_| is_published()))?;
    let ends = match staircase.gain.scaled(100.0).ends() {
        (Some(low), Some(high)) => format!(" ({})", range(low, high, 1)),
        _ => String::new(),
    };
    Some(format!("in all {}{ends}", signed_percent(share)))
}

/// The last kept bar against the first.
fn by_bars(staircase: &Staircase) -> Option<f64> {
    let last = staircase.steps.iter().rfind(|step| step.kept)?.value.value?;
    staircase.base.value.filter(|base| *base > 0.0).map(|base| last / base - 1.0)
}

/// Most lines of a rung's name below its bar, and of the remark on it.
const NAME_LINES: usize = 5;
const REMARK_LINES: usize = 5;

fn columns(staircase: &Staircase, stairs: &[Stair<'_>], width: f64) -> String {
    let mut svg = Svg::new(width, 0.0, &format!("Staircase of {}: what each rung brought", staircase.what));
    let top = head(&mut svg, staircase, stairs, axis_room(highest(stairs), width), width) + 30.0;
    let panel = Panel { left: axis_room(highest(stairs), width), right: width - 16.0, top, bottom: top + 230.0 };
    let y = Scale::from_zero(1.06 * highest(stairs), panel.vertical(), 5);
    panel.frame(&mut svg, &y, 5, "", "");
    let pitch = (panel.right - panel.left) / stairs.len() as f64;
    let mut bottom = panel.bottom;
    for (at, stair) in stairs.iter().enumerate() {
        let left = panel.left + pitch * at as f64;
        column(&mut svg, &panel, &y, left, pitch, stair, &staircase.unit);
        bottom = bottom.max(names(&mut svg, left + 0.5 * pitch, panel.bottom, pitch - 8.0, stair));
    }
    svg.with_height(bottom).finish()
}

/// A stair in its place: where that begins, and how wide it is.
fn column(svg: &mut Svg, panel: &Panel, y: &Scale, left: f64, pitch: f64, stair: &Stair<'_>, unit: &str) {
    let (x, width) = (left + 0.14 * pitch, 0.72 * pitch);
    let middle = left + 0.5 * pitch;
    if let Some(level) = stair.level {
        svg.line((left - 0.14 * pitch, y.at(level)), (x + width, y.at(level)), "riser");
    }
    match stair.value.value {
        Some(value) => {
            let hint = format!("{}: {}", stair.name, stair.value.label_in(unit, decimals_for(value)));
            let foot = stair.level.filter(|_| stair.is_kept()).map_or(0.0, |level| level.min(value));
            let class = if stair.is_kept() { "bar s1" } else { "not-kept" };
            svg.rect((x, y.at(foot)), (width, panel.bottom - y.at(foot)), "below s1");
            svg.bar((x, y.at(value)), (width, y.at(foot) - y.at(value)), class, &hint);
            whisker(svg, panel, y, middle, stair.value, "interval");
            let ends = [Some(value), stair.value.ends().1, stair.published()];
            let above = y.at(ends.into_iter().flatten().fold(value, f64::max)).max(panel.top);
            let gap = if stair.published().is_some() { 11.0 } else { 7.0 };
            labels(svg, middle, above - gap, stair, &short(value));
        }
        None => {
            svg.line((middle - 5.0, panel.bottom - 10.0), (middle + 5.0, panel.bottom - 10.0), "empty");
            svg.text((middle, panel.bottom - 18.0), Anchor::Middle, "tick halo", "not measured");
        }
    }
    if let Some(published) = stair.published() {
        let hint = format!("published: {} {unit}", short(published));
        svg.marker((middle, y.at(published)), 4.5, 2, "printed", &hint);
    }
}

/// The value above a bar, and above it the change that the rung brought.
fn labels(svg: &mut Svg, x: f64, y: f64, stair: &Stair<'_>, value: &str) {
    let class = if stair.is_kept() { "strong halo" } else { "muted halo" };
    svg.text((x, y), Anchor::Middle, "tick halo", value);
    if let Some(change) = stair.change() {
        svg.text((x, y - LINE), Anchor::Middle, class, &change);
    }
}

/// Name and remark below a bar; returns where they end.
fn names(svg: &mut Svg, x: f64, bottom: f64, room: f64, stair: &Stair<'_>) -> f64 {
    let class = if stair.is_kept() { "label" } else { "label muted" };
    let mut y = bottom + 18.0;
    for line in wrapped(stair.name, room, NAME_LINES) {
        svg.text((x, y), Anchor::Middle, class, &line);
        y += LINE;
    }
    for line in wrapped(&stair.remark(), room, REMARK_LINES) {
        svg.text((x, y), Anchor::Middle, "remark", &line);
        y += LINE;
    }
    y - 0.5 * LINE
}

fn rows(staircase: &Staircase, stairs: &[Stair<'_>], width: f64) -> String {
    let names: Vec<String> = stairs.iter().map(Stair::name_and_remark).collect();
    let mut svg = Svg::new(width, 0.0, &format!("Staircase of {}: what each rung brought", staircase.what));
    let top = head(&mut svg, staircase, stairs, 6.0, width) + 4.0;
    let rows = Rows::new(width, names.iter().map(String::as_str), 112.0, top);
    let bottom = rows.bottom(stairs.len() as f64);
    let x = Scale::from_zero(highest(stairs), rows.range(), 5);
    rows.axis(&mut svg, &x, bottom);
    for (row, (stair, name)) in stairs.iter().zip(&names).enumerate() {
        rows.name(&mut svg, row as f64, name);
        stair_row(&mut svg, &rows, row as f64, &x, stair, &staircase.unit);
    }
    svg.with_height(bottom + 26.0).finish()
}

fn stair_row(svg: &mut Svg, rows: &Rows, row: f64, x: &Scale, stair: &Stair<'_>, unit: &str) {
    let y = rows.middle(row);
    let Some(value) = stair.value.value else { return rows.empty(svg, row, x.at(0.0)) };
    let hint = format!("{}: {}", stair.name, stair.value.label_in(unit, decimals_for(value)));
    let foot = stair.level.filter(|_| stair.is_kept()).map_or(0.0, |level| level.min(value));
    rows.bar(svg, row, x, (0.0, foot), "below s1", &hint);
    rows.bar(svg, row, x, (foot, value), if stair.is_kept() { "bar s1" } else { "not-kept" }, &hint);
    rows.whisker(svg, row, x, stair.value);
    let ends = [Some(value), stair.value.ends().1, stair.published()];
    let end = x.at(ends.into_iter().flatten().fold(value, f64::max)).min(rows.right) + 9.0;
    svg.text((end, y + 4.0), Anchor::Start, "tick halo", &short(value));
    if let Some(change) = stair.change() {
        let class = if stair.is_kept() { "strong halo" } else { "muted halo" };
        svg.text((end + 7.0 + width_of(&short(value)), y + 4.0), Anchor::Start, class, &change);
    }
    if let Some(published) = stair.published() {
        svg.marker((x.at(published), y), 4.0, 2, "printed", &format!("published: {} {unit}", short(published)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Estimate;

    fn staircase(change: Measured, gain: Measured) -> Staircase {
        let bare = |value| Measured { value: Some(value), ..Measured::default() };
        let step = StaircaseStep { value: bare(120.0), change, kept: true, ..StaircaseStep::default() };
        Staircase { base: bare(100.0), steps: vec![step], gain, ..Staircase::default() }
    }

    #[test]
    fn the_gain_is_what_was_measured_and_by_the_bars_only_of_what_was_published() {
        let estimate = |value, ends| Measured::from(&Estimate::new(value, ends, 0.95, 4.0, String::new()));
        let (change, measured) = (estimate(0.1, (0.05, 0.15)), estimate(0.15, (-0.01, 0.31)));
        assert_eq!(gain(&staircase(change.clone(), measured)).as_deref(), Some("in all +15.0 % (−1.0 to 31.0)"));
        assert_eq!(gain(&staircase(change, Measured::default())), None, "bars are not the pairs that were measured");
        let published = staircase(Measured::default(), Measured::default());
        assert_eq!(gain(&published).as_deref(), Some("in all +20.0 %"));
    }
}
