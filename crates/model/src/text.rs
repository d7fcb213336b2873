//! Text that others wrote (a server, a file, a recording, a row) and that somebody is to read: what of it a terminal or
//! a page must not get, and how it is said instead.

use std::collections::BTreeSet;
use std::fmt::Write;

/// True for characters that show nothing but change what stands around them: control characters, marks that turn the
/// direction of writing, separators of lines and paragraphs, joiners, tags; and for those that XML forbids. A joiner of
/// emoji is among them: without it the single emoji show.
pub fn is_unfit(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
        || matches!(u32::from(c) & 0xffff, 0xfffe | 0xffff)
}

/// Without repetition, in the order of their first appearance.
pub fn each_once(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    texts.filter(|text| seen.insert(text.clone())).collect()
}

/// One line of text without unfit characters; line breaks and tabs become blanks.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\t') { ' ' } else { c }).filter(|&c| !is_unfit(c)).collect()
}

/// [`clean`] of each line.
pub fn clean_lines(text: &str) -> String {
    text.lines().map(clean).collect::<Vec<_>>().join("\n")
}

/// One line of text in which unfit characters are seen: `\n`, `\t`, `\u{1b}`.
pub fn escaped(text: &str) -> String {
    replaced(text, |c, out| match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c => out.extend(c.escape_unicode()),
    })
}

/// The same of text that has lines, and columns: line breaks (`\r\n` too) and tabs stay.
pub fn escaped_lines(text: &str) -> String {
    let line = |line: &str| {
        let (body, end) = line.strip_suffix("\r\n").map_or((line, ""), |body| (body, "\r\n"));
        replaced(body, |c, out| match c {
            '\n' | '\t' => out.push(c),
            c => out.extend(c.escape_unicode()),
        }) + end
    };
    text.split_inclusive('\n').map(line).collect()
}

/// A JSON document in which no string has unfit characters, some of which JSON itself allows. It says the same.
pub fn escaped_json(json: &str) -> String {
    replaced(json, |c, out| match c {
        // Outside of strings; inside, JSON has it escaped.
        '\n' => out.push(c),
        c => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing into a String cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    })
}

fn replaced(text: &str, put: impl Fn(char, &mut String)) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_unfit(c) {
            true => put(c, &mut out),
            false => out.push(c),
        }
    }
    out
}

/// As a shell takes it for one word (POSIX, Shell Command Language, 2.2.2): plain words as they are, all else in single
/// quotes.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@+%".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kind of character that may not reach a terminal.
    const UNFIT: &str = "\0\u{7}\u{8}\r\u{1b}\u{7f}\u{80}\u{9b}\u{9d}\u{61c}\u{180e}\u{200b}\u{200d}\u{200e}\u{200f}\
                         \u{2028}\u{2029}\u{202a}\u{202e}\u{2060}\u{2066}\u{2069}\u{feff}\u{fffe}\u{e0041}";
    /// Hebrew, Arabic, a combining mark, Devanagari, Han, an emoji with a selector.
    const LEGITIMATE: &str = "שלום مرحبا e\u{301} नमस्ते 日本 ❤\u{fe0f} ñ";

    #[test]
    fn nothing_unfit_is_left_and_what_people_write_stays() {
        let text = format!("a{UNFIT}b\n\tc {LEGITIMATE}");
        for shown in [clean(&text), escaped(&text)] {
            assert!(!shown.contains(is_unfit) && shown.ends_with(LEGITIMATE), "{shown:?}");
        }
        assert_eq!(clean(&text), format!("ab  c {LEGITIMATE}"));
        assert!(escaped_lines(&text).chars().all(|c| matches!(c, '\n' | '\t') || !is_unfit(c)));
    }

    #[test]
    fn what_is_escaped_can_be_seen() {
        assert_eq!(escaped("a\u{1b}[31m\nb\tc\r\u{202e}"), r"a\u{1b}[31m\nb\tc\r\u{202e}");
        assert_eq!(escaped_lines("a\u{1b}\r\nb\tc\r\n\rd\n"), "a\\u{1b}\r\nb\tc\r\n\\u{d}d\n");
        assert_eq!(clean_lines("a\u{7}\r\nb\tc"), "a\nb c");
    }

    #[test]
    fn escaped_json_says_the_same() {
        let value = serde_json::json!({ UNFIT: [LEGITIMATE, "\n\"\\"], "n": 1 });
        let json = escaped_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(json.lines().count() > 5 && !json.replace('\n', "").contains(is_unfit), "{json:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), value);
    }

    #[test]
    fn a_shell_gives_every_word_back() {
        let words = [
            "",
            "plain-1.2/3:4,5=6@7+8%9",
            "a b",
            "a'; rm -rf /",
            "$(id)`id`\\ \"x\" ~ * ! # & | < >",
            "\u{1b}[2J\n\u{202e}",
        ];
        for word in words {
            let line = format!("printf '%s|' {}", shell_word(word));
            let out = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&out.stdout), format!("{word}|"), "{line}");
        }
        assert_eq!(shell_word("plain-1.2/3:4,5=6@7+8%9"), "plain-1.2/3:4,5=6@7+8%9");
    }
}
