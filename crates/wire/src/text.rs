//! Statements with parameters written into the text, for the text protocol.

use crate::command::QUERY;
use crate::frame;
use crate::value::{Value, decimal_buffer, decimal_text};
use std::io::Write;

/// A statement cut at its `?` placeholders; those inside quotes or backticks are not placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<String>,
}

impl Template {
    pub fn new(sql: &str) -> Template {
        let mut pieces = vec![String::new()];
        let mut quote = None;
        for c in sql.chars() {
            match (quote, c) {
                (None, '?') => {
                    pieces.push(String::new());
                    continue;
                }
                (None, '\'' | '"' | '`') => quote = Some(c),
                (Some(open), c) if open == c => quote = None,
                _ => {}
            }
            pieces.last_mut().expect("there is always a piece").push(c);
        }
        Template { pieces }
    }

    pub fn parameters(&self) -> usize {
        self.pieces.len() - 1
    }

    /// Appends COM_QUERY with `values` in place of the placeholders.
    pub fn put_query(&self, out: &mut Vec<u8>, values: &[Value], backslash_escapes: bool) {
        let start = frame::begin(out);
        out.push(QUERY);
        out.extend_from_slice(self.pieces[0].as_bytes());
        for (piece, value) in self.pieces[1..].iter().zip(values) {
            put_literal(out, value, backslash_escapes);
            out.extend_from_slice(piece.as_bytes());
        }
        frame::finish(out, start, 0);
    }
}

/// Appends a value as an SQL literal.
pub fn put_literal(out: &mut Vec<u8>, value: &Value, backslash_escapes: bool) {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        // Writing into a Vec cannot fail.
        Value::Int(number) => write!(out, "{number}").unwrap_or_default(),
        Value::Double(number) => write!(out, "{number:?}").unwrap_or_default(),
        Value::Decimal { units, scale } => {
            out.extend_from_slice(decimal_text(*units, *scale, &mut decimal_buffer()));
        }
        Value::Bytes(text) => {
            out.push(b'\'');
            for byte in *text {
                if *byte == b'\'' || (*byte == b'\\' && backslash_escapes) {
                    out.push(*byte);
                }
                out.push(*byte);
            }
            out.push(b'\'');
        }
    }
}

/// A name of a database, table, routine or variable, quoted for a statement, whatever characters it has.
pub fn identifier(name: &str) -> String {
    ["`", &name.replace('`', "``"), "`"].concat()
}

/// Several, separated by commas.
pub fn identifiers(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    names.into_iter().map(|name| identifier(name.as_ref())).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_names() {
        assert_eq!(identifier("sbtest1"), "`sbtest1`");
        assert_eq!(identifiers(["x`, `victim`.`t", ""]), "`x``, ``victim``.``t`, ``");
    }

    #[test]
    fn placeholders_inside_quotes_are_text() {
        let template = Template::new("SELECT '?', `?` FROM t WHERE a=? AND b=?");
        assert_eq!(template.parameters(), 2);
        let mut out = Vec::new();
        template.put_query(&mut out, &[Value::Int(-3), Value::Bytes(b"o'\\x")], true);
        assert_eq!(&out[5..], br"SELECT '?', `?` FROM t WHERE a=-3 AND b='o''\\x'".as_slice());
    }

    #[test]
    fn literals_follow_the_escape_mode() {
        let literal = |value, escapes| {
            let mut out = Vec::new();
            put_literal(&mut out, &value, escapes);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(literal(Value::Bytes(b"a\\"), false), r"'a\'");
        assert_eq!(literal(Value::Bytes(b"a\\"), true), r"'a\\'");
        assert_eq!(literal(Value::Double(1.5), true), "1.5");
        assert_eq!(literal(Value::Null, true), "NULL");
    }
}
