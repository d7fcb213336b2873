//! Server settings: from the option file that the plan names, and from the plan itself.

use super::reading::TableFields;
use super::value::{DocumentValue, LONGEST_KEY};
use crate::error::PlanError;
use crate::knowledge::{self, Standing, number};
use crate::lab::{Setting, Where, change};
use crate::option_file::{self, OptionLine};
use plimsoll_model::Flavour;
use plimsoll_model::secrets::is_secret;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Most bytes in the value of a setting, and most settings of one option file.
const LONGEST_VALUE: usize = 4_096;
const MOST_SETTINGS: usize = 1_000;
/// Most bytes of all option files that a plan names, together.
const MOST_BYTES: usize = 1 << 20;

/// Returns the text of a file that the plan names, or why it cannot be read.
type Read<'f> = &'f dyn Fn(&str) -> Result<String, String>;

/// The option files that a plan names: each is read once, however many variants and presets name it.
pub(super) struct Files<'f> {
    read: Read<'f>,
    settings: RefCell<BTreeMap<String, Rc<Vec<Setting>>>>,
    bytes: Cell<usize>,
}

impl<'f> Files<'f> {
    pub fn of(read: Read<'f>) -> Files<'f> {
        Files { read, settings: RefCell::default(), bytes: Cell::new(0) }
    }

    /// The text of a file, if the limit leaves room for it.
    fn text(&self, file: &str) -> Result<String, String> {
        let text = (self.read)(file)?;
        self.bytes.set(self.bytes.get() + text.len());
        match self.bytes.get() {
            0..=MOST_BYTES => Ok(text),
            _ => Err(format!("the option files of a plan may have at most {} KiB together", MOST_BYTES >> 10)),
        }
    }
}

/// The settings of `config_file` and `config`; the latter replace the former.
pub(super) fn settings(fields: &TableFields<'_>, files: &Files<'_>) -> Result<Vec<Setting>, PlanError> {
    let mut settings = fields.read("config_file", |value| of_file(value, files))?.unwrap_or_default();
    for setting in fields.read("config", typed)?.unwrap_or_default() {
        change::set(&mut settings, setting);
    }
    Ok(settings)
}

/// What servers read of the file. Of two lines with the same name the later counts, as for servers. An old name, or one
/// that Plimsoll decides itself, stays in: what becomes of it depends on the server. So does a secret, but without its
/// value: recordings contain plans.
fn of_file(value: &DocumentValue, files: &Files<'_>) -> Result<Vec<Setting>, PlanError> {
    let file = value.text()?;
    if let Some(read) = files.settings.borrow().get(file) {
        return Ok(read.as_ref().clone());
    }
    let text = files.text(file).map_err(|error| value.problem(format!("cannot read `{file}`: {error}")))?;
    let mut settings = Vec::new();
    for entry in option_file::parse(&text, file)?.into_iter().filter(OptionLine::is_of_server) {
        let at = Where { file: file.to_owned(), line: entry.line };
        let (name, value) = variable(&entry.name, entry.value.as_deref().unwrap_or("ON"));
        if value.chars().any(char::is_control) {
            let problem = format!("the value of `{name}` has control characters; accepted is one line of text");
            return Err(PlanError::File { at, problem });
        }
        if let Some(problem) = too_much(&name, &value, settings.len()) {
            return Err(PlanError::File { at, problem });
        }
        let value = if is_secret(&name) { String::new() } else { value };
        if let Some(accepted) = number::refusal(&name, &value) {
            let problem = format!("{name}: found `{value}`; accepted is {accepted}");
            return Err(PlanError::File { at, problem });
        }
        change::set(&mut settings, Setting { name, value, at, from_file: true });
    }
    files.settings.borrow_mut().insert(file.to_owned(), Rc::new(settings.clone()));
    Ok(settings)
}

pub(super) fn typed(table: &DocumentValue) -> Result<Vec<Setting>, PlanError> {
    let mut settings: Vec<Setting> = Vec::new();
    for (key, value) in table.entries()? {
        // Of what stands behind a switch, servers look at 0 alone.
        let words = if is_switch(key) { ["0", "1"] } else { ["OFF", "ON"] };
        let (name, text) = variable(key, &value.scalar(words)?);
        check(key, &name, &text, value)?;
        if let Some(accepted) = number::refusal(&name, &text) {
            return Err(value.refuse(accepted));
        }
        if let Some(other) = settings.iter().find(|other| other.name == name) {
            return Err(value.problem(format!("`{name}` is already set in line {}", other.at.line)));
        }
        settings.push(Setting { name, value: text, at: value.at.clone(), from_file: false });
    }
    Ok(settings)
}

/// Why a setting exceeds what any server has, if it does. `before` is the number of settings before it.
fn too_much(name: &str, value: &str, before: usize) -> Option<String> {
    if name.len() > LONGEST_KEY {
        return Some(format!("the name of a setting has {} bytes; at most {LONGEST_KEY} are accepted", name.len()));
    }
    if value.len() > LONGEST_VALUE {
        return Some(format!("the value of `{name}` has {} bytes; at most {LONGEST_VALUE} are accepted", value.len()));
    }
    (before >= MOST_SETTINGS).then(|| format!("there are more than {MOST_SETTINGS} settings; no server has that many"))
}

/// Whether a setting is one line of an option file, whether it came from there or from the plan.
pub(super) fn check_form(name: &str, text: &str, value: &DocumentValue) -> Result<(), PlanError> {
    if let Some(problem) = too_much(name, text, 0) {
        return Err(value.problem(problem));
    }
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.');
    if name.is_empty() || !name.chars().all(plain) {
        return Err(value.problem("the name of a setting has letters, digits, `_`, `-` and `.` only"));
    }
    if text.chars().any(char::is_control) {
        return Err(value.refuse("one line of text without control characters"));
    }
    Ok(())
}

pub(super) fn check(key: &str, name: &str, text: &str, value: &DocumentValue) -> Result<(), PlanError> {
    check_form(name, text, value)?;
    if key.to_ascii_lowercase().starts_with("loose") && !name.starts_with("loose") {
        return Err(value.problem(format!("`loose` would hide a misspelt name; accepted is `{name}`")));
    }
    if is_secret(name) {
        return Err(value.problem(
            "its name says that this is a secret, and recordings contain plans; leave it out, the server does without",
        ));
    }
    // What holds for the oldest server of one vendor holds for all: Plimsoll decides it, not the server.
    match knowledge::standing(name, text, Flavour::MySql, (0, 0, 0)) {
        Standing::NotOurs { remark } => Err(value.problem(format!("leave it out: {remark}"))),
        _ => Ok(()),
    }
}

/// Whether it is the name of a setting with `skip_`, `disable_` or `enable_` before it.
fn is_switch(key: &str) -> bool {
    let name = knowledge::normal(key);
    knowledge::unswitched(&name, "").0 != name
}

/// The variable behind an option, and its value: `skip-log-bin` is `log_bin` = `OFF`.
fn variable(option: &str, value: &str) -> (String, String) {
    let name = knowledge::normal(option);
    match knowledge::unswitched(&name, value.trim()) {
        (name @ "log_bin", value) => (name.to_owned(), value.to_owned()),
        _ => (name, value.trim().to_owned()),
    }
}
