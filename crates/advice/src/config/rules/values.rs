//! Values that the server does not accept, reads as something else than they seem, or cuts to its own bounds.

use crate::config::options::{ConfigOption, ConfigOptions};
use plimsoll_model::advice::{AdviceFinding, AdviceStep, Severity};
use plimsoll_plan::knowledge::number::{in_option_file, refusal};
use plimsoll_plan::knowledge::settings::facts;
use plimsoll_plan::knowledge::sql_mode;
use plimsoll_plan::knowledge::value::{number, truth};
use plimsoll_plan::knowledge::{Standing, unswitched};

/// What is accepted by a setting that is on or off.
const SWITCH: &str = "OFF, ON";
const WHOLE: &str = "a number without a point, which may end in K, M, G, T, P or E for powers of 1024";
/// Settings of InnoDB that need a value; others of it, and of other storage engines, are 1 without.
const WITH_VALUE: [&str; 7] = [
    "innodb_buffer_pool_size",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_lock_wait_timeout",
    "innodb_log_buffer_size",
    "innodb_log_file_size",
    "innodb_redo_log_capacity",
];

pub fn judge(found: &ConfigOptions) -> Vec<AdviceFinding> {
    // A server reads every line, also one that a later one overrides.
    let read = found.of_server().filter(|option| !matches!(option.standing, Standing::Removed { .. }));
    let refused = read.filter_map(|option| not_accepted(found, option));
    let others = found.in_effect().filter_map(|option| misread(found, option).or_else(|| out_of_range(found, option)));
    refused.chain(others).collect()
}

fn not_accepted(found: &ConfigOptions, option: &ConfigOption) -> Option<AdviceFinding> {
    if let Some(accepted) = refusal(&option.setting, &option.value).filter(|_| !is_negative(option)) {
        return Some(refused(found, option, accepted));
    }
    if option.setting == "sql_mode" {
        return without_modes(found, option);
    }
    match facts(&option.setting)?.accepts(found.release)? {
        SWITCH => None,
        accepts if accepts.contains("..") => (!is_read_as_number(option)).then(|| refused(found, option, WHOLE)),
        accepts => (!is_one_of(&option.value, accepts)).then(|| refused(found, option, accepts)),
    }
}

fn refused(found: &ConfigOptions, option: &ConfigOption, accepted: &str) -> AdviceFinding {
    AdviceFinding {
        step: AdviceStep::Install,
        advised: format!("give it one of its values: {accepted}"),
        why: format!("{} does not start with this value.", found.release),
        ..found.finding("config.refused", Severity::Critical, option)
    }
}

/// An `sql_mode` with modes that the release no longer has.
fn without_modes(found: &ConfigOptions, option: &ConfigOption) -> Option<AdviceFinding> {
    let gone = sql_mode::gone(&option.value, found.release);
    if gone.is_empty() {
        return None;
    }
    let line = format!("sql_mode = {}", sql_mode::without(&option.value, &gone));
    Some(AdviceFinding {
        step: AdviceStep::Install,
        advised: format!("write {line}"),
        line: Some(line),
        why: format!("{} no longer has {}, and does not start with it.", found.release, gone.join(" and ")),
        ..found.finding("config.refused", Severity::Critical, option)
    })
}

fn is_negative(option: &ConfigOption) -> bool {
    option.value.trim_start().starts_with('-')
}

/// Whether the server reads a number in it, or takes one for it.
fn is_read_as_number(option: &ConfigOption) -> bool {
    let setting = option.setting.as_str();
    let optional = ["innodb", "aria_", "rocksdb_", "lower_case_table_names"];
    let needs_none = optional.iter().any(|name| setting.starts_with(name));
    match &option.written.value {
        // A switch makes it 0 or 1.
        _ if is_switch(option) => true,
        None => needs_none && !WITH_VALUE.contains(&setting),
        Some(_) => in_option_file(setting, &option.value).is_some(),
    }
}

/// Whether the setting has `skip_`, `disable_` or `enable_` before it.
fn is_switch(option: &ConfigOption) -> bool {
    unswitched(&option.name, "").0 != option.name
}

/// Whether it is a word of the list, or its number.
fn is_one_of(value: &str, accepted: &str) -> bool {
    let words: Vec<&str> = accepted.split(", ").collect();
    let is = |word: &&str| word.eq_ignore_ascii_case(value) || truth(word).is_some() && truth(word) == truth(value);
    words.iter().any(is) || value.parse::<usize>().is_ok_and(|number| number < words.len())
}

/// A value that the server takes for another one than its author.
fn misread(found: &ConfigOptions, option: &ConfigOption) -> Option<AdviceFinding> {
    let written = option.written.value.as_deref().map(str::trim)?;
    let release = found.release;
    let (line, why) = if option.name == "log_bin" && truth(written) == Some(false) {
        let why = format!("{release} writes a binary log that is called {written}: only skip_log_bin turns it off.");
        (Some("skip_log_bin".to_owned()), why)
    } else if is_switch(option) && written != "0" && meant(written) == Some(false) {
        let why = format!(
            "{release} takes it for {} = {}: behind such a name it looks at 0 alone.",
            option.setting, option.value
        );
        (Some(of_switch(&option.setting, truth(&option.value) == Some(false))), why)
    } else if facts(&option.setting)?.accepts(release) == Some(SWITCH) && truth(&option.value).is_none() {
        let line = meant(&option.value).map(|on| of_switch(&option.setting, on));
        (line, format!("{release} takes it for OFF, or leaves it out: it knows ON, TRUE, 1, OFF, FALSE and 0."))
    } else {
        return None;
    };
    Some(AdviceFinding {
        step: AdviceStep::Install,
        advised: line.as_ref().map_or("write ON or OFF".to_owned(), |line| format!("write {line}, if that is meant")),
        line,
        why,
        ..found.finding("config.misread", Severity::Warn, option)
    })
}

/// Whether the author of a value meant on or off.
fn meant(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "yes" | "enabled" => Some(true),
        "no" | "none" | "disabled" => Some(false),
        word => truth(word),
    }
}

fn of_switch(setting: &str, on: bool) -> String {
    match (setting, on) {
        // As an option, the log has a name and no ON.
        ("log_bin", true) => setting.to_owned(),
        ("log_bin", false) => format!("skip_{setting}"),
        (_, true) => format!("{setting} = ON"),
        (_, false) => format!("{setting} = OFF"),
    }
}

fn out_of_range(found: &ConfigOptions, option: &ConfigOption) -> Option<AdviceFinding> {
    let Some(bound) = found.bound(option) else {
        return is_negative(option).then(|| below_least(found, option)).flatten();
    };
    // What the server uses instead is no advice if it costs something: see `danger`.
    if !found.costs(&option.setting, bound).is_empty() {
        return None;
    }
    let which = if in_option_file(&option.setting, &option.value) < number(bound) { "least" } else { "most" };
    let line = format!("{} = {bound}", option.setting);
    Some(AdviceFinding {
        advised: format!("write {line}, which is what the server uses"),
        line: Some(line),
        why: format!("{bound} is the {which} that {} accepts, and it takes that instead.", found.release),
        ..found.finding("config.clamped", Severity::Warn, option)
    })
}

/// A negative number, of a setting whose least is not known.
fn below_least(found: &ConfigOptions, option: &ConfigOption) -> Option<AdviceFinding> {
    refusal(&option.setting, &option.value)?;
    Some(AdviceFinding {
        advised: "write a number of 0 or more".to_owned(),
        why: format!("{} takes the least that it accepts instead.", found.release),
        ..found.finding("config.clamped", Severity::Warn, option)
    })
}
