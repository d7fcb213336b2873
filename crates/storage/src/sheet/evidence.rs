//! What the sheet is made from, and how a topic finds the probes it is about.

use super::figures::{iops, percent, short, times};
use crate::disturbance;
use plimsoll_model::Estimate;
use plimsoll_model::io::{DeviceFacts, LatencyUs, Probe};
use serde_json::{Value, json};

/// Reads under way in the cache map (probe 13).
const CACHE_MAP_DEPTH: u32 = 16;
/// Where more than this share of what was offered could not be started, the rate is not the one that was asked for.
const DROPPED: f64 = 0.01;
/// A setting stays for months: what was measured for fewer seconds may have met a burst, a cache or luck.
const SETTLED_SECONDS: f64 = 10.0;
/// Where identical measurements differ by more than so many times, or a rate is not known better than to this share, the
/// machine is too noisy to choose a setting by it.
const NOISY: f64 = 1.25;
const VAGUE: f64 = 0.25;

/// The device and the probes of one evaluation.
pub struct Evidence<'a> {
    pub device: &'a DeviceFacts,
    pub probes: &'a [Probe],
}

impl<'a> Evidence<'a> {
    /// The measurements of a probe that can be relied on, in their order.
    pub fn of(&self, number: u8) -> Vec<&'a Probe> {
        self.probes.iter().filter(|probe| probe.probe == number && is_sound(probe)).collect()
    }

    /// Its first measurement with these values.
    pub fn find(&self, number: u8, wanted: &[(&str, Value)]) -> Option<&'a Probe> {
        self.of(number).into_iter().find(|probe| has(probe, wanted))
    }

    /// Whether `high` is at least so many times `low`: `None` where chance alone might decide that.
    ///
    /// Where both have intervals, these must lie apart. Else the ratio must exceed that between repeats of identical jobs,
    /// and no repeats may lie a factor apart where none is found.
    pub fn differs(&self, low: Measured, high: Measured, factor: f64) -> Option<bool> {
        let found = high.value >= factor * low.value;
        let sure = match (found, low.interval, high.interval) {
            (true, Some((_, top)), Some((bottom, _))) => top < bottom,
            (false, Some((bottom, _)), Some((_, top))) => top < factor * bottom,
            (true, ..) => high.value > self.noise() * low.value,
            (false, ..) => self.noise() <= factor,
        };
        sure.then_some(found)
    }

    /// The largest ratio between the rates of identical jobs: of one session that commits (probes 1 and 2), and of 16 reads
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

    /// What is advised, where a setting may be chosen by these measurements; else why not, and what would tell.
    pub fn advised(&self, probes: &[&Probe], setting: &str) -> String {
        match self.unsettled(probes) {
            None => setting.to_owned(),
            Some(why) => format!("No setting is advised from that: {why}."),
        }
    }

    /// Why no setting may be chosen by these measurements, and what would tell.
    pub fn unsettled(&self, probes: &[&Probe]) -> Option<String> {
        let shortest = probes.iter().map(|probe| probe.seconds).fold(f64::INFINITY, f64::min);
        // The clock of a window may miss its length by a hair.
        if shortest < 0.99 * SETTLED_SECONDS {
            return Some(format!(
                "{} s of measurement say little about what lasts; --time {SETTLED_SECONDS}s, and --size enough for so long, would tell",
                short(shortest)
            ));
        }
        if self.noise() > NOISY {
            let differ = times(self.noise());
            return Some(format!(
                "identical measurements differ by {differ} here; repeat while the machine does nothing else"
            ));
        }
        probes.iter().find_map(|probe| {
            let why = disturbance::of(probe).or_else(|| vague(probe))?;
            Some(format!("{why} while {} was measured; repeat while the machine does nothing else", probe.id))
        })
    }

    /// Why [`Evidence::differs`] found nothing either way, in words.
    pub fn untold(&self) -> String {
        match self.noise() {
            noise if noise > 1.0 => {
                format!("cannot be told, as identical measurements differ by {} here", times(noise))
            }
            _ => "cannot be told, as the intervals are too wide".to_owned(),
        }
    }
}

/// A number with its 95 % interval, where there is one.
#[derive(Clone, Copy)]
pub struct Measured {
    pub value: f64,
    pub interval: Option<(f64, f64)>,
}

impl Measured {
    /// `path` is that of the field of the probe.
    pub fn of(probe: &Probe, path: &str, value: f64) -> Measured {
        Measured { value, interval: probe.estimates.get(path).and_then(Estimate::interval) }
    }

    /// What was done per second.
    pub fn rate(probe: &Probe) -> Measured {
        Measured::of(probe, "iops", iops(probe))
    }
}

/// Whether the rate of a measurement moved too much to choose a setting by it, in words.
fn vague(probe: &Probe) -> Option<String> {
    if probe.caveats.iter().any(|caveat| caveat.code == "decaying") {
        return Some("throughput fell".to_owned());
    }
    let half = probe.estimates.get("iops").and_then(Estimate::half_width)?;
    let share = half / iops(probe);
    (share > VAGUE).then(|| format!("throughput varied (its mean is known to ± {})", percent(share)))
}

/// Whether a measurement came to its end and is what it should be.
pub fn is_sound(probe: &Probe) -> bool {
    probe.error.is_none() && iops(probe) > 0.0 && unsound(probe).is_none()
}

/// Why a measurement that came to its end is not what it should be, if so.
pub fn unsound(probe: &Probe) -> Option<String> {
    let counts = &probe.counts;
    if probe.caveats.iter().any(|caveat| caveat.code == "not_beside") {
        return Some("the load beside it was not there all the time".to_owned());
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

/// Percentile of the time from the moment an operation was due, where a rate was set; else of its own.
pub fn response(probe: &Probe, kind: &str, pick: fn(&LatencyUs) -> Option<f64>) -> Option<f64> {
    probe.response_us.get(kind).and_then(pick).or_else(|| latency(probe, kind, pick))
}

/// The measurements with a yes-or-no parameter off and on.
pub fn find_pair<'a>(probes: &[&'a Probe], parameter: &str) -> Option<(&'a Probe, &'a Probe)> {
    let with = |wanted: bool| probes.iter().copied().find(|probe| has(probe, &[(parameter, Value::Bool(wanted))]));
    Some((with(false)?, with(true)?))
}
