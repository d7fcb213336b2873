//! Typed reading of a document: each reader accepts a value of one kind, or refuses it with its name and line, what was
//! found, and what is accepted.

use super::value::{DocumentValue, Kind, LONGEST_KEY};
use crate::error::PlanError;
use crate::plan::LONGEST_SECONDS;
use crate::quantity;
use std::ops::RangeInclusive;

/// A value is shown up to this many characters.
const SHOWN: usize = 60;

/// The name of plans, variants, rungs and collectors.
const NAME: &str = "a name of up to 80 lower-case letters, digits and . / + -, of which the first is a letter or digit";

/// A table with known keys only.
pub(super) struct TableFields<'v> {
    table: &'v DocumentValue,
    entries: &'v [(String, DocumentValue)],
}

impl<'v> TableFields<'v> {
    pub fn get(&self, key: &str) -> Option<&'v DocumentValue> {
        self.entries.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    pub fn read<T>(
        &self,
        key: &str,
        read: impl Fn(&'v DocumentValue) -> Result<T, PlanError>,
    ) -> Result<Option<T>, PlanError> {
        self.get(key).map(read).transpose()
    }

    /// Reads a required key; `accepted` says what it is for.
    pub fn need<T>(
        &self,
        key: &str,
        accepted: &str,
        read: impl Fn(&'v DocumentValue) -> Result<T, PlanError>,
    ) -> Result<T, PlanError> {
        self.read(key, read)?.ok_or_else(|| {
            let dot = if self.table.name.is_empty() { "" } else { "." };
            PlanError::File {
                at: self.table.at.clone(),
                problem: format!("`{}{dot}{key}` is missing: {accepted}", self.table.name),
            }
        })
    }

    pub fn text(&self, key: &str) -> Result<Option<String>, PlanError> {
        self.read(key, |value| value.text().map(str::to_owned))
    }

    /// A switch, off if it is not there.
    pub fn switch(&self, key: &str) -> Result<bool, PlanError> {
        Ok(self.read(key, DocumentValue::truth)?.unwrap_or(false))
    }
}

impl DocumentValue {
    /// An error: this value has a problem, in words.
    pub fn problem(&self, problem: impl std::fmt::Display) -> PlanError {
        PlanError::File { at: self.at.clone(), problem: format!("{}: {problem}", self.name) }
    }

    /// An error: this value is not what is `accepted`.
    pub fn refuse(&self, accepted: impl std::fmt::Display) -> PlanError {
        self.problem(format!("found {}; accepted is {accepted}", self.shown()))
    }

    fn shown(&self) -> String {
        let text = match &self.kind {
            Kind::List(list) if list.is_empty() => return "an empty list".to_owned(),
            Kind::List(_) => return "a list".to_owned(),
            Kind::Table(_) => return "a table".to_owned(),
            Kind::Text(text) => format!("{text:?}"),
            Kind::Integer(integer) => integer.to_string(),
            Kind::Float(text) | Kind::Date(text) => text.clone(),
            Kind::Truth(truth) => truth.to_string(),
        };
        match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("`{}…`", &text[..end]),
            None => format!("`{text}`"),
        }
    }

    /// A table with any keys.
    pub fn entries(&self) -> Result<&[(String, DocumentValue)], PlanError> {
        match &self.kind {
            Kind::Table(entries) => Ok(entries),
            _ => Err(self.refuse("a table")),
        }
    }

    /// A table with no other than these keys.
    pub fn fields(&self, keys: &[&str]) -> Result<TableFields<'_>, PlanError> {
        let entries = self.entries()?;
        match entries.iter().find(|(key, _)| !keys.contains(&key.as_str())) {
            None => Ok(TableFields { table: self, entries }),
            Some((key, value)) => Err(PlanError::File {
                at: value.at.clone(),
                problem: format!(
                    "`{}` is not known{}; accepted is {}",
                    value.name,
                    meant(key, keys.iter().copied()),
                    keys.join(", ")
                ),
            }),
        }
    }

    /// A list that is not empty.
    pub fn list(&self) -> Result<&[DocumentValue], PlanError> {
        match &self.kind {
            Kind::List(list) if !list.is_empty() => Ok(list),
            _ => Err(self.refuse("a list with at least one entry")),
        }
    }

    /// A list, or a single entry without the brackets.
    pub fn one_or_more(&self) -> Result<&[DocumentValue], PlanError> {
        if matches!(self.kind, Kind::List(_)) { self.list() } else { Ok(std::slice::from_ref(self)) }
    }

    /// A list of values of one kind; it may be empty.
    pub fn list_of<T>(&self, read: impl Fn(&DocumentValue) -> Result<T, PlanError>) -> Result<Vec<T>, PlanError> {
        match &self.kind {
            Kind::List(list) => list.iter().map(read).collect(),
            _ => Err(self.refuse("a list")),
        }
    }

