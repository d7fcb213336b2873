//! Options that change nothing: what they set is the default, or does not matter with the others.

use crate::config::options::{ConfigOption, ConfigOptions};
use plimsoll_model::advice::{AdviceFinding, Severity};
use plimsoll_plan::knowledge::Standing;
use plimsoll_plan::knowledge::settings::facts;
use plimsoll_plan::knowledge::value::in_effect;
use plimsoll_plan::knowledge::value::number;

pub fn judge(found: &ConfigOptions) -> Vec<AdviceFinding> {
    let current = found.in_effect().filter(|option| option.standing == Standing::Current);
    current.filter_map(|option| unneeded(found, option).or_else(|| default(found, option))).collect()
}

/// An option that does nothing because another is as it is.
fn unneeded(found: &ConfigOptions, option: &ConfigOption) -> Option<AdviceFinding> {
    let needs = facts(&option.setting)?.needs.as_deref()?;
    if holds(needs, found)? {
        return None;
    }
    Some(AdviceFinding {
        advised: "delete the line".to_owned(),
        line: Some(String::new()),
        why: format!("It matters only with {needs}."),
        ..found.finding("config.idle", Severity::Info, option)
    })
}

/// Whether `log_bin = ON`, `x above 0` or `x other than none` holds; `None` of other words, and if it is not known.
fn holds(needs: &str, found: &ConfigOptions) -> Option<bool> {
    if let Some((name, value)) = needs.split_once(" = ") {
        return Some(in_effect(name, value, found.value(name)?));
    }
    if let Some((name, value)) = needs.split_once(" other than ") {
        return Some(!in_effect(name, value, found.value(name)?));
    }
    let (name, least) = needs.split_once(" above ")?;
    Some(number(found.value(name)?)? > number(least)?)
}

fn default(found: &ConfigOptions, option: &ConfigOption) -> Option<AdviceFinding> {
    let default = facts(&option.setting)?.default(found.release)?;
    // A path given to a switch says more than the switch.
    let says_more = option.written.value.as_ref().is_some_and(|value| value.contains('/'));
    (!says_more && in_effect(&option.setting, &option.value, default)).then(|| AdviceFinding {
        advised: "delete the line, unless it is to say that the default is meant".to_owned(),
        why: format!("It is the default of {}.", found.release),
        ..found.finding("config.default", Severity::Info, option)
    })
}
