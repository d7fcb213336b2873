//! Names that the release does not have, no longer has, or has under another name.

mod semi_sync;

use crate::config::options::{ConfigOption, ConfigOptions, is_log_of_slow, is_secret, shown};
use plimsoll_model::Flavour;
use plimsoll_model::advice::{AdviceFinding, AdviceStep, Severity};
use plimsoll_plan::knowledge::options::{self, ListedFate, OptionFate};
use plimsoll_plan::knowledge::settings::facts;
use plimsoll_plan::knowledge::{Standing, is_in_table, is_of_client, is_value_gone};
use std::collections::BTreeMap;

/// For how many names that no server has one that is spelt alike is looked for: of a file with more, most are no options.
const MOST_GUESSES: usize = 200;

/// Names that no server has, and those that may be meant.
type Guesses = BTreeMap<String, Option<&'static str>>;

/// Names of InnoDB's that MySQL has taken, and ignored, long after they had lost their meaning.
const TAKEN_STILL: [&str; 3] = ["innodb_log_file_size", "innodb_log_files_in_group", "innodb_undo_tablespaces"];

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
    let of_old_plugin = semi_sync::of_old_plugin(found, option);
    if of_old_plugin.is_some() {
        return of_old_plugin;
    }
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
        (None, false) if is_gone(found, option) => (Severity::Critical, format!("{release} does not start with it")),
        (None, false) => (Severity::Warn, format!("{release} ignores it or does not start with it")),
    }
}

/// Whether a release that was not asked does not start with it, by what the lists of others or the manual say.
fn is_gone(found: &ConfigOptions, option: &ConfigOption) -> bool {
    let was_removed = matches!(option.standing, Standing::Renamed { .. } | Standing::Removed { .. });
    // MySQL ignores no name that it does not have; of InnoDB's there are only lists of the newest.
    let is_told = was_removed && found.release.flavour == Flavour::MySql;
    match options::listed(&option.name, found.release) {
        ListedFate::Missing => true,
        ListedFate::Leaving { .. } => is_told,
        ListedFate::Doubtful => {
            is_told && option.name.contains("innodb") && !TAKEN_STILL.contains(&option.name.as_str())
        }
        ListedFate::Taken | ListedFate::Coming { .. } => false,
    }
}

fn renamed(found: &ConfigOptions, option: &ConfigOption, name: &str, value: &str, remark: &str) -> AdviceFinding {
    let (severity, consequence) = consequence(found, option);
    if let Some(by) = found.shadow_of(option).filter(|_| option.yields) {
        let why = format!("It {remark}; {} says {}, and counts; {consequence}.", by.written.at, shown(&by.written));
        return deleted(AdviceFinding { why, ..found.finding("config.renamed", severity, option) });
    }
    let line = match value {
        "" => name.to_owned(),
        file if is_log_of_slow(name, file) => format!("{name} = ON\n{name}_file = {file}"),
        value => format!("{name} = {value}"),
    };
    AdviceFinding {
        advised: format!("write {}", line.replace('\n', " and ")),
        line: Some(line),
        why: format!("It {remark}; {consequence}."),
        ..found.finding("config.renamed", severity, option)
    }
}

fn removed(found: &ConfigOptions, option: &ConfigOption, remark: &str) -> AdviceFinding {
    let release = found.release;
    let is_value = is_value_gone(&option.name, &option.value, release.flavour, release.version);
    // The name is there, so it is the value that is gone.
    let (severity, consequence) = match options::fate(&option.name, release) == Some(OptionFate::Taken) || is_value {
        true => (Severity::Critical, format!("{release} does not start with this value")),
        false => consequence(found, option),
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
        let (severity, consequence) = match option.is_loose {
            true => (Severity::Warn, "leaves it out, since it is loose"),
            false => (Severity::Critical, "does not start with it"),
        };
        let why = format!("It exists since {major}.{minor}.{patch}; {release} {consequence}.");
        return Some(deleted(AdviceFinding { why, ..found.finding("config.too-new", severity, option) }));
    }
    match options::fate(&option.name, release) {
        Some(OptionFate::Taken) => None,
        Some(OptionFate::Ignored) => {
            let why = format!("{release} takes it, and it does nothing.");
            Some(deleted(AdviceFinding { why, ..found.finding("config.removed", Severity::Warn, option) }))
        }
        Some(OptionFate::Deprecated(instead)) => Some(deprecated(found, option, instead)),
        Some(OptionFate::Unknown) => Some(unknown(found, option, guesses)),
        None if is_documented(found, option) => None,
        None => match options::listed(&option.name, release) {
            ListedFate::Taken => None,
            ListedFate::Leaving { had, lacks } => uncertain(found, option, "config.removed", &[had, lacks]),
            ListedFate::Coming { lacks, has } => uncertain(found, option, "config.too-new", &[has, lacks]),
            ListedFate::Doubtful | ListedFate::Missing => Some(unknown(found, option, guesses)),
        },
    }
}

/// Whether documentation has the setting, and nothing about its end.
fn is_documented(found: &ConfigOptions, option: &ConfigOption) -> bool {
    let has_facts = facts(&option.setting).is_some_and(|facts| facts.applies(found.release).is_some());
    has_facts || is_in_table(&option.setting)
}

/// A name that the server before the release has and the one after it has not, or the other way round; first comes the one that
/// has it.
fn uncertain(found: &ConfigOptions, option: &ConfigOption, rule: &str, servers: &[String; 2]) -> Option<AdviceFinding> {
    let [has, lacks] = servers;
    (!option.is_loose).then(|| AdviceFinding {
        advised: "delete the line, unless the server is known to take it".to_owned(),
        why: format!("{has} has it, and {lacks} has not; {} may not start with it.", found.release),
        ..found.finding(rule, Severity::Warn, option)
    })
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
