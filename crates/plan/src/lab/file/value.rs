//! The document as a tree in which every value knows its name and its line, so that even a value from a preset can say
//! where it stands.

use crate::error::PlanError;
use crate::lab::Where;
use std::cell::Cell;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

/// A value of the document.
#[derive(Clone, Debug)]
pub(super) struct DocumentValue {
    /// Its keys from the top, `variant.load.rate`; empty for the whole document.
    pub name: String,
    pub at: Where,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Text(String),
    Integer(i128),
    /// As written, since `0.10` may be a version.
    Float(String),
    Truth(bool),
    Date(String),
    List(Vec<DocumentValue>),
    /// In the order of the file.
    Table(Vec<(String, DocumentValue)>),
}

/// A plan may come from anybody, so the memory and time that it can take are bounded here, far above what plans need.
/// Most bytes of a key, and of all keys from the top to a value.
pub(super) const LONGEST_KEY: usize = 128;
const LONGEST_NAME: usize = 512;
/// Most entries of a table, and most values of a document.
const MOST_ENTRIES: usize = 1_000;
const MOST_VALUES: usize = 20_000;

/// Keys of which a table has only one: a table merged over another replaces both.
const ALTERNATIVES: [[&str; 2]; 3] = [["datadir", "lane"], ["rate", "find"], ["events", "events_per_connection"]];

impl DocumentValue {
    /// An empty table, for a section that the file does not have.
    pub fn nothing(name: &str, at: Where) -> DocumentValue {
        DocumentValue { name: name.to_owned(), at, kind: Kind::Table(Vec::new()) }
    }

    /// Merges `over` on top: tables key by key, anything else as a whole.
    pub fn lay_over(&mut self, over: DocumentValue) {
        let (entries, others) = match (&mut self.kind, over) {
            (Kind::Table(entries), DocumentValue { kind: Kind::Table(others), .. }) => (entries, others),
            (_, over) => {
                *self = over;
                return;
            }
        };
        let gives = |key: &str| others.iter().any(|(other, _)| other == key);
        for pair in ALTERNATIVES.iter().filter(|pair| pair.iter().any(|key| gives(key))) {
            entries.retain(|(key, _)| !pair.contains(&key.as_str()));
        }
        for (key, value) in others {
            match entries.iter_mut().find(|(known, _)| *known == key) {
                Some((_, known)) => known.lay_over(value),
                None => entries.push((key, value)),
            }
        }
    }
}

/// Reads the text of a TOML document.
///
/// # Errors
/// [`PlanError::File`] for what is not TOML, and for an integer of more than 128 bits.
pub(super) fn parse(file: &str, text: &str) -> Result<DocumentValue, PlanError> {
    let lines = Lines::of(file, text);
    // The message alone: the whole error quotes the line, which may contain a password.
    let table = DeTable::parse(text).map_err(|error| PlanError::File {
        at: lines.at(error.span().map_or(0, |span| span.start)),
        problem: format!("this is not TOML: {}", error.message().replace('\n', ", ")),
    })?;
    let top = lines.at(0);
    Ok(DocumentValue { name: String::new(), kind: lines.table("", &top, table.into_inner())?, at: top })
}

/// Finds the line of a place in the text.
struct Lines<'t> {
    file: &'t str,
    /// Where each line begins.
    starts: Vec<usize>,
    /// Values so far.
    values: Cell<usize>,
}