    /// A list of values of one kind that is not empty.
    pub fn some_of<T>(&self, read: impl Fn(&DocumentValue) -> Result<T, PlanError>) -> Result<Vec<T>, PlanError> {
        self.list()?.iter().map(read).collect()
    }

    /// A text that is not empty.
    pub fn text(&self) -> Result<&str, PlanError> {
        match &self.kind {
            Kind::Text(text) if !text.trim().is_empty() && !text.contains('\0') => Ok(text),
            _ => Err(self.refuse("a text in quotes that is not empty")),
        }
    }

    pub fn name(&self) -> Result<String, PlanError> {
        let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
        match &self.kind {
            Kind::Text(name)
                if name.len() <= 80
                    && name.bytes().next().is_some_and(plain)
                    && name.bytes().all(|c| plain(c) || matches!(c, b'.' | b'/' | b'+' | b'-')) =>
            {
                Ok(name.clone())
            }
            _ => Err(self.refuse(NAME)),
        }
    }

    pub fn truth(&self) -> Result<bool, PlanError> {
        match self.kind {
            Kind::Truth(truth) => Ok(truth),
            _ => Err(self.refuse("true or false, without quotes")),
        }
    }

    /// A whole number.
    pub fn count(&self, accepted: RangeInclusive<u64>) -> Result<u64, PlanError> {
        let count = match self.kind {
            Kind::Integer(integer) => u64::try_from(integer).ok().filter(|count| accepted.contains(count)),
            _ => None,
        };
        count.ok_or_else(|| {
            self.refuse(format!("a whole number from {} to {}, without quotes", accepted.start(), accepted.end()))
        })
    }

    /// A finite number.
    pub fn number(&self) -> Result<f64, PlanError> {
        let number = match &self.kind {
            Kind::Integer(integer) => Some(*integer as f64),
            Kind::Float(text) => text.parse().ok(),
            _ => None,
        };
        number.filter(|number: &f64| number.is_finite()).ok_or_else(|| self.refuse("a number, without quotes"))
    }

    /// A text, number or boolean as text; `truths` are the words for false and true.
    pub fn scalar(&self, truths: [&str; 2]) -> Result<String, PlanError> {
        match &self.kind {
            Kind::Text(text) => Ok(text.clone()),
            Kind::Integer(integer) => Ok(integer.to_string()),
            Kind::Float(text) if text.parse().is_ok_and(f64::is_finite) => Ok(text.clone()),
            Kind::Truth(truth) => Ok(truths[usize::from(*truth)].to_owned()),
            _ => Err(self.refuse("a text in quotes, a number, true or false")),
        }
    }

    /// A text or number that `parse` understands; its error says what is accepted.
    pub fn parsed<T>(&self, parse: impl Fn(&str) -> Result<T, PlanError>) -> Result<T, PlanError> {
        let text = match &self.kind {
            Kind::Text(text) | Kind::Float(text) => text.clone(),
            Kind::Integer(integer) => integer.to_string(),
            // No parser accepts an empty text, and each says what it accepts.
            _ => String::new(),
        };
        parse(&text).map_err(|error| match error {
            PlanError::Value { accepted, .. } => self.refuse(accepted),
            other => self.problem(other),
        })
    }

    /// A duration in seconds.
    pub fn seconds(&self) -> Result<f64, PlanError> {
        let Kind::Text(_) = self.kind else {
            return Err(self.refuse("a duration in quotes, such as \"10s\" or \"5m\""));
        };
        let seconds = self.parsed(quantity::duration)?.as_secs_f64();
        if seconds <= LONGEST_SECONDS { Ok(seconds) } else { Err(self.refuse("a duration of at most 720h")) }
    }

    /// A duration above 0 in seconds.
    pub fn some_seconds(&self) -> Result<f64, PlanError> {
        match self.seconds()? {
            seconds if seconds > 0.0 => Ok(seconds),
            _ => Err(self.refuse("a duration above 0")),
        }
    }

    /// One of a few words.
    pub fn choice<T: Copy>(&self, choices: &[(&'static str, T)]) -> Result<T, PlanError> {
        let words = || choices.iter().map(|(word, _)| *word);
        let accepted = || words().collect::<Vec<_>>().join(", ");
        let Kind::Text(text) = &self.kind else { return Err(self.refuse(accepted())) };
        let found = choices.iter().find(|(word, _)| word == text);
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            self.problem(format!("found {}{}; accepted is {}", self.shown(), meant(text, words()), accepted()))
        })
    }
}

/// ` (did you mean …?)`, if a name is close enough to `found` to have been meant.
pub(super) fn meant<'n>(found: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    // The time of a comparison grows with the product of both lengths.
    if found.len() > LONGEST_KEY {
        return String::new();
    }
    let likeness = |name: &'n str| (strsim::jaro_winkler(found, name), name);
    let near = names.into_iter().map(likeness).filter(|(likeness, _)| *likeness > 0.8);
    near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}
