//! Two sides compared in interleaved pairs.

use crate::draw;
use crate::labels::label;
use crate::quantity::Quantity;
use crate::stage::UnplacedTrial;
use crate::switchback::{self, BLOCKS};
use plimsoll_model::LoadPoint;
use plimsoll_model::lab::{TrialOutcome, TrialStatus};
use plimsoll_model::stopping::restarted_label;
use plimsoll_plan::lab::{SwitchbackBlock, Variant};
use plimsoll_stats::sides::middle;
use plimsoll_stats::switchback::SwitchedPair;

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

impl BlockSide {
    fn label_in(&self, block: Option<SwitchbackBlock>) -> String {
        block.map_or_else(|| self.label.clone(), |block| label(&self.label, block))
    }
}

/// A number of pairs at all load points. A block that ends when it shows something needs intervals that know of it
/// ([`crate::stopping`]), or it would find differences where there are none.
#[derive(Clone, Debug)]
pub struct PairedBlock {
    a: BlockSide,
    b: BlockSide,
    turns: Vec<UnplacedTrial>,
    /// Of the first turns.
    outcomes: Vec<TrialOutcome>,
    points: Vec<LoadPoint>,
    pairs: u32,
    seed: u64,
    /// Its sides take turns on a running server, with two trials each ([`crate::switchback`]).
    is_flipped: bool,
}

impl PairedBlock {
    /// In each pair, the order of the sides is drawn anew at each load point.
    pub fn new(
        a: BlockSide,
        b: BlockSide,
        points: &[LoadPoint],
        pairs: u32,
        seed: u64,
        is_flipped: bool,
    ) -> PairedBlock {
        let blocks: &[Option<SwitchbackBlock>] = if is_flipped { &BLOCKS.map(Some) } else { &[None] };
        let mut turns = Vec::new();
        for round in 1..=pairs {
            for (place, point) in points.iter().enumerate() {
                for side in draw::order(vec![&a, &b], seed, &b.label, round, place) {
                    turns.extend(blocks.iter().map(|block| UnplacedTrial {
                        label: side.label_in(*block),
                        variant: side.variant.clone(),
                        point: *point,
                        round,
                        block: *block,
                        fault: None,
                        load_seed: None,
                    }));
                }
            }
        }
        PairedBlock { a, b, turns, outcomes: Vec::new(), points: points.to_vec(), pairs, seed, is_flipped }
    }

    /// The same, in which each trial starts a server of its own.
    pub fn restarted(&self) -> PairedBlock {
        let side = |side: &BlockSide| BlockSide { label: restarted_label(&side.label), variant: side.variant.clone() };
        PairedBlock::new(side(&self.a), side(&self.b), &self.points, self.pairs, self.seed, false)
    }

    pub fn is_flipped(&self) -> bool {
        self.is_flipped
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
        self.outcomes.len().is_multiple_of(self.of_round())
    }

    /// Rounds of which all trials have ended.
    pub fn ended_rounds(&self) -> u32 {
        (self.outcomes.len() / self.of_round()) as u32
    }

    /// Trials of a round.
    fn of_round(&self) -> usize {
        trials_of_round(self.points.len(), self.is_flipped)
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
        self.of(&self.a)
    }

    pub fn of_b(&self) -> impl Iterator<Item = &TrialOutcome> {
        self.of(&self.b)
    }

    fn of(&self, side: &BlockSide) -> impl Iterator<Item = &TrialOutcome> {
        self.told().filter(|(turn, _)| turn.label == side.label_in(turn.block)).map(|(_, outcome)| outcome)
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
        let both =
            |round| Some((self.over(&self.a.label, round, quantity)?, self.over(&self.b.label, round, quantity)?));
        (1..=self.pairs).filter_map(both).collect()
    }

    /// The same with the values after a flip; empty where nothing is flipped.
    pub fn switched(&self, quantity: Quantity) -> Vec<SwitchedPair> {
        let values = |label: &str| (1..=self.pairs).map(|round| self.over(label, round, quantity)).collect();
        switchback::complete([&self.a.label, &self.b.label], values)
    }

    /// Both sides of every such pair in the order in which they began, as if they were rounds of one side.
    pub fn rounds(&self, quantity: Quantity) -> Vec<f64> {
        let begun = |round| self.turns.iter().find(|turn| turn.round == round).map(|turn| turn.label == self.a.label);
        let both = |round| {
            let (a, b) = (self.over(&self.a.label, round, quantity)?, self.over(&self.b.label, round, quantity)?);
            Some(if begun(round)? { [a, b] } else { [b, a] })
        };
        (1..=self.pairs).filter_map(both).flatten().collect()
    }

    fn over(&self, label: &str, round: u32, quantity: Quantity) -> Option<f64> {
        let of_side = self.told().filter(|(turn, _)| turn.round == round && turn.label == label);
        let values: Vec<f64> = of_side.filter_map(|(_, outcome)| quantity.value(outcome)).collect();
        (values.len() == self.points.len()).then(|| middle(&values))
    }
}

/// Trials of a pair at so many load points.
pub fn trials_of_round(points: usize, is_flipped: bool) -> usize {
    2 * points * if is_flipped { BLOCKS.len() } else { 1 }
}
