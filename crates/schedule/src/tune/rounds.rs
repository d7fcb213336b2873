//! Several sides against one, round by round: in each, all of them in an order drawn anew.

use crate::block::BlockSide;
use crate::draw;
use crate::quantity::Quantity;
use crate::stage::UnplacedTrial;
use plimsoll_model::lab::TrialOutcome;
use plimsoll_model::{Estimate, LoadPoint, Metric};
use plimsoll_stats::sequential::Looks;

/// The sides of an experiment whose rounds may end sooner than planned.
pub struct Rounds {
    against: BlockSide,
    sides: Vec<BlockSide>,
    point: LoadPoint,
    seed: u64,
    most: u32,
    looks: Looks,
    /// Of the round under way.
    turns: Vec<UnplacedTrial>,
    ended: usize,
    round: u32,
    outcomes: Vec<(String, u32, TrialOutcome)>,
}

impl Rounds {
    /// Of so many rounds at most, whose intervals hold however often one looks at them.
    pub fn new(
        against: BlockSide,
        sides: Vec<BlockSide>,
        point: LoadPoint,
        most: u32,
        looks: Looks,
        seed: u64,
    ) -> Rounds {
        let mut rounds = Rounds {
            against,
            sides,
            point,
            seed,
            most,
            looks,
            turns: Vec::new(),
            ended: 0,
            round: 0,
            outcomes: Vec::new(),
        };
        let all = (0..rounds.sides.len()).collect::<Vec<_>>();
        rounds.begin(&all);
        rounds
    }

    pub fn next(&self) -> Option<&UnplacedTrial> {
        self.turns.get(self.ended)
    }

    /// `go_on` says, after a round, which sides take part in the next one, by their places.
    pub fn tell(&mut self, outcome: &TrialOutcome, go_on: impl Fn(&Rounds) -> Vec<usize>) {
        if let Some(turn) = self.turns.get(self.ended) {
            self.outcomes.push((turn.label.clone(), turn.round, outcome.clone()));
        }
        self.ended += 1;
        if self.ended == self.turns.len() && self.round < self.most {
            let sides = go_on(self);
            self.begin(&sides);
        }
    }

    fn begin(&mut self, sides: &[usize]) {
        self.round += 1;
        self.ended = 0;
        let all: Vec<&BlockSide> = match sides.is_empty() {
            true => Vec::new(),
            false => sides.iter().map(|place| &self.sides[*place]).chain([&self.against]).collect(),
        };
        let drawn = draw::order(all, self.seed, &self.against.label, self.round, 0);
        let turn = |side: &BlockSide| UnplacedTrial {
            label: side.label.clone(),
            variant: side.variant.clone(),
            point: self.point,
            round: self.round,
            block: None,
            fault: None,
            load_seed: None,
        };
        self.turns = drawn.into_iter().map(turn).collect();
    }

    pub fn sides(&self) -> usize {
        self.sides.len()
    }

    /// By how much the side at a place is better than what it is held against, as a share; with `is_against`, by how much
    /// that is better than the side.
    pub fn change(&self, place: usize, metric: Metric, is_against: bool) -> Option<Estimate> {
        let of = |label: &str, round: u32| {
            let found = self.outcomes.iter().find(|(of, in_round, _)| of == label && *in_round == round);
            Quantity::Of(metric).value(&found?.2)
        };
        let pair = |round| Some((of(&self.against.label, round)?, of(&self.sides[place].label, round)?));
        let turned = |(against, side): (f64, f64)| {
            if metric.more_is_better() != is_against { (against, side) } else { (side, against) }
        };
        let pairs: Vec<(f64, f64)> = (1..=self.round).filter_map(pair).map(turned).collect();
        self.looks.paired(&pairs).ok()
    }
}
