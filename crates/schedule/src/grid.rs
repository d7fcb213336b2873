//! All variants at all load points, round by round.

use crate::draw;
use crate::explained;
use crate::pairing::{Outcomes, PairedVariants, pairs, points};
use crate::stage::{Stage, UnplacedTrial};
use crate::stopping::{ComparisonState, criterion, of_pairs};
use plimsoll_model::LoadPoint;
use plimsoll_model::lab::TrialOutcome;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Order, StoppingRule, TrialRules, Variant};
use plimsoll_stats::sides::Criterion;

/// A list of trials that grows by a round where outcomes decide who takes part in it.
pub struct Grid {
    seed: u64,
    rules: TrialRules,
    variants: Vec<Variant>,
    turns: Vec<Place>,
    ended: usize,
    /// Of the turns that have ended, where something depends on them.
    outcomes: Vec<TrialOutcome>,
    /// The variants of each comparison, by their places among all.
    comparisons: Vec<[usize; 2]>,
    /// The places of comparisons that are not decided yet, where that ends them.
    open: Vec<usize>,
    /// Where rounds end when they have shown enough.
    stopping: Option<(StoppingRule, Criterion)>,
}

/// A trial of a grid, with its variant by its place among all.
#[derive(Clone, Copy, Debug)]
struct Place {
    variant: usize,
    point: LoadPoint,
    round: u32,
}

impl Grid {
    pub fn new(plan: &LabPlan, variants: &[&Variant]) -> Grid {
        let comparisons = pairs(variants);
        let among = comparisons.len();
        let stopping = plan.trials.stopping.filter(|_| among > 0).map(|rule| (rule, criterion(&plan.trials, among)));
        let mut grid = Grid {
            seed: plan.seed,
            rules: plan.trials.clone(),
            variants: variants.iter().map(|variant| (*variant).clone()).collect(),
            turns: Vec::new(),
            ended: 0,
            outcomes: Vec::new(),
            open: (0..among).collect(),
            comparisons,
            stopping,
        };
        grid.turns = match (plan.trials.order, &grid.stopping) {
            (Order::Sequential, _) => grid.sequential(),
            (Order::Interleaved, Some(_)) => grid.round(1),
            (Order::Interleaved, None) => (1..=plan.trials.rounds).flat_map(|round| grid.round(round)).collect(),
        };
        grid
    }

    /// All variants that take part, point by point, in an order drawn anew each time: those to be compared are
    /// neighbours in time, and none is always first.
    fn round(&self, round: u32) -> Vec<Place> {
        let variants: Vec<&Variant> = self.variants.iter().collect();
        let mut turns = Vec::new();
        for (place, point) in points(&variants).into_iter().enumerate() {
            let there = |variant: &usize| self.takes_part(*variant) && variants[*variant].load.points.contains(&point);
            let drawn = draw::order((0..variants.len()).filter(there).collect(), self.seed, "", round, place);
            turns.extend(drawn.into_iter().map(|variant| Place { variant, point, round }));
        }
        turns
    }

    fn takes_part(&self, variant: usize) -> bool {
        self.stopping.is_none() || self.open.iter().any(|place| self.comparisons[*place].contains(&variant))
    }

    fn sequential(&self) -> Vec<Place> {
        let mut turns = Vec::new();
        for (place, variant) in self.variants.iter().enumerate() {
            for round in 1..=self.rules.rounds {
                turns.extend(variant.load.points.iter().map(|point| Place { variant: place, point: *point, round }));
            }
        }
        turns
    }

    /// After a round: leaves out what is decided, and begins the next round if something is open and there is time.
    fn go_on(&mut self) {
        let Some((rule, criterion)) = &self.stopping else { return };
        let ended = self.turns.last().map_or(0, |turn| turn.round);
        let taken: f64 = self.outcomes.iter().map(TrialOutcome::seconds).sum();
        let mut outcomes = Outcomes::default();
        for (Place { variant, point, round }, outcome) in self.turns.iter().zip(&self.outcomes) {
            outcomes.insert(&self.variants[*variant].name, *point, *round, outcome);
        }
        let paired =
            |[a, b]: &[usize; 2]| PairedVariants::new(&self.variants[*a], &self.variants[*b], &outcomes, ended);
        let all: Vec<PairedVariants<'_>> = self.comparisons.iter().map(paired).collect();
        let (pairs, _) = explained::pairs(&self.rules, &all, ended);
        let is_open = |place: &usize| of_pairs(&pairs[*place], criterion, rule.decide, ended) == ComparisonState::Open;
        let open: Vec<usize> = self.open.iter().copied().filter(is_open).collect();
        let has_time = ended < self.rules.rounds && rule.max_seconds.is_none_or(|most| taken < most);
        self.open = open;
        if has_time {
            self.turns.extend(self.round(ended + 1));
        }
    }
}

impl Stage for Grid {
    fn next(&self) -> Option<UnplacedTrial> {
        let Place { variant, point, round } = *self.turns.get(self.ended)?;
        let variant = self.variants.get(variant)?.clone();
        Some(UnplacedTrial { label: variant.name.clone(), variant, point, round })
    }

    fn tell(&mut self, outcome: &TrialOutcome) {
        self.ended += 1;
        if self.stopping.is_some() {
            self.outcomes.push(outcome.clone());
        }
        if self.ended == self.turns.len() {
            self.go_on();
        }
    }

    /// As if nothing that is open were decided before its last round.
    fn about(&self) -> usize {
        let begun = self.turns.last().map_or(0, |turn| turn.round);
        let to_come = if self.stopping.is_some() { self.rules.rounds - begun } else { 0 };
        let of_round = |variant: usize| self.variants[variant].load.points.len();
        let each: usize = (0..self.variants.len()).filter(|variant| self.takes_part(*variant)).map(of_round).sum();
        self.turns.len() + each * to_come as usize
    }
}
