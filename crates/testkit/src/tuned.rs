//! Searches for better settings on servers whose truth is known.

use crate::simulated::{CLOSED, plan, reached, variant};
use crate::surfaces::Surface;
use plimsoll_load::seed::Rng;
use plimsoll_model::lab::{PhaseSpan, TrialOutcome, TrialStatus};
use plimsoll_model::samples::Phase;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::TrialPlan;
use plimsoll_plan::lab::TuneRules;
use plimsoll_plan::lab::space::build::AskedSettings;
use plimsoll_plan::lab::space::{Levels, SearchSpace};
use plimsoll_plan::lab::tune::{TuneObjective, TuneSampler};

/// A plan that searches this space in so many trials, each of which takes a second.
pub fn tune_plan(space: &SearchSpace, trials: f64, seed: u64) -> LabPlan {
    let rules = TuneRules {
        seconds: trials,
        objective: TuneObjective::Nopm,
        keep: None,
        recovery_seconds: None,
        decide: 0.03,
        settings: AskedSettings::Top(12),
        sampler: TuneSampler::Learning,
        in_memory: true,
        arms: Vec::new(),
        space: Some(space.clone()),
    };
    LabPlan { tune: Some(rules), ..plan(seed, 0, vec![variant("base", &[CLOSED])]) }
}

/// What a trial of a surface's server measures, where equal trials differ by this much, as a share.
pub fn measured(surface: &Surface, trial: &TrialPlan, noise: f64, seed: u64) -> TrialOutcome {
    let levels = levels_of(&surface.space, trial);
    let phase = PhaseSpan { phase: Phase::Measure, t_ns: 0, seconds: 1.0 };
    let outcome = match surface.truth(&levels) {
        Some(truth) => reached(10_000.0 * (truth + noise * normal(surface, seed, trial.index)).exp(), 10.0),
        None => TrialOutcome { why: Some("it did not start".to_owned()), ..TrialOutcome::new(TrialStatus::Failed) },
    };
    TrialOutcome { phases: vec![phase], ..outcome }
}

/// The levels that a trial's server has.
pub fn levels_of(space: &SearchSpace, trial: &TrialPlan) -> Levels {
    space.levels_in(&trial.variant.config).expect("a trial is within the space")
}

/// Noise of its own for each trial of each surface.
fn normal(surface: &Surface, seed: u64, index: u32) -> f64 {
    let stream = surface.name.bytes().fold(11, |hash: u64, byte| hash.wrapping_mul(31) + u64::from(byte));
    let mut rng = Rng::new(seed, stream, index.into());
    let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.unit()).cos()
}

/// The same for somebody who tries levels in an order of his own: the logarithm of what is measured; none of what does not run.
pub fn measured_value(surface: &Surface, levels: &Levels, noise: f64, seed: u64, number: u32) -> Option<f64> {
    Some(surface.truth(levels)? + noise * normal(surface, seed, number))
}
