//! Rung by rung, each against the best so far.

use crate::block::{BlockSide, PairedBlock, trials_of_round};
use crate::quantity::{Quantity, deciding};
use crate::rung::{FEWEST_PAIRS, Pairs, RungEvidence, RungReason, Step, misapplied};
use crate::stage::{Amount, Stage, UnplacedTrial};
use crate::stopping::{ComparisonState, criterion, equivalence, of_block};
use crate::switchback;
use crate::trial::{EndedTrial, Prospect, Prospects};
use plimsoll_model::Estimate;
use plimsoll_model::LoadPoint;
use plimsoll_model::Metric;
use plimsoll_model::lab::RungVerdict;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Rung, TrialRules, Variant, flip};
use plimsoll_stats::comparison::noise_floor;
use plimsoll_stats::sides::Criterion;
use plimsoll_stats::switchback::Switched;

/// What the ladder of one variant found.
#[derive(Clone, Debug, PartialEq)]
pub struct Climbed {
    pub variant: String,
    /// The metric that decides; a guard metric can only prevent a rung from being kept.
    pub metric: Metric,
    /// Share by which two equal trials differ here by chance in 19 of 20 cases, from pairs of the base against itself.
    pub floor: Option<Estimate>,
    pub steps: Vec<Step>,
    /// All kept rungs together against the base, as a share.
    pub gain: Option<Estimate>,
}

/// The ladder of one variant. First the base against itself, which shows what chance does; then each rung that can be
/// tried against everything that was kept before it; at the end, if two or more are kept, everything that was kept
/// against everything but one of them, and against the base.
pub(crate) struct LadderSchedule {
    base: Variant,
    rungs: Vec<(Rung, Prospect)>,
    trials: TrialRules,
    seed: u64,
    points: Vec<LoadPoint>,
    /// In the order in which they run; the last ones may not have begun.
    parts: Vec<LadderPart>,
    /// Of the change that a rung makes, and of that it makes none.
    of_rung: Criterion,
    of_no_effect: Criterion,
    /// Of the first rungs.
    steps: Vec<Step>,
}

/// A block of pairs, and how what it shows is judged.
struct LadderPart {
    part: Part,
    block: PairedBlock,
    criterion: Criterion,
}

/// What a block of pairs is for. Rungs are given by their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Floor,
    Rung(usize),
    Worth(usize),
    Gain,
}

impl LadderSchedule {
    pub fn new(plan: &LabPlan, base: &Variant, prospects: &Prospects) -> LadderSchedule {
        let prospect = |rung: &Rung| prospects.get(&(base.name.clone(), rung.name.clone())).cloned();
        let with_prospect = |rung: &Rung| (rung.clone(), prospect(rung).unwrap_or(Prospect::Possible));
        let rungs: Vec<(Rung, Prospect)> = plan.rungs.iter().map(with_prospect).collect();
        let possible = rungs.iter().filter(|(_, prospect)| *prospect == Prospect::Possible).count();
        let mut staircase = LadderSchedule {
            base: base.clone(),
            of_rung: criterion(&plan.trials, possible),
            of_no_effect: equivalence(&plan.trials),
            rungs,
            trials: plan.trials.clone(),
            seed: plan.seed,
            points: base.load.points.clone(),
            parts: Vec::new(),
            steps: Vec::new(),
        };
        match possible {
            0 => staircase.proceed(),
            // What is decided against `decide` needs no floor.
            _ if staircase.trials.stopping.is_some() => staircase.proceed(),
            _ => {
                let (a, b) = (staircase.side("floor/a", &[]), staircase.side("floor/b", &[]));
                staircase.begin(Part::Floor, a, b, staircase.of_rung.clone());
            }
        }
        staircase
    }

    /// What the trials so far show.
    pub fn found(&self) -> Climbed {
        let kept = self.kept();
        let worth = |place: usize| match kept.as_slice() {
            [only] if *only == place => self.steps[place].change.clone(),
            _ => self.change(Part::Worth(place)),
        };
        let step = |(place, step): (usize, &Step)| Step { worth: worth(place), ..step.clone() };
        Climbed {
            variant: self.base.name.clone(),
            metric: self.deciding(),
            floor: self.floor(),
            steps: self.steps.iter().enumerate().map(step).collect(),
            gain: match kept.as_slice() {
                [only] => self.steps[*only].change.clone(),
                _ => self.change(Part::Gain),
            },
        }
    }

    /// Pairs of each block; a plan with fewer rounds could not show anything.
    fn pairs(&self) -> u32 {
        self.trials.rounds.max(FEWEST_PAIRS as u32)
    }

