//! What is tried next.

use super::tried::{Learned, ValuedTrial};
use plimsoll_load::seed::Rng;
use plimsoll_plan::lab::space::{Dimension, Levels, SearchSpace, SettingLevel};

/// Keeps what is drawn for a search apart from everything else: "tune" in ASCII.
const PROPOSALS: u64 = 0x7475_6e65;
/// Of a number that has words, how often a word is drawn.
const WORDS: f64 = 0.2;
/// Configurations that are looked at: drawn anywhere, and near each of the best.
const ANYWHERE: usize = 60;
const BEST: usize = 4;
const NEARBY: usize = 20;
/// How often the most promising are moved once more, how many of them, and how often each.
const PASSES: usize = 3;
const PROMISING: usize = 6;
/// How far a number is moved, as a standard deviation and a share of its range, and how often it is moved rather than drawn.
const STEP: f64 = 0.15;
const MOVED: f64 = 0.7;
/// A limit that is exceeded however often one draws is today's server's affair.
const DRAWS: usize = 50;

/// Draws configurations of a space that are within its limits.
pub struct Proposer<'a> {
    space: &'a SearchSpace,
    rng: Rng,
}

impl<'a> Proposer<'a> {
    /// Of the trial with this number.
    pub fn new(space: &'a SearchSpace, seed: u64, number: u32) -> Proposer<'a> {
        Proposer { space, rng: Rng::new(seed, PROPOSALS, number.into()) }
    }

    /// So many that fill the space evenly: each range is cut into as many parts, and each part is used once (McKay, Beckman &
    /// Conover 1979).
    pub fn spread(&mut self, count: usize) -> Vec<Levels> {
        let mut all: Vec<Levels> = vec![Levels::new(); count];
        for dimension in &self.space.dimensions {
            let mut parts: Vec<usize> = (0..count).collect();
            for last in (1..count).rev() {
                parts.swap(last, self.rng.between(0, last as u64) as usize);
            }
            for (levels, part) in all.iter_mut().zip(parts) {
                let share = (part as f64 + self.rng.unit()) / count as f64;
                levels.push(level_at(dimension, share));
            }
        }
        let today = self.space.today();
        all.into_iter().map(|levels| self.within_limits(levels).unwrap_or_else(|| today.clone())).collect()
    }

    /// Anywhere.
    pub fn drawn(&mut self) -> Levels {
        for _ in 0..DRAWS {
            let levels = self.space.dimensions.iter().map(|dimension| level_at(dimension, self.rng.unit())).collect();
            if let Some(levels) = self.within_limits(levels) {
                return levels;
            }
        }
        self.space.today()
    }

    /// What promises most, by what was learned; none if there is nothing but today's configuration and what was found to fail.
    pub fn most_promising(&mut self, learned: &Learned<'_>, tried: &[ValuedTrial]) -> Option<Levels> {
        let known = learned.known();
        let above = known.first()?.0.mean;
        // Today's configuration is measured now and then in any case.
        let today = self.space.today();
        let is_known = |levels: &Levels| {
            *levels == today || tried.iter().any(|trial| trial.value.is_none() && trial.levels == *levels)
        };
        let mut looked_at: Vec<(f64, Levels)> = Vec::new();
        let mut look = |levels: Levels| {
            if !is_known(&levels) {
                looked_at.push((learned.promise(&levels, above), levels));
            }
        };
        (0..ANYWHERE).for_each(|_| look(self.drawn()));
        for (_, best) in known.iter().take(BEST) {
            for _ in 0..NEARBY {
                let changes = self.rng.between(1, 3);
                look(self.moved(best, changes));
            }
        }
        for _ in 0..PASSES {
            looked_at.sort_by(|(a, _), (b, _)| b.total_cmp(a));
            looked_at.truncate(PROMISING);
            let before: Vec<Levels> = looked_at.iter().map(|(_, levels)| levels.clone()).collect();
            for levels in before.iter().flat_map(|levels| std::iter::repeat_n(levels, PROMISING)) {
                let moved = self.moved(levels, 1);
                if !is_known(&moved) {
                    looked_at.push((learned.promise(&moved, above), moved));
                }
            }
        }
        looked_at.into_iter().max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, levels)| levels)
    }

    /// With so many settings changed; as it was if no limit lets that be.
    fn moved(&mut self, levels: &Levels, changes: u64) -> Levels {
        let mut moved = levels.clone();
        for _ in 0..changes {
            let place = self.rng.between(0, moved.len().saturating_sub(1) as u64) as usize;
            let dimension = &self.space.dimensions[place];
            moved[place] = match moved[place] {
                SettingLevel::At(share) if self.rng.unit() < MOVED => {
                    SettingLevel::At((share + STEP * self.normal()).clamp(0.0, 1.0))
                }
                _ => level_at(dimension, self.rng.unit()),
            };
        }
        // What a change has woken up may be anything.
        for (level, dimension) in moved.iter_mut().zip(&self.space.dimensions) {
            if *level == SettingLevel::Idle {
                *level = level_at(dimension, self.rng.unit());
            }
        }
        self.within_limits(moved).unwrap_or_else(|| levels.clone())
    }

    fn within_limits(&self, levels: Levels) -> Option<Levels> {
        let levels = self.space.tidy(levels);
        self.space.exceeded(&levels).is_none().then_some(levels)
    }

    /// Box & Muller (1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.rng.unit().max(f64::MIN_POSITIVE).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.rng.unit()).cos()
    }
}

/// The level at a share of all that a setting may be.
fn level_at(dimension: &Dimension, share: f64) -> SettingLevel {
    let words = dimension.words.len();
    let word = |share: f64| SettingLevel::Word(((share * words as f64) as usize).min(words.saturating_sub(1)));
    match (&dimension.range, words) {
        (None, _) => word(share),
        (Some(_), 0) => SettingLevel::At(share),
        (Some(_), _) if share < WORDS => word(share / WORDS),
        (Some(_), _) => SettingLevel::At((share - WORDS) / (1.0 - WORDS)),
    }
}
