//! Which trial comes next. A course is fed with what came of each trial and never looks at anything else, so that a lab
//! that was killed is resumed by feeding it what is recorded.
//!
//! [`grid`], [`ladder`] and [`load_line`] are the three kinds of experiment; a plan may have several, which follow one
//! another. [`summary`](mod@summary) feeds the same course with all outcomes and reads its answers.

mod block;
mod comparison;
mod draw;
mod evidence;
pub mod grid;
mod headline;
mod judge;
pub mod ladder;
pub mod load_line;
mod quantity;
mod rung;
pub mod summary;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use comparison::{METRICS, comparisons_of};
pub(crate) use quantity::Quantity;

use grid::Grid;
use ladder::Staircase;
use load_line::Lines;
use plimsoll_model::lab::{TrialOutcome, TrialStatus};
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{TrialPlan, Variant};
use plimsoll_plan::points::LoadPoint;
use std::collections::BTreeMap;

/// A trial that came to its end, whichever.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
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

/// The trials of a plan, one after the other.
pub trait Course {
    /// The next trial; none if all are done. The same until it was told what came of it.
    fn next(&mut self) -> Option<TrialPlan>;

    /// What came of a trial. One that was interrupted came to no end and is run again; one that is not the next is not
    /// of this course and is passed over.
    fn tell(&mut self, ended: Ended);

    /// About how many trials there are in all, those that are done included. What depends on outcomes counts as if it
    /// took the most.
    fn about(&self) -> usize;
}

/// The course of a plan.
pub fn of(plan: &LabPlan, prospects: &Prospects) -> Box<dyn Course> {
    Box::new(PlanCourse::new(plan, prospects))
}

/// Whether the trials of a variant look for its load line. Then what a closed loop reaches is no answer of its own.
fn seeks_line(plan: &LabPlan, variant: &Variant) -> bool {
    plan.rungs.is_empty() && variant.load.find.is_some()
}

/// A trial before it has its place among all trials and its seed.
#[derive(Clone, Debug, PartialEq)]
struct Turn {
    label: String,
    variant: Variant,
    point: LoadPoint,
    /// From 1.
    round: u32,
}

impl Turn {
    fn is(&self, trial: &TrialPlan) -> bool {
        (&self.label, self.point, self.round) == (&trial.label, trial.point, trial.round)
    }
}

/// A part of a course.
trait Stage {
    fn next(&self) -> Option<Turn>;

    /// What came of the turn that is next.
    fn tell(&mut self, outcome: &TrialOutcome);

    fn about(&self) -> usize;
}

/// Everything that a plan asks for: with rungs a staircase for each variant; without, load lines of the variants that
/// look for one and a grid of the others.
struct PlanCourse {
    seed: u64,
    /// Trials that came to their end.
    ended: u32,
    grid: Grid,
    staircases: Vec<Staircase>,
    lines: Lines,
}

impl PlanCourse {
    fn new(plan: &LabPlan, prospects: &Prospects) -> PlanCourse {
        let climb = |variant: &Variant| Staircase::new(plan, variant, prospects);
        let (seeking, measured): (Vec<&Variant>, Vec<&Variant>) = match plan.rungs.is_empty() {
            true => plan.variants.iter().partition(|variant| seeks_line(plan, variant)),
            false => (Vec::new(), Vec::new()),
        };
        let climbing = if plan.rungs.is_empty() { &[][..] } else { &plan.variants };
        PlanCourse {
            seed: plan.seed,
            ended: 0,
            grid: Grid::new(plan, &measured),
            staircases: climbing.iter().map(climb).collect(),
            lines: Lines::new(plan, &seeking),
        }
    }

    /// In the order in which they are run.
    fn stages(&self) -> impl Iterator<Item = &dyn Stage> {
        let stairs = self.staircases.iter().map(|staircase| staircase as &dyn Stage);
        std::iter::once(&self.grid as &dyn Stage).chain(stairs).chain(std::iter::once(&self.lines as &dyn Stage))
    }

    fn stages_mut(&mut self) -> impl Iterator<Item = &mut dyn Stage> {
        let stairs = self.staircases.iter_mut().map(|staircase| staircase as &mut dyn Stage);
        let (first, last) = (&mut self.grid as &mut dyn Stage, &mut self.lines as &mut dyn Stage);
        std::iter::once(first).chain(stairs).chain(std::iter::once(last))
    }
}

impl Course for PlanCourse {
    fn next(&mut self) -> Option<TrialPlan> {
        let Turn { label, variant, point, round } = self.stages().find_map(Stage::next)?;
        let seed = draw::seed(self.seed, round);
        Some(TrialPlan { index: self.ended + 1, label, variant, point, round, seed })
    }

    fn tell(&mut self, ended: Ended) {
        if ended.outcome.status == TrialStatus::Interrupted {
            return;
        }
        let current = self.stages_mut().find_map(|stage| stage.next().map(|turn| (stage, turn)));
        if let Some((stage, _)) = current.filter(|(_, turn)| turn.is(&ended.trial)) {
            stage.tell(&ended.outcome);
            self.ended += 1;
        }
    }

    fn about(&self) -> usize {
        self.stages().map(Stage::about).sum()
    }
}
