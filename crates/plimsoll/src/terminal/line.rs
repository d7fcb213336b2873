//! A line of a view: pieces of text, each in one style, cut to the width of the terminal.

use super::tty::Room;
use plimsoll_model::layout::clean;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of names, values and units that stand above one another.
const NAME: usize = 4;
const VALUE: usize = 9;
const UNIT: usize = 4;
/// Stands where something was cut off.
const CUT: &str = "…";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    /// Units and explanations.
    Dim,
    /// What readers look for.
    Bold,
    /// What is good, and throughput.
    Green,
    /// Latency.
    Blue,
    /// What needs attention.
    Red,
}

impl Style {
    /// Select Graphic Rendition (ECMA-48, 8.3.117).
    fn code(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Dim => "\x1b[2m",
            Style::Bold => "\x1b[1m",
            Style::Green => "\x1b[32m",
            Style::Blue => "\x1b[34m",
            Style::Red => "\x1b[31m",
        }
    }
}

/// Its pieces have no control characters, whatever they were made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerminalLine {
    pieces: Vec<(Style, String)>,
}

impl TerminalLine {
    pub fn new() -> TerminalLine {
        TerminalLine::default()
    }

    /// A name and a value with its unit, in columns.
    pub fn quantity(name: &str, value: &str, unit: &str) -> TerminalLine {
        TerminalLine::new()
            .with(Style::Dim, &format!("{name:<NAME$}"))
            .with(Style::Bold, &format!("{value:>VALUE$}"))
            .with(Style::Dim, &format!(" {unit:<UNIT$}"))
    }

    /// The same with a piece after it.
    pub fn with(mut self, style: Style, text: &str) -> TerminalLine {
        self.pieces.push((style, clean(text)));
        self
    }

    /// The same with another line after it.
    pub fn and(mut self, other: TerminalLine) -> TerminalLine {
        self.pieces.extend(other.pieces);
        self
    }

    /// The same with a count, left out if it is 0: `3 errors`.
    pub fn alerted(self, count: u64, singular: &str) -> TerminalLine {
        match count {
            0 => self,
            1 => self.with(Style::Red, &format!("  1 {singular}")),
            _ => self.with(Style::Red, &format!("  {count} {singular}s")),
        }
    }

    /// The same with blanks after it up to this column.
    pub fn padded_to(self, column: usize) -> TerminalLine {
        let blanks = column.saturating_sub(self.width());
        self.with(Style::Plain, &" ".repeat(blanks))
    }

    /// The same with another line right-aligned in the room; if both are too long, this one is cut.
    pub fn and_right(self, right: TerminalLine, room: Room) -> TerminalLine {
        let columns = room.columns.saturating_sub(1);
        let left = self.cut(columns.saturating_sub(right.width() + 2));
        left.padded_to(columns - right.width().min(columns)).and(right)
    }

    /// Columns on a terminal.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| text.width()).sum()
    }

    /// At most this many columns, with a sign where it was cut.
    pub fn cut(self, columns: usize) -> TerminalLine {
        self.cut_with(CUT, columns)
    }

    fn cut_with(self, sign: &str, columns: usize) -> TerminalLine {
        if self.width() <= columns {
            return self;
        }
        let mut left = columns.saturating_sub(sign.width());
        let mut line = TerminalLine::new();
        for (style, text) in self.pieces {
            let (fits, is_whole) = fitting(&text, left);
            left -= fits.width();
            if !is_whole {
                line.pieces.push((style, format!("{fits}{sign}")));
                break;
            }
            line.pieces.push((style, text));
        }
        line
    }

    /// As written to a terminal, one column narrower than the room: a character in the last column would leave the
    /// cursor between two lines.
    pub fn rendered(&self, room: Room, colour: bool) -> String {
        let (line, sign) = if room.unicode { (self.clone(), CUT) } else { (self.in_ascii(), "...") };
        let mut text = String::new();
        for (style, piece) in line.cut_with(sign, room.columns.saturating_sub(1)).pieces {
            match colour && style != Style::Plain && !piece.is_empty() {
                true => text.extend([style.code(), &piece, "\x1b[0m"]),
                false => text += &piece,
            }
        }
        text.trim_end().to_owned()
    }

    fn in_ascii(&self) -> TerminalLine {
        TerminalLine { pieces: self.pieces.iter().map(|(style, text)| (*style, ascii(text))).collect() }
    }
}

