//! Who an agent is.

use crate::message::FleetBuild;
use plimsoll_plan::broker::BrokerAddress;
use std::path::PathBuf;

/// Who an agent is.
#[derive(Clone, Debug)]
pub struct AgentFacts {
    pub address: BrokerAddress,
    pub name: String,
    pub build: FleetBuild,
    /// The name of its machine.
    pub machine: String,
    pub cpus: u32,
    /// Queries per second that one loop reaches here, where that was measured.
    pub ceiling: Option<f64>,
    /// Drawn anew each time.
    pub incarnation: u64,
    /// Where what its loads tell is kept until it is recorded.
    pub spools: PathBuf,
    /// Whether it is kept even then.
    pub keeps_spools: bool,
}
