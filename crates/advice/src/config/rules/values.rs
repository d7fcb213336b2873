//! Values that the server cuts to its own bounds, or does not accept at all.

use crate::config::options::{ConfigOption, ConfigOptions};
use plimsoll_model::advice::{AdviceFinding, AdviceStep, Severity};
use plimsoll_plan::knowledge::number::refusal;
use plimsoll_plan::knowledge::settings::facts;
use plimsoll_plan::knowledge::value::number;
use plimsoll_plan::knowledge::value::truth;

pub fn judge(found: &ConfigOptions) -> Vec<AdviceFinding> {
    found.in_effect().filter_map(|option| of_option(found, option)).collect()
}

fn of_option(found: &ConfigOptions, option: &ConfigOption) -> Option<AdviceFinding> {
    if let Some(accepted) = refusal(&option.setting, &option.value) {
        return Some(refused(found, option, accepted));
    }
    let accepts = facts(&option.setting)?.accepts(found.release)?;
    match accepts.split_once("..") {
        Some((least, most)) => out_of_range(found, option, least, most),
        None => (!is_one_of(&option.value, accepts)).then(|| refused(found, option, accepts)),
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

/// Whether it is a word of the list, or its number.
fn is_one_of(value: &str, accepted: &str) -> bool {
    let words: Vec<&str> = accepted.split(", ").collect();
    let is = |word: &&str| word.eq_ignore_ascii_case(value) || truth(word).is_some() && truth(word) == truth(value);
    words.iter().any(is) || value.parse::<usize>().is_ok_and(|number| number < words.len())
}

fn out_of_range(found: &ConfigOptions, option: &ConfigOption, least: &str, most: &str) -> Option<AdviceFinding> {
    let value = number(&option.value)?;
    let (bound, which) = match (number(least), number(most)) {
        (Some(end), _) if value < end => (least, "least"),
        (_, Some(end)) if value > end => (most, "most"),
        _ => return None,
    };
    let line = format!("{} = {bound}", option.setting);
    Some(AdviceFinding {
        advised: format!("write {line}, which is what the server uses"),
        line: Some(line),
        why: format!("{bound} is the {which} that {} accepts, and it takes that instead.", found.release),
        ..found.finding("config.clamped", Severity::Warn, option)
    })
}
