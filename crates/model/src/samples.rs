//! What is written once per second of a trial. Each type is one line of one recording file.
//!
//! `t_ns` is monotonic and counts from the trial's start.

use crate::statements::StatementCounts;
use crate::summary::{Counts, LatencyMs, ReadWriteOther};
use crate::total;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    Restore,
    /// The machine is left alone for what remains of the plan's pause since the trial before.
    Pause,
    Start,
    /// Settings are set on the running server.
    Flip,
    Verify,
    WarmUp,
    Measure,
    Drain,
    Collect,
    /// A crash under load, and the way back.
    Recover,
    Stop,
}

impl Phase {
    /// What is being done: `warming up`.
    pub fn words(self) -> &'static str {
        match self {
            Phase::Restore => "restoring the data",
            Phase::Pause => "pausing",
            Phase::Start => "starting the server",
            Phase::Flip => "flipping its settings",
            Phase::Verify => "verifying its settings",
            Phase::WarmUp => "warming up",
            Phase::Measure => "measuring",
            Phase::Drain => "draining",
            Phase::Collect => "collecting",
            Phase::Recover => "recovering",
            Phase::Stop => "stopping the server",
        }
    }
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
    /// Exchanges that ended with the connection, and no error of the server's.
    #[serde(default)]
    pub lost_connections: u64,
    pub reconnects: u64,
    pub counts: Counts,
    pub latency_ms: LatencyMs,
    pub response_ms: Option<LatencyMs>,
    /// CPU time of the loop threads in the interval, microseconds.
    pub loop_cpu_us: f64,
    /// Largest delay between the moment a loop should have woken and the moment it did, milliseconds.
    pub scheduling_lag_ms_max: f64,
    /// `null` if no transaction ended.
    #[serde(default)]
    pub completed: Option<Completed>,
    /// Time that a workload's script took, microseconds, all connections together; none of a workload without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script_us: Option<f64>,
    /// Agents that were lost and have not told of it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missing: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What a load agent and its machine did in a second, or that it is lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentSample {
    /// The end of the second, since the start of the series; of a load, while it is only told.
    pub t_ns: u64,
    pub agent: String,
    /// Transactions of its loops that ended in that second.
    #[serde(default)]
    pub transactions: u64,
    /// CPU that the processes of its load have used so far, microseconds.
    pub cpu_us: u64,
    /// The longest that the broker took since the second before to acknowledge something that the agent told, microseconds.
    #[serde(default)]
    pub stored_us: u64,
    /// How well its clock was known at the start, microseconds.
    #[serde(default)]
    pub clock_bound_us: f64,
    /// Why it carries nothing from here on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// `null` where it could not be looked at.
    pub host: Option<HostSample>,
}

/// When the first and the last transaction of an interval ended, seconds from its start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Completed {
    pub first: f64,
    pub last: f64,
}

impl Interval {
    /// One of which nothing is known but when it was.
    pub fn empty(t_ns: u64, phase: Phase, seconds: f64) -> Interval {
        Interval {
            t_ns,
            phase,
            seconds,
            transactions: 0,
            rollbacks: 0,
            committed: BTreeMap::new(),
            queries: 0,
            statements: ReadWriteOther::default(),
            sent: StatementCounts::default(),
            errors: BTreeMap::new(),
            retries: 0,
            lost_connections: 0,
            reconnects: 0,
            counts: Counts::default(),
            latency_ms: LatencyMs::default(),
            response_ms: None,
            loop_cpu_us: 0.0,
            scheduling_lag_ms_max: 0.0,
            completed: None,
            script_us: None,
            missing: 0,
        }
    }

    /// Errors whatever their code, and connections that were lost without one.
    pub fn error_count(&self) -> u64 {
        total(self.errors.values().copied().chain([self.lost_connections]))
    }
}

/// One line of `host.ndjson`: what the host did since the line before. What its kernel does not tell is none or empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostSample {
    pub t_ns: u64,
    /// Length of the time covered.
    #[serde(default)]
    pub seconds: f64,
    /// Shares of all CPU time, 0 to 1.
    pub user: f64,
    pub system: f64,
    pub iowait: f64,
    pub steal: f64,
    pub idle: f64,
    /// The same of each CPU that is online, by number.
    #[serde(default)]
    pub cores: BTreeMap<u32, CpuShares>,
    pub context_switches: u64,
    pub processes_running: u32,
    /// Waiting for I/O at the moment of the sample.
    #[serde(default)]
    pub processes_blocked: u32,
    #[serde(default)]
    pub interrupts: u64,
    #[serde(default)]
    pub softirqs: u64,
    /// Mean length of the run queue over the last minute, with what waits for I/O (proc_loadavg(5)).
    #[serde(default)]
    pub load_1m: Option<f64>,
    #[serde(default)]
    pub memory: Option<MemorySample>,
    #[serde(default)]
    pub pressure: Pressure,
    /// Block devices that hold the data or have done anything so far, by name.
    #[serde(default)]
    pub devices: BTreeMap<String, DeviceSample>,
    /// By interface, the loopback included.
    #[serde(default)]
    pub networks: BTreeMap<String, NetworkSample>,
    /// TCP segments that were sent again.
    #[serde(default)]
    pub tcp_retransmits: Option<u64>,
    /// By mount point.
    #[serde(default)]
    pub nfs: BTreeMap<String, NfsSample>,
    /// CPUs that a local server may run on.
    #[serde(default)]
    pub server_cpus: Vec<u32>,
    /// Plimsoll itself.
    #[serde(default)]
    pub client: Option<ClientSample>,
}