    /// Places of the rungs that were kept so far.
    fn kept(&self) -> Vec<usize> {
        let steps = self.steps.iter().enumerate();
        steps.filter(|(_, step)| step.verdict == RungVerdict::Kept).map(|(place, _)| place).collect()
    }

    /// Where a part's flips were given up, its pairs with restarts, which alone count.
    fn part(&self, part: Part) -> Option<&LadderPart> {
        self.parts.iter().rfind(|of| of.part == part)
    }

    /// The pairs of a part on a running server, where there were any.
    fn flipped(&self, part: Part) -> Option<&PairedBlock> {
        self.parts.iter().find(|of| of.part == part).map(|of| &of.block).filter(|block| block.is_flipped())
    }

    fn block(&self, part: Part) -> Option<&PairedBlock> {
        self.part(part).map(|of| &of.block)
    }

    fn deciding(&self) -> Metric {
        deciding(&self.points, self.parts.first().into_iter().flat_map(|first| first.block.outcomes()))
    }

    fn floor(&self) -> Option<Estimate> {
        noise_floor(&self.block(Part::Floor)?.rounds(Quantity::Of(self.deciding()))).ok()
    }

    fn change(&self, part: Part) -> Option<Estimate> {
        let LadderPart { block, criterion, .. } = self.part(part)?;
        criterion.paired(&block.pairs(Quantity::Of(self.deciding()))).ok()
    }

    /// A side by the name that its label ends in and the rungs that it has.
    fn side(&self, name: &str, rungs: &[usize]) -> BlockSide {
        let on_top = |variant: Variant, place: &usize| variant.with(&self.base.name, &self.rungs[*place].0.change);
        BlockSide { label: format!("{}/{name}", self.base.name), variant: rungs.iter().fold(self.base.clone(), on_top) }
    }

    /// Adds the pairs of two sides.
    fn begin(&mut self, part: Part, a: BlockSide, b: BlockSide, criterion: Criterion) {
        let is_flipped = self.is_flipped(&a.variant, &b.variant);
        let block = PairedBlock::new(a, b, &self.points, self.pairs(), self.seed, is_flipped);
        self.parts.push(LadderPart { part, block, criterion });
    }

    /// Whether these take turns on a running server.
    fn is_flipped(&self, a: &Variant, b: &Variant) -> bool {
        self.trials.switchback.is_some() && flip::obstacle(a, b).is_none()
    }

    /// If flips carry something over, goes on with the same pairs in trials that start a server of their own.
    fn give_up_flips(&mut self, place: usize) -> bool {
        let (Some(rule), LadderPart { part, block, criterion }) = (self.trials.stopping, &self.parts[place]) else {
            return false;
        };
        let judged = || {
            let rounds = block.switched(Quantity::Of(self.deciding()));
            switchback::judged(&rounds, criterion, rule.decide)
        };
        if !block.is_flipped() || !block.is_between_rounds() || judged() != Switched::Lingers {
            return false;
        }
        let restarted = LadderPart { part: *part, block: block.restarted(), criterion: criterion.clone() };
        self.parts[place].block.end();
        self.parts.insert(place + 1, restarted);
        true
    }

    /// Settles rungs without trials until there is one to try; after the last one, asks what each is worth.
    fn proceed(&mut self) {
        while let Some((rung, prospect)) = self.rungs.get(self.steps.len()) {
            let (verdict, reason) = match prospect {
                Prospect::Removed(remark) => (RungVerdict::RemovedOnThisServer, RungReason::Known(remark.clone())),
                Prospect::Unsafe(cost) => (RungVerdict::RefusedForSafety, RungReason::Known(cost.clone())),
                Prospect::Possible => match self.without_floor() {
                    Some(pairs) => (RungVerdict::NotMeasurableHere, RungReason::NoFloor(pairs)),
                    None => return self.begin_rung(),
                },
            };
            self.steps.push(Step::untried(&rung.name, verdict, reason));
        }
        let kept = self.kept();
        if kept.len() > 1 {
            self.begin_worth(&kept);
        }
    }

    /// The pairs of the base against itself, if too few of them are complete to measure anything.
    fn without_floor(&self) -> Option<Pairs> {
        Pairs::too_few(self.block(Part::Floor)?, self.deciding())
    }

    fn begin_rung(&mut self) {
        let place = self.steps.len();
        let before = self.kept();
        let with = with(&before, place);
        let name = self.rungs[place].0.name.clone();
        let (a, b) = (self.side(&format!("{name}/without"), &before), self.side(&format!("{name}/with"), &with));
        self.begin(Part::Rung(place), a, b, self.of_rung.clone());
    }

