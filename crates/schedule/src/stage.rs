//! A part of a schedule, and the trial that it asks for next.

use crate::trial::EndedTrial;
use plimsoll_model::LoadPoint;
use plimsoll_plan::lab::{PlannedFault, SwitchbackBlock, TrialPlan, Variant};
use std::iter::Sum;
use std::ops::Add;

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
    /// Of a crash trial.
    pub fault: Option<PlannedFault>,
    /// In place of that of its round.
    pub load_seed: Option<u64>,
}

impl UnplacedTrial {
    pub fn is(&self, trial: &TrialPlan) -> bool {
        (&self.label, self.point, self.round) == (&trial.label, trial.point, trial.round)
    }
}

/// A part of a schedule.
pub trait Stage {
    fn next(&self) -> Option<UnplacedTrial>;

    fn has_next(&self) -> bool {
        self.next().is_some()
    }

    /// Whether the next trial is this one.
    fn awaits(&self, trial: &TrialPlan) -> bool {
        self.next().is_some_and(|turn| turn.is(trial))
    }

    /// The next trial, of which this is the record: what took long to find may be read there.
    fn again(&self, _recorded: &TrialPlan) -> Option<UnplacedTrial> {
        self.next()
    }

    /// The outcome of the next trial.
    fn tell(&mut self, ended: &EndedTrial);

    fn about(&self) -> Amount;
}

/// A number of trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Those that start a server of their own, or measure one that is not ours.
    pub starts: usize,
    /// Blocks of switchbacks.
    pub blocks: usize,
}

impl Amount {
    pub fn of(trials: usize, are_blocks: bool) -> Amount {
        match are_blocks {
            true => Amount { blocks: trials, ..Amount::default() },
            false => Amount { starts: trials, ..Amount::default() },
        }
    }

    pub fn trials(self) -> usize {
        self.starts + self.blocks
    }
}

impl Add for Amount {
    type Output = Amount;

    fn add(self, other: Amount) -> Amount {
        Amount { starts: self.starts + other.starts, blocks: self.blocks + other.blocks }
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Amount>>(amounts: I) -> Amount {
        amounts.fold(Amount::default(), Add::add)
    }
}
