//! Whoever keeps what a run counted: this crate prints it and forgets it.

use plimsoll_load::assembly::WholeSecond;
use plimsoll_load::recorder::LoopTotals;
use plimsoll_load::source::{LoadFacts, Readiness, Spent};
use plimsoll_plan::RunPlan;
use plimsoll_record::EarlyEnd;

/// A run all of whose threads are ready, and whose load has not begun.
pub struct ReadyRun<'a> {
    pub plan: &'a RunPlan,
    pub facts: &'a LoadFacts,
    pub ready: Readiness,
    /// What its own processes have used before.
    pub spent: Option<Spent>,
}

/// Takes the seconds of a run. What it cannot keep is its own affair to tell: the run goes on.
pub trait RunRecorder {
    fn begin(&mut self, run: ReadyRun<'_>);

    /// A second, or what is left of one; the load's own processes have used `spent` by now.
    fn second(&mut self, second: &WholeSecond, spent: Option<Spent>);

    /// The run is over, and why before it was meant to be, if it was.
    fn end(&mut self, totals: &LoopTotals, ended: Option<EarlyEnd>);

    /// Says what came of it, where that was asked for.
    fn verdict(&mut self);
}
