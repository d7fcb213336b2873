//! Options with their kinds and values, and how they are listed.

use crate::grammar::TypedOption;
use crate::halt::Halt;
use plimsoll_script::dialect::OptionValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// What an option accepts, by sysbench's numbers for `sysbench.cmdline.ARG_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    Bool = 1,
    Int = 2,
    Size = 3,
    Double = 4,
    Text = 5,
    List = 6,
    File = 7,
}

impl OptionKind {
    /// The kind of a number that a script gives.
    pub fn of(number: i64) -> OptionKind {
        use OptionKind::{Bool, Double, File, Int, List, Size, Text};
        [Bool, Int, Size, Double, Text, List, File].into_iter().find(|kind| *kind as i64 == number).unwrap_or(Text)
    }

    /// As it stands behind the name in a list of options.
    const fn placeholder(self) -> &'static str {
        match self {
            OptionKind::Bool => "[=on|off]",
            OptionKind::Int | OptionKind::Double => "=N",
            OptionKind::Size => "=SIZE",
            OptionKind::Text => "=STRING",
            OptionKind::List => "=[LIST,...]",
            OptionKind::File => "=FILENAME",
        }
    }
}

/// An option that can be typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// As it is listed.
    pub name: Cow<'static, str>,
    pub kind: OptionKind,
    /// As it would be typed; `None` if there is none.
    pub default: Option<Cow<'static, str>>,
    pub description: Cow<'static, str>,
}

/// One of our own tables.
pub const fn option(
    name: &'static str,
    kind: OptionKind,
    default: Option<&'static str>,
    description: &'static str,
) -> OptionSpec {
    let default = match default {
        Some(text) => Some(Cow::Borrowed(text)),
        None => None,
    };
    OptionSpec { name: Cow::Borrowed(name), kind, default, description: Cow::Borrowed(description) }
}

/// All options that are known, with their values.
#[derive(Clone, Debug, Default)]
pub struct OptionSet {
    values: BTreeMap<String, OptionValue>,
    texts: BTreeMap<String, String>,
    /// The names of those that are known and were typed.
    given: BTreeSet<String>,
    typed: Vec<TypedOption>,
}

impl OptionSet {
    pub fn new(typed: Vec<TypedOption>) -> OptionSet {
        OptionSet { typed, ..OptionSet::default() }
    }

    /// Makes options known, with what was typed or else their defaults.
    ///
    /// # Errors
    /// What was typed is none of what such an option accepts.
    pub fn know(&mut self, specs: &[OptionSpec]) -> Result<(), Halt> {
        for spec in specs {
            let name = spec.name.replace('-', "_");
            let text = spec.default.as_deref().unwrap_or_default();
            self.set(&name, spec.kind, text, None)?;
            while let Some(place) = self.typed.iter().position(|typed| typed.name == name) {
                let typed = self.typed.remove(place);
                let text = match (&typed.value, spec.kind) {
                    (None, OptionKind::Bool) => "on",
                    (value, _) => value.as_deref().unwrap_or_default(),
                };
                self.set(&name, spec.kind, text, Some(&typed))?;
                self.given.insert(name.clone());
            }
        }
        Ok(())
    }

    fn set(&mut self, name: &str, kind: OptionKind, text: &str, typed: Option<&TypedOption>) -> Result<(), Halt> {
        let value = value(kind, text).ok_or_else(|| match typed {
            Some(typed) if kind == OptionKind::Bool => Halt::Usage(format!("invalid option: {}", typed.word)),
            _ => Halt::Usage(format!("Invalid value for the '{}' option: '{text}'", name.replace('_', "-"))),
        })?;
        self.values.insert(name.to_owned(), value);
        self.texts.insert(name.to_owned(), text.to_owned());
        Ok(())
    }

    /// What was typed and nobody knows.
    pub fn unknown(&self) -> &[TypedOption] {
        &self.typed
    }

    /// The same, and forgets it.
    pub fn take_unknown(&mut self) -> Vec<TypedOption> {
        std::mem::take(&mut self.typed)
    }

