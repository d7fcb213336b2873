//! `[fleet]`: the agents that make the load.

use super::value::DocumentValue;
use crate::broker::BrokerAddress;
use crate::error::PlanError;
use crate::listen::ListenAddress;
use crate::plan::FleetPlan;

/// Most agents of a fleet.
const MOST_AGENTS: u64 = 10_000;

/// Reads `[fleet]`.
pub(super) fn fleet(value: &DocumentValue) -> Result<FleetPlan, PlanError> {
    let fields = value.fields(&["broker", "agents", "tolerate_lost", "listen"])?;
    let count = |value: &DocumentValue| value.count(1..=MOST_AGENTS).map(|count| count as usize);
    let lost = fields.read("tolerate_lost", |value| value.count(0..=MOST_AGENTS))?.unwrap_or_default();
    Ok(FleetPlan {
        broker: fields.need("broker", "the address of its broker", |value| value.parsed(BrokerAddress::parse))?,
        agents: fields.read("agents", count)?,
        tolerate_lost: lost as usize,
        listen: fields.read("listen", |value| value.parsed(ListenAddress::parse))?,
    })
}
