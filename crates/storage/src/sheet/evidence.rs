//! What the sheet is made from, and how a topic finds its probes.

use super::figures::{iops, percent, short, times};
use crate::disturbance;
use plimsoll_model::Estimate;
use plimsoll_model::io::{DeviceFacts, LatencyUs, Probe};
use serde_json::{Value, json};

/// Reads under way in the cache map (probe 13).
const CACHE_MAP_DEPTH: u32 = 16;
/// If more than this share of what was offered could not be started, the rate is not the one requested.
const DROPPED: f64 = 0.01;
/// A setting stays for months: a shorter measurement may have met a burst, a cache or luck.
const SETTLED_SECONDS: f64 = 10.0;
/// If identical measurements differ by more than this factor, or a rate is known no better than to this share, the
/// machine is too noisy to choose a setting by it.
const NOISY: f64 = 1.25;
const VAGUE: f64 = 0.25;

/// The device and the probes of one evaluation.
pub struct SheetEvidence<'a> {
    pub device: &'a DeviceFacts,
    pub probes: &'a [Probe],
}

impl<'a> SheetEvidence<'a> {
    /// The reliable measurements of a probe, in order.
    pub fn of(&self, number: u8) -> Vec<&'a Probe> {
        self.probes.iter().filter(|probe| probe.probe == number && is_sound(probe)).collect()
    }

    /// Its first measurement with these values.
    pub fn find(&self, number: u8, wanted: &[(&str, Value)]) -> Option<&'a Probe> {
        self.of(number).into_iter().find(|probe| has(probe, wanted))
    }

    /// Whether `high` is at least `low` times a factor: `None` if chance alone might decide that.
    ///
    /// If both have confidence intervals, these must not overlap. Otherwise the ratio must exceed that between repeats
    /// of identical jobs, and for "no" these repeats may not differ by the factor.
    pub fn differs(&self, low: MeasuredValue, high: MeasuredValue, factor: f64) -> Option<bool> {
        let found = high.value >= factor * low.value;
        let sure = match (found, low.interval, high.interval) {
            (true, Some((_, top)), Some((bottom, _))) => top < bottom,
            (false, Some((bottom, _)), Some((_, top))) => top < factor * bottom,
            (true, ..) => high.value > self.noise() * low.value,
            (false, ..) => self.noise() <= factor,
        };
        sure.then_some(found)
    }

    /// The largest ratio between the rates of identical jobs: one session that commits (probes 1 and 2), and 16 reads
    /// under way over one set (probes 6 and 13). 1 without repeats.
    pub fn noise(&self) -> f64 {
        let commits = self.of(1).into_iter().map(|probe| {
            let same = [("server", json!(probe.word("server"))), ("committers", json!(1))];
            (probe, self.find(2, &same))
        });
        let reads = self.of(13).into_iter().filter(|probe| probe.word("what") == "read").map(|probe| {
            let same = [("depth", json!(CACHE_MAP_DEPTH)), ("set_bytes", json!(number(probe, "set_bytes")))];
            (probe, self.find(6, &same))
        });
        let pairs = commits.chain(reads).filter_map(|(probe, repeat)| Some((iops(probe), iops(repeat?))));
        pairs.map(|(a, b)| (a / b).max(b / a)).fold(1.0, f64::max)
    }

    /// The advice, if a setting may be chosen by these measurements; otherwise why not, and what would tell.
    pub fn advised(&self, probes: &[&Probe], setting: &str) -> String {
        match self.unsettled(probes) {
            None => setting.to_owned(),
            Some(why) => format!("This supports no advice about a setting: {why}."),
        }
    }

    /// Why no setting may be chosen by these measurements, and what would tell.
    pub fn unsettled(&self, probes: &[&Probe]) -> Option<String> {
        let shortest = probes.iter().map(|probe| probe.seconds).fold(f64::INFINITY, f64::min);
        // A window may be a hair shorter than its length.
        if shortest < 0.99 * SETTLED_SECONDS {
            return Some(format!(
                "{} s of measurement say little about what lasts; --time {SETTLED_SECONDS}s, with a --size that is \
                 enough for it, would tell",
                short(shortest)
            ));
        }
        if self.noise() > NOISY {
            let differ = times(self.noise());
            return Some(format!(
                "identical measurements differ by {differ} here; repeat while the machine is otherwise idle"
            ));
        }
        probes.iter().find_map(|probe| {
            let why = disturbance::of(probe).or_else(|| vague(probe))?;
            Some(format!("{why} while {} was measured; repeat while the machine is otherwise idle", probe.id))
        })
    }

    /// Why [`SheetEvidence::differs`] could not decide, in words.
    pub fn untold(&self) -> String {
        match self.noise() {
            noise if noise > 1.0 => {
                format!("cannot be told, because identical measurements differ by {} here", times(noise))
            }
            _ => "cannot be told, because the confidence intervals are too wide".to_owned(),
        }
    }
}

