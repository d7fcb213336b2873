//! What a schedule is told.

use plimsoll_model::lab::TrialOutcome;
use plimsoll_plan::lab::TrialPlan;
use std::collections::BTreeMap;

/// A trial that ended in any way.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedTrial {
    pub trial: TrialPlan,
    pub outcome: TrialOutcome,
}

/// What is known about a rung on a variant's server before it is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prospect {
    Possible,
    /// This version no longer has the setting; the remark says since when.
    Removed(String),
    /// It costs durability that the plan does not allow; in words.
    Unsafe(String),
}

/// The prospects of rungs on the servers of variants, by (variant, rung). One that is missing is possible.
pub type Prospects = BTreeMap<(String, String), Prospect>;
