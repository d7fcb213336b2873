//! What the sheet is made from, and how a topic finds the probes it is about.

use plimsoll_model::io::{DeviceFacts, LatencyUs, Probe};
use serde_json::Value;

/// The device and the probes of one evaluation.
pub struct Evidence<'a> {
    pub device: &'a DeviceFacts,
    pub probes: &'a [Probe],
}

impl<'a> Evidence<'a> {
    /// The measurements of a probe that came to their end and did something, in their order.
    pub fn of(&self, number: u8) -> Vec<&'a Probe> {
        self.probes.iter().filter(|probe| probe.probe == number && probe.error.is_none() && iops(probe) > 0.0).collect()
    }

    /// Its first measurement with these values.
    pub fn find(&self, number: u8, wanted: &[(&str, Value)]) -> Option<&'a Probe> {
        self.of(number).into_iter().find(|probe| has(probe, wanted))
    }
}

/// True if the parameters have these values; a number is the same however it is written.
pub fn has(probe: &Probe, wanted: &[(&str, Value)]) -> bool {
    let is = |found: &Value, value: &Value| match (found.as_f64(), value.as_f64()) {
        (Some(found), Some(value)) => found == value,
        _ => found == value,
    };
    wanted.iter().all(|(name, value)| probe.params.get(*name).is_some_and(|found| is(found, value)))
}

/// A parameter that is a number; 0 if it is not there.
pub fn number(probe: &Probe, name: &str) -> f64 {
    probe.params.get(name).and_then(Value::as_f64).unwrap_or(0.0)
}

/// A parameter that is a word; empty if it is not there.
pub fn word<'a>(probe: &'a Probe, name: &str) -> &'a str {
    probe.params.get(name).and_then(Value::as_str).unwrap_or("")
}

/// What was done per second; 0 if nothing was, or no number.
pub fn iops(probe: &Probe) -> f64 {
    probe.iops.filter(|iops| iops.is_finite()).unwrap_or(0.0)
}

/// One percentile of a kind of operation, microseconds.
pub fn latency(probe: &Probe, kind: &str, pick: fn(&LatencyUs) -> Option<f64>) -> Option<f64> {
    probe.latency_us.get(kind).and_then(pick).filter(|us| us.is_finite())
}

pub const P50: fn(&LatencyUs) -> Option<f64> = |latency| latency.p50;
pub const P99: fn(&LatencyUs) -> Option<f64> = |latency| latency.p99;

/// Percentile of the time from the moment an operation was due, where a rate was set; else of its own.
pub fn response(probe: &Probe, kind: &str, pick: fn(&LatencyUs) -> Option<f64>) -> Option<f64> {
    probe.response_us.get(kind).and_then(pick).or_else(|| latency(probe, kind, pick))
}

/// The measurements with a yes-or-no parameter off and on.
pub fn find_pair<'a>(probes: &[&'a Probe], parameter: &str) -> Option<(&'a Probe, &'a Probe)> {
    let with = |wanted: bool| probes.iter().copied().find(|probe| has(probe, &[(parameter, Value::Bool(wanted))]));
    Some((with(false)?, with(true)?))
}
