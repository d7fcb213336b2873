//! The one writer of figures. It knows shapes and classes; `svg.css` says what they look like, so that a figure follows
//! the page into dark mode and print.

use plimsoll_model::layout::{escape, shortened};
use std::fmt::Write;

/// The style of figures, with the colours of the whole page.
pub const STYLE: &str = include_str!("svg.css");

/// The shapes of [`Svg::marker`] distinguish lines where there is no colour.
const SHAPES: usize = 5;

/// Room around a figure that is a file of its own.
const PADDING: f64 = 16.0;

/// Height of the small print below a figure, and the width of one of its characters, roughly.
const STAMP: f64 = 18.0;
const STAMP_CHARACTER: f64 = 5.4;

/// Class of the arrowheads of strokes that go on beyond the figure.
const BEYOND: &str = "beyond";

/// Which end of a text is at its place.
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
    /// `description` is for readers who cannot see the figure.
    pub fn new(width: f64, height: f64, description: &str) -> Svg {
        Svg { width, height, description: escape(description), body: String::new() }
    }

    /// The same with another height, if that is known only after everything is drawn.
    pub fn with_height(self, height: f64) -> Svg {
        Svg { height, ..self }
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

    /// A rectangle with a text that shows while the pointer rests on it.
    pub fn bar(&mut self, corner: (f64, f64), size: (f64, f64), class: &str, hint: &str) {
        let (x, y, width, height) = (c(corner.0), c(corner.1), c(size.0.max(0.0)), c(size.1.max(0.0)));
        let hint = escape(hint);
        self.push(format_args!(
            r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}"><title>{hint}</title></rect>"#
        ));
    }

    /// Many rectangles of one look: left, top, width and height of each.
    pub fn cells(&mut self, cells: &[(f64, f64, f64, f64)], class: &str, opacity: f64) {
        let cell = |&(x, y, width, height): &(f64, f64, f64, f64)| {
            let (x, y, width, height) = (c(x), c(y), c(width), c(height));
            format!("M{x} {y}h{width}v{height}h-{width}z")
        };
        let path: String = cells.iter().map(cell).collect();
        if !path.is_empty() {
            self.push(format_args!(r#"<path class="{class}" fill-opacity="{opacity:.2}" d="{path}"/>"#));
        }
    }

    /// A mark of the shape that a line with this number has: a disc, a square, a diamond, a triangle up or down.
    pub fn marker(&mut self, centre: (f64, f64), radius: f64, number: usize, class: &str, hint: &str) {
        let (x, y) = centre;
        let corners = match number % SHAPES {
            0 => return self.dot(centre, radius, class, hint),
            1 => vec![(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            2 => vec![(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
            3 => vec![(0.0, -1.25), (1.2, 0.95), (-1.2, 0.95)],
            _ => vec![(0.0, 1.25), (1.2, -0.95), (-1.2, -0.95)],
        };
        let corners: Vec<(f64, f64)> = corners.into_iter().map(|(dx, dy)| (x + radius * dx, y + radius * dy)).collect();
        let hint = escape(hint);
        let points = join(&corners);
        self.push(format_args!(r#"<polygon class="{class}" points="{points}"><title>{hint}</title></polygon>"#));
    }

    /// A dot with a text that shows while the pointer rests on it.
    pub fn dot(&mut self, centre: (f64, f64), radius: f64, class: &str, hint: &str) {
        let (x, y, r) = (c(centre.0), c(centre.1), c(radius));
        let hint = escape(hint);
        self.push(format_args!(r#"<circle class="{class}" cx="{x}" cy="{y}" r="{r}"><title>{hint}</title></circle>"#));
    }

    /// Two strokes that cross a place out.
    pub fn cross(&mut self, centre: (f64, f64), reach: f64, class: &str) {
        let (x, y) = centre;
        for side in [-1.0, 1.0] {
            self.line((x - reach, y - side * reach), (x + reach, y + side * reach), class);
        }
    }

    /// The mark on a ship's hull: a ring and the line through it.
    pub fn plimsoll_mark(&mut self, centre: (f64, f64), radius: f64, class: &str) {
        let (x, y, r) = (c(centre.0), c(centre.1), c(radius));
        self.push(format_args!(r#"<circle class="{class}" cx="{x}" cy="{y}" r="{r}"/>"#));
        let reach = 1.75 * radius;
        self.line((centre.0 - reach, centre.1), (centre.0 + reach, centre.1), class);
    }

    /// The end of a stroke that goes on beyond what is drawn, in this direction; [`says_beyond`] tells whether there is
    /// one.
    pub fn beyond(&mut self, tip: (f64, f64), direction: (f64, f64), class: &str) {
        let ((x, y), (dx, dy)) = (tip, direction);
        let wing = |side: f64| (x - 6.0 * dx + 3.5 * side * dy, y - 6.0 * dy + 3.5 * side * dx);
        self.polyline(&[wing(-1.0), tip, wing(1.0)], &format!("{BEYOND} {class}"));
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

/// Whether a stroke of this figure goes on beyond what is drawn.
pub fn says_beyond(figure: &str) -> bool {
    figure.contains(&format!("<polyline class=\"{BEYOND} "))
}

/// A figure that [`Svg::finish`] made with a line of small print below it, as far as it has room.
pub fn stamped(figure: &str, words: &str) -> String {
    let (Some((width, height)), Some(drawing)) = (size(figure), figure.strip_suffix("</svg>\n")) else {
        return figure.to_owned();
    };
    let words = shortened(words, (width / STAMP_CHARACTER) as usize);
    let taller = drawing.replacen(&view(width, height), &view(width, height + STAMP), 1);
    let (y, words) = (c(height + STAMP - 4.0), escape(&words));
    format!("{taller}<text class=\"stamp\" x=\"0\" y=\"{y}\">{words}</text>\n</svg>\n")
}

fn view(width: f64, height: f64) -> String {
    format!("<svg viewBox=\"0 0 {} {}\"", c(width), c(height))
}

/// Width and height of a figure that [`Svg::finish`] made.
fn size(figure: &str) -> Option<(f64, f64)> {
    let (width, height) = figure.split('"').nth(1)?.strip_prefix("0 0 ")?.split_once(' ')?;
    Some((width.parse().ok()?, height.parse().ok()?))
}

/// A figure that [`Svg::finish`] made as a file of its own, with a style in it and room around it.
pub fn standalone(figure: &str, style: &str) -> String {
    let (Some((width, height)), Some((head, body))) = (size(figure), figure.split_once('>')) else {
        return String::new();
    };
    let label = head.split_once("role=").map_or("", |(_, label)| label);
    let (width, height) = (c(width + 2.0 * PADDING), c(height + 2.0 * PADDING));
    let box_of = format!("x=\"-{PADDING}\" y=\"-{PADDING}\" width=\"{width}\" height=\"{height}\"");
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-{PADDING} -{PADDING} {width} {height}\" role={label}>\n\
         <style>{style}</style>\n<rect class=\"paper\" {box_of}/>{body}"
    )
}

fn join(points: &[(f64, f64)]) -> String {
    points.iter().map(|&(x, y)| format!("{},{}", c(x), c(y))).collect::<Vec<_>>().join(" ")
}

/// A coordinate to a tenth of a pixel; not-a-number becomes 0 rather than break the figure.
fn c(value: f64) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_its_own_has_its_colours_and_room_around_it() {
        let file = standalone(&Svg::new(100.0, 50.0, "a > b").finish(), STYLE);
        assert!(
            file.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-16 -16 132 82\" role=\"img\" "),
            "{file}"
        );
        assert!(file.contains("--paper") && file.ends_with("</svg>\n"));
        assert_eq!(standalone("nothing", STYLE), "");
    }

    #[test]
    fn small_print_makes_room_for_itself_and_ends_where_the_figure_does() {
        let figure = Svg::new(100.0, 50.5, "a figure").finish();
        let stamped = stamped(&figure, "MySQL <8.4>, 2 CPUs, ext4");
        assert!(stamped.starts_with("<svg viewBox=\"0 0 100 68.5\" "), "{stamped}");
        assert!(stamped.contains("y=\"64.5\">MySQL &lt;8.4&gt;, 2 CP…</text>\n</svg>\n"), "{stamped}");
        assert_eq!(super::stamped("nothing", "words"), "nothing");
    }

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
