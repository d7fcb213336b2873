//! Values that cost commits, pages or replicas something when a server or a machine fails.

use crate::config::options::{ConfigOption, ConfigOptions};
use crate::losses::severity;
use plimsoll_model::Class;
use plimsoll_model::advice::{AdviceFinding, AdviceStep};
use plimsoll_plan::knowledge::risks_by_variable;
use plimsoll_plan::knowledge::settings::facts;

pub fn judge(found: &ConfigOptions) -> Vec<AdviceFinding> {
    let costly = risks_by_variable(&found.values(), found.release.flavour);
    let of_option = |option: &ConfigOption| {
        let costs = costly.get(&option.setting)?.difference(&found.allowed);
        let costs: Vec<Class> = costs.copied().collect();
        (!costs.is_empty()).then(|| dangerous(found, option, costs))
    };
    found.in_effect().filter_map(of_option).collect()
}

fn dangerous(found: &ConfigOptions, option: &ConfigOption, costs: Vec<Class>) -> AdviceFinding {
    let severity = severity(costs.iter());
    let words: Vec<&str> = costs.iter().rev().map(|class| class.words()).collect();
    let safe = safe_line(found, option);
    let cut = found.bound(option).map(|bound| format!("{} takes {bound} instead. ", found.release));
    AdviceFinding {
        step: AdviceStep::Assess,
        advised: match safe.as_deref() {
            Some("") => "delete the line, unless that loss is acceptable".to_owned(),
            Some(line) => format!("write {line}, unless that loss is acceptable"),
            None => "choose a value without that cost, unless it is acceptable".to_owned(),
        },
        line: safe,
        why: format!("{}It {}.", cut.unwrap_or_default(), words.join(", and it ")),
        costs,
        ..found.finding("config.danger", severity, option)
    }
}

/// The line that costs nothing of the kind: without it if the default is safe.
fn safe_line(found: &ConfigOptions, option: &ConfigOption) -> Option<String> {
    let is_safe = |value: &&str| found.costs(&option.setting, value).is_empty();
    let default = facts(&option.setting)?.default(found.release);
    if default.as_ref().is_some_and(is_safe) {
        return Some(String::new());
    }
    // As an option, the log has a name and no ON.
    if option.setting == "log_bin" {
        return Some("log_bin = binlog".to_owned());
    }
    let value = ["1", "ON", "ROW", "FULL"].into_iter().find(is_safe)?;
    Some(format!("{} = {value}", option.setting))
}
