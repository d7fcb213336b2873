//! Rows of horizontal bars: names at the left if all have room there, otherwise above their bars.

use super::CAP;
use super::label::{LINE, shortened, widest};
use crate::document::NARROW;
use crate::interval::Measured;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use plimsoll_model::number::tick;

/// Height of a bar.
const BAR: f64 = 15.0;

/// From the axis to a name that stands above its bar, so that the axis is not interrupted.
const BESIDE_AXIS: f64 = 5.0;

/// The largest part of the width that names may take beside bars.
const MOST_OF_NAMES: f64 = 0.36;

/// Where the rows of a figure lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub pitch: f64,
    names_above: bool,
    width: f64,
}

impl Rows {
    /// In a figure of this width, from `top` on, with room for labels of `labels` pixels right of the bars.
    pub fn new<'a>(width: f64, names: impl IntoIterator<Item = &'a str>, labels: f64, top: f64) -> Rows {
        let widest = widest(names);
        let names_above = width <= NARROW || widest > MOST_OF_NAMES * width;
        let (left, pitch) = if names_above { (6.0, BAR + LINE + 8.0) } else { (1.06 * widest + 16.0, BAR + 9.0) };
        Rows { left, right: width - 8.0 - labels, top, pitch, names_above, width }
    }

    pub fn range(&self) -> (f64, f64) {
        (self.left, self.right)
    }

    pub fn bottom(&self, rows: f64) -> f64 {
        self.top + self.pitch * rows
    }

    /// Middle of the bar in a row, which counts from 0.
    pub fn middle(&self, row: f64) -> f64 {
        let middle = self.top + self.pitch * (row + 0.5);
        if self.names_above { middle + 0.5 * LINE } else { middle }
    }

    pub fn name(&self, svg: &mut Svg, row: f64, name: &str) {
        let y = self.middle(row);
        match self.names_above {
            true => svg.text(
                (self.left + BESIDE_AXIS, y - 0.5 * BAR - 5.0),
                Anchor::Start,
                "label halo",
                &shortened(name, self.width - 12.0),
            ),
            false => svg.text((self.left - 9.0, y + 4.0), Anchor::End, "label", &shortened(name, self.left - 10.0)),
        }
    }

    /// What stands above the rows of a group.
    pub fn heading(&self, svg: &mut Svg, row: f64, text: &str) {
        let (x, room) = match self.names_above {
            true => (self.left + BESIDE_AXIS, self.width - 12.0),
            false => (6.0, self.left - 15.0),
        };
        svg.text((x, self.top + self.pitch * (row + 0.75)), Anchor::Start, "label strong halo", &shortened(text, room));
    }

    /// A bar over a range of the scale.
    pub fn bar(&self, svg: &mut Svg, row: f64, x: &Scale, range: (f64, f64), class: &str, hint: &str) {
        let (from, to) = (x.at(range.0), x.at(range.1));
        let (a, b) = (from.min(to), from.max(to));
        svg.bar((a, self.middle(row) - 0.5 * BAR), (b - a, BAR), class, hint);
    }

    /// A stroke to each end of the interval that is known, with a cap if it lies within the rows
    /// and an arrowhead if it does not.
    pub fn whisker(&self, svg: &mut Svg, row: f64, x: &Scale, of: &Measured) {
        let (Some(value), y) = (of.value, self.middle(row)) else { return };
        let (low, high) = of.ends();
        for end in [low, high].into_iter().flatten() {
            let to = x.at(end);
            let within = to.clamp(self.left, self.right);
            svg.line((x.at(value), y), (within, y), "interval");
            match within == to {
                true => svg.line((to, y - CAP), (to, y + CAP), "interval"),
                false => svg.beyond((within, y), (if to > within { 1.0 } else { -1.0 }, 0.0), "interval"),
            }
        }
    }

    /// What stands in a row without a value.
    pub fn empty(&self, svg: &mut Svg, row: f64, at: f64) {
        let y = self.middle(row);
        svg.line((at + 2.0, y), (at + 10.0, y), "empty");
        svg.text((at + 16.0, y + 4.0), Anchor::Start, "tick", "not measured");
    }

    /// Vertical rules from the first row to `bottom`, with their labels below; to be drawn before the rows.
    pub fn axis(&self, svg: &mut Svg, x: &Scale, bottom: f64) {
        let steps = if self.width <= NARROW { 3 } else { 6 };
        let ticks: Vec<(f64, String)> = x.ticks(steps).into_iter().map(|value| (x.at(value), tick(value))).collect();
        for (at, _) in &ticks {
            svg.line((*at, self.top), (*at, bottom), "grid");
        }
        if x.is_logarithmic() {
            svg.line((self.left, bottom), (self.right, bottom), "axis");
        } else {
            svg.line((x.at(0.0), self.top), (x.at(0.0), bottom), "zero");
        }
        for (at, label) in super::thinned(ticks) {
            let anchor = if at < self.left + 8.0 && self.names_above { Anchor::Start } else { Anchor::Middle };
            svg.text((at, bottom + 17.0), anchor, "tick", &label);
        }
    }
}
