//! The summary of a storage evaluation: the JSON document that `io --json` prints and a recording keeps.
//!
//! No samples give `null`, never 0. Added fields do not raise [`SCHEMA_VERSION`].

use crate::caveat::Caveat;
use crate::estimate::Estimate;
use crate::number::three_digits;
use crate::operation::OpKind;
use crate::probe_metric::{self, ProbeMetric};
use crate::scalar::{NamedScalars, Scalar};
use crate::summary::Counts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const SCHEMA_VERSION: u32 = 1;

/// Shorter latencies are recorded as 1 µs, in a bucket of the histogram that ends here, microseconds.
pub const SHORTEST_US: f64 = 1.023;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IoSummary {
    pub schema_version: u32,
    /// The directory that was asked about.
    pub directory: String,
    /// `quick`, `full`, `percona-2008`; `test` for a single `--test`.
    pub suite: String,
    pub seed: u64,
    pub device: DeviceFacts,
    /// In the order in which they were run.
    pub probes: Vec<Probe>,
    pub sheet: Vec<SheetLine>,
    /// What a private server on the same directory reached, beside what the sheet predicts; empty without `--validate`.
    #[serde(default)]
    pub validation: Vec<Validated>,
    /// What a published document printed, beside what was measured here; empty but for suites that repeat one.
    #[serde(default)]
    pub published: Vec<PrintedFigure>,
    pub caveats: Vec<Caveat>,
    /// Directory of the recording, if one was written.
    pub recording: Option<String>,
    /// True if Ctrl-C or an error ended the evaluation before its plan did.
    pub interrupted: bool,
}

/// What lies below a directory. What the system does not tell is `null`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// `vda`, `nvme0n1`, `loop3`: the whole device, not its partition.
    pub name: Option<String>,
    pub filesystem: Option<String>,
    pub mount_point: Option<String>,
    /// What is mounted: `/dev/vda1`, `server:/export`, `tmpfs`.
    pub source: Option<String>,
    pub mount_options: Vec<String>,
    /// `write back` or `write through`, as the kernel sees the device's cache.
    pub write_cache: Option<String>,
    pub logical_block_bytes: Option<u64>,
    pub physical_block_bytes: Option<u64>,
    /// Bytes of the blocks in which MariaDB writes its log past the page cache: 64 to 4096, the device's. `null` where the
    /// kernel tells none for the device number of the file system, as of btrfs and of NFS: then it goes through the cache.
    #[serde(default)]
    pub log_block_bytes: Option<u32>,
    pub rotational: Option<bool>,
    pub scheduler: Option<String>,
    pub read_ahead_bytes: Option<u64>,
    /// Of a loop device: the file below it.
    pub backing_file: Option<String>,
    /// Of a loop device: whether it bypasses the page cache.
    pub loop_direct_io: Option<bool>,
    /// Untorn writes by statx(2), STATX_WRITE_ATOMIC: the smallest and the largest unit, bytes; 0 where not offered.
    pub atomic_write_bytes: Option<(u64, u64)>,
    /// Whether a file here can be opened with O_DIRECT.
    pub direct: Option<bool>,
    /// Why io_uring cannot be used, if it cannot.
    pub io_uring_refused: Option<String>,
    pub free_bytes: Option<u64>,
    pub memory_bytes: Option<u64>,
    /// Flushes of the device per second before anything was measured: those of others.
    pub flushes_per_second_idle: Option<f64>,
}

impl DeviceFacts {
    /// Whether it is a disk that turns. `rotational` tells that of SCSI and ATA disks only: a kernel takes a virtual disk
    /// for one that turns unless it is told otherwise.
    pub fn turns(&self) -> Option<bool> {
        let is_disk = self.name.as_deref().is_some_and(|name| name.starts_with("sd"));
        self.rotational.filter(|turns| is_disk || !turns)
    }
}

