//! Options that a later one for the same setting overrides.

use crate::config::options::{ConfigOption, ConfigOptions, shown};
use plimsoll_model::advice::{AdviceFinding, AdviceStep, Severity};
use plimsoll_plan::knowledge::options::adds_up;
use plimsoll_plan::knowledge::value::same_value;

pub fn judge(found: &ConfigOptions) -> Vec<AdviceFinding> {
    // Of an old name beside today's, `names` speaks.
    let single = found.of_server().filter(|option| !adds_up(&option.setting) && !option.yields);
    single.filter_map(|option| Some(shadowed(found, option, found.shadow_of(option)?))).collect()
}

fn shadowed(found: &ConfigOptions, option: &ConfigOption, by: &ConfigOption) -> AdviceFinding {
    let same = same_value(&option.value, &by.value);
    let severity = if same { Severity::Info } else { Severity::Warn };
    let what = if same { "says the same".to_owned() } else { format!("says {}", shown(&by.written)) };
    AdviceFinding {
        step: AdviceStep::Install,
        advised: "delete the line".to_owned(),
        line: Some(String::new()),
        why: format!("{} comes later, {what}, and counts.", by.written.at),
        shows: None,
        source:
            "MySQL manual: Specifying Program Options; MariaDB documentation: Configuring MariaDB with Option Files"
                .to_owned(),
        ..found.finding("config.shadowed", severity, option)
    }
}