/// A number with its 95 % interval, if it has one.
#[derive(Clone, Copy)]
pub struct MeasuredValue {
    pub value: f64,
    pub interval: Option<(f64, f64)>,
}

impl MeasuredValue {
    /// `path` is that of the field of the probe.
    pub fn of(probe: &Probe, path: &str, value: f64) -> MeasuredValue {
        MeasuredValue { value, interval: probe.estimates.get(path).and_then(Estimate::interval) }
    }

    /// What was done per second.
    pub fn rate(probe: &Probe) -> MeasuredValue {
        MeasuredValue::of(probe, "iops", iops(probe))
    }
}

/// Why the rate of a measurement varied too much to choose a setting by it, in words.
fn vague(probe: &Probe) -> Option<String> {
    if probe.caveats.iter().any(|caveat| caveat.code == "decaying") {
        return Some("throughput fell".to_owned());
    }
    let half = probe.estimates.get("iops").and_then(Estimate::half_width)?;
    let share = half / iops(probe);
    (share > VAGUE).then(|| format!("throughput varied (its mean is known to ± {})", percent(share)))
}

/// Whether a measurement completed and is valid.
pub fn is_sound(probe: &Probe) -> bool {
    probe.error.is_none() && iops(probe) > 0.0 && unsound(probe).is_none()
}

/// Why a completed measurement is not valid, if so.
pub fn unsound(probe: &Probe) -> Option<String> {
    let counts = &probe.counts;
    if probe.caveats.iter().any(|caveat| caveat.code == "not_beside") {
        return Some("the load beside it did not run all the time".to_owned());
    }
    let behind = counts.dropped as f64 > DROPPED * counts.offered as f64;
    behind.then(|| format!("{} of {} operations could not be started in time", counts.dropped, counts.offered))
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
    probe.number(name).unwrap_or(0.0)
}

/// One percentile of a kind of operation, microseconds.
pub fn latency(probe: &Probe, kind: &str, pick: fn(&LatencyUs) -> Option<f64>) -> Option<f64> {
    probe.latency_us.get(kind).and_then(pick).filter(|us| us.is_finite())
}

pub const P50: fn(&LatencyUs) -> Option<f64> = |latency| latency.p50;
pub const P99: fn(&LatencyUs) -> Option<f64> = |latency| latency.p99;

/// Percentile of the time since an operation was due, if a rate was set; else of its latency.
pub fn response(probe: &Probe, kind: &str, pick: fn(&LatencyUs) -> Option<f64>) -> Option<f64> {
    probe.response_us.get(kind).and_then(pick).or_else(|| latency(probe, kind, pick))
}

/// The measurements with a yes-or-no parameter off and on.
pub fn find_pair<'a>(probes: &[&'a Probe], parameter: &str) -> Option<(&'a Probe, &'a Probe)> {
    let with = |wanted: bool| probes.iter().copied().find(|probe| has(probe, &[(parameter, Value::Bool(wanted))]));
    Some((with(false)?, with(true)?))
}
