//! What was to be measured: the plan that stands in a recording, by its kind.

use crate::lab::LabPlan;
use crate::plan::{FleetPlan, RunPlan};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The plan of a recording, as resolved, with the command that it was made for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "plan", rename_all = "lowercase")]
pub enum Plan {
    /// Of `plimsoll run`.
    Run(RunPlan),
    /// Of `plimsoll quickstart`, which is a run with data of its own.
    Quickstart(RunPlan),
    /// Of `plimsoll sysbench`: its parameters are the options that were typed.
    Sysbench(RunPlan),
    Lab(Box<LabPlan>),
    /// Of `plimsoll io`.
    Storage(StoragePlan),
}

impl Plan {
    /// That of a run, however it was begun.
    pub fn run(&self) -> Option<&RunPlan> {
        match self {
            Plan::Run(plan) | Plan::Quickstart(plan) | Plan::Sysbench(plan) => Some(plan),
            Plan::Lab(_) | Plan::Storage(_) => None,
        }
    }

    pub fn lab(&self) -> Option<&LabPlan> {
        match self {
            Plan::Lab(plan) => Some(plan),
            _ => None,
        }
    }

    pub fn storage(&self) -> Option<&StoragePlan> {
        match self {
            Plan::Storage(plan) => Some(plan),
            _ => None,
        }
    }

    /// The agents that make its load, if this process does not.
    pub fn fleet(&self) -> Option<&FleetPlan> {
        match self {
            Plan::Run(plan) | Plan::Quickstart(plan) | Plan::Sysbench(plan) => plan.fleet.as_ref(),
            Plan::Lab(plan) => plan.fleet.as_ref(),
            Plan::Storage(_) => None,
        }
    }

    /// From it follow all random choices.
    pub fn seed(&self) -> u64 {
        match self {
            Plan::Run(plan) | Plan::Quickstart(plan) | Plan::Sysbench(plan) => plan.seed,
            Plan::Lab(plan) => plan.seed,
            Plan::Storage(plan) => plan.seed,
        }
    }
}

/// Everything that decides a storage evaluation but the measurements of its suite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoragePlan {
    pub directory: PathBuf,
    /// `quick`, `full`, `percona-2008`, or `test`.
    pub suite: String,
    /// The ids of its measurements, in their order.
    pub steps: Vec<String>,
    /// Only these probes, by number; empty for all of the suite.
    pub probes: Vec<u8>,
    /// Bytes of the page files; as the suite has it if not given.
    pub data_bytes: Option<u64>,
    /// How long each measurement lasts; as the suite has it if not given.
    pub window_seconds: Option<f64>,
    pub seed: u64,
    /// Leave the files there.
    pub keep: bool,
    /// Servers whose commits and reads were measured afterwards.
    pub validate: Vec<String>,
}