/// What the time of one CPU went to: shares, 0 to 1, to four digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuShares {
    pub user: f64,
    pub system: f64,
    pub iowait: f64,
    pub steal: f64,
    pub idle: f64,
}

/// Memory at the moment of the sample (proc_meminfo(5)), and what was moved since the line before (`/proc/vmstat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemorySample {
    pub available_bytes: u64,
    pub cached_bytes: u64,
    pub dirty_bytes: u64,
    pub writeback_bytes: u64,
    pub swap_used_bytes: u64,
    pub swapped_in_bytes: u64,
    pub swapped_out_bytes: u64,
    pub major_faults: u64,
}

/// Time in which tasks waited for something (Linux, `Documentation/accounting/psi.rst`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    pub cpu: Option<Stalls>,
    pub memory: Option<Stalls>,
    pub io: Option<Stalls>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stalls {
    /// At least one task waited.
    pub some: Stall,
    /// All tasks that were not idle waited. For the CPU as a whole there is no such time, or it is 0.
    pub full: Option<Stall>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// Share of the last ten seconds, 0 to 1.
    pub avg10: f64,
    /// Since the line before, microseconds.
    pub stalled_us: u64,
}

/// What an interface did since the line before (proc_net(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkSample {
    pub received_bytes: u64,
    pub received_packets: u64,
    pub sent_bytes: u64,
    pub sent_packets: u64,
    /// In both directions.
    pub errors: u64,
    pub dropped: u64,
}

/// What an NFS mount did since the line before (`/proc/self/mountstats`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NfsSample {
    /// By kind as the kernel writes it (`READ`, `WRITE`, `COMMIT` …); those that were not asked for are left out.
    pub operations: BTreeMap<String, NfsOperations>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NfsOperations {
    pub count: u64,
    /// Requests that were sent again.
    pub retransmits: u64,
    pub sent_bytes: u64,
    pub received_bytes: u64,
    /// Mean time from sending to the answer, milliseconds.
    pub answer_ms: f64,
    /// Mean time from the request to its end, waiting for a slot included, milliseconds.
    pub total_ms: f64,
}

/// Plimsoll's own process, and those that make load for it: counters since it started; the switches are those of the threads that it has
/// itself at the moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientSample {
    pub cpu_user_us: u64,
    pub cpu_system_us: u64,
    pub resident_bytes: Option<u64>,
    pub threads: Option<u64>,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub major_faults: u64,
    /// CPUs that its loops may run on.
    #[serde(default)]
    pub allowed_cpus: Vec<u32>,
    pub group: Option<GroupSample>,
}

/// The control group that a process is in: its limits, and counters since the group was made (Linux,
/// `Documentation/admin-guide/cgroup-v2.rst` and `cgroup-v1/`). Limits of the groups around it count as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupSample {
    /// CPUs that it may use.
    pub cpu_limit: Option<f64>,
    /// Periods in which it used up its CPU time and was stopped.
    pub throttled_periods: Option<u64>,
    pub throttled_us: Option<u64>,
    pub memory_bytes: Option<u64>,
    pub memory_limit_bytes: Option<u64>,
    /// How often it reached the limit.
    pub memory_limit_hits: Option<u64>,
    /// Pages that it had thrown out and read anew.
    #[serde(default)]
    pub refaults: Option<u64>,
    /// Time in which a task of it waited for memory, microseconds; of version 2 only.
    #[serde(default)]
    pub memory_stalled_us: Option<u64>,
    /// From and to block devices.
    pub read_bytes: Option<u64>,
    pub written_bytes: Option<u64>,
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
    /// The data of the trial, or a part of them, lie on it.
    #[serde(default)]
    pub holds_data: bool,
}

impl DeviceSample {
    /// Mean size of a read or write, bytes; none without any.
    pub fn request_bytes(&self) -> Option<f64> {
        let requests = self.reads as f64 + self.writes as f64;
        (requests > 0.0).then(|| (self.read_bytes as f64 + self.written_bytes as f64) / requests)
    }
}

