//! The one writer of figures. It knows shapes and classes; what they look like is in `style.css`, so that a
//! figure follows the page into the dark and onto paper.

use crate::text::escape;
use std::fmt::Write;

/// Which end of a text stands at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A figure that is being drawn; the origin is at the top left, units are CSS pixels at full width.
#[derive(Clone, Debug)]
pub struct Svg {
    width: f64,
    height: f64,
    description: String,
    body: String,
}

impl Svg {
    /// `description` is read to those who cannot see the figure.
    pub fn new(width: f64, height: f64, description: &str) -> Svg {
        Svg { width, height, description: escape(description), body: String::new() }
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let (x1, y1, x2, y2) = (c(from.0), c(from.1), c(to.0), c(to.1));
        self.push(format_args!(r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#));
    }

    /// Joins points by straight lines; fewer than two draw nothing.
    pub fn polyline(&mut self, points: &[(f64, f64)], class: &str) {
        if points.len() > 1 {
            self.push(format_args!(r#"<polyline class="{class}" points="{}"/>"#, join(points)));
        }
    }

    pub fn polygon(&mut self, points: &[(f64, f64)], class: &str) {
        self.push(format_args!(r#"<polygon class="{class}" points="{}"/>"#, join(points)));
    }

    pub fn rect(&mut self, corner: (f64, f64), size: (f64, f64), class: &str) {
        let (x, y, width, height) = (c(corner.0), c(corner.1), c(size.0.max(0.0)), c(size.1.max(0.0)));
        self.push(format_args!(r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}"/>"#));
    }

    /// A dot with a text that shows while the pointer rests on it.
    pub fn dot(&mut self, centre: (f64, f64), radius: f64, class: &str, hint: &str) {
        let (x, y, r) = (c(centre.0), c(centre.1), c(radius));
        let hint = escape(hint);
        self.push(format_args!(r#"<circle class="{class}" cx="{x}" cy="{y}" r="{r}"><title>{hint}</title></circle>"#));
    }

    /// The mark on a ship's hull: a ring and the line through it.
    pub fn plimsoll_mark(&mut self, centre: (f64, f64), radius: f64, class: &str) {
        let (x, y, r) = (c(centre.0), c(centre.1), c(radius));
        self.push(format_args!(r#"<circle class="{class}" cx="{x}" cy="{y}" r="{r}"/>"#));
        let reach = 1.75 * radius;
        self.line((centre.0 - reach, centre.1), (centre.0 + reach, centre.1), class);
    }

    /// Text with its baseline at `place`; it is escaped here.
    pub fn text(&mut self, place: (f64, f64), anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y, text) = (c(place.0), c(place.1), escape(text));
        self.push(format_args!(r#"<text class="{class}" x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>"#));
    }

    /// The title of a panel, what is drawn in bold and its unit beside it, above the panel's upper left corner.
    pub fn panel_title(&mut self, place: (f64, f64), what: &str, unit: &str) {
        let (x, y, what, unit) = (c(place.0), c(place.1), escape(what), escape(unit));
        self.push(format_args!(
            r#"<text class="what" x="{x}" y="{y}">{what}<tspan class="unit" dx="6">{unit}</tspan></text>"#
        ));
    }

    pub fn finish(self) -> String {
        let Svg { width, height, description, body } = self;
        format!(
            "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{description}\">\n{body}</svg>\n",
            c(width),
            c(height)
        )
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing into a String does not fail.
        let _ = writeln!(self.body, "{element}");
    }
}

fn join(points: &[(f64, f64)]) -> String {
    points.iter().map(|&(x, y)| format!("{},{}", c(x), c(y))).collect::<Vec<_>>().join(" ")
}

/// A coordinate to a tenth of a pixel; what is no number goes to 0 rather than break the figure.
fn c(value: f64) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_written_as_drawn() {
        let mut svg = Svg::new(100.0, 50.5, "a \"figure\"");
        svg.line((0.0, 1.25), (f64::NAN, 3.0), "grid");
        svg.polyline(&[(1.0, 2.0)], "alone");
        svg.text((1.0, 2.0), Anchor::End, "tick", "<5");
        assert_eq!(
            svg.finish(),
            "<svg viewBox=\"0 0 100 50.5\" role=\"img\" aria-label=\"a &quot;figure&quot;\">\n\
             <line class=\"grid\" x1=\"0\" y1=\"1.2\" x2=\"0\" y2=\"3\"/>\n\
             <text class=\"tick\" x=\"1\" y=\"2\" text-anchor=\"end\">&lt;5</text>\n</svg>\n"
        );
    }
}
