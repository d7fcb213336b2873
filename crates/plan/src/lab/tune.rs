//! `[tune]`: what a search for better settings may take, and what it looks for.

use super::Objective;
use super::space::SearchSpace;
use super::space::build::AskedSettings;
use plimsoll_model::Metric;
use serde::{Deserialize, Serialize};

/// What a search is for, and within what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuneRules {
    /// For all of it, with what confirms what was found, seconds of trials.
    pub seconds: f64,
    pub objective: TuneObjective,
    /// A trial that misses it counts as one that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Objective>,
    /// How long a server may take to come back after a kill, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_seconds: Option<f64>,
    /// A smaller gain, as a share, is none.
    pub decide: f64,
    pub settings: AskedSettings,
    pub sampler: TuneSampler,
    /// Configurations that are tried in any case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<TuneArm>,
    /// What may be tried; known once the server and its machine are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<SearchSpace>,
}

/// What is to become better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TuneObjective {
    /// New orders per minute where the workload has them, else transactions per second.
    Nopm,
    P99,
    /// CPU time of the server for each transaction.
    Cost,
}

impl TuneObjective {
    pub const ALL: [TuneObjective; 3] = [TuneObjective::Nopm, TuneObjective::P99, TuneObjective::Cost];

    pub fn name(self) -> &'static str {
        match self {
            TuneObjective::Nopm => "nopm",
            TuneObjective::P99 => "p99",
            TuneObjective::Cost => "cost",
        }
    }

    /// The metric that decides, if the outcomes of trials do not.
    pub fn metric(self) -> Option<Metric> {
        match self {
            TuneObjective::Nopm => None,
            TuneObjective::P99 => Some(Metric::P99),
            TuneObjective::Cost => Some(Metric::ServerCpuUsPerTransaction),
        }
    }
}

/// How configurations are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TuneSampler {
    /// By what the trials before have taught.
    Learning,
    /// Drawn: what a search has to beat.
    Random,
}

/// A configuration that is tried in any case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuneArm {
    pub name: String,
    /// Values by the names of variables.
    pub settings: Vec<(String, String)>,
}