impl Lines<'_> {
    fn of<'t>(file: &'t str, text: &str) -> Lines<'t> {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        // What follows the last newline is not a line if it is empty.
        let starts = std::iter::once(0).chain(ends.filter(|at| *at < text.len())).collect();
        Lines { file, starts, values: Cell::new(0) }
    }

    fn at(&self, offset: usize) -> Where {
        Where { file: self.file.to_owned(), line: self.starts.partition_point(|start| *start <= offset) }
    }

    fn table(&self, name: &str, at: &Where, table: DeTable<'_>) -> Result<Kind, PlanError> {
        if table.len() > MOST_ENTRIES {
            let what = if name.is_empty() { "the plan" } else { name };
            let problem = format!("{what}: a table of {} entries; at most {MOST_ENTRIES} are accepted", table.len());
            return Err(PlanError::File { at: at.clone(), problem });
        }
        let mut entries: Vec<_> = table.into_iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let read = |(key, value): (Spanned<_>, Spanned<_>)| {
            let at = self.at(key.span().start);
            let key: std::borrow::Cow<'_, str> = key.into_inner();
            if key.len() > LONGEST_KEY || name.len() + key.len() > LONGEST_NAME {
                let began: String = key.chars().take(40).collect();
                let problem = format!(
                    "{}…: a key of {} bytes; at most {LONGEST_KEY} are accepted, {LONGEST_NAME} with those of the tables around it",
                    began.escape_debug(),
                    key.len()
                );
                return Err(PlanError::File { at, problem });
            }
            let name = if name.is_empty() { key.to_string() } else { format!("{name}.{key}") };
            Ok((key.into_owned(), self.value(name, at, value.into_inner())?))
        };
        entries.into_iter().map(read).collect::<Result<_, _>>().map(Kind::Table)
    }

    fn value(&self, name: String, at: Where, value: DeValue<'_>) -> Result<DocumentValue, PlanError> {
        self.values.set(self.values.get() + 1);
        if self.values.get() > MOST_VALUES {
            let problem = format!("{name}: the plan has more than {MOST_VALUES} values; make it several plans");
            return Err(PlanError::File { at, problem });
        }
        let kind = match value {
            DeValue::String(text) => Kind::Text(text.into_owned()),
            DeValue::Integer(integer) => Kind::Integer(decimal(&integer).ok_or_else(|| PlanError::File {
                at: at.clone(),
                problem: format!("{name}: found `{integer}`; accepted are numbers of up to 128 bits"),
            })?),
            DeValue::Float(float) => Kind::Float(float.as_str().to_owned()),
            DeValue::Boolean(truth) => Kind::Truth(truth),
            DeValue::Datetime(date) => Kind::Date(date.to_string()),
            DeValue::Array(list) => {
                let one = |value: Spanned<DeValue<'_>>| {
                    self.value(name.clone(), self.at(value.span().start), value.into_inner())
                };
                Kind::List(list.into_iter().map(one).collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => self.table(&name, &at, table)?,
        };
        Ok(DocumentValue { name, at, kind })
    }
}

fn decimal(integer: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(integer.as_str(), integer.radix()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `name@line` of all values that are not tables.
    fn leaves(value: &DocumentValue) -> Vec<String> {
        match &value.kind {
            Kind::Table(entries) => entries.iter().flat_map(|(_, value)| leaves(value)).collect(),
            Kind::List(list) => list.iter().flat_map(leaves).collect(),
            _ => vec![format!("{}@{}", value.name, value.at.line)],
        }
    }

    #[test]
    fn every_value_knows_its_name_and_line() {
        let text = "b = 1\n[x.y]\r\na.c = 'é'\n\nd = [\n 1,\n 2 ]\n[[v]]\ne = 0x10\n[[v]]\ne = { f = 1_0 }";
        let tree = parse("p", text).unwrap();
        assert_eq!(leaves(&tree), ["b@1", "x.y.a.c@3", "x.y.d@6", "x.y.d@7", "v.e@9", "v.e.f@11"]);
    }

    #[test]
    fn what_is_not_toml_has_its_line() {
        for (text, line) in [("a = 1\nb = = 2\n", 2), ("a = 1\na = 2", 2), ("x\n", 1), ("a = 1\n[b\n", 2), ("[", 1)] {
            let PlanError::File { at, problem } = parse("p", text).unwrap_err() else { panic!("{text}") };
            assert_eq!((at.line, at.file.as_str()), (line, "p"), "{text:?}: {problem}");
            assert!(problem.starts_with("this is not TOML: "), "{problem}");
        }
        assert!(parse("p", "").is_ok());
        assert!(parse("p", &format!("a = {}", "9".repeat(60))).unwrap_err().to_string().contains("128 bits"));
    }

    #[test]
    fn tables_are_laid_over_key_by_key_and_one_alternative_takes_the_place_of_the_other() {
        let mut base = parse("p", "a = { x = 1, y = [1] }\nrate = 5\nlane = 'ext4'").unwrap();
        base.lay_over(parse("p", "\n\n\na = { y = [2, 3], z = 4 }\nfind = 'p99 < 1s'").unwrap());
        assert_eq!(leaves(&base), ["a.x@1", "a.y@4", "a.y@4", "a.z@4", "lane@3", "find@5"]);
    }
}
