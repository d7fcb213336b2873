//! Labels: how much room they take, and what to do if there is too little.

use super::LEFT;
use crate::document::NARROW;
use crate::scale::spread;
use crate::svg::{Anchor, Svg};
use plimsoll_model::layout::{self, clean};
use plimsoll_model::number::number;

/// Width of a character of the figures' type at 12 px, roughly.
const CHARACTER: f64 = 6.4;

/// Where panels begin in a narrow figure, at least.
const NARROW_LEFT: f64 = 52.0;

/// Height of a line of text.
pub(crate) const LINE: f64 = 15.0;

/// Roughly the width of a text, CSS pixels.
pub(crate) fn width_of(text: &str) -> f64 {
    CHARACTER * text.chars().count() as f64
}

/// The widest of some texts, CSS pixels.
pub(crate) fn widest<'a>(texts: impl IntoIterator<Item = &'a str>) -> f64 {
    texts.into_iter().map(width_of).fold(0.0, f64::max)
}

/// Room for the labels of a vertical axis that reaches `highest`, in a figure of this width.
pub(crate) fn axis_room(highest: f64, width: f64) -> f64 {
    let least = if width > NARROW { LEFT } else { NARROW_LEFT };
    least.max(width_of(&number(highest, 0)) + 16.0).min(0.4 * width)
}

/// The text without what must not be shown, cut off if it is wider than `room`.
pub(crate) fn shortened(text: &str, room: f64) -> String {
    layout::shortened(text, (room / CHARACTER) as usize)
}

/// The text as at most `most` lines that are no wider than `room`; what does not fit is cut off.
pub(crate) fn wrapped(text: &str, room: f64, most: usize) -> Vec<String> {
    let text = clean(text);
    let mut lines: Vec<String> = Vec::new();
    for piece in text.split_inclusive(' ').flat_map(|word| pieces(word, room)) {
        match lines.last_mut() {
            Some(line) if width_of(line) + width_of(piece.trim_end()) <= room => line.push_str(piece),
            _ => lines.push(piece.to_owned()),
        }
    }
    if lines.len() > most {
        let rest = lines.split_off(most.saturating_sub(1)).concat();
        lines.push(rest);
    }
    lines.iter().map(|line| shortened(line.trim_end(), room)).collect()
}

/// A word, in pieces if it is wider than `room`.
fn pieces(word: &str, room: f64) -> Vec<&str> {
    match width_of(word.trim_end()) > room {
        true => word.split_inclusive(['-', '_', '/', '=', '.']).collect(),
        false => vec![word],
    }
}

/// The end of a line and the name that stands there.
pub(crate) struct LineEnd {
    pub name: String,
    pub class: String,
    pub place: (f64, f64),
}

/// The names of lines at their ends, moved apart if they would overlap, and cut off at `right`.
pub(crate) fn names(svg: &mut Svg, ends: &[LineEnd], range: (f64, f64), right: f64) {
    let heights: Vec<f64> = ends.iter().map(|end| end.place.1).collect();
    for (end, height) in ends.iter().zip(spread(&heights, LINE, range)) {
        let x = end.place.0 + 10.0;
        svg.text((x, height + 4.0), Anchor::Start, &format!("name {}", end.class), &shortened(&end.name, right - x));
    }
}

/// How an entry of a key is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Swatch {
    /// A square of the class.
    Area,
    /// The marker of this number, hollow if published.
    Marker(usize),
    /// The mark of a published number.
    Printed,
    /// A ring and the line through it.
    PlimsollMark,
}

/// Names with their marks in rows from `left` to `right`, the first row's baseline at `top`; used where names have no
/// room beside what they name. Returns the height that it took.
pub(crate) fn key(svg: &mut Svg, entries: &[(Swatch, String, String)], left: f64, right: f64, top: f64) -> f64 {
    let (mut x, mut y) = (left, top);
    for (swatch, class, name) in entries {
        let name = shortened(name, right - left - 16.0);
        let width = 16.0 + width_of(&name);
        if x > left && x + width > right {
            (x, y) = (left, y + LINE + 2.0);
        }
        let middle = (x + 5.0, y - 4.0);
        match swatch {
            Swatch::Area => svg.rect((x, y - 9.0), (10.0, 10.0), class),
            Swatch::Marker(number) => svg.marker(middle, 4.0, *number, class, &name),
            Swatch::Printed => svg.marker(middle, 4.0, 2, "printed", &name),
            Swatch::PlimsollMark => svg.plimsoll_mark(middle, 4.0, class),
        }
        svg.text((x + 16.0, y), Anchor::Start, "tick", &name);
        x += width + 16.0;
    }
    if entries.is_empty() { 0.0 } else { y - top + LINE + 6.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_off_where_there_is_no_room() {
        assert_eq!(shortened("buffer pool", 100.0), "buffer pool");
        assert_eq!(shortened("buffer pool", 40.0), "buffe…");
        assert_eq!(shortened("a\u{202e}b", 100.0), "ab");
    }

    #[test]
    fn a_text_is_wrapped_at_blanks_and_within_names() {
        assert_eq!(wrapped("flush method fsync", 80.0, 3), ["flush method", "fsync"]);
        assert_eq!(wrapped("innodb_flush_method", 80.0, 3), ["innodb_", "flush_method"]);
        assert_eq!(wrapped("one two three four", 40.0, 2), ["one", "two t…"]);
        assert!(wrapped("", 40.0, 2).is_empty());
    }
}
