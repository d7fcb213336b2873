//! What the sheet is made from, and how a topic finds its probes.

use super::figures::{iops, times};
use crate::disturbance;
use plimsoll_model::io::{DeviceFacts, Probe};
use plimsoll_model::metric::Statistic;
use plimsoll_model::number::{three_digits, whole_percent};
use plimsoll_model::{Estimate, OpKind, ProbeMetric, Scalar};

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
    pub fn find(&self, number: u8, wanted: &[(&str, Scalar)]) -> Option<&'a Probe> {
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
            let same = [("server", probe.word("server").into()), ("committers", 1_u64.into())];
            (probe, self.find(2, &same))
        });
        let reads = self.of(13).into_iter().filter(|probe| probe.word("what") == "read").map(|probe| {
            let same = [("depth", CACHE_MAP_DEPTH.into()), ("set_bytes", number(probe, "set_bytes").into())];
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
                three_digits(shortest)
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
    /// The value that was read of the metric, with the metric's interval.
    pub fn of(probe: &Probe, metric: ProbeMetric, value: f64) -> MeasuredValue {
        MeasuredValue { value, interval: metric.estimate(probe).and_then(Estimate::interval) }
    }

    /// What was done per second.
    pub fn rate(probe: &Probe) -> MeasuredValue {
        MeasuredValue::of(probe, ProbeMetric::Iops, iops(probe))
    }
}

/// Why the rate of a measurement varied too much to choose a setting by it, in words.
fn vague(probe: &Probe) -> Option<String> {
    if probe.caveats.iter().any(|caveat| caveat.code == "decaying") {
        return Some("throughput fell".to_owned());
    }
    let half = ProbeMetric::Iops.estimate(probe).and_then(Estimate::half_width)?;
    let share = half / iops(probe);
    (share > VAGUE).then(|| format!("throughput varied (its mean is known to ± {})", whole_percent(share)))
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

/// True if the parameters have these values.
pub fn has(probe: &Probe, wanted: &[(&str, Scalar)]) -> bool {
    wanted.iter().all(|(name, value)| probe.params.get(*name) == Some(value))
}

/// A parameter that is a number; 0 if it is not there.
pub fn number(probe: &Probe, name: &str) -> f64 {
    probe.number(name).unwrap_or(0.0)
}

/// Microseconds of a kind of operation.
pub fn latency(probe: &Probe, kind: OpKind, statistic: Statistic) -> Option<f64> {
    ProbeMetric::Latency(kind, statistic).value(probe).filter(|us| us.is_finite())
}

/// Of the time since an operation was due, if a rate was set; else of its latency.
pub fn response(probe: &Probe, kind: OpKind, statistic: Statistic) -> Option<f64> {
    ProbeMetric::Response(kind, statistic).value(probe).or_else(|| latency(probe, kind, statistic))
}

/// The measurements with a yes-or-no parameter off and on.
pub fn find_pair<'a>(probes: &[&'a Probe], parameter: &str) -> Option<(&'a Probe, &'a Probe)> {
    let with = |wanted: bool| probes.iter().copied().find(|probe| has(probe, &[(parameter, wanted.into())]));
    Some((with(false)?, with(true)?))
}
