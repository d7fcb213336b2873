//! Two sides compared in interleaved pairs.

use crate::draw;
use crate::quantity::Quantity;
use crate::stage::UnplacedTrial;
use plimsoll_model::LoadPoint;
use plimsoll_model::lab::{TrialOutcome, TrialStatus};
use plimsoll_plan::lab::Variant;
use plimsoll_stats::sides::middle;

/// A trial of a block that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedTrial {
    /// `None` if no reason is recorded.
    pub why: Option<String>,
}

/// One side of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockSide {
    pub label: String,
    pub variant: Variant,
}

/// A number of pairs at all load points. A block that ends when it shows something needs intervals that know of it
/// ([`crate::stopping`]), or it would find differences where there are none.
#[derive(Clone, Debug)]
pub struct PairedBlock {
    turns: Vec<UnplacedTrial>,
    /// Of the first turns.
    outcomes: Vec<TrialOutcome>,
    /// Labels.
    a: String,
    b: String,
    points: usize,
    pairs: u32,
}

impl PairedBlock {
    /// In each pair, the order of the sides is drawn anew at each load point.
    pub fn new(a: BlockSide, b: BlockSide, points: &[LoadPoint], pairs: u32, seed: u64) -> PairedBlock {
        let (of_a, of_b) = (a.label.clone(), b.label.clone());
        let mut turns = Vec::new();
        for round in 1..=pairs {
            for (place, point) in points.iter().enumerate() {
                let drawn = draw::order(vec![&a, &b], seed, &of_b, round, place);
                turns.extend(drawn.into_iter().cloned().map(|BlockSide { label, variant }| UnplacedTrial {
                    label,
                    variant,
                    point: *point,
                    round,
                    block: None,
                }));
            }
        }
        PairedBlock { turns, outcomes: Vec::new(), a: of_a, b: of_b, points: points.len(), pairs }
    }

    pub fn next(&self) -> Option<&UnplacedTrial> {
        self.turns.get(self.outcomes.len())
    }

    pub fn tell(&mut self, outcome: &TrialOutcome) {
        self.outcomes.push(outcome.clone());
    }

    /// Leaves out what was not run.
    pub fn end(&mut self) {
        self.turns.truncate(self.outcomes.len());
    }

    /// Whether all trials of the rounds so far have ended.
    pub fn is_between_rounds(&self) -> bool {
        self.outcomes.len().is_multiple_of(2 * self.points)
    }

    /// Rounds of which all trials have ended.
    pub fn ended_rounds(&self) -> u32 {
        (self.outcomes.len() / (2 * self.points)) as u32
    }

    pub fn trials(&self) -> usize {
        self.turns.len()
    }

    /// As planned.
    pub fn planned(&self) -> u32 {
        self.pairs
    }

    fn told(&self) -> impl Iterator<Item = (&UnplacedTrial, &TrialOutcome)> {
        self.turns.iter().zip(&self.outcomes)
    }

    pub fn of_a(&self) -> impl Iterator<Item = &TrialOutcome> {
        self.told().filter(|(turn, _)| turn.label == self.a).map(|(_, outcome)| outcome)
    }

    pub fn of_b(&self) -> impl Iterator<Item = &TrialOutcome> {
        self.told().filter(|(turn, _)| turn.label == self.b).map(|(_, outcome)| outcome)
    }

    pub fn outcomes(&self) -> &[TrialOutcome] {
        &self.outcomes
    }

    /// Why the first failed trial failed; `None` if none failed or no reason was recorded.
    pub fn failure(&self) -> Option<FailedTrial> {
        let failed = self.outcomes.iter().find(|outcome| outcome.status != TrialStatus::Done)?;
        Some(FailedTrial { why: failed.why.clone() })
    }

    /// (a, b) of every pair that has both at all load points: geometric means over these.
    pub fn pairs(&self, quantity: Quantity) -> Vec<(f64, f64)> {
        let both = |round| Some((self.over(&self.a, round, quantity)?, self.over(&self.b, round, quantity)?));
        (1..=self.pairs).filter_map(both).collect()
    }

    /// Both sides of every such pair in the order in which they began, as if they were rounds of one side.
    pub fn rounds(&self, quantity: Quantity) -> Vec<f64> {
        let begun = |round| self.turns.iter().find(|turn| turn.round == round).map(|turn| turn.label == self.a);
        let both = |round| {
            let (a, b) = (self.over(&self.a, round, quantity)?, self.over(&self.b, round, quantity)?);
            Some(if begun(round)? { [a, b] } else { [b, a] })
        };
        (1..=self.pairs).filter_map(both).flatten().collect()
    }

    fn over(&self, label: &str, round: u32, quantity: Quantity) -> Option<f64> {
        let of_side = self.told().filter(|(turn, _)| turn.round == round && turn.label == label);
        let values: Vec<f64> = of_side.filter_map(|(_, outcome)| quantity.value(outcome)).collect();
        (values.len() == self.points).then(|| middle(&values))
    }
}
