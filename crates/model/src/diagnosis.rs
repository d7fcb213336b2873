//! What limited a load point, with the evidence that decided; and what a transaction cost.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What can keep a server from carrying more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// The load generator: its own CPU, or what it is allowed of it.
    Client,
    /// The CPUs that the server may use.
    Cpu,
    /// Pages that have to be read from storage.
    ReadIo,
    /// The sync that makes a commit durable.
    CommitSync,
    /// Pages that have to be written before work can go on: checkpoints, free pages.
    PageFlush,
    /// Rows that several transactions want, deadlocks among them.
    RowLocks,
    /// Latches inside the server, or threads that it does not have.
    Threads,
    /// Round trips between the load generator and the server.
    Network,
    /// Memory that is not there: swapping, reclaim, a limit.
    Memory,
    /// A control group or a hypervisor that stops the server from using what it has.
    Throttled,
}

impl Bottleneck {
    pub const ALL: [Bottleneck; 10] = [
        Bottleneck::Client,
        Bottleneck::Cpu,
        Bottleneck::ReadIo,
        Bottleneck::CommitSync,
        Bottleneck::PageFlush,
        Bottleneck::RowLocks,
        Bottleneck::Threads,
        Bottleneck::Network,
        Bottleneck::Memory,
        Bottleneck::Throttled,
    ];

    /// As the object of "limited by".
    pub fn words(self) -> &'static str {
        match self {
            Bottleneck::Client => "the load generator",
            Bottleneck::Cpu => "the server’s CPU",
            Bottleneck::ReadIo => "reads from storage",
            Bottleneck::CommitSync => "the sync of each commit",
            Bottleneck::PageFlush => "flushing of pages",
            Bottleneck::RowLocks => "row locks",
            Bottleneck::Threads => "latches or threads of the server",
            Bottleneck::Network => "the network",
            Bottleneck::Memory => "memory",
            Bottleneck::Throttled => "a limit on CPU time",
        }
    }
}

/// One number that speaks for a bottleneck.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// A clause that can stand in a list: `commits waited 71 % of their time for the log`.
    pub statement: String,
    pub value: f64,
    /// `1` for a share.
    pub unit: String,
    /// Where it comes from: file and field of the recording.
    pub source: String,
}

/// A bottleneck with what speaks for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    pub bottleneck: Bottleneck,
    /// Estimated share of the time of the load's transactions that went to it, 0 to 1.
    pub share: f64,
    pub evidence: Vec<Evidence>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BottleneckVerdict {
    /// One bottleneck is clear of all others.
    Limited(Bottleneck),
    /// What was asked for was carried, and nothing was near its end.
    NotLimited,
    /// Nothing stands out, several do, or what would decide was not recorded.
    NotClear,
}

/// What limited one load point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    pub verdict: BottleneckVerdict,
    /// The verdict with its evidence, a sentence or two.
    pub sentence: String,
    /// By share, the largest first; those that hardly count are left out.
    pub candidates: Vec<Candidate>,
    /// What to try next.
    pub next: Option<String>,
    /// Telemetry that was not recorded and would have said more.
    pub missing: Vec<String>,
}

/// What one transaction cost, intended rollbacks counted as transactions. What was not recorded is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// CPU of the load generator's loops, microseconds.
    pub client_cpu_us: Option<f64>,
    /// CPU of the server's process, microseconds.
    pub server_cpu_us: Option<f64>,
    /// Requests to the block devices that hold the data.
    pub reads: Option<f64>,
    pub writes: Option<f64>,
    /// KB of 1,000 bytes from and to them.
    pub read_kb: Option<f64>,
    pub written_kb: Option<f64>,
    /// Share of reads among the requests, 0 to 1.
    pub read_share: Option<f64>,
    /// Mean size of a request, KB of 1,000 bytes.
    pub request_kb: Option<f64>,
    /// Syncs of the server's files, by its own count; else flushes of the devices.
    pub fsyncs: Option<f64>,
    /// Of the server's threads.
    pub context_switches: Option<f64>,
    /// CPU of everything on the machine of the load generator, microseconds.
    #[serde(default)]
    pub host_cpu_us: Option<f64>,
    /// CPU of the programs of a network lane's storage server, microseconds.
    #[serde(default)]
    pub storage_cpu_us: Option<f64>,
    /// Requests to a network lane's storage server: operations of the protocol where they are counted, else reads
    /// and writes of the client's device, among which the kernel counts flushes that come alone.
    #[serde(default)]
    pub storage_round_trips: Option<f64>,
}

/// What a network lane did while a load point was measured: means over its window. What was not counted is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StorageUse {
    /// CPUs used by the programs of the storage server, of its client and of the link between them.
    pub server_cpus: Option<f64>,
    pub client_cpus: Option<f64>,
    pub link_cpus: Option<f64>,
    /// CPUs of the machine, of which the three are a part.
    pub host_cpus: Option<usize>,
    /// Share of the time in which the storage server's disk was busy, 0 to 1.
    pub disk_busy: Option<f64>,
    /// Of the storage server's disk, per second.
    pub disk_reads: Option<f64>,
    pub disk_writes: Option<f64>,
    pub disk_flushes: Option<f64>,
    /// Requests to the storage server per second: see [`Cost::storage_round_trips`].
    pub requests: Option<f64>,
    /// By kind, per second, where the protocol counts them.
    pub operations: Option<BTreeMap<String, f64>>,
    /// Programs of the lane that ended while it was measured.
    pub ended: Vec<String>,
}

impl StorageUse {
    /// Share of a kind among the operations, 0 to 1; a kind that nobody asked for has a share of 0.
    pub fn share(&self, kind: &str) -> Option<f64> {
        let operations = self.operations.as_ref()?;
        let all: f64 = operations.values().sum();
        (all > 0.0).then(|| operations.get(kind).copied().unwrap_or(0.0) / all)
    }
}
