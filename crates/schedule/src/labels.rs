//! What a recording calls the trials of a switchback, and those of a fault.
//!
//! A crash trial of a variant `small` is `small/power`. Those of a switchback of a variant `small` are `small/first` in the block after a flip and `small` in the one after that, which counts;
//! so are those of a side of a rung, `base/log/with`. Where something is carried over from one side to the other, the plan
//! goes on with trials that start a server of their own, `small/restarted`, and they alone count.

use plimsoll_model::FaultKind;
use plimsoll_model::stopping::{FIRST, restarted_label};
use plimsoll_plan::lab::SwitchbackBlock;

/// What a recording calls the trials of a side in such a block.
pub(crate) fn label(side: &str, block: SwitchbackBlock) -> String {
    match block {
        SwitchbackBlock::First => format!("{side}/{FIRST}"),
        SwitchbackBlock::Second => side.to_owned(),
    }
}

/// What a recording calls the trials of a variant in which this goes wrong.
pub(crate) fn crash_label(variant: &str, fault: FaultKind) -> String {
    format!("{variant}/{}", fault.name())
}

/// What a recording calls the trials of a variant that count, if it has these labels.
pub fn counted_label(variant: &str, is_there: impl Fn(&str) -> bool) -> String {
    let restarted = restarted_label(variant);
    if is_there(&restarted) { restarted } else { variant.to_owned() }
}
