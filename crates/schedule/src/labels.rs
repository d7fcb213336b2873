//! What a recording calls the trials of a switchback.
//!
//! Those of a variant `small`, or of a side of a rung (`base/log/with`), are `small/first` in the block after a flip and `small` in the one after that, which counts.
//! Where something is carried over from one side to the other, the plan goes on with trials that start a server of their
//! own, `small/restarted`, and they alone count.

use plimsoll_model::stopping::{FIRST, RESTARTED};
use plimsoll_plan::lab::SwitchbackBlock;

/// What a recording calls the trials of a variant in such a block; without one, those after a fallback.
pub(crate) fn label(variant: &str, block: Option<SwitchbackBlock>) -> String {
    match block {
        Some(SwitchbackBlock::First) => format!("{variant}/{FIRST}"),
        Some(SwitchbackBlock::Second) => variant.to_owned(),
        None => format!("{variant}/{RESTARTED}"),
    }
}

/// What a recording calls the trials of a variant that count, if it has these labels.
pub fn counted_label(variant: &str, is_there: impl Fn(&str) -> bool) -> String {
    let restarted = label(variant, None);
    if is_there(&restarted) { restarted } else { variant.to_owned() }
}
