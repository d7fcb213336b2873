//! Names that the release does not have, no longer has, or has under another name.

use crate::config::options::{ConfigOption, ConfigOptions, is_secret};
use plimsoll_model::advice::{AdviceFinding, AdviceStep, Severity};
use plimsoll_plan::knowledge::options::{self, OptionFate};
use plimsoll_plan::knowledge::settings::facts;
use plimsoll_plan::knowledge::{Standing, is_of_client};
use std::collections::BTreeMap;

/// For how many names that no server has one that is spelt alike is looked for: of a file with more, most are no options.
const MOST_GUESSES: usize = 200;

/// Names that no server has, and those that may be meant.
type Guesses = BTreeMap<String, Option<&'static str>>;

pub fn judge(found: &ConfigOptions) -> Vec<AdviceFinding> {
    let mut guesses = Guesses::new();
    let judged = found.of_server().filter_map(|option| of_option(found, option, &mut guesses));
    judged
        .map(|finding| AdviceFinding {
            step: AdviceStep::Install,
            shows: None,
            source: found.source_of_names(),
            ..finding
        })
        .collect()
}

fn of_option(found: &ConfigOptions, option: &ConfigOption, guesses: &mut Guesses) -> Option<AdviceFinding> {
    match &option.standing {
        Standing::Renamed { name, value, remark } => Some(renamed(found, option, name, value, remark)),
        Standing::Removed { remark } => Some(removed(found, option, remark)),
        Standing::NotOurs { .. } if is_of_client(&option.name) => Some(of_client(found, option)),
        Standing::NotOurs { .. } | Standing::Current => today(found, option, guesses),
    }
}

/// What the server does with an option of this name, as it is written.
fn consequence(found: &ConfigOptions, option: &ConfigOption) -> (Severity, String) {
    let release = found.release;
    let fate = options::fate(&option.name, release);
    if options::takes_beginnings(release.flavour) && options::unabbreviated(&option.name, release).is_some() {
        return (
            Severity::Warn,
            format!("{release} takes it for the one option that begins so, of which the next version may have two"),
        );
    }
    match (fate, option.is_loose) {
        (Some(OptionFate::Ignored), _) => (Severity::Warn, format!("{release} takes it, and it does nothing")),
        (Some(OptionFate::Taken), _) => (Severity::Info, format!("{release} still takes the old name")),
        (Some(OptionFate::Deprecated(_)), _) => {
            (Severity::Info, format!("{release} still takes it, and a later version will not"))
        }
        (_, true) => (Severity::Warn, format!("{release} leaves it out, since it is loose")),
        (Some(OptionFate::Unknown), false) => (Severity::Critical, format!("{release} does not start with it")),
        (None, false) if options::is_missing_from_lists(&option.name, release) => {
            (Severity::Critical, format!("{release} does not start with it"))
        }
        (None, false) => (Severity::Warn, format!("{release} ignores it or does not start with it")),
    }
}

fn renamed(found: &ConfigOptions, option: &ConfigOption, name: &str, value: &str, remark: &str) -> AdviceFinding {
    let (severity, consequence) = consequence(found, option);
    let line = if value.is_empty() { name.to_owned() } else { format!("{name} = {value}") };
    AdviceFinding {
        advised: format!("write {line}"),
        line: Some(line),
        why: format!("It {remark}; {consequence}."),
        ..found.finding("config.renamed", severity, option)
    }
}

fn removed(found: &ConfigOptions, option: &ConfigOption, remark: &str) -> AdviceFinding {
    let (severity, consequence) = match options::fate(&option.name, found.release) {
        // The name is there, so it is the value that is gone.
        Some(OptionFate::Taken) => (Severity::Critical, format!("{} does not start with this value", found.release)),
        _ => consequence(found, option),
    };
    let why = format!("{}; {consequence}.", capital(remark));
    deleted(AdviceFinding { why, ..found.finding("config.removed", severity, option) })
}

