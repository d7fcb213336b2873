//! Options of MySQL's plugins for semi-synchronous replication. Since 8.0.26 there are plugins of other names whose options have
//! other names; those of old have the old ones alone.

use crate::config::options::{ConfigOption, ConfigOptions};
use plimsoll_model::Flavour;
use plimsoll_model::advice::{AdviceFinding, Severity};
use plimsoll_plan::knowledge::Version;

/// What plugins and options call the two sides, before and now.
const SIDES: [(&str, &str); 2] = [("master", "source"), ("slave", "replica")];
/// Since when there are the new plugins, and since when there are only they, as far as servers were asked.
const NEW: Version = (8, 0, 26);
const NEW_ALONE: Version = (9, 7, 0);

/// What to do about an option of an old plugin; `None` for every other.
pub(super) fn of_old_plugin(found: &ConfigOptions, option: &ConfigOption) -> Option<AdviceFinding> {
    let release = found.release;
    let side = option.name.strip_prefix("rpl_semi_sync_")?.split_once('_')?.0;
    let (old, new) = SIDES.into_iter().find(|(old, _)| *old == side)?;
    if release.flavour != Flavour::MySql || release.version < NEW {
        return None;
    }
    let (old, new) = (format!("semisync_{old}"), format!("semisync_{new}"));
    let today = SIDES.iter().fold(option.name.clone(), |name, (old, new)| name.replace(old, new));
    let line = option.written.value.as_ref().map_or(today.clone(), |value| format!("{today} = {value}"));
    let loads_new = found.loads(&new);
    if release.version < NEW_ALONE && (!loads_new || found.loads(&old)) {
        return Some(AdviceFinding {
            advised: format!("load {new} instead of {old}, and write {line} with it"),
            why: format!("It belongs to the plugin {old}, which a later version will not have."),
            ..found.finding("config.deprecated", Severity::Info, option)
        });
    }
    let (severity, consequence) = match option.is_loose {
        true => (Severity::Warn, "leaves it out, since it is loose"),
        false => (Severity::Critical, "does not start with it"),
    };
    let loading = if loads_new { String::new() } else { format!(", and load {new}") };
    Some(AdviceFinding {
        advised: format!("write {line}{loading}"),
        line: Some(line),
        why: format!("It belongs to the plugin {old}, in whose place there is {new}; {release} {consequence}."),
        ..found.finding("config.renamed", severity, option)
    })
}