/// One measurement of one probe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// The probe's number, 1 to 22; above 100 the runs of an article.
    pub probe: u8,
    /// Names this measurement within the evaluation: `6.depth-16`.
    pub id: String,
    /// What is measured, in words: `page read`.
    pub name: String,
    pub params: NamedScalars,
    /// Length of the measured window.
    pub seconds: f64,
    /// Operations that ended in the window.
    pub operations: BTreeMap<OpKind, u64>,
    /// Reads and writes per second; of commits, commits; of other kinds, operations.
    pub iops: Option<f64>,
    /// Megabytes (10^6 bytes) read and written per second.
    pub mb_per_second: Option<f64>,
    pub latency_us: BTreeMap<OpKind, LatencyUs>,
    /// The same from the moment an operation was due; empty where no rate was set.
    #[serde(default)]
    pub response_us: BTreeMap<OpKind, LatencyUs>,
    /// Counts of latencies: `[microseconds up to which, count]`, buckets growing by an eighth of an octave.
    #[serde(default)]
    pub histogram: BTreeMap<OpKind, Vec<(f64, u64)>>,
    /// One entry per second of the window.
    #[serde(default)]
    pub series: Vec<Second>,
    /// Per operation that [`Probe::iops`] counts. Flushes that the device completed (`null` where the kernel does not count
    /// them); bytes that it read and wrote.
    pub flushes_per_op: Option<f64>,
    pub device_bytes_per_op: Option<f64>,
    /// CPU of the whole machine.
    pub cpu_us_per_op: Option<f64>,
    /// CPU of Plimsoll's own process.
    #[serde(default)]
    pub process_cpu_us_per_op: Option<f64>,
    #[serde(default)]
    pub counts: Counts,
    /// How far the means and percentiles above can be trusted; in JSON by the path of the number within the probe.
    #[serde(default, deserialize_with = "probe_metric::known")]
    pub estimates: BTreeMap<ProbeMetric, Estimate>,
    /// Values that only this probe has, by name: `hole_slowdown`, `extents`.
    #[serde(default)]
    pub found: BTreeMap<String, f64>,
    /// Why it could not be measured, or not to its end.
    pub error: Option<String>,
    pub caveats: Vec<Caveat>,
}

impl Probe {
    /// Kinds of operation in the order in which a probe is about them: the first of these that was done.
    pub const KINDS: [OpKind; 9] = [
        OpKind::Commit,
        OpKind::Read,
        OpKind::Write,
        OpKind::Extend,
        OpKind::Create,
        OpKind::Rename,
        OpKind::Truncate,
        OpKind::Unlink,
        OpKind::Sync,
    ];

    /// The kind of operation that it is about, with its latency; `None` if nothing was done.
    pub fn main_latency(&self) -> Option<(OpKind, &LatencyUs)> {
        let done = |kind: OpKind| Some((kind, self.latency_us.get(&kind).filter(|latency| latency.count > 0)?));
        Probe::KINDS.into_iter().find_map(done)
    }

    /// The largest set of these measurements that differ by depth alone (the first of sets as large), by depth.
    pub fn sweep<'a>(probes: &[&'a Probe]) -> Vec<&'a Probe> {
        let kind = |probe: &'a Probe| (probe.word("engine"), probe.number("block"), probe.number("set_bytes"));
        let alike = |of: &&&'a Probe| probes.iter().filter(|probe| kind(probe) == kind(of)).count();
        // `max_by_key` gives the last of equals.
        let Some(first) = probes.iter().rev().max_by_key(alike) else { return Vec::new() };
        let mut sweep: Vec<&Probe> = probes.iter().copied().filter(|probe| kind(probe) == kind(first)).collect();
        let depth = |probe: &Probe| probe.number("depth").unwrap_or(0.0);
        sweep.sort_by(|a, b| depth(a).total_cmp(&depth(b)));
        sweep
    }

    /// A parameter that is a number.
    pub fn number(&self, param: &str) -> Option<f64> {
        self.params.get(param).and_then(Scalar::number)
    }

    /// A parameter that is a word; empty if it is not there.
    pub fn word(&self, param: &str) -> &str {
        self.params.get(param).and_then(Scalar::text).unwrap_or("")
    }
}

