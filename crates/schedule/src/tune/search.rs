//! The search itself: which configuration is tried next.

use super::interaction::{FoundInteraction, WinnerPlace};
use super::propose::Proposer;
use super::tried::{Learned, ValuedTrial};
use crate::judge;
use crate::quantity::Quantity;
use plimsoll_model::Metric;
use plimsoll_model::lab::TrialOutcome;
use plimsoll_plan::lab::TuneRules;
use plimsoll_plan::lab::space::{Levels, SearchSpace};
use plimsoll_plan::lab::tune::{TuneArm, TuneSampler};
use plimsoll_stats::search::SearchOutcome;
use plimsoll_stats::surrogate::Belief;

/// Trials of today's configuration before anything else.
pub const AT_FIRST: usize = 3;
/// Configurations that fill the space evenly: as many as it has settings, but at least and at most so many.
const FEWEST_SPREAD: usize = 6;
const MOST_SPREAD: usize = 12;
/// After so many others, today's configuration is measured again.
const BETWEEN: usize = 8;
/// The noise of a trial is taken to be within these, whatever a few of them say.
const LEAST_NOISE: f64 = 0.01;
const MOST_NOISE: f64 = 0.4;
/// Standard deviations by which a belief is taken to be too high where the best is chosen.
const CAUTION: f64 = 0.3;
/// What settings of a winner may be believed to bring together, and yet be left out: a share of all that it brings.
const TRIFLE: f64 = 0.1;

/// What today's configuration is called.
const TODAY: &str = "today";

/// What is believed to be best, and then has to be confirmed.
#[derive(Clone, Debug, PartialEq)]
pub struct Winner {
    pub levels: Levels,
    /// The places of the settings that differ from today's.
    pub changed: Vec<usize>,
    /// By how much it beats today's configuration, as far as the search tells: a share.
    pub believed: f64,
    /// Of its settings the two that interact most.
    pub interaction: Option<FoundInteraction>,
}

pub(super) struct TuneSearch {
    seed: u64,
    arms: Vec<(String, Levels)>,
    spread: Vec<Levels>,
    trials: Vec<SearchedTrial>,
    is_over: bool,
}

pub(super) struct SearchedTrial {
    pub label: String,
    pub levels: Levels,
    pub outcome: TrialOutcome,
}

