//! Recordings over time: the value of each, and the levels between changes.

use super::{Panel, thinned, whisker};
use crate::document::Figure;
use crate::interval::Measured;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use crate::table::{Column, Table};
use plimsoll_model::number::{short, signed_percent};
use plimsoll_model::trend::{Trend, TrendLine};

/// `None` unless two recordings have a value.
pub fn draw(id: &str, trend: &Trend, line: &TrendLine) -> Option<Figure> {
    if line.values.iter().flatten().count() < 2 {
        return None;
    }
    let shown = ShownTrend { trend, line };
    let levels = match line.changes.len() {
        0 => "The line is the mean of all: none is a change of level.",
        _ => "The lines are the levels; an upright line is where a new one begins.",
    };
    let caption = format!("{} at {}, a dot for each recording with its 95 % interval. {levels}", title(line), line.at);
    Some(Figure::drawn(id, &caption, shown.table(), |width| shown.drawing(width)))
}

/// `Transactions per second`.
fn title(line: &TrendLine) -> String {
    plimsoll_model::layout::capitalised(line.metric.unit())
}

struct ShownTrend<'a> {
    trend: &'a Trend,
    line: &'a TrendLine,
}

impl ShownTrend<'_> {
    fn table(&self) -> Table {
        let known: Vec<usize> =
            (0..self.line.values.len()).filter(|place| self.line.values[*place].is_some()).collect();
        let started = known.iter().map(|place| self.trend.recordings[*place].started.clone()).collect();
        let values: Vec<Measured> = known.iter().map(|place| self.measured(*place)).collect();
        Table::new(vec![
            Column::words("started", started),
            super::column(&self.line.at, self.line.metric.unit(), 1, &values),
        ])
    }

    fn measured(&self, place: usize) -> Measured {
        self.line.values[place].as_ref().map(Measured::from).unwrap_or_default()
    }

    /// All values, and their intervals as far as they do not make the values unreadable.
    fn domain(&self) -> (f64, f64) {
        let values: Vec<f64> = self.line.values.iter().flatten().map(|of| of.value).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let room = (0.6 * (most - least)).max(0.02 * most.abs());
        let ends = self.line.values.iter().flatten().filter_map(plimsoll_model::Estimate::interval);
        let (low, high) = ends.fold((least, most), |(low, high), (l, h)| (low.min(l), high.max(h)));
        (low.max(least - room), high.min(most + room))
    }

    fn drawing(&self, width: f64) -> String {
        let mut svg = Svg::new(width, 236.0, &format!("{} at {} over time", title(self.line), self.line.at));
        let panel = Panel { left: super::LEFT, right: width - 12.0, top: 34.0, bottom: 190.0 };
        let y = Scale::linear(self.domain(), panel.vertical());
        panel.frame(&mut svg, &y, 4, &self.line.at, self.line.metric.unit());
        let last = self.line.values.len().saturating_sub(1).max(1) as f64;
        let x = Scale::linear((0.0, last), (panel.left + 12.0, panel.right - 12.0));
        let day = |started: &str| started.split(' ').next().unwrap_or_default().to_owned();
        let days = self.trend.recordings.iter().enumerate().map(|(place, it)| (x.at(place as f64), day(&it.started)));
        panel.horizontal_axis(&mut svg, &thinned(days.collect()), "recordings, by the day they began (UTC)");
        self.levels(&mut svg, &panel, &x, &y);
        for (place, value) in self.line.values.iter().enumerate() {
            let Some(value) = value else { continue };
            let (at, measured) = (x.at(place as f64), self.measured(place));
            whisker(&mut svg, &panel, &y, at, &measured, "interval s1");
            let recording = &self.trend.recordings[place];
            let hint = format!("{} ({}): {}", recording.started, recording.id, measured.told_with_ends(1));
            svg.marker((at, y.at(value.value)), 3.5, 0, "dot s1", &hint);
        }
        svg.finish()
    }

    fn levels(&self, svg: &mut Svg, panel: &Panel, x: &Scale, y: &Scale) {
        let changes = &self.line.changes;
        let middle = |place: usize| x.at(place as f64 - 0.5);
        let known: Vec<f64> = self.line.values.iter().flatten().map(|of| of.value).collect();
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let mut from = panel.left;
        let mut level = changes.first().map_or(mean, |change| change.before);
        for change in changes {
            let at = middle(change.recording);
            svg.line((from, y.at(level)), (at, y.at(level)), "guide");
            svg.line((at, panel.top), (at, panel.bottom), "zero");
            let told =
                format!("{} → {} ({})", short(change.before), short(change.after), signed_percent(change.share()));
            let (anchor, beside) =
                if at > (panel.left + panel.right) / 2.0 { (Anchor::End, -6.0) } else { (Anchor::Start, 6.0) };
            svg.text((at + beside, panel.top + 8.0), anchor, "note", &told);
            (from, level) = (at, change.after);
        }
        svg.line((from, y.at(level)), (panel.right, y.at(level)), "guide");
    }
}
