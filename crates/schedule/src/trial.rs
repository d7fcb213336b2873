//! What a schedule is told.

use plimsoll_model::lab::TrialOutcome;
use plimsoll_plan::lab::TrialPlan;
use std::collections::BTreeMap;

/// A trial that came to its end, whichever.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedTrial {
    pub trial: TrialPlan,
    pub outcome: TrialOutcome,
}

/// What is known of a rung on a variant's server before it is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prospect {
    Possible,
    /// This version has no such setting any more; with the remark that says since when.
    Removed(String),
    /// It costs durability that the plan does not allow; in words what.
    Unsafe(String),
}

/// What a rung is on the server of a variant, by (variant, rung). One that is not there is possible.
pub type Prospects = BTreeMap<(String, String), Prospect>;
