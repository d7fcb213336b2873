//! The figures: each is a function from its data to an SVG element, or `None` if there is nothing to draw.
//!
//! All share a width and the same frame: light horizontal rules, tick labels flush to the rules, the title of a panel
//! and its unit above its upper left corner, names beside their lines instead of a legend, and thin capped strokes for
//! intervals.

pub mod bars;
pub mod beside;
pub mod costs;
pub mod cpu;
pub mod cpu_split;
pub mod curves;
pub mod delta;
pub mod diagram;
pub(crate) mod label;
pub mod latency;
pub mod load_line;
pub mod looks;
pub mod operations;
pub mod price;
pub mod requests;
mod rows;
pub mod search;
pub mod seconds;
pub mod staircase;
pub mod together;
pub mod trend;

use crate::interval::Measured;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use crate::table::Column;
use plimsoll_model::number::tick;

/// Where panels begin: left of it is room for tick labels.
pub(crate) const LEFT: f64 = 74.0;

/// Width of a character of a tick label, roughly; decides only which labels are left out.
const CHARACTER: f64 = 6.4;

/// Values that differ by more than this factor are drawn on a logarithmic axis.
const LINEAR_UP_TO: f64 = 12.0;

/// Half the width of a cap at the end of an interval.
const CAP: f64 = 4.5;

/// The rectangle that values are drawn in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panel {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Panel {
    /// The range of a vertical scale: upwards.
    pub fn vertical(&self) -> (f64, f64) {
        (self.bottom, self.top)
    }

    /// Title, horizontal rules and their labels.
    pub fn frame(&self, svg: &mut Svg, scale: &Scale, ticks: usize, what: &str, unit: &str) {
        svg.panel_title((self.left, self.top - 14.0), what, unit);
        for value in scale.ticks(ticks) {
            let y = scale.at(value);
            svg.line((self.left, y), (self.right, y), "grid");
            svg.text((self.left - 8.0, y + 4.0), Anchor::End, "tick", &tick(value));
        }
        svg.line((self.left, self.bottom), (self.right, self.bottom), "axis");
    }

    /// Tick labels below the panel and the title of the horizontal axis below them.
    pub fn horizontal_axis(&self, svg: &mut Svg, ticks: &[(f64, String)], title: &str) {
        for (x, label) in ticks {
            svg.line((*x, self.bottom), (*x, self.bottom + 5.0), "axis");
            svg.text((*x, self.bottom + 19.0), Anchor::Middle, "tick", label);
        }
        svg.text((self.right, self.bottom + 37.0), Anchor::End, "axis-title", title);
    }
}

/// The interval of a value at `x`: a stroke from it to each end that is known, with a cap if the end lies within the
/// panel and an arrowhead if it does not.
pub(crate) fn whisker(svg: &mut Svg, panel: &Panel, y: &Scale, x: f64, of: &Measured, class: &str) {
    let Some(value) = of.value else { return };
    let (low, high) = of.ends();
    for end in [low, high].into_iter().flatten() {
        let to = y.at(end);
        let within = to.clamp(panel.top, panel.bottom);
        svg.line((x, y.at(value)), (x, within), class);
        match within == to {
            true => svg.line((x - CAP, to), (x + CAP, to), class),
            false => svg.beyond((x, within), (0.0, if to > within { 1.0 } else { -1.0 }), class),
        }
    }
}

/// A column of the table behind a figure, with intervals. Numbers that were never estimated, such as printed ones, get
/// no remark on why they have none.
pub(crate) fn column(name: &str, unit: &str, most_decimals: usize, of: &[Measured]) -> Column {
    let column = Column::measured(name, unit, most_decimals, of);
    match of.iter().any(|measured| measured.estimate.is_some()) {
        true => column,
        false => Column::numbers(name, unit, column.cells),
    }
}

/// Whether values of this range are drawn on a logarithmic axis.
pub(crate) fn is_logarithmic(lowest: f64, highest: f64) -> bool {
    lowest > 0.0 && highest / lowest > LINEAR_UP_TO
}

/// The ticks that have room beside each other. Of two that collide, the later is dropped, but the last one stays.
pub(crate) fn thinned(ticks: Vec<(f64, String)>) -> Vec<(f64, String)> {
    let half = |label: &str| 0.5 * CHARACTER * label.chars().count() as f64 + 4.0;
    let fits = |left: &(f64, String), right: &(f64, String)| left.0 + half(&left.1) <= right.0 - half(&right.1);
    let mut kept: Vec<(f64, String)> = Vec::new();
    let last = ticks.last().cloned();
    for tick in ticks {
        if kept.last().is_none_or(|before| fits(before, &tick)) {
            kept.push(tick);
        }
    }
    if let Some(last) = last.filter(|last| kept.last() != Some(last)) {
        while kept.last().is_some_and(|before| !fits(before, &last)) {
            kept.pop();
        }
        kept.push(last);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::thinned;

    #[test]
    fn ticks_without_room_are_left_out_but_never_the_last() {
        let ticks = [0.0, 5.0, 60.0, 100.0, 102.0].map(|x| (x, "10".to_owned()));
        let kept: Vec<f64> = thinned(ticks.to_vec()).into_iter().map(|(x, _)| x).collect();
        assert_eq!(kept, [0.0, 60.0, 102.0]);
        assert!(thinned(Vec::new()).is_empty());
    }
}