fn of_client(found: &ConfigOptions, option: &ConfigOption) -> AdviceFinding {
    let why = format!("It is an option of client programs, and {} does not start with it.", found.release);
    let finding = found.finding("config.client", Severity::Critical, option);
    AdviceFinding {
        advised: "move it to the group of its client, such as [mysql]".to_owned(),
        line: Some(String::new()),
        why,
        ..finding
    }
}

/// A name of which nothing is known but what today's servers do with it.
fn today(found: &ConfigOptions, option: &ConfigOption, guesses: &mut Guesses) -> Option<AdviceFinding> {
    let release = found.release;
    let too_new = facts(&option.setting).and_then(|facts| facts.first_in(release));
    if let Some((major, minor, patch)) = too_new {
        let (severity, consequence) = consequence(found, option);
        let why = format!("It exists since {major}.{minor}.{patch}; {consequence}.");
        return Some(deleted(AdviceFinding { why, ..found.finding("config.too-new", severity, option) }));
    }
    match options::fate(&option.name, release) {
        Some(OptionFate::Taken) => None,
        Some(OptionFate::Ignored) => {
            let why = format!("{release} takes it, and it does nothing.");
            Some(deleted(AdviceFinding { why, ..found.finding("config.removed", Severity::Warn, option) }))
        }
        Some(OptionFate::Deprecated(instead)) => Some(deprecated(found, option, instead)),
        None if options::is_known(&option.name) || facts(&option.setting).is_some() => None,
        Some(OptionFate::Unknown) | None => Some(unknown(found, option, guesses)),
    }
}

fn deprecated(found: &ConfigOptions, option: &ConfigOption, instead: Option<&str>) -> AdviceFinding {
    let why = format!("{} says that a later version will not have it.", found.release);
    let finding = found.finding("config.deprecated", Severity::Info, option);
    match instead {
        Some(instead) => {
            let line = format!("{instead} = {}", option.value);
            AdviceFinding { advised: format!("write {line}"), line: Some(line), why, ..finding }
        }
        None => AdviceFinding { advised: "plan to do without it".to_owned(), why, ..finding },
    }
}

/// A name that the release does not have: abbreviated, misspelt, or somebody else's.
fn unknown(found: &ConfigOptions, option: &ConfigOption, guesses: &mut Guesses) -> AdviceFinding {
    let release = found.release;
    let value = option.written.value.as_ref().map(|value| format!(" = {value}")).unwrap_or_default();
    if let Some(full) = options::unabbreviated(&option.name, release) {
        let (severity, consequence) = consequence(found, option);
        return AdviceFinding {
            advised: format!("write {full} in full"),
            line: (!is_secret(full)).then(|| format!("{full}{value}")),
            why: format!("It is the beginning of a name; {consequence}."),
            ..found.finding("config.abbreviated", severity, option)
        };
    }
    let takers = options::takers(&option.name);
    if !takers.is_empty() {
        let (severity, consequence) = consequence(found, option);
        let why = format!("{} had it; {consequence}.", takers.join(", "));
        return deleted(AdviceFinding { why, ..found.finding("config.removed", severity, option) });
    }
    let can_guess = guesses.len() < MOST_GUESSES;
    let guess = || can_guess.then(|| options::nearest(&option.name, release)).flatten();
    if let Some(near) = *guesses.entry(option.name.clone()).or_insert_with(guess) {
        let (severity, consequence) = consequence(found, option);
        return AdviceFinding {
            advised: format!("write {near}, if that is meant"),
            line: (!is_secret(near)).then(|| format!("{near}{value}")),
            why: format!("No server is known to have {}; {consequence}.", option.name),
            ..found.finding("config.misspelt", severity, option)
        };
    }
    // Plugins bring options of their own, which only a server that loads them knows.
    AdviceFinding {
        advised: "make sure that a plugin has it, which the server loads".to_owned(),
        why: format!("Without such a plugin, {release} does not start with it, unless it begins with loose_."),
        ..found.finding("config.unknown", Severity::Warn, option)
    }
}

fn deleted(finding: AdviceFinding) -> AdviceFinding {
    AdviceFinding { advised: "delete the line".to_owned(), line: Some(String::new()), ..finding }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