impl TuneSearch {
    pub fn new(rules: &TuneRules, space: &SearchSpace, seed: u64) -> TuneSearch {
        let arm = |arm: &TuneArm| {
            let value = |name: &str| arm.settings.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str());
            Some((format!("arm/{}", arm.name), space.levels_of(value)?))
        };
        let today = space.today();
        let arms: Vec<(String, Levels)> =
            rules.arms.iter().filter_map(arm).filter(|(_, levels)| *levels != today).collect();
        let count = space.dimensions.len().clamp(FEWEST_SPREAD, MOST_SPREAD);
        let spread = Proposer::new(space, seed, 0).spread(count);
        TuneSearch { seed, arms, spread, trials: Vec::new(), is_over: space.dimensions.is_empty() }
    }

    pub fn is_over(&self) -> bool {
        self.is_over
    }

    pub fn end(&mut self) {
        self.is_over = true;
    }

    /// Whether today's configuration itself fails, so that there is nothing to compare with.
    pub fn is_hopeless(&self, metric: Metric) -> bool {
        self.trials.len() == AT_FIRST && self.outcomes().all(|outcome| measured(outcome, metric).is_none())
    }

    /// Whether today's configuration has missed what has to hold, as often as not.
    pub fn misses_today(&self, rules: &TuneRules, metric: Metric) -> bool {
        let today = || self.trials.iter().filter(|trial| trial.label == TODAY);
        let missed = today().filter(|trial| value(&trial.outcome, rules, metric).is_none());
        2 * missed.count() > today().count()
    }

    pub fn tell(&mut self, levels: Levels, outcome: &TrialOutcome) {
        let Some(label) = self.label() else { return };
        self.trials.push(SearchedTrial { label, levels, outcome: outcome.clone() });
    }

    pub fn trials(&self) -> &[SearchedTrial] {
        &self.trials
    }

    pub fn outcomes(&self) -> impl Iterator<Item = &TrialOutcome> {
        self.trials.iter().map(|trial| &trial.outcome)
    }

    /// How often something of this label was tried.
    pub fn repeats(&self, label: &str) -> u32 {
        self.trials.iter().filter(|trial| trial.label == label).count() as u32
    }

    /// What the next trial is called: `today`, `arm/NAME`, or its number.
    pub fn label(&self) -> Option<String> {
        let number = self.trials.len();
        if self.is_over {
            return None;
        }
        if number < AT_FIRST || (number - AT_FIRST) % (BETWEEN + 1) == BETWEEN {
            return Some(TODAY.to_owned());
        }
        let arm = self.arms.get(self.others());
        Some(arm.map_or_else(|| (self.others() - self.arms.len() + 1).to_string(), |(label, _)| label.clone()))
    }

    /// Trials that were not of today's configuration for its own sake.
    fn others(&self) -> usize {
        self.trials.iter().filter(|trial| trial.label != TODAY).count()
    }

    /// Its label and what it has.
    pub fn next(&self, space: &SearchSpace, rules: &TuneRules, metric: Metric) -> Option<(String, Levels)> {
        let label = self.label()?;
        if label == TODAY {
            return Some((label, space.today()));
        }
        let others = self.others();
        if let Some((label, levels)) = self.arms.get(others) {
            return Some((label.clone(), levels.clone()));
        }
        let number = others - self.arms.len();
        let mut proposer = Proposer::new(space, self.seed, number as u32 + 1);
        let levels = match (rules.sampler, self.spread.get(number)) {
            (TuneSampler::Random, _) => proposer.drawn(),
            (TuneSampler::Learning, Some(levels)) => levels.clone(),
            (TuneSampler::Learning, None) => {
                let tried = self.tried(rules, metric);
                let learned = Learned::of(space, &tried, self.noise(metric), self.seed ^ number as u64);
                let promising = learned.and_then(|learned| proposer.most_promising(&learned, &tried));
                promising.unwrap_or_else(|| proposer.drawn())
            }
        };
        Some((label, levels))
    }

    /// What is believed to be best, without what is believed to bring nothing; `None` if that is not better than today by what
    /// counts as a gain.
    pub fn winner(&self, space: &SearchSpace, rules: &TuneRules, metric: Metric) -> Option<Winner> {
        let tried = self.tried(rules, metric);
        let learned = Learned::of(space, &tried, self.noise(metric), self.seed)?;
        let cautious = |belief: Belief| belief.mean - CAUTION * belief.deviation;
        let known = learned.known();
        let (_, best) = known.into_iter().max_by(|(a, _), (b, _)| cautious(*a).total_cmp(&cautious(*b)))?;
        let believed = learned.lead(best, &space.today()).mean;
        let levels = stripped(space, &learned, best, TRIFLE * believed.max(rules.decide));
        let gain = learned.lead(&levels, &space.today()).mean;
        if gain < rules.decide.ln_1p() {
            return None;
        }
        let changed = space.changed_places(&levels);
        let around = WinnerPlace { space, learned: &learned, winner: &levels };
        let interaction = around.strongest(&changed);
        Some(Winner { changed, believed: gain.exp_m1(), interaction, levels })
    }

    pub fn tried(&self, rules: &TuneRules, metric: Metric) -> Vec<ValuedTrial> {
        let tried = |(when, trial): (usize, &SearchedTrial)| ValuedTrial {
            levels: trial.levels.clone(),
            when: when as f64,
            // Everything is held against today's configuration, whatever it misses.
            value: match trial.label == TODAY {
                true => measured(&trial.outcome, metric),
                false => value(&trial.outcome, rules, metric),
            },
        };
        self.trials.iter().enumerate().map(tried).collect()
    }

    /// The standard deviation of one trial, from those of today's configuration.
    fn noise(&self, metric: Metric) -> f64 {
        let of_today = self.trials.iter().filter(|trial| trial.label == TODAY);
        let values: Vec<f64> = of_today.filter_map(|trial| measured(&trial.outcome, metric)).collect();
        let steps: Vec<f64> = values.windows(2).map(|two| (two[1] - two[0]).powi(2)).collect();
        let variance = steps.iter().sum::<f64>() / 2.0 / steps.len().max(1) as f64;
        variance.sqrt().clamp(LEAST_NOISE, MOST_NOISE)
    }
}

/// The logarithm of what a trial measured, where more is better; none of one that failed, or missed what has to hold.
pub(super) fn value(outcome: &TrialOutcome, rules: &TuneRules, metric: Metric) -> Option<f64> {
    let point = outcome.point.as_ref()?;
    let is_kept = |keep| judge::judge(point, keep) == SearchOutcome::Kept;
    let recovery = outcome.recovery.as_ref();
    let comes_back = |most: f64| recovery.is_none_or(|of| of.seconds <= most && of.broken.is_empty());
    let holds = rules.keep.as_ref().is_none_or(is_kept) && rules.recovery_seconds.is_none_or(comes_back);
    measured(outcome, metric).filter(|_| holds)
}

/// The same, whether it missed that or not.
pub(super) fn measured(outcome: &TrialOutcome, metric: Metric) -> Option<f64> {
    let value = Quantity::Of(metric).value(outcome)?.ln();
    Some(if metric.more_is_better() { value } else { -value })
}

/// Puts settings back as long as what that may lose, in all, is not more than `most`: what is not known is kept, and has to show
/// what it is worth.
fn stripped(space: &SearchSpace, learned: &Learned<'_>, best: &Levels, most: f64) -> Levels {
    let mut levels = best.clone();
    loop {
        let changed = space.changed_places(&levels);
        let all = changed.into_iter().map(|place| space.without(&levels, place));
        let allowed = all.filter(|without| *without != levels && space.exceeded(without).is_none());
        let losses = allowed.map(|levels| {
            let lead = learned.lead(best, &levels);
            (lead.mean + lead.deviation, levels)
        });
        match losses.min_by(|(a, _), (b, _)| a.total_cmp(b)) {
            Some((loss, without)) if loss <= most => levels = without,
            _ => return levels,
        }
    }
}
