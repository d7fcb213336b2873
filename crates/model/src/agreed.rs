//! What was agreed with the agents of a load: enough to collect it once its coordinator is gone.

use serde::{Deserialize, Serialize};

/// A load that agents have begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgreedLoad {
    /// Its name among the loads of the fleet.
    pub load: String,
    /// How many loops all agents have together.
    pub loops: usize,
    pub agents: Vec<AgreedPart>,
}

/// The part of one agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgreedPart {
    pub agent: String,
    /// Which of its lives has the load.
    pub incarnation: u64,
    /// Its loops, from the first on and before the end, counted over the whole fleet.
    pub loops: (usize, usize),
    /// How well its clock was known at the start, microseconds.
    pub clock_bound_us: f64,
}
