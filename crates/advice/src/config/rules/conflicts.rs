//! Options that contradict each other: together they do not do what each says.

use crate::config::options::{ConfigOption, ConfigOptions};
use plimsoll_model::Flavour;
use plimsoll_model::advice::{AdviceFinding, AdviceStep, Severity};
use plimsoll_plan::knowledge::value::number;
use plimsoll_plan::knowledge::value::{in_effect, same_value, truth};

const HEAP: &str = "max_heap_table_size";
const GTIDS: &str = "gtid_mode";
const CONSISTENCY: &str = "enforce_gtid_consistency";

/// A setting, and another that must be at least as large; what the server does otherwise.
const AT_MOST: [(&str, &str, &str); 5] = [
    ("innodb_io_capacity", "innodb_io_capacity_max", "at its start the server lowers innodb_io_capacity to that"),
    ("innodb_page_cleaners", "innodb_buffer_pool_instances", "the server uses one cleaner for each instance"),
    ("tmp_table_size", HEAP, "the smaller of the two limits temporary tables in memory"),
    ("tmp_memory_table_size", HEAP, "the smaller of the two limits temporary tables in memory"),
    (
        "innodb_max_dirty_pages_pct_lwm",
        "innodb_max_dirty_pages_pct",
        "the server lowers innodb_max_dirty_pages_pct_lwm",
    ),
];

/// A value of a setting that another setting overrides, and how.
struct Overridden {
    setting: &'static str,
    by: &'static str,
    /// Of `by`; empty for any.
    value: &'static str,
    flavour: Option<Flavour>,
    why: &'static str,
}

const OVERRIDDEN: [Overridden; 4] = [
    Overridden {
        setting: "innodb_flush_method",
        by: "innodb_data_file_buffering",
        value: "",
        flavour: Some(Flavour::MariaDb),
        why: "innodb_data_file_buffering decides how data files are opened",
    },
    Overridden {
        setting: "expire_logs_days",
        by: "binlog_expire_logs_seconds",
        value: "",
        flavour: None,
        why: "binlog_expire_logs_seconds decides when binary logs go",
    },
    Overridden {
        setting: "port",
        by: "skip_networking",
        value: "ON",
        flavour: None,
        why: "skip_networking leaves the socket alone",
    },
    Overridden {
        setting: "bind_address",
        by: "skip_networking",
        value: "ON",
        flavour: None,
        why: "skip_networking leaves the socket alone",
    },
];

pub fn judge(found: &ConfigOptions) -> Vec<AdviceFinding> {
    let larger = AT_MOST.iter().filter_map(|(setting, other, what)| too_large(found, setting, other, what));
    let overridden = OVERRIDDEN.iter().filter_map(|rule| overridden(found, rule));
    larger.chain(overridden).chain(gtids_alone(found)).collect()
}

/// `gtid_mode = ON` without what it needs.
fn gtids_alone(found: &ConfigOptions) -> Option<AdviceFinding> {
    let mode = found.option(GTIDS)?;
    // It is a list of words, of which 3 is the number of the last.
    let is_on = mode.value.eq_ignore_ascii_case("ON") || mode.value == "3";
    let is_enforced = found.value(CONSISTENCY).is_some_and(|value| same_value("ON", value));
    if !is_on || is_enforced {
        return None;
    }
    let needed = format!("{CONSISTENCY} = ON");
    let (option, line) = match found.option(CONSISTENCY) {
        Some(written) => (written, needed.clone()),
        None => (mode, format!("{GTIDS} = ON\n{needed}")),
    };
    Some(AdviceFinding {
        step: AdviceStep::Install,
        advised: format!("write {needed}"),
        line: Some(line),
        why: format!("{GTIDS} = ON needs {needed}, and {} does not start without it.", found.release),
        ..found.finding("config.conflict", Severity::Critical, option)
    })
}

/// Whether temporary tables are in MEMORY tables, which `max_heap_table_size` limits: not by default since MySQL 8.0.
fn are_in_heap(found: &ConfigOptions) -> bool {
    let engine = found.value("internal_tmp_mem_storage_engine");
    let is_older = found.release.flavour == Flavour::MariaDb || found.release.version < (8, 0, 2);
    is_older || engine.is_some_and(|engine| engine.eq_ignore_ascii_case("MEMORY"))
}

fn too_large(found: &ConfigOptions, setting: &str, other: &str, what: &str) -> Option<AdviceFinding> {
    let option = found.option(setting).filter(|_| other != HEAP || are_in_heap(found))?;
    let most = found.value(other)?;
    // What is 0 is off, or chosen by the server.
    let is_larger = number(&option.value)? > number(most).filter(|most| *most > 0.0)?;
    is_larger.then(|| AdviceFinding {
        advised: format!("make {other} at least as large, or {setting} as small"),
        why: format!("{other} is {most}: {what}."),
        ..found.finding("config.conflict", Severity::Warn, option)
    })
}

fn overridden(found: &ConfigOptions, rule: &Overridden) -> Option<AdviceFinding> {
    let option = found.option(rule.setting)?;
    let applies = rule.flavour.is_none_or(|flavour| flavour == found.release.flavour);
    let decides = |by: &ConfigOption| rule.value.is_empty() || in_effect(rule.by, rule.value, &by.value);
    let is_off = truth(&option.value) == Some(false);
    (applies && !is_off && found.option(rule.by).is_some_and(decides)).then(|| AdviceFinding {
        advised: format!("decide between it and {}", rule.by),
        why: format!("Here {}.", rule.why),
        ..found.finding("config.conflict", Severity::Warn, option)
    })
}