    fn begin_worth(&mut self, kept: &[usize]) {
        let of_worth = criterion(&self.trials, kept.len());
        for place in kept {
            let others: Vec<usize> = kept.iter().copied().filter(|other| other != place).collect();
            let name = format!("worth/{}", self.rungs[*place].0.name);
            let (a, b) = (self.side(&format!("{name}/without"), &others), self.side(&format!("{name}/with"), kept));
            self.begin(Part::Worth(*place), a, b, of_worth.clone());
        }
        let (a, b) = (self.side("gain/without", &[]), self.side("gain/with", kept));
        self.begin(Part::Gain, a, b, criterion(&self.trials, 1));
    }

    fn judged(&self, place: usize) -> Option<Step> {
        let evidence = RungEvidence {
            rung: &self.rungs[place].0,
            block: self.block(Part::Rung(place))?,
            flipped: self.flipped(Part::Rung(place)),
            floor: self.block(Part::Floor),
            deciding: self.deciding(),
            rules: &self.trials,
            criterion: &self.of_rung,
            narrow: &self.of_no_effect,
        };
        Some(evidence.step())
    }

    /// Whether the pairs of a part, where they may end sooner, show enough.
    fn shows_enough(&self, part: Part) -> bool {
        let (Some(rule), Some(LadderPart { block, criterion, .. })) = (self.trials.stopping, self.part(part)) else {
            return false;
        };
        if !block.is_between_rounds() {
            return false;
        }
        let progress = of_block(block, self.deciding(), criterion, &rule);
        match part {
            // Its guards, and what it costs, decide too.
            Part::Rung(place) if progress != ComparisonState::GivenUp => {
                self.judged(place).is_some_and(|step| step.verdict != RungVerdict::NotMeasurableHere)
            }
            _ => progress != ComparisonState::Open,
        }
    }
}

impl Stage for LadderSchedule {
    fn next(&self) -> Option<UnplacedTrial> {
        self.parts.iter().find_map(|of| of.block.next()).cloned()
    }

    fn tell(&mut self, EndedTrial { outcome, .. }: &EndedTrial) {
        let Some(place) = self.parts.iter().position(|of| of.block.next().is_some()) else { return };
        let LadderPart { part, block, .. } = &mut self.parts[place];
        let part = *part;
        block.tell(outcome);
        // What is not in effect is not measured further.
        if let Part::Rung(place) = part
            && block.of_b().any(|outcome| misapplied(&self.rungs[place].0, &outcome.verifications).is_some())
        {
            block.end();
        }
        if self.give_up_flips(place) {
            return;
        }
        if self.shows_enough(part) {
            self.parts[place].block.end();
        }
        if self.parts[place].block.next().is_some() {
            return;
        }
        match part {
            Part::Floor => self.proceed(),
            Part::Rung(place) => {
                self.steps.extend(self.judged(place));
                self.proceed();
            }
            Part::Worth(_) | Part::Gain => {}
        }
    }

    /// As if every rung with an open verdict were kept, and no flips given up.
    fn about(&self) -> Amount {
        let whole =
            |is_flipped| Amount::of(self.pairs() as usize * trials_of_round(self.points.len(), is_flipped), is_flipped);
        let is_flipped = |place: &usize| {
            let with = self.base.with(&self.base.name, &self.rungs[*place].0.change);
            self.is_flipped(&self.base, &with)
        };
        let rungs = self.steps.len()..self.rungs.len();
        let open: Vec<usize> = rungs.filter(|place| self.rungs[*place].1 == Prospect::Possible).collect();
        let to_begin = open.iter().filter(|place| self.block(Part::Rung(**place)).is_none());
        let mut to_come: Vec<bool> = to_begin.map(is_flipped).collect();
        let kept: Vec<bool> = self.kept().iter().chain(&open).map(is_flipped).collect();
        if kept.len() > 1 && self.block(Part::Gain).is_none() {
            to_come.push(kept.iter().all(|is_flipped| *is_flipped));
            to_come.extend(kept);
        }
        let begun = self.parts.iter().map(|of| Amount::of(of.block.trials(), of.block.is_flipped()));
        begun.chain(to_come.into_iter().map(whole)).sum()
    }
}

/// `before` and `place`, in the order of the plan.
fn with(before: &[usize], place: usize) -> Vec<usize> {
    before.iter().copied().chain([place]).collect()
}
