//! What a plan asks of the engine, as the engine takes it.

use crate::error::LabError;
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::{Endpoint, Protocol, RunSpec};
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::window::Limit;
use plimsoll_model::LoadPoint;
use plimsoll_plan::RunPlan;
use plimsoll_plan::plan::{ArrivalSpread, Measure};
use plimsoll_workloads::distribution::Distribution;
use plimsoll_workloads::oltp::{OltpKind, OltpParameters};

/// The same on an open target.
pub(crate) fn spec(target: &OpenTarget, plan: &RunPlan, point: &LoadPoint) -> RunSpec {
    spec_of(target.load_endpoint(), target.is_private(), plan, point)
}

/// What a plan asks of the engine at a load point, on a server that is reached so and may be one of ours.
pub(crate) fn spec_of(endpoint: Endpoint, private: bool, plan: &RunPlan, point: &LoadPoint) -> RunSpec {
    RunSpec {
        endpoint,
        connections: point.connections,
        loops: plan.loops,
        arrivals: match (point.rate, plan.arrivals) {
            (None, _) => Arrivals::Closed,
            (Some(rate), ArrivalSpread::Poisson) => Arrivals::Poisson { rate },
            (Some(rate), ArrivalSpread::Constant) => Arrivals::Constant { rate },
        },
        limit: limit(plan.measure),
        warmup_ns: ns(plan.warmup_seconds),
        seed: plan.seed,
        protocol: if plan.protocol == "text" { Protocol::Text } else { Protocol::Prepared },
        outage_limit_ns: ns(plan.outage_limit_seconds),
        ignore_errors: plan.ignore_errors.clone(),
        private,
        ask: None,
        part: None,
        commits: None,
    }
}

/// What ends the measured phase, as the engine takes it.
pub fn limit(measure: Measure) -> Limit {
    match measure {
        Measure::Seconds(seconds) => Limit::Time(ns(seconds)),
        Measure::Events(events) => Limit::Events(events),
        Measure::EventsPerConnection(events) => Limit::EventsPerConnection(events),
    }
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

/// Parameters that begin like this say what is drawn; they are none of a script's options.
pub const RANDOM: &str = "rand-";

/// What `sysbench.rand.default` draws from in a script: what `--rand-type` and its like mean for sysbench's own workloads.
///
/// # Errors
/// [`LabError`] for a value that is none of what is accepted.
pub fn drawn_from<'p>(params: impl Iterator<Item = (&'p String, &'p String)>) -> Result<Distribution, LabError> {
    let random = params.filter(|(name, _)| name.starts_with(RANDOM));
    Ok(OltpParameters::parse(OltpKind::ReadWrite, random)?.distribution())
}
