//! Small charts of the last minutes: one panel with its unit, and the latest values as text below it.

use crate::follow::Points;
use plimsoll_model::layout::escape;
use plimsoll_model::number::{short, tick};
use plimsoll_report::scale::Scale;
use plimsoll_report::svg::{Anchor, Svg};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 150.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 24.0;
/// A line is broken after this many seconds without a value.
const GAP: f64 = 2.5;

/// A line and its name; its class is a colour of the style sheet.
pub struct LiveLine<'a> {
    pub name: &'a str,
    pub class: &'a str,
    pub points: &'a Points,
}

/// What is drawn.
pub struct LivePanel<'a> {
    pub title: &'a str,
    pub unit: &'a str,
    pub lines: &'a [LiveLine<'a>],
    /// Stretches that were measured; the rest is shaded.
    pub measured: &'a Points,
    /// Both ends, seconds since the recording's start.
    pub from: f64,
    pub until: f64,
    /// The vertical axis reaches at least up to this.
    pub at_least: f64,
}

impl LivePanel<'_> {
    /// The panel as a figure.
    pub fn markup(&self) -> String {
        format!(
            "<figure class=\"live\"><h3>{} <small>{}</small></h3>\n{}<figcaption>{}</figcaption></figure>\n",
            escape(self.title),
            escape(self.unit),
            self.svg(),
            self.latest()
        )
    }

    fn svg(&self) -> String {
        let mut svg = Svg::new(WIDTH, HEIGHT, &format!("{}, {}, over the last minutes", self.title, self.unit));
        let from = self.from;
        let across = Scale::linear((from, self.until.max(from + 30.0)), (LEFT, WIDTH - RIGHT));
        let drawn =
            |line: &LiveLine<'_>| line.points.iter().filter(|(at, _)| *at >= from).map(|(_, value)| *value).collect();
        let values: Vec<f64> = self.lines.iter().flat_map(|line| -> Vec<f64> { drawn(line) }).collect();
        let highest = values.into_iter().fold(self.at_least, f64::max);
        let up = Scale::from_zero(highest, (HEIGHT - BOTTOM, TOP), 3);
        self.shade(&mut svg, across, from);
        axes(&mut svg, across, up, from);
        for line in self.lines {
            let class = format!("line thin {}", line.class);
            for stretch in stretches(line.points, from) {
                let points: Vec<(f64, f64)> =
                    stretch.iter().map(|(at, value)| (across.at(*at), up.at(*value))).collect();
                svg.polyline(&points, &class);
            }
        }
        svg.finish()
    }

    /// Shades what was not measured.
    fn shade(&self, svg: &mut Svg, across: Scale, from: f64) {
        let mut at = from;
        let end = (self.until, self.until);
        for (begins, ends) in self.measured.iter().chain([&end]) {
            if *begins > at {
                let (left, right) = (across.at(at), across.at(*begins));
                svg.rect((left, TOP), (right - left, HEIGHT - BOTTOM - TOP), "band");
            }
            at = at.max(*ends);
        }
    }

    /// The latest value of each line.
    fn latest(&self) -> String {
        let of = |line: &LiveLine<'_>| {
            let value = line.points.back().map_or_else(|| "–".to_owned(), |(_, value)| short(*value));
            format!("<span class=\"key {}\">{}</span> <b>{value}</b>", line.class, escape(line.name))
        };
        self.lines.iter().map(of).collect::<Vec<_>>().join(" ")
    }
}

fn axes(svg: &mut Svg, across: Scale, up: Scale, from: f64) {
    for value in up.ticks(3) {
        let y = up.at(value);
        svg.line((LEFT, y), (WIDTH - RIGHT, y), if value == 0.0 { "axis" } else { "grid" });
        svg.text((LEFT - 8.0, y + 4.0), Anchor::End, "tick", &tick(value));
    }
    for at in across.ticks(6).into_iter().filter(|at| *at >= from) {
        svg.text((across.at(at), HEIGHT - 7.0), Anchor::Middle, "tick", &format!("{} s", tick(at)));
    }
}

/// The parts of a line between its gaps.
fn stretches(points: &Points, from: f64) -> Vec<Vec<(f64, f64)>> {
    let mut parts: Vec<Vec<(f64, f64)>> = Vec::new();
    for point in points.iter().filter(|(at, _)| *at >= from) {
        match parts.last_mut().filter(|part| part.last().is_some_and(|(before, _)| point.0 - before <= GAP)) {
            Some(part) => part.push(*point),
            None => parts.push(vec![*point]),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_breaks_where_nothing_was_measured() {
        let points = Points::from([(1.0, 5.0), (2.0, 6.0), (9.0, 7.0), (10.0, 8.0)]);
        assert_eq!(stretches(&points, 0.0).len(), 2);
        let line = LiveLine { name: "all", class: "s1", points: &points };
        let measured = Points::from([(2.0, 9.0)]);
        let panel = LivePanel {
            title: "T",
            unit: "per second",
            lines: &[line],
            measured: &measured,
            from: 0.0,
            until: 11.0,
            at_least: 1.0,
        };
        let markup = panel.markup();
        assert_eq!(markup.matches("<polyline").count(), 2);
        assert_eq!(markup.matches("class=\"band\"").count(), 2, "before and after what was measured: {markup}");
        assert!(markup.contains("<b>8.00</b>"), "{markup}");
    }
}
