//! What rules may look at: a load point's measured window, never what was counted since the server started.

use plimsoll_diagnosis::Observed;
use plimsoll_diagnosis::signals::{SWAPPED, Signals, rate};
use plimsoll_model::Class;
use plimsoll_model::diagnosis::{Bottleneck, BottleneckVerdict, Diagnosis};
use plimsoll_model::samples::StatusSample;
use plimsoll_model::summary::Point;
use plimsoll_plan::knowledge::Release;
use plimsoll_plan::knowledge::value::number;
use plimsoll_plan::lab::file::needs::Needs;
use plimsoll_stats::fairness::mean_stddev;
use std::collections::{BTreeMap, BTreeSet};

/// A load point and the server that carried it.
#[derive(Clone, Debug)]
pub struct SeenServer {
    pub release: Release,
    /// Length of the measured window, seconds.
    pub seconds: f64,
    /// Whether the machine that was looked at is the server's: of one elsewhere, it is that of whoever watches.
    pub is_here: bool,
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
    /// The machine and the storage of the data; `None` of a server elsewhere.
    pub machine: Option<SeenMachine>,
    /// What a crash may cost: classes that whoever asks accepts.
    pub allowed: BTreeSet<Class>,
    pub needs: Needs,
    /// How long the server took to answer again after a crash, seconds, where that was tried.
    pub recovered_seconds: Option<f64>,
    /// The percentile that is needed, milliseconds; `None` where it was not measured.
    pub needed_ms: Option<f64>,
}

/// What is known of a machine and of the storage below the server's data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenMachine {
    pub numa_nodes: Option<usize>,
    /// Of CPU frequency: `powersave`; several if CPUs differ.
    pub governors: Vec<String>,
    /// `always`, `madvise`, `never`.
    pub transparent_huge_pages: Option<String>,
    pub filesystem: Option<String>,
    pub mount_options: Vec<String>,
    /// `nvme0n1`.
    pub device: Option<String>,
    pub rotational: Option<bool>,
    pub scheduler: Option<String>,
    pub read_ahead_bytes: Option<u64>,
}

/// What is known besides what was observed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenContext {
    pub machine: Option<SeenMachine>,
    /// What a crash may cost, besides what the needs say.
    pub allowed: BTreeSet<Class>,
    pub needs: Needs,
    /// After a crash, seconds.
    pub recovered_seconds: Option<f64>,
}

impl SeenContext {
    /// What a crash may cost, by all that was said.
    pub fn allowed(&self) -> BTreeSet<Class> {
        &self.allowed | &self.needs.allowed()
    }
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
    /// Rows that were asked of a storage engine, and statements that asked.
    pub rows_read: Option<f64>,
    pub questions: Option<f64>,
    /// How unevenly pages were flushed: standard deviation of the seconds ÷ their mean.
    pub flushing_varies: Option<f64>,
    /// At the most.
    pub connected: Option<f64>,
    /// Length of the history list at the end, and whether each sample was longer than the one before.
    pub history: Option<f64>,
    pub history_grows: bool,
}

impl SeenServer {
    pub fn of(observed: &Observed<'_>, diagnosis: &Diagnosis, release: Release, context: SeenContext) -> SeenServer {
        let status = observed.status();
        let rate = |counter: fn(&StatusSample) -> Option<u64>| rate(&status, counter);
        let history: Vec<u64> = status.iter().filter_map(|line| line.history_length).collect();
        let left = observed.host().iter().filter_map(|line| Some(line.memory?.available_bytes)).min();
        // A server elsewhere has no process here.
        let is_here = !observed.server.is_empty();
        SeenServer {
            release,
            seconds: observed.seconds().map(|interval| interval.seconds).sum(),
            is_here,
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
                rows_read: rate(|line| line.handler_reads),
                questions: rate(|line| line.questions),
                flushing_varies: variation(&status),
                connected: status.iter().filter_map(|line| line.threads_connected).max().map(|most| most as f64),
                history: history.last().map(|last| *last as f64),
                history_grows: history.len() > 2 && history.is_sorted_by(|before, after| before < after),
            },
            memory_left: left.filter(|_| is_here).map(|bytes| bytes as f64),
            allowed: context.allowed(),
            machine: context.machine,
            needed_ms: context.needs.latency.as_ref().and_then(|of| percentile(observed.point, of.quantile)),
            needs: context.needs,
            recovered_seconds: context.recovered_seconds,
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

    /// Whether the server's machine is known to swap, so that it has no memory to give.
    pub fn swaps(&self) -> bool {
        self.is_here && self.signals.host.swapped_bytes.is_some_and(|bytes| bytes > SWAPPED)
    }
}

/// A percentile of a load point, milliseconds: of the response time where transactions were due at a time.
fn percentile(point: &Point, quantile: f64) -> Option<f64> {
    let of = point.response_ms.as_ref().unwrap_or(&point.latency_ms);
    of.known().into_iter().find(|(known, _)| (known - quantile).abs() < 1e-9)?.1
}

/// Standard deviation ÷ mean of the pages flushed in each second; none if nothing was.
fn variation(status: &[&StatusSample]) -> Option<f64> {
    let per_second = |line: &&StatusSample| Some(line.pages_flushed? as f64 / line.seconds.max(1e-3));
    let all: Vec<f64> = status.iter().filter_map(per_second).collect();
    let (mean, deviation) = mean_stddev(&all).filter(|(mean, _)| *mean > 0.0)?;
    (all.len() > 2).then(|| deviation / mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_diagnosis::diagnose;
    use plimsoll_model::samples::ServerSample;

    #[test]
    fn a_machine_is_the_servers_if_the_server_has_a_process_there() {
        let (point, settings) = (Point::default(), BTreeMap::new());
        let is_here = |server: &[ServerSample]| {
            let (intervals, host, status, storage) = (&[], &[], &[], &[]);
            let observed = Observed { point: &point, intervals, host, server, status, storage, settings: &settings };
            let release = Release::parse("mysql-9.7").expect("a release");
            SeenServer::of(&observed, &diagnose(&observed), release, SeenContext::default()).is_here
        };
        assert!(is_here(&[ServerSample::default()]) && !is_here(&[]));
    }
}
