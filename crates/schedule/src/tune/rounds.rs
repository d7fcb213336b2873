//! Several sides against one, round by round: in each, all of them in an order drawn anew.

use crate::block::BlockSide;
use crate::draw;
use crate::stage::UnplacedTrial;
use plimsoll_model::lab::TrialOutcome;
use plimsoll_model::{Estimate, LoadPoint};
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

    /// By how much the first is better than the second, as a share, over the rounds that measured both: `measured` is the
    /// logarithm of what a trial did, where more is better.
    pub fn lead(&self, first: Taking, second: Taking, measured: TrialValue<'_>) -> Option<Estimate> {
        let value = |part: Taking, round| measured(self.outcome(part, round)?).map(f64::exp);
        let pairs: Vec<(f64, f64)> =
            (1..=self.round).filter_map(|round| Some((value(second, round)?, value(first, round)?))).collect();
        self.looks.paired(&pairs).ok()
    }

    /// In how many rounds a side failed, or missed what has to hold, although what it is held against was measured.
    pub fn misses(&self, place: usize, measured: TrialValue<'_>, held: TrialValue<'_>) -> usize {
        let missed = |round: &u32| {
            let has = |part: Taking, value: TrialValue<'_>| self.outcome(part, *round).map(|of| value(of).is_some());
            has(Taking::Against, measured) == Some(true) && has(Taking::Side(place), held) == Some(false)
        };
        (1..=self.round).filter(missed).count()
    }

    /// Rounds that have ended.
    pub fn rounds(&self) -> usize {
        // A round without turns is the one that nobody asked for.
        let is_over = self.ended == self.turns.len() && !self.turns.is_empty();
        (if is_over { self.round } else { self.round - 1 }) as usize
    }

    fn outcome(&self, part: Taking, round: u32) -> Option<&TrialOutcome> {
        let label = match part {
            Taking::Against => &self.against.label,
            Taking::Side(place) => &self.sides[place].label,
        };
        let found = self.outcomes.iter().find(|(of, in_round, _)| of == label && *in_round == round);
        found.map(|(_, _, outcome)| outcome)
    }
}

/// Who takes part in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taking {
    Against,
    /// By its place.
    Side(usize),
}

/// The logarithm of what a trial did, where more is better; none if it does not count.
pub type TrialValue<'a> = &'a dyn Fn(&TrialOutcome) -> Option<f64>;