/// One line of `storage.ndjson`: what the two sides of a network lane and the link between them did since the line
/// before. What could not be counted in that time is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StorageSample {
    pub t_ns: u64,
    /// Length of the time covered.
    pub seconds: f64,
    /// CPUs used by the programs of the storage server, of its clients (initiator, mount) and of the relay between
    /// them; what the kernel does for them beside is not in it.
    pub server_cpu: Option<f64>,
    pub client_cpu: Option<f64>,
    pub link_cpu: Option<f64>,
    /// The storage server's own disk.
    pub server_device: Option<DeviceSample>,
    /// Requests of the client by kind, as the protocol names them (`READ`, `COMMIT`), where it counts them.
    pub operations: Option<BTreeMap<String, u64>>,
    /// Programs that are not there any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<String>,
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
    /// At the moment of the sample.
    #[serde(default)]
    pub threads: Option<u64>,
    #[serde(default)]
    pub major_faults: Option<u64>,
    /// At the moment of the sample.
    #[serde(default)]
    pub open_files: Option<u64>,
    #[serde(default)]
    pub group: Option<GroupSample>,
}

impl ServerSample {
    /// CPU time, microseconds.
    pub fn cpu_us(&self) -> u64 {
        self.cpu_user_us.saturating_add(self.cpu_system_us)
    }
}

/// One line of `status.ndjson`: what the server says of itself. Counters are what was counted since the line before,
/// the rest is as it was at the moment. The names are the same for MySQL and MariaDB; what a server does not tell is
/// `null`.
/// Our own questions, one or three a second, are among [`StatusSample::questions`], and the tables that their answers
/// are made in among [`StatusSample::tmp_tables`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatusSample {
    pub t_ns: u64,
    /// Length of the time covered by the counters.
    pub seconds: f64,
    /// `Questions`: statements of clients.
    pub questions: Option<u64>,
    /// `Com_commit`.
    pub commits: Option<u64>,
    /// `Com_insert`, `Com_update`, `Com_delete` and their kin: statements that change rows.
    #[serde(default)]
    pub writes: Option<u64>,
    pub bytes_received: Option<u64>,
    pub bytes_sent: Option<u64>,
    pub threads_running: Option<u64>,
    pub threads_connected: Option<u64>,
    /// Counter.
    pub threads_created: Option<u64>,
    /// `Handler_read_*`: rows that were asked of a storage engine, by whichever way.
    pub handler_reads: Option<u64>,
    pub tmp_tables: Option<u64>,
    pub tmp_disk_tables: Option<u64>,
    pub sort_merge_passes: Option<u64>,
    pub table_cache_overflows: Option<u64>,
    /// Pages asked of the buffer pool.
    pub pool_read_requests: Option<u64>,
    /// Pages that were not there and were read for a statement.
    pub pool_reads: Option<u64>,
    /// Pages read because others of their extent were.
    pub pool_read_ahead: Option<u64>,
    /// Waits for a free page.
    pub pool_wait_free: Option<u64>,
    pub pages_total: Option<u64>,
    pub pages_free: Option<u64>,
    pub pages_dirty: Option<u64>,
    /// Counters.
    pub pages_read: Option<u64>,
    pub pages_written: Option<u64>,
    pub pages_flushed: Option<u64>,
    pub doublewrite_pages: Option<u64>,
    pub data_read_bytes: Option<u64>,
    pub data_written_bytes: Option<u64>,
    /// Syncs of all files of InnoDB.
    pub data_fsyncs: Option<u64>,
    /// Syncs of the redo log; MariaDB does not count them (since 10.8).
    pub log_fsyncs: Option<u64>,
    pub redo_written_bytes: Option<u64>,
    /// Reads of InnoDB's files that are under way at the moment of the sample.
    #[serde(default)]
    pub data_pending_reads: Option<u64>,
    /// Time that threads waited for reads of data files, milliseconds, added up over the threads; MySQL only, as are
    /// the two below.
    #[serde(default)]
    pub page_read_ms: Option<u64>,
    /// For syncs of the redo log, and of the binary log.
    #[serde(default)]
    pub redo_sync_ms: Option<u64>,
    #[serde(default)]
    pub binlog_sync_ms: Option<u64>,
    /// Waits for room in the log buffer.
    pub log_waits: Option<u64>,
    /// Redo between the last checkpoint and the end of the log, bytes: what a crash recovery has to read.
    pub checkpoint_age_bytes: Option<u64>,
    /// The age that is not to be exceeded: MariaDB's own limit; of MySQL the redo log's capacity, which is above it.
    pub checkpoint_age_max_bytes: Option<u64>,
    pub row_lock_waits: Option<u64>,
    /// Time waited for row locks, added up over those that waited.
    pub row_lock_ms: Option<u64>,
    /// Waiting for a row lock at the moment.
    pub row_lock_waiting: Option<u64>,
    pub deadlocks: Option<u64>,
    /// Transactions whose old row versions are not purged yet.
    pub history_length: Option<u64>,
}

/// One line of `collectors.ndjson`: a number of the user's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CollectorSample {
    pub t_ns: u64,
    pub name: String,
    pub value: Option<f64>,
    /// Why there is no value.
    pub error: Option<String>,
}
