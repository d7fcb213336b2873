//! The plan of a `run`: one variant, a list of load points, one round of them or several.

use crate::broker::BrokerAddress;
use crate::error::PlanError;
use crate::listen::ListenAddress;
use plimsoll_model::LoadPoint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// No phase is longer: this keeps every sum of durations in range, and tells readers of recordings what is impossible.
pub(crate) const LONGEST_SECONDS: f64 = 30.0 * 86_400.0;

/// How the arrivals of an open loop are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArrivalSpread {
    #[default]
    Poisson,
    Constant,
}

/// More events than there ever are.
pub const ENDLESS: u64 = u64::MAX;

/// What ends the measured phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    Seconds(f64),
    /// [`ENDLESS`] goes on until somebody ends it.
    Events(u64),
    EventsPerConnection(u64),
}

/// Everything that determines a run, resolved: no default is left open. The manifest has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    pub workload: String,
    pub params: BTreeMap<String, String>,
    pub target: String,
    /// Instead of the target's; `null` if it is that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    pub points: Vec<LoadPoint>,
    pub arrivals: ArrivalSpread,
    pub warmup_seconds: f64,
    pub measure: Measure,
    /// How often all load points are measured, one pass after the other.
    #[serde(default = "one_round")]
    pub rounds: u32,
    pub seed: u64,
    /// Of each process that makes the load.
    pub loops: usize,
    /// `prepared` or `text`.
    pub protocol: String,
    pub outage_limit_seconds: f64,
    pub ignore_errors: Vec<u16>,
    pub report_interval_seconds: u64,
    /// Check the data's invariants afterwards.
    #[serde(default)]
    pub check: bool,
    /// Measure disturbed load points once more at the end.
    #[serde(default)]
    pub repeat_disturbed: bool,
    /// The agents that make the load; `null` if this process does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetPlan>,
}

/// A load that agents make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetPlan {
    /// Of its broker; keys are named by their files.
    pub broker: BrokerAddress,
    /// How many agents; `null` for all that are there.
    #[serde(default)]
    pub agents: Option<usize>,
    /// How many of them may be lost before a trial fails.
    #[serde(default)]
    pub tolerate_lost: usize,
    /// Where private servers listen, so that agents on other machines reach them; `null` for agents of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<ListenAddress>,
}

/// What a run may have at most.
pub const MOST_ROUNDS: u32 = 1000;

fn one_round() -> u32 {
    1
}

/// The path of the script that a workload of this name is, if it is one.
pub fn script_of(workload: &str) -> Option<&str> {
    workload.strip_prefix("lua:")
}

impl RunPlan {
    /// How many trials there are, if none is repeated.
    pub fn trials(&self) -> usize {
        self.points.len().saturating_mul(self.rounds as usize)
    }

    /// Refuses combinations that make no sense.
    pub fn check(&self) -> Result<(), PlanError> {
        let open = self.points.iter().any(|point| point.rate.is_some());
        let refuse = |text: &str| Err(PlanError::Combination(text.to_owned()));
        match self.measure {
            _ if !(1..=MOST_ROUNDS).contains(&self.rounds) => refuse("--rounds must be from 1 to 1000"),
            _ if self.warmup_seconds > LONGEST_SECONDS => refuse("--warmup may be 720h at most"),
            Measure::Seconds(seconds) if seconds <= 0.0 => refuse("--time must be longer than 0"),
            Measure::Seconds(seconds) if seconds > LONGEST_SECONDS => refuse("--time may be 720h at most"),
            Measure::EventsPerConnection(_) if open => {
                refuse("--events-per-connection cannot go with --rate: arrivals belong to no connection; use --events")
            }
            Measure::Events(_) if open && self.warmup_seconds > 0.0 => {
                refuse("--events with --rate cannot go with --warmup: the arrivals are counted from the start")
            }
            Measure::Events(0) | Measure::EventsPerConnection(0) => refuse("a run of 0 events measures nothing"),
            _ => Ok(()),
        }
    }
}
