//! A part of a schedule, and the trial that it asks for next.

use plimsoll_model::LoadPoint;
use plimsoll_model::lab::TrialOutcome;
use plimsoll_plan::lab::{SwitchbackBlock, TrialPlan, Variant};

/// A trial before it has its place among all trials and its seed.
#[derive(Clone, Debug, PartialEq)]
pub struct UnplacedTrial {
    pub label: String,
    pub variant: Variant,
    pub point: LoadPoint,
    /// From 1.
    pub round: u32,
    /// Of a switchback.
    pub block: Option<SwitchbackBlock>,
}

impl UnplacedTrial {
    pub fn is(&self, trial: &TrialPlan) -> bool {
        (&self.label, self.point, self.round) == (&trial.label, trial.point, trial.round)
    }
}

/// A part of a schedule.
pub trait Stage {
    fn next(&self) -> Option<UnplacedTrial>;

    /// The outcome of the next turn.
    fn tell(&mut self, outcome: &TrialOutcome);

    fn about(&self) -> usize;
}
