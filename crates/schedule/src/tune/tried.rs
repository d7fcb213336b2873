//! What was tried, and what is believed by it.

use plimsoll_plan::lab::space::{Levels, SearchSpace, SettingLevel};
use plimsoll_stats::surrogate::{Belief, Observation, Position, Surrogate};

/// A trial of the search.
#[derive(Clone, Debug, PartialEq)]
pub struct ValuedTrial {
    pub levels: Levels,
    /// Its place among all trials.
    pub when: f64,
    /// The logarithm of what it measured, where more is better; none if it failed.
    pub value: Option<f64>,
}

/// What is worse than today by much is as bad as what is worse by more; what it would distort is the ground between.
const LEAST: f64 = -0.5;
/// What a good end and a bad one count where it is learned which of them is to be expected, and how far one may mislead.
const GOOD: f64 = 0.5;
const BAD: f64 = 0.0;
const ODD: f64 = 0.05;

/// What the trials so far teach, against today's configuration.
pub struct Learned<'a> {
    tried: &'a [ValuedTrial],
    values: Surrogate,
    /// How trials end; none as long as all came to a good end.
    ends: Option<Surrogate>,
}

impl<'a> Learned<'a> {
    /// `None` as long as nothing was measured. `noise` is the standard deviation of one trial.
    pub fn of(space: &'a SearchSpace, tried: &'a [ValuedTrial], noise: f64, seed: u64) -> Option<Learned<'a>> {
        let reference = mean(&of_today(space, tried));
        let observation =
            |trial: &ValuedTrial, value| Observation { at: positions(&trial.levels), when: trial.when, value };
        let values =
            tried.iter().filter_map(|trial| Some(observation(trial, (trial.value? - reference).max(LEAST)))).collect();
        let ends = tried.iter().map(|trial| observation(trial, if trial.value.is_some() { GOOD } else { BAD }));
        let has_failed = tried.iter().any(|trial| trial.value.is_none());
        Some(Learned {
            tried,
            values: Surrogate::learn(values, noise, seed)?,
            ends: has_failed.then(|| Surrogate::learn(ends.collect(), ODD, seed)).flatten(),
        })
    }

    /// What is believed of a configuration, against the mean of today's: a logarithm.
    pub fn belief(&self, levels: &[SettingLevel]) -> Belief {
        self.values.belief(&positions(levels))
    }

    /// By how much the first is believed to beat the second.
    pub fn lead(&self, first: &[SettingLevel], second: &[SettingLevel]) -> Belief {
        self.values.difference(&positions(first), &positions(second))
    }

    /// Configurations that came to a good end, each once, the best by belief first.
    pub fn known(&self) -> Vec<(Belief, &'a Levels)> {
        let mut known: Vec<(Belief, &Levels)> = Vec::new();
        for trial in self.tried.iter().filter(|trial| trial.value.is_some()) {
            if known.iter().all(|(_, levels)| **levels != trial.levels) {
                known.push((self.belief(&trial.levels), &trial.levels));
            }
        }
        known.sort_by(|(a, _), (b, _)| b.mean.total_cmp(&a.mean));
        known
    }

    /// By how much a configuration is expected to beat a belief, where it comes to a good end.
    pub fn promise(&self, levels: &[SettingLevel], above: f64) -> f64 {
        let at = positions(levels);
        self.values.expected_gain(&at, above) * self.chance(&at)
    }

    /// Of a good end.
    fn chance(&self, at: &[Position]) -> f64 {
        let probability = |ends: &Surrogate| ends.belief(at).exceeds((GOOD + BAD) / 2.0);
        self.ends.as_ref().map_or(1.0, probability)
    }
}

/// The values of today's configuration, in their order.
pub fn of_today(space: &SearchSpace, tried: &[ValuedTrial]) -> Vec<f64> {
    let today = space.today();
    tried.iter().filter(|trial| trial.levels == today).filter_map(|trial| trial.value).collect()
}

/// 0 of none.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Settings as the surrogate sees them.
fn positions(levels: &[SettingLevel]) -> Vec<Position> {
    let position = |level: &SettingLevel| match level {
        SettingLevel::At(share) => Position::At(*share),
        SettingLevel::Word(place) => Position::Named(*place),
        SettingLevel::Idle => Position::Named(usize::MAX),
    };
    levels.iter().map(position).collect()
}
