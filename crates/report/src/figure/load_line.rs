//! What a search for a load line tried: the objective's percentile over the rate, with its limit.

use super::label::{Swatch, axis_room, key};
use super::{Panel, is_logarithmic, thinned};
use crate::document::Figure;
use crate::document::NARROW;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use crate::table::{Column, Table};
use plimsoll_model::lab::{LoadLine, Tried};
use plimsoll_model::number::{NOTHING, counted, short, tick};

/// Numbers of the markers, so that met and missed also differ in shape.
const KEPT: usize = 0;
const MISSED: usize = 2;

/// `None` if the percentile was never measured, as in old recordings.
pub fn draw(id: &str, line: &LoadLine) -> Option<Figure> {
    let limit_ms = line.limit_ms.filter(|limit| *limit > 0.0 && limit.is_finite())?;
    let is_drawn = |tried: &&Tried| tried.rate > 0.0 && tried.rate.is_finite();
    let tried: Vec<Tried> = line.tried.iter().filter(is_drawn).copied().collect();
    tried.iter().find(|tried| measured(tried).is_some())?;
    let unknown = match tried.iter().all(|tried| measured(tried).is_some()) {
        true => "",
        false => " Marks at the upper edge: too few arrivals were answered to know it.",
    };
    let caption = format!(
        "Every rate that was tried for {} at {}, and its {}; the line across is the limit. Hollow marks are trials on a \
         machine that was busy with other work.{unknown}",
        line.variant,
        counted(line.connections as f64, "connection"),
        percentile(line)
    );
    let search = Search { line, tried, limit_ms };
    Some(Figure::drawn(id, &caption, search.table(), |width| search.drawing(width)))
}

struct Search<'a> {
    line: &'a LoadLine,
    tried: Vec<Tried>,
    limit_ms: f64,
}

/// `p99` of `p99 < 20ms`.
fn percentile(line: &LoadLine) -> &str {
    line.objective.split('<').next().unwrap_or_default().trim()
}

fn measured(tried: &Tried) -> Option<f64> {
    tried.measured_ms.filter(|ms| *ms > 0.0 && ms.is_finite())
}

fn outcome(tried: &Tried) -> &'static str {
    if tried.kept { "met" } else { "missed" }
}

fn machine(tried: &Tried) -> &'static str {
    if tried.disturbed { "busy with other work" } else { "quiet" }
}

/// Number and class of a marker.
fn mark(kept: bool, disturbed: bool) -> (usize, String) {
    let (number, colour) = if kept { (KEPT, "s1") } else { (MISSED, "s4") };
    (number, format!("{} {colour}", if disturbed { "ring" } else { "dot" }))
}