/// One second of a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Seconds since the window's start.
    pub t: f64,
    pub iops: f64,
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    pub max_us: Option<f64>,
}

/// Microseconds. Every field but `count` is `null` where there was no sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyUs {
    pub count: u64,
    pub min: Option<f64>,
    pub mean: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
    pub max: Option<f64>,
}

/// One line of the sheet: what a DBA reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SheetLine {
    /// Stable, for programs: `commits_1_mariadb`, `flush_reaches_device`.
    pub key: String,
    /// Groups lines under a heading: `Commits`, `Page reads`, …
    pub topic: String,
    /// A whole sentence with its numbers.
    pub statement: String,
    /// A number, a word or true/false; `null` where it could not be told.
    pub value: Option<Scalar>,
    /// `1/s`, `us`, `pages/s`, `bytes`; empty for words.
    pub unit: String,
    /// Ids of the probes that it rests on.
    pub probes: Vec<String>,
    /// Something that a DBA should not overlook.
    #[serde(default)]
    pub warning: bool,
}

impl SheetLine {
    /// The value, if it is a number.
    pub fn number(&self) -> Option<f64> {
        self.value.as_ref()?.number()
    }
}

/// What a server can reach by what a probe did, per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// `None` of a bound.
    pub low: Option<f64>,
    pub high: f64,
}

impl Prediction {
    /// Up to so many sessions, and beyond, servers were found to commit at most so many times as often, or as seldom, as
    /// committers that work as their sessions do: docs/storage.md has the figures. With many sessions it depends on the
    /// scheduler how many of them are back in time for the next sync.
    const FEW: usize = 8;
    const OF_FEW: f64 = 1.22;
    const OF_MANY: f64 = 1.4;

    /// By committers that work as so many sessions do.
    pub fn around(rate: f64, sessions: usize) -> Prediction {
        let margin = if sessions <= Prediction::FEW { Prediction::OF_FEW } else { Prediction::OF_MANY };
        Prediction { low: Some(rate / margin), high: rate * margin }
    }

    /// By operations that nothing is computed between.
    pub fn at_most(rate: f64) -> Prediction {
        Prediction { low: None, high: rate }
    }

    pub fn contains(self, reached: f64) -> bool {
        self.low.is_none_or(|low| low <= reached) && reached <= self.high
    }

    /// `3,540 to 5,270`, `at most 5,270`.
    pub fn in_words(self) -> String {
        let high = three_digits(self.high);
        self.low.map_or_else(|| format!("at most {high}"), |low| format!("{} to {high}", three_digits(low)))
    }
}

/// A prediction and what a server reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validated {
    /// `commits at 8 sessions`, `page reads`.
    pub what: String,
    /// `mariadb 10.11.19`.
    pub server: String,
    pub sessions: usize,
    /// The most.
    pub predicted: Option<f64>,
    /// The least; `null` where the most is all that is predicted.
    #[serde(default)]
    pub predicted_low: Option<f64>,
    pub reached: Option<f64>,
    pub unit: String,
    /// The server's CPU, not the storage, was the limit.
    pub cpu_bound: bool,
    /// Predicted against reached in words.
    pub remark: String,
    /// Ids of the probes that predict it.
    pub probes: Vec<String>,
}

impl Validated {
    pub fn prediction(&self) -> Option<Prediction> {
        Some(Prediction { low: self.predicted_low, high: self.predicted? })
    }
}

/// One printed figure of a document that is repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrintedFigure {
    /// What the figure is of: `128 MB, 1 file, random read, 1 thread`.
    pub what: String,
    /// Which number of it: `requests/s`, `95th percentile`.
    pub metric: String,
    pub unit: String,
    /// As the document prints it.
    pub published: String,
    /// In the document's own format; `null` where it cannot be measured, and then `note` says why.
    pub measured: Option<String>,
    pub note: Option<String>,
    /// The id of the probe that measured it.
    pub probe: Option<String>,
}
