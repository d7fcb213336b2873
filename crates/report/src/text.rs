//! Text that others wrote, made safe to show.

/// True for characters that show nothing but change what stands around them, or that XML forbids.
fn is_unfit(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
        || matches!(u32::from(c) & 0xffff, 0xfffe | 0xffff)
}

/// One line of text without control characters, escape sequences or marks that turn the direction of writing;
/// line breaks and tabs become blanks.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\t') { ' ' } else { c }).filter(|&c| !is_unfit(c)).collect()
}

/// [`clean`], fit to stand in HTML, XML or a quoted attribute.
pub fn escape(text: &str) -> String {
    escape_clean(&clean(text))
}

/// [`escape`] that keeps line breaks.
pub fn escape_lines(text: &str) -> String {
    text.lines().map(escape).collect::<Vec<_>>().join("\n")
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

/// A sentence whose numbers stay on one line with the word after them.
pub fn tied(text: &str) -> String {
    let mut tied = String::with_capacity(text.len());
    for c in text.chars() {
        let after_digit = tied.ends_with(|before: char| before.is_ascii_digit());
        tied.push(if c == ' ' && after_digit { '\u{a0}' } else { c });
    }
    tied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_shown_not_obeyed() {
        assert_eq!(escape("<b a='1' b=\"2\">&"), "&lt;b a=&#39;1&#39; b=&quot;2&quot;&gt;&amp;");
    }

    #[test]
    fn numbers_keep_their_words() {
        assert_eq!(
            tied("981 per second at 32 connections; 95 %"),
            "981\u{a0}per second at 32\u{a0}connections; 95\u{a0}%"
        );
    }

    #[test]
    fn invisible_characters_are_dropped() {
        assert_eq!(clean("a\u{1b}[31mb\0c\u{202e}d\u{feff}\u{fffe}\u{9b}e\r\nf\tg"), "a[31mbcde f g");
        assert_eq!(escape_lines("a\u{7}\n<b"), "a\n&lt;b");
    }
}