impl Search<'_> {
    fn table(&self) -> Table {
        let words = |of: fn(&Tried) -> &'static str| self.tried.iter().map(|tried| of(tried).to_owned()).collect();
        let ms = self.tried.iter().map(|tried| measured(tried).map_or(NOTHING.to_owned(), short)).collect();
        Table::new(vec![
            Column::numbers("offered", "1/s", self.tried.iter().map(|tried| short(tried.rate)).collect()),
            Column::numbers(percentile(self.line), "ms", ms),
            Column::words(&self.line.objective, words(outcome)),
            Column::words("machine", words(machine)),
            Column::words("to", words(|tried| if tried.confirmation { "confirm" } else { "search" })),
        ])
    }

    fn drawing(&self, width: f64) -> String {
        let mut svg = Svg::new(width, 0.0, &format!("{} over the rate offered", percentile(self.line)));
        let head = key(&mut svg, &self.entries(), 6.0, width, 14.0);
        let all = || self.tried.iter().filter_map(measured).chain([self.limit_ms]);
        let (lowest, highest) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
        let top = head + 40.0;
        let right = width - if width > NARROW { 24.0 } else { 12.0 };
        let panel = Panel { left: axis_room(highest, width), right, top, bottom: top + 220.0 };
        let (y, unit) = match is_logarithmic(lowest, highest) {
            true => (Scale::logarithmic_round((lowest, highest), panel.vertical()), "ms, logarithmic"),
            false => (Scale::from_zero(1.08 * highest, panel.vertical(), 4), "ms"),
        };
        panel.frame(&mut svg, &y, 5, percentile(self.line), unit);
        let rates = || self.tried.iter().map(|tried| tried.rate);
        let ends = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
        let x = Scale::logarithmic_round(ends, (panel.left + 12.0, panel.right - 12.0));
        let ticks = x.ticks(6).into_iter().map(|rate| (x.at(rate), tick(rate))).collect();
        panel.horizontal_axis(&mut svg, &thinned(ticks), "arrivals offered per second, logarithmic");
        let limit = y.at(self.limit_ms);
        svg.line((panel.left, limit), (panel.right, limit), "zero");
        svg.text((panel.right, limit - 6.0), Anchor::End, "note", &self.line.objective);
        for tried in &self.tried {
            self.trial(&mut svg, &panel, &x, &y, tried);
        }
        svg.with_height(panel.bottom + 46.0).finish()
    }

    fn trial(&self, svg: &mut Svg, panel: &Panel, x: &Scale, y: &Scale, tried: &Tried) {
        let value = measured(tried);
        let place = (x.at(tried.rate), value.map_or(panel.top, |ms| y.at(ms)));
        let (number, class) = mark(tried.kept, tried.disturbed);
        if tried.confirmation {
            svg.plimsoll_mark(place, 7.0, "mark");
        }
        let ms = value.map_or("too few answers".to_owned(), |ms| format!("{} ms", short(ms)));
        let confirms = if tried.confirmation { ", a confirmation" } else { "" };
        let (outcome, machine) = (outcome(tried), machine(tried));
        let hint = format!("{}/s: {ms}, {outcome}, machine {machine}{confirms}", short(tried.rate));
        svg.marker(place, 4.0, number, &class, &hint);
    }

    /// The kinds of marks that occur.
    fn entries(&self) -> Vec<(Swatch, String, String)> {
        let looks =
            [(true, false, "met"), (false, false, "missed"), (true, true, "met, busy"), (false, true, "missed, busy")];
        let is_there =
            |kept, disturbed| self.tried.iter().any(|tried| (tried.kept, tried.disturbed) == (kept, disturbed));
        let looks = looks.into_iter().filter(|(kept, disturbed, _)| is_there(*kept, *disturbed));
        let entry = |(kept, disturbed, name): (bool, bool, &str)| {
            let (number, class) = mark(kept, disturbed);
            (Swatch::Marker(number), class, name.to_owned())
        };
        let confirms = self.tried.iter().any(|tried| tried.confirmation);
        let confirmation = confirms.then(|| (Swatch::PlimsollMark, "mark".to_owned(), "confirmation".to_owned()));
        looks.map(entry).chain(confirmation).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(rate: f64, kept: bool, confirmation: bool, measured_ms: Option<f64>, disturbed: bool) -> Tried {
        Tried { rate, kept, confirmation, measured_ms, disturbed }
    }

    fn line(tried: Vec<Tried>) -> LoadLine {
        LoadLine {
            variant: "base".to_owned(),
            connections: 16,
            objective: "p99 < 20ms".to_owned(),
            limit_ms: Some(20.0),
            rate: None,
            why_not: None,
            noisy_host: false,
            tried,
        }
    }

    #[test]
    fn every_trial_is_drawn_and_told_apart_without_colour() {
        let figure = draw(
            "f",
            &line(vec![
                tried(700.0, false, false, None, true),
                tried(350.0, false, false, Some(400.0), false),
                tried(175.0, true, false, Some(4.0), false),
                tried(170.0, true, true, Some(3.9), true),
            ]),
        )
        .expect("a figure");
        let svg = &figure.svg;
        for mark in [
            "<circle class=\"dot s1\"",
            "<circle class=\"ring s1\"",
            "<polygon class=\"dot s4\"",
            "<polygon class=\"ring s4\"",
            "p99 &lt; 20ms",
            "ms, logarithmic",
        ] {
            assert!(svg.contains(mark), "{mark}: {svg}");
        }
        assert_eq!(svg.matches("<circle class=\"mark\"").count(), 2, "in the key and at the confirmation: {svg}");
        assert_eq!(figure.table.columns[0].cells, ["700", "350", "175", "170"]);
        assert_eq!(figure.table.columns[1].cells, [NOTHING, "400", "4.00", "3.90"]);
        assert_eq!(figure.table.columns[2].cells, ["missed", "missed", "met", "met"]);
        assert_eq!(figure.table.columns[3].cells[0], "busy with other work");
        assert_eq!(figure.table.columns[4].cells, ["search", "search", "search", "confirm"]);
    }

    #[test]
    fn recordings_of_old_have_no_such_figure() {
        assert!(draw("f", &line(vec![tried(700.0, true, false, None, false)])).is_none());
        let old = LoadLine { limit_ms: None, ..line(vec![tried(700.0, true, false, Some(5.0), false)]) };
        assert!(draw("f", &old).is_none());
    }
}