/// As much of a text as there is room for, and whether that is all of it.
fn fitting(text: &str, columns: usize) -> (&str, bool) {
    let mut width = 0;
    for (at, c) in text.char_indices() {
        width += c.width().unwrap_or(0);
        if width > columns {
            return (&text[..at], false);
        }
    }
    (text, true)
}

/// A text in ASCII, for terminals that can show nothing else.
pub fn ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_ascii() => plain.push(c),
            '…' => plain.push_str("..."),
            '±' => plain.push_str("+/-"),
            '≥' => plain.push_str(">="),
            '≤' => plain.push_str("<="),
            '–' | '—' | '−' => plain.push('-'),
            '’' | '‘' => plain.push('\''),
            'µ' | 'μ' => plain.push('u'),
            '·' => plain.push('|'),
            '×' => plain.push('x'),
            '━' => plain.push('='),
            '\u{a0}' => plain.push(' '),
            _ => plain.push('?'),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(columns: usize) -> Room {
        Room { columns, rows: 24, unicode: true }
    }

    fn plain(text: &str) -> TerminalLine {
        TerminalLine::new().with(Style::Plain, text)
    }

    #[test]
    fn lines_are_cut_by_columns_not_by_characters() {
        assert_eq!(plain("throughput").rendered(room(11), false), "throughput");
        assert_eq!(plain("throughput").rendered(room(8), false), "throug…");
        assert_eq!(plain("計測計測計測").rendered(room(8), false), "計測計…", "a wide character has two columns");
        assert_eq!(plain("計測計測計測").rendered(room(7), false), "計測…", "and is never halved");
        assert_eq!(plain("e\u{301}e\u{301}e\u{301}").rendered(room(4), false), "e\u{301}e\u{301}e\u{301}");
        assert_eq!(plain(&"x".repeat(100_000)).rendered(room(40), false).width(), 39);
    }

    #[test]
    fn styles_begin_and_end_and_cost_no_width() {
        let line = TerminalLine::new().with(Style::Bold, "1,234").with(Style::Dim, " transactions/s");
        assert_eq!(line.rendered(room(80), true), "\x1b[1m1,234\x1b[0m\x1b[2m transactions/s\x1b[0m");
        assert_eq!(line.rendered(room(80), false), "1,234 transactions/s");
        assert_eq!(line.rendered(room(9), true), "\x1b[1m1,234\x1b[0m\x1b[2m t…\x1b[0m");
    }

    #[test]
    fn what_others_wrote_cannot_leave_the_line() {
        let line = plain("a\x1b[2J\r\nb\u{202e}c\u{9b}d\u{7}");
        assert_eq!(line.rendered(room(80), true), "a[2J bcd");
    }

    #[test]
    fn the_right_end_stays_when_there_is_little_room() {
        let line = |columns| {
            plain("a rather long title").and_right(plain("2 min left"), room(columns)).rendered(room(columns), false)
        };
        assert_eq!(line(40), "a rather long title          2 min left");
        assert_eq!(line(24), "a rather l…  2 min left");
        assert!(line(6).width() <= 5, "{}", line(6));
    }

    #[test]
    fn ascii_says_the_same() {
        assert_eq!(ascii("1,786 ± 34 … 12 µs – 計"), "1,786 +/- 34 ... 12 us - ?");
        let line = plain("1 ± 2 and more").rendered(Room { columns: 10, rows: 24, unicode: false }, false);
        assert!(line.len() <= 9, "{line}");
    }
}
