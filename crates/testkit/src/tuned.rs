//! Searches for better settings on servers whose truth is known.

use crate::simulated::{CLOSED, plan, reached, variant};
use crate::surfaces::Surface;
use plimsoll_load::seed::Rng;
use plimsoll_model::lab::{PhaseSpan, TrialOutcome, TrialStatus};
use plimsoll_model::samples::Phase;
use plimsoll_model::tune::{FoundSetting, SettingLeftOut, TriedSettings, TuneConclusion, TuneSummary};
use plimsoll_model::{Estimate, Metric};
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
        looked_seconds: 0.0,
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

/// A search that found two settings, of which one brings something: it believed 50 %, 45 % were confirmed, and 38 % of what was
/// kept. Two of its trials failed.
pub fn tune_summary() -> TuneSummary {
    TuneSummary {
        variant: "base".to_owned(),
        metric: Metric::TransactionsPerSecond,
        line_within: None,
        conclusion: TuneConclusion::Confirmed,
        decide: 0.03,
        floor: None,
        searched: Vec::new(),
        left_out: vec![SettingLeftOut { name: "x".to_owned(), why: "others come first".to_owned() }],
        tried: vec![
            tried_settings("today", &[], Ok(0.1)),
            tried_settings("1", &["a", "b"], Err("it did not start\nand more")),
            tried_settings("2", &["a"], Err("it did not start")),
        ],
        believed: Some(0.5),
        confirmed: Some(half_known(0.45, 0.08)),
        confirming: 6,
        missed: 0,
        misses_today: false,
        is_same_data: false,
        found: vec![
            found_setting("a", Some(half_known(0.2, 0.05)), true),
            found_setting("b", Some(half_known(0.01, 0.03)), false),
        ],
        kept: Some(half_known(0.38, 0.07)),
        elsewhere: Vec::new(),
        interaction: None,
    }
}

/// A number whose interval reaches this far on both sides.
pub fn half_known(value: f64, half: f64) -> Estimate {
    Estimate::new(value, (value - half, value + half), 0.95, 8.0, "pairs".to_owned())
}

/// A setting of the best configuration, and what it brings.
pub fn found_setting(name: &str, worth: Option<Estimate>, is_kept: bool) -> FoundSetting {
    let (name, value) = (name.to_owned(), "1".to_owned());
    FoundSetting { name, value, today: None, worth, is_kept, costs: Default::default() }
}

/// A trial of a search that changed these settings, with its gain or why it failed.
pub fn tried_settings(label: &str, changed: &[&str], gain: Result<f64, &str>) -> TriedSettings {
    TriedSettings {
        label: label.to_owned(),
        changed: changed.iter().map(|name| ((*name).to_owned(), "9".to_owned())).collect(),
        gain: gain.ok(),
        why: gain.err().map(str::to_owned),
    }
}
