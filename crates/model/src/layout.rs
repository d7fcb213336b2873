//! Text from elsewhere as it is laid out: safe to show, escaped for pages, aligned, shortened.

pub use crate::text::{clean, clean_lines};

/// A text with a capital first letter.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A line as a sentence: with a capital letter and a full stop.
pub fn sentence(line: &str) -> String {
    if line.is_empty() { String::new() } else { capitalised(line) + "." }
}

/// [`clean`], fit to stand in HTML, XML or a quoted attribute.
pub fn escape(text: &str) -> String {
    escape_clean(&clean(text))
}

/// [`escape`] that keeps line breaks.
pub fn escape_lines(text: &str) -> String {
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
}

/// [`escape_lines`] of a table whose columns are separated by tabs, which become blanks so that the columns are
/// aligned.
pub fn escape_table(text: &str) -> String {
    escape_lines(&aligned(text))
}

/// The text without what must not be shown, as at most so many letters: what is cut off is marked. At least one is shown.
pub fn shortened(text: &str, letters: usize) -> String {
    let text = clean(text);
    let fit = letters.max(1);
    if text.chars().count() <= fit {
        return text;
    }
    text.chars().take(fit - 1).chain(['…']).collect()
}

/// A text whose lines have tabs, as columns of equal width.
pub fn aligned(text: &str) -> String {
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let tables = || rows.iter().filter(|row| row.len() > 1);
    let columns = tables().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| tables().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let cell = |(column, cell): (usize, &&str)| match column {
        0 => format!("{cell:<width$}", width = widths[0]),
        _ => format!("{cell:>width$}", width = widths[column]),
    };
    let line = |row: &Vec<&str>| match row.as_slice() {
        [only] => (*only).to_owned(),
        cells => cells.iter().enumerate().map(cell).collect::<Vec<_>>().join("  "),
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn escape_clean(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// [`escape`] whose numbers stay on one line with the word after them, and ranges in one piece.
pub fn escape_tied(text: &str) -> String {
    let mut tied = String::with_capacity(text.len());
    for c in escape(text).chars() {
        match tied.chars().next_back() {
            Some(before) if c == ' ' && before.is_ascii_digit() => tied.push('\u{a0}'),
            // A lone dash lets a line end after it, whatever blank follows.
            Some('–') if c == ' ' => tied.push_str("\u{2060}\u{a0}"),
            _ => tied.push(c),
        }
    }
    tied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_become_columns() {
        assert_eq!(aligned("Report\ntype\tcount\nselect\t7\n"), "Report\ntype    count\nselect      7");
        assert_eq!(escape_table("a\t<b>\nc\td\n"), "a  &lt;b&gt;\nc    d");
    }

    #[test]
    fn markup_is_shown_not_obeyed() {
        assert_eq!(escape("<b a='1' b=\"2\">&"), "&lt;b a=&#39;1&#39; b=&quot;2&quot;&gt;&amp;");
    }

    #[test]
    fn numbers_keep_their_words() {
        assert_eq!(
            escape_tied("981 per second at 32 connections; 95 %"),
            "981\u{a0}per second at 32\u{a0}connections; 95\u{a0}%"
        );
        assert_eq!(escape_tied("(960 – 1,002) <at"), "(960\u{a0}–\u{2060}\u{a0}1,002) &lt;at");
    }

    #[test]
    fn invisible_characters_are_dropped() {
        assert_eq!(escape("a\u{1b}[31m\u{202e}<\u{2067}b"), "a[31m&lt;b");
        assert_eq!(escape_lines("a\u{7}\n<b"), "a\n&lt;b");
    }
}
