//! Which trial comes next, decided only by outcomes: a killed lab is resumed by telling its schedule what was
//! recorded. It does no I/O and writes no sentences; reasons are values.
//!
//! [`grid`], [`ladder`], [`load_line`] and [`crashes`] are the kinds of experiment; a plan may have several, which follow
//! one another. Begin with [`Schedule`].

mod block;
mod crashes;
mod draw;
pub mod evidence;
pub mod explained;
mod grid;
mod judge;
pub mod labels;
pub mod ladder;
pub mod load_line;
pub mod pairing;
pub mod quantity;
pub mod rung;
mod stage;
pub mod stopping;
pub mod switchback;
mod trial;
pub mod tune;

pub use draw::seed as seed_of_round;
pub use judge::of_all_arrivals;
pub use quantity::Quantity;
pub use stage::Amount;
pub use trial::{EndedTrial, Prospect, Prospects};

use crashes::Crashes;
use grid::Grid;
use ladder::{Climbed, LadderSchedule};
use load_line::{LoadLines, Sought};
use plimsoll_model::lab::TrialStatus;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{TrialPlan, Variant};
use stage::{Stage, UnplacedTrial};
use tune::{FoundTune, TuneSchedule};

/// The trials of a plan, one after the other.
pub trait Schedule {
    /// The next trial; `None` if all are done. It stays the same until its outcome is told.
    fn next(&mut self) -> Option<TrialPlan>;

    /// The next trial, of which this may be the record. What a search proposed is read there: to find it takes long.
    fn again(&mut self, recorded: &TrialPlan) -> Option<TrialPlan>;

    /// Whether there is one. What it would be may take long to find.
    fn has_next(&self) -> bool;

    /// The outcome of a trial. An interrupted trial was not completed and is run again; one that is not the next does
    /// not belong to this schedule and is ignored.
    fn tell(&mut self, ended: EndedTrial);

    /// About how many trials there are in all, including those that are done. What depends on outcomes counts as the
    /// most that it can take.
    fn about(&self) -> Amount;

    /// What the trials so far show, if the schedule itself depends on it.
    fn found(&self) -> FoundSoFar;
}

/// What ladders and searches found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundSoFar {
    /// One for each variant of a plan with rungs.
    pub ladders: Vec<Climbed>,
    pub lines: Vec<Sought>,
    pub tune: Option<FoundTune>,
}

/// The schedule of a plan.
pub fn of(plan: &LabPlan, prospects: &Prospects) -> Box<dyn Schedule> {
    Box::new(PlanSchedule::new(plan, prospects))
}

/// Whether the trials of a variant search for its load line. Then what a closed loop reaches is not an answer in
/// itself.
pub fn seeks_line(plan: &LabPlan, variant: &Variant) -> bool {
    plan.rungs.is_empty() && variant.load.find.is_some()
}

/// Everything that a plan asks for: with rungs, a ladder for each variant; without, load lines for the variants that
/// search for one and a grid of the others.
struct PlanSchedule {
    seed: u64,
    /// Completed trials.
    ended: u32,
    grid: Grid,
    staircases: Vec<LadderSchedule>,
    lines: LoadLines,
    crashes: Crashes,
    tune: Option<TuneSchedule>,
}

impl PlanSchedule {
    fn new(plan: &LabPlan, prospects: &Prospects) -> PlanSchedule {
        let climb = |variant: &Variant| LadderSchedule::new(plan, variant, prospects);
        let (seeking, measured): (Vec<&Variant>, Vec<&Variant>) = match plan.rungs.is_empty() {
            true if plan.tune.is_none() => plan.variants.iter().partition(|variant| seeks_line(plan, variant)),
            _ => (Vec::new(), Vec::new()),
        };
        let climbing = if plan.rungs.is_empty() { &[][..] } else { &plan.variants };
        PlanSchedule {
            seed: plan.seed,
            ended: 0,
            grid: Grid::new(plan, &measured),
            staircases: climbing.iter().map(climb).collect(),
            lines: LoadLines::new(plan, &seeking),
            crashes: Crashes::new(plan),
            tune: TuneSchedule::new(plan),
        }
    }

    /// In the order in which they run.
    fn stages(&self) -> impl Iterator<Item = &dyn Stage> {
        let stairs = self.staircases.iter().map(|staircase| staircase as &dyn Stage);
        let last = [&self.lines as &dyn Stage, &self.crashes];
        let tune = self.tune.iter().map(|tune| tune as &dyn Stage);
        std::iter::once(&self.grid as &dyn Stage).chain(stairs).chain(tune).chain(last)
    }

    fn placed(&self, trial: UnplacedTrial) -> TrialPlan {
        let UnplacedTrial { label, variant, point, round, block, fault, load_seed } = trial;
        let seed = load_seed.unwrap_or_else(|| draw::seed(self.seed, round));
        TrialPlan { index: self.ended + 1, label, variant, point, round, seed, block, fault }
    }

    fn stages_mut(&mut self) -> impl Iterator<Item = &mut dyn Stage> {
        let stairs = self.staircases.iter_mut().map(|staircase| staircase as &mut dyn Stage);
        let last: [&mut dyn Stage; 2] = [&mut self.lines, &mut self.crashes];
        let tune = self.tune.iter_mut().map(|tune| tune as &mut dyn Stage);
        std::iter::once(&mut self.grid as &mut dyn Stage).chain(stairs).chain(tune).chain(last)
    }
}

impl Schedule for PlanSchedule {
    fn next(&mut self) -> Option<TrialPlan> {
        Some(self.placed(self.stages().find_map(Stage::next)?))
    }

    fn again(&mut self, recorded: &TrialPlan) -> Option<TrialPlan> {
        let stage = self.stages().find(|stage| stage.has_next())?;
        Some(self.placed(stage.again(recorded)?))
    }

    fn has_next(&self) -> bool {
        self.stages().any(Stage::has_next)
    }

    fn tell(&mut self, ended: EndedTrial) {
        if ended.outcome.status == TrialStatus::Interrupted {
            return;
        }
        let current = self.stages_mut().find(|stage| stage.has_next());
        if let Some(stage) = current.filter(|stage| stage.awaits(&ended.trial)) {
            stage.tell(&ended);
            self.ended += 1;
        }
    }

    fn about(&self) -> Amount {
        self.stages().map(Stage::about).sum()
    }

    fn found(&self) -> FoundSoFar {
        FoundSoFar {
            ladders: self.staircases.iter().map(LadderSchedule::found).collect(),
            lines: self.lines.found(),
            tune: self.tune.as_ref().map(TuneSchedule::found),
        }
    }
}
