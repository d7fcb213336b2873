//! What rules may look at: a load point's measured window, never what was counted since the server started.

use plimsoll_diagnosis::Observed;
use plimsoll_diagnosis::signals::{Signals, rate};
use plimsoll_model::diagnosis::{Bottleneck, BottleneckVerdict, Diagnosis};
use plimsoll_model::samples::StatusSample;
use plimsoll_plan::knowledge::Release;
use plimsoll_plan::knowledge::value::number;
use std::collections::BTreeMap;

/// A load point and the server that carried it.
#[derive(Clone, Debug)]
pub struct SeenServer {
    pub release: Release,
    /// Length of the measured window, seconds.
    pub seconds: f64,
    pub signals: Signals,
    /// Share of the transactions' time that each bottleneck explains, 0 to 1.
    pub shares: BTreeMap<Bottleneck, f64>,
    /// The one that limited the load point, if one is clear of all others.
    pub limit: Option<Bottleneck>,
    /// Values of the running server's variables, by name.
    pub settings: BTreeMap<String, String>,
    pub counted: SeenRates,
    /// Memory of the server's machine that nothing used, at the least, bytes; `None` of a server elsewhere.
    pub memory_left: Option<f64>,
}

/// How fast counters of the server moved, per second; `None` where nobody looked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SeenRates {
    /// Waits for room in the log buffer.
    pub log_waits: Option<f64>,
    pub sort_merge_passes: Option<f64>,
    pub tmp_tables: Option<f64>,
    pub tmp_disk_tables: Option<f64>,
    pub table_cache_overflows: Option<f64>,
    pub threads_created: Option<f64>,
}

impl SeenServer {
    pub fn of(observed: &Observed<'_>, diagnosis: &Diagnosis, release: Release) -> SeenServer {
        let status = observed.status();
        let rate = |counter: fn(&StatusSample) -> Option<u64>| rate(&status, counter);
        let left = observed.host().iter().filter_map(|line| Some(line.memory?.available_bytes)).min();
        SeenServer {
            release,
            seconds: observed.seconds().map(|interval| interval.seconds).sum(),
            signals: Signals::of(observed),
            shares: diagnosis.candidates.iter().map(|of| (of.bottleneck, of.share)).collect(),
            limit: match diagnosis.verdict {
                BottleneckVerdict::Limited(bottleneck) => Some(bottleneck),
                BottleneckVerdict::NotLimited | BottleneckVerdict::NotClear => None,
            },
            settings: observed.settings.clone(),
            counted: SeenRates {
                log_waits: rate(|line| line.log_waits),
                sort_merge_passes: rate(|line| line.sort_merge_passes),
                tmp_tables: rate(|line| line.tmp_tables),
                tmp_disk_tables: rate(|line| line.tmp_disk_tables),
                table_cache_overflows: rate(|line| line.table_cache_overflows),
                threads_created: rate(|line| line.threads_created),
            },
            // A server elsewhere has no process here, and its memory is not this machine's.
            memory_left: left.filter(|_| !observed.server.is_empty()).map(|bytes| bytes as f64),
        }
    }

    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }

    /// A setting as a number; of a size, bytes.
    pub fn number(&self, name: &str) -> Option<f64> {
        number(self.setting(name)?)
    }

    pub fn share(&self, bottleneck: Bottleneck) -> f64 {
        self.shares.get(&bottleneck).copied().unwrap_or(0.0)
    }
}
