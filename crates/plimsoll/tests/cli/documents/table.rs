//! The table of substitutions: `substitutions.toml`, beside this file.

use super::find::Typed;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// How commands of the documents are made small enough for a test.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    path: Vec<Substitution>,
    replace: Vec<Substitution>,
    named: Vec<String>,
    root: Vec<String>,
    line: Vec<Line>,
    before: Vec<Before>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Substitution {
    text: String,
    with: String,
}

/// A command that is typed otherwise, or elsewhere.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    text: String,
    #[expect(dead_code, reason = "for those who read the table")]
    why: String,
    /// What is typed instead.
    run: Option<String>,
    /// By `make test-all` alone.
    #[serde(default)]
    long: bool,
    /// It stays until it is interrupted, after its link was opened.
    #[serde(default)]
    stays: bool,
    /// A program without which it is skipped.
    needs: Option<String>,
}

/// What has to be there before a document is read, or before one of its commands.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Before {
    document: String,
    /// Its first line, if it has several.
    line: Option<String>,
    run: String,
}

/// What is typed for a command.
#[derive(Debug, PartialEq, Eq)]
pub struct Played {
    pub text: String,
    /// The table says what to type, whatever program it is of.
    pub is_given: bool,
    pub long: bool,
    pub stays: bool,
    pub needs: Option<String>,
    pub needs_root: bool,
}

/// The entries that were of use, by what each begins with.
#[derive(Debug, Default)]
pub struct Used(BTreeSet<String>);

impl Table {
    pub fn read() -> Table {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/documents/substitutions.toml");
        let text = fs::read_to_string(path).expect("the table lies beside this file");
        toml::from_str(&text).unwrap_or_else(|error| panic!("substitutions.toml: {error}"))
    }

    /// What is typed for this command. Names in braces are still in it: [`super::desk::Desk`] knows what they are.
    pub fn played(&self, typed: &Typed, used: &mut Used) -> Played {
        let mut line = Line { text: typed.text.clone(), ..Line::default() };
        if let Some(found) = self.line.iter().find(|line| line.text == typed.text) {
            used.0.insert(format!("line {}", found.text));
            line = found.clone();
        }
        let is_given = line.run.is_some();
        let mut text = line.run.unwrap_or(line.text);
        if self.named.contains(&typed.text) {
            used.0.insert(format!("named {}", typed.text));
            text += " --help";
        }
        let text = self.shortened(&text, used);
        let of_root: Vec<&String> = self.root.iter().filter(|beginning| text.starts_with(*beginning)).collect();
        used.0.extend(of_root.iter().map(|beginning| format!("root {beginning}")));
        let needs_root = !of_root.is_empty();
        Played { text, is_given, long: line.long, stays: line.stays, needs: line.needs, needs_root }
    }

    /// A command or a plan with all that is replaced.
    pub fn shortened(&self, text: &str, used: &mut Used) -> String {
        self.mapped(&put(&self.replace, "replace", text, used), used)
    }

    /// A command or a plan with paths and hosts of the test.
    pub fn mapped(&self, text: &str, used: &mut Used) -> String {
        put(&self.path, "path", text, used)
    }

    /// What comes before this command, or before the first command of the document.
    pub fn before(&self, document: &str, line: Option<&str>, used: &mut Used) -> Vec<String> {
        let here = |before: &&Before| {
            before.document == document && before.line.as_deref() == line.and_then(|line| line.lines().next())
        };
        let found: Vec<&Before> = self.before.iter().filter(here).collect();
        used.0.extend(found.iter().map(|before| format!("before {} {:?}", before.document, before.line)));
        found.iter().map(|before| before.run.clone()).collect()
    }

    /// Entries that nothing needs any more.
    pub fn stale(&self, used: &Used) -> Vec<String> {
        let of = |part: &'static str, list: &[Substitution]| {
            list.iter().map(|entry| format!("{part} {}", entry.text)).collect::<Vec<_>>()
        };
        let lines = self.line.iter().map(|line| format!("line {}", line.text));
        let named = self.named.iter().map(|name| format!("named {name}"));
        let root = self.root.iter().map(|beginning| format!("root {beginning}"));
        let before = self.before.iter().map(|before| format!("before {} {:?}", before.document, before.line));
        let all = of("path", &self.path).into_iter().chain(of("replace", &self.replace));
        all.chain(lines).chain(named).chain(root).chain(before).filter(|entry| !used.0.contains(entry)).collect()
    }
}

fn put(list: &[Substitution], part: &str, text: &str, used: &mut Used) -> String {
    let mut text = text.to_owned();
    for entry in list.iter().filter(|entry| !entry.text.is_empty()) {
        if text.contains(&entry.text) {
            used.0.insert(format!("{part} {}", entry.text));
            text = text.replace(&entry.text, &entry.with);
        }
    }
    text
}
