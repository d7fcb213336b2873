//! What is written once per second of a trial. Each type is one line of one recording file.
//!
//! `t_ns` is monotonic and counts from the trial's start.

use crate::statements::StatementCounts;
use crate::summary::{Counts, LatencyMs, ReadWriteOther};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    Restore,
    Start,
    Verify,
    WarmUp,
    Measure,
    Drain,
    Collect,
    Stop,
    Pause,
}

/// One line of `intervals.ndjson`: what the load did in one second of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub t_ns: u64,
    pub phase: Phase,
    /// Length of the interval in seconds; 1 but for the last one of a phase.
    pub seconds: f64,
    pub transactions: u64,
    pub rollbacks: u64,
    /// Commits by kind of transaction, where there are several kinds.
    #[serde(default)]
    pub committed: BTreeMap<String, u64>,
    pub queries: u64,
    pub statements: ReadWriteOther,
    pub sent: StatementCounts,
    pub errors: BTreeMap<u16, u64>,
    pub retries: u64,
    pub reconnects: u64,
    pub counts: Counts,
    pub latency_ms: LatencyMs,
    pub response_ms: Option<LatencyMs>,
    /// CPU time of the loop threads in the interval, microseconds.
    pub loop_cpu_us: f64,
    /// Largest delay between the moment a loop should have woken and the moment it did, milliseconds.
    pub scheduling_lag_ms_max: f64,
}

/// One line of `host.ndjson`: shares of all CPU time of the host since the line before, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostSample {
    pub t_ns: u64,
    pub user: f64,
    pub system: f64,
    pub iowait: f64,
    pub steal: f64,
    pub idle: f64,
    pub context_switches: u64,
    pub processes_running: u32,
    /// Waiting for I/O at the moment of the sample.
    #[serde(default)]
    pub processes_blocked: u32,
    /// Interrupts since the line before.
    #[serde(default)]
    pub interrupts: u64,
}

/// One line of `device.ndjson`: what a block device did since the line before (Linux, `Documentation/block/stat.rst`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceSample {
    pub t_ns: u64,
    /// Length of the time covered.
    pub seconds: f64,
    pub reads: u64,
    pub writes: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// `null` where the kernel does not count them.
    pub flushes: Option<u64>,
    /// Requests under way at the moment of the sample.
    pub in_flight: u64,
    /// Mean time of a read or write from entering the queue to its end; `null` without any.
    pub await_ms: Option<f64>,
    /// Share of the time in which at least one request was under way, 0 to 1.
    pub busy: f64,
}

/// One line of `server.ndjson`: counters of a local server's process since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerSample {
    pub t_ns: u64,
    pub cpu_user_us: u64,
    pub cpu_system_us: u64,
    pub resident_bytes: u64,
    pub read_bytes: Option<u64>,
    pub written_bytes: Option<u64>,
    pub context_switches: Option<u64>,
}

impl ServerSample {
    /// CPU time, microseconds.
    pub fn cpu_us(&self) -> u64 {
        self.cpu_user_us.saturating_add(self.cpu_system_us)
    }
}