    /// All values, by their names with underscores.
    pub fn all(&self) -> Vec<(String, OptionValue)> {
        self.values.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// All of them as texts, and what nobody knows.
    pub fn globals(&self) -> Vec<(String, String)> {
        let known = self.texts.iter().filter(|(_, text)| !text.is_empty());
        known.map(|(name, text)| (name.clone(), text.clone())).chain(self.unknown_texts()).collect()
    }

    /// What was typed, whether it is known or not.
    pub fn typed(&self) -> impl Iterator<Item = (String, String)> {
        let known = self.texts.iter().filter(|(name, _)| self.given.contains(*name));
        known.map(|(name, text)| (name.clone(), text.clone())).chain(self.unknown_texts())
    }

    fn unknown_texts(&self) -> impl Iterator<Item = (String, String)> {
        self.typed.iter().map(|typed| (typed.name.clone(), typed.value.clone().unwrap_or_default()))
    }

    /// Gives an option that is known another value.
    pub fn replace(&mut self, name: &str, value: OptionValue) {
        self.values.insert(name.to_owned(), value);
    }

    /// An option's value as it was typed, or would be; `None` if there is no such option.
    pub fn as_typed(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    pub fn number(&self, name: &str) -> f64 {
        match self.values.get(name) {
            Some(OptionValue::Number(number)) => *number,
            _ => 0.0,
        }
    }

    /// A number that counts something; 0 for what is less.
    pub fn count(&self, name: &str) -> u64 {
        self.number(name) as u64
    }

    pub fn is_on(&self, name: &str) -> bool {
        self.values.get(name) == Some(&OptionValue::Flag(true))
    }

    pub fn text(&self, name: &str) -> &str {
        match self.values.get(name) {
            Some(OptionValue::Text(text)) => text,
            _ => "",
        }
    }

    pub fn list(&self, name: &str) -> &[String] {
        match self.values.get(name) {
            Some(OptionValue::List(items)) => items,
            _ => &[],
        }
    }
}

/// A value as it was typed; `None` if an option of this kind does not accept it.
fn value(kind: OptionKind, text: &str) -> Option<OptionValue> {
    Some(match kind {
        OptionKind::Bool => OptionValue::Flag(match text {
            "on" | "true" | "1" => true,
            "off" | "false" | "0" | "" => false,
            _ => return None,
        }),
        OptionKind::Int if text.is_empty() => OptionValue::Number(0.0),
        OptionKind::Int => OptionValue::Number(text.trim_start().parse::<i64>().ok()? as f64),
        OptionKind::Double if text.is_empty() => OptionValue::Number(0.0),
        OptionKind::Double => OptionValue::Number(text.trim_start().parse::<f64>().ok()?),
        OptionKind::Size => OptionValue::Number(bytes(text)?),
        OptionKind::Text | OptionKind::File => OptionValue::Text(text.to_owned()),
        OptionKind::List => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            OptionValue::List(items.map(str::to_owned).collect())
        }
    })
}

/// Bytes, with a suffix K, M, G or T for powers of 1024.
fn bytes(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: f64 = if end == 0 { 0.0 } else { text[..end].parse().ok()? };
    let power = match text[end..].chars().next().map(|unit| unit.to_ascii_uppercase()) {
        None => 0,
        Some('K') => 1,
        Some('M') => 2,
        Some('G') => 3,
        Some('T') => 4,
        Some(_) => return None,
    };
    Some(number * 1024f64.powi(power))
}

/// Options one below the other, each with its default.
pub fn listed(specs: &[OptionSpec]) -> String {
    let shown = |spec: &OptionSpec| format!("{}{}", spec.name, spec.kind.placeholder());
    let width = specs.iter().map(|spec| shown(spec).len()).max().unwrap_or_default();
    let line = |spec: &OptionSpec| {
        let default = spec.default.as_ref().map_or_else(String::new, |default| format!(" [{default}]"));
        format!("  --{:width$} {}{default}\n", shown(spec), spec.description)
    };
    specs.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::CommandLine;

    const SPECS: [OptionSpec; 4] = [
        option("threads", OptionKind::Int, Some("1"), "connections"),
        option("flag", OptionKind::Bool, Some("off"), "a switch"),
        option("mysql-host", OptionKind::List, Some("localhost"), "hosts"),
        option("block", OptionKind::Size, Some("16K"), "bytes"),
    ];

    fn known(line: &str) -> Result<OptionSet, Halt> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let mut options = OptionSet::new(CommandLine::parse(&words).unwrap().options);
        options.know(&SPECS).map(|()| options)
    }

    #[test]
    fn what_is_typed_last_counts_and_what_is_not_typed_is_the_default() {
        let options = known("--threads=2 --threads=3 --flag --other=1").unwrap();
        assert_eq!((options.number("threads"), options.is_on("flag")), (3.0, true));
        assert_eq!((options.list("mysql_host"), options.number("block")), (&["localhost".to_owned()][..], 16384.0));
        assert_eq!(options.unknown()[0].word, "--other=1");
    }

    #[test]
    fn what_an_option_does_not_accept_is_told() {
        let told = |line| known(line).unwrap_err();
        assert_eq!(told("--threads=abc"), Halt::Usage("Invalid value for the 'threads' option: 'abc'".to_owned()));
        assert_eq!(told("--flag=maybe"), Halt::Usage("invalid option: --flag=maybe".to_owned()));
        assert_eq!(known("--threads").unwrap().number("threads"), 0.0);
    }

    #[test]
    fn a_list_of_options_is_aligned() {
        let text = listed(&SPECS[..2]);
        // As sysbench lists them.
        assert_eq!(text, "  --threads=N     connections [1]\n  --flag[=on|off] a switch [off]\n");
    }
}
