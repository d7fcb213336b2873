//! One trial: a variant at a load point in a round.

use super::{TrialRules, Variant};
use crate::plan::{Measure, RunPlan};
use plimsoll_model::{FaultKind, LoadPoint};
use serde::{Deserialize, Serialize};

/// What a trial has to do, as in its `trial.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialPlan {
    /// Place among all trials, from 1.
    pub index: u32,
    /// What the recording calls the variant: its name, or `name/rung/with` and `name/rung/without` in a ladder.
    pub label: String,
    pub variant: Variant,
    pub point: LoadPoint,
    /// From 1.
    pub round: u32,
    /// The seed of the load: the same for all variants of a round.
    pub seed: u64,
    /// In a switchback, which of its side's two blocks on the running server this is; else it starts one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<SwitchbackBlock>,
    /// What goes wrong under its load; then nothing else is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<PlannedFault>,
}

/// A fault, and when it comes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedFault {
    pub kind: FaultKind,
    /// Of what is drawn in it.
    pub seed: u64,
    /// After the first commit.
    pub after_seconds: f64,
    /// In place of that, after so many commits: where it came before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_commits: Option<u64>,
    /// The seed of the load, in place of that of the round: the one with which it came before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_seed: Option<u64>,
}

/// A block of a switchback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwitchbackBlock {
    /// After a flip, so that the side before may still have an effect.
    First,
    /// After the side's own first: this one counts.
    Second,
}

/// A trial as it is announced before it begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedTrial {
    pub index: u32,
    pub variant: String,
    /// Its name in a recording.
    pub point: String,
    #[serde(skip)]
    pub load: LoadPoint,
    pub round: u32,
}

impl From<&TrialPlan> for PlannedTrial {
    fn from(trial: &TrialPlan) -> PlannedTrial {
        PlannedTrial {
            index: trial.index,
            variant: trial.label.clone(),
            point: trial.point.label(),
            load: trial.point,
            round: trial.round,
        }
    }
}

impl TrialPlan {
    /// How long it is measured.
    pub fn measure(&self, rules: &TrialRules) -> Measure {
        let block = self.block.and(rules.switchback).map(|rule| Measure::Seconds(rule.block_seconds));
        block.unwrap_or(rules.measure)
    }

    /// What the trial asks of the load generator. `protocol` is the workload's own if none was given.
    pub fn run_plan(&self, rules: &TrialRules, warmup_seconds: f64, protocol: &str) -> RunPlan {
        let Variant { workload, load, .. } = &self.variant;
        RunPlan {
            workload: workload.name(),
            params: workload.all_params(),
            target: self.variant.target.clone().unwrap_or_else(|| format!("private:{}", self.variant.build)),
            database: None,
            points: vec![self.point],
            arrivals: load.arrivals,
            warmup_seconds,
            measure: self.measure(rules),
            rounds: 1,
            seed: self.seed,
            loops: load.loops,
            protocol: load.protocol.clone().unwrap_or_else(|| protocol.to_owned()),
            outage_limit_seconds: load.outage_limit_seconds,
            ignore_errors: load.ignore_errors.clone(),
            report_interval_seconds: 1,
            check: false,
            repeat_disturbed: false,
            fleet: None,
        }
    }
}
