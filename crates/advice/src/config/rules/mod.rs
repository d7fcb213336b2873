//! One file for each kind of mistake, all of the same shape: [`ConfigOptions`] in, findings out.

mod conflicts;
mod danger;
mod idle;
mod misplaced;
mod names;
mod shadowed;
mod values;

use super::options::ConfigOptions;
use plimsoll_model::advice::AdviceFinding;

/// Judges one kind of mistake.
pub type ConfigRule = fn(&ConfigOptions) -> Vec<AdviceFinding>;

pub const RULES: [ConfigRule; 7] =
    [names::judge, misplaced::judge, shadowed::judge, values::judge, conflicts::judge, idle::judge, danger::judge];

/// What findings are called by those that make them; tests have a case for and a case against each.
pub const NAMES: [&str; 18] = [
    "config.abbreviated",
    "config.clamped",
    "config.client",
    "config.conflict",
    "config.danger",
    "config.default",
    "config.deprecated",
    "config.idle",
    "config.misplaced",
    "config.misread",
    "config.misspelt",
    "config.refused",
    "config.removed",
    "config.renamed",
    "config.shadowed",
    "config.too-new",
    "config.unknown",
    "config.unreadable",
];
