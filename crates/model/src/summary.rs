//! The summary of a run: the JSON document that `run --json` prints and a recording keeps.
//!
//! No samples give `null`, never 0. Added fields do not raise [`SCHEMA_VERSION`].

use crate::caveat::Caveat;
use crate::estimate::Estimate;
use crate::flavour::Flavour;
use crate::load_point::LoadPoint;
use crate::metric::Estimates;
use crate::scalar::NamedScalars;
use crate::scaling::Scaling;
use crate::statements::StatementCounts;
use crate::total;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const SCHEMA_VERSION: u32 = 1;

/// CPUs that others kept busy, from which on it is said that they were there: a machine at rest shows less.
pub const DISTURBED: f64 = 0.2;
/// Share of all CPU time that a hypervisor took, from which on it is said.
pub const STOLEN: f64 = 0.02;
/// A load generator that did not look after its connections for so long was stopped, milliseconds: one that only lacks
/// CPU is late by less.
pub const STOPPED_MS: f64 = 1e3;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub schema_version: u32,
    pub workload: String,
    /// Every parameter of the workload with the value it had, defaults included.
    pub params: NamedScalars,
    pub target: TargetFacts,
    pub seed: u64,
    pub points: Vec<Point>,
    /// What a sweep over connections tells; `null` for a single load point and for rates.
    #[serde(default)]
    pub scaling: Option<Scaling>,
    pub totals: Totals,
    pub server: ServerTotals,
    pub caveats: Vec<Caveat>,
    /// What `run --check` found afterwards; `null` without it.
    #[serde(default)]
    pub checks: Option<Vec<InvariantFinding>>,
    /// Directory of the recording, if one was written.
    pub recording: Option<String>,
    /// True if Ctrl-C, an error or a dead server ended the run before its plan did.
    pub interrupted: bool,
}

/// One invariant of the data and what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvariantFinding {
    pub name: String,
    /// True also if it was not asked.
    pub holds: bool,
    /// What was found instead.
    pub found: Option<String>,
    /// Why it was not asked.
    pub skipped: Option<String>,
    /// So much of what clients were told is committed is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// `null` if no server was asked anything.
    pub flavour: Option<Flavour>,
    pub version: String,
    /// The settings that decide what a commit survives, as read from the server.
    pub durability: BTreeMap<String, String>,
    /// Bytes of the files of the tables, before the load; `null` where the user may not ask.
    #[serde(default)]
    pub data_bytes: Option<u64>,
}

impl TargetFacts {
    /// `MariaDB 10.11.6-MariaDB-0+deb12u1`; without a server `no server`.
    pub fn title(&self) -> String {
        self.flavour.map_or_else(|| "no server".to_owned(), |flavour| format!("{} {}", flavour.title(), self.version))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Everything that the load connections sent, warm-up, drain and failures included.
    pub statements: StatementCounts,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerTotals {
    /// The server's own `Com_*` counts between "all prepared" and "drained"; asked on private servers only.
    pub statements: Option<StatementCounts>,
}

/// What was measured at one load point: in the window [w0, w1) on the monotonic clock, membership by completion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Index of the trial of the recording that measured it; `null` in recordings of old, where places agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<u32>,
    /// The rate is `null` in a closed loop.
    #[serde(flatten)]
    pub load: LoadPoint,
    /// Length of the measured window.
    pub seconds: f64,
    /// Commits; with autocommit, successful statements.
    pub transactions: u64,
    /// Intended rollbacks.
    pub rollbacks: u64,
    /// Statements answered without error, BEGIN and COMMIT included.
    pub queries: u64,
    pub statements: ReadWriteOther,
    pub transactions_per_second: Option<f64>,
    pub queries_per_second: Option<f64>,
    /// First send to final answer of a transaction, retries and back-off included.
    pub latency_ms: LatencyMs,
    /// The same from the moment it was due; `null` in a closed loop.
    pub response_ms: Option<LatencyMs>,
    /// Error answers by the server's code, those retried later included.
    pub errors: BTreeMap<u16, u64>,
    pub retries: u64,
    /// Retries by the code of the error that made them necessary: 1213 deadlock, 1205 lock wait timeout, 1020 record
    /// changed since read, 3101 refused by group certification.
    #[serde(default)]
    pub retried: BTreeMap<u16, u64>,
    /// What attempts took that ended in an error, by its code: milliseconds, all connections together.
    #[serde(default)]
    pub failed_attempts_ms: BTreeMap<u16, f64>,
    /// Exchanges that ended with the connection, and no error of the server's; they are not in `errors`.
    #[serde(default)]
    pub lost_connections: u64,
    /// COMMITs, and writes that commit by themselves, whose answer was lost: they may have taken effect.
    #[serde(default)]
    pub unknown_commits: u64,
    pub reconnects: u64,
    /// The longest stretch without a transaction that was completed, where some were due and the load generator was
    /// there to see it; `null` if there was none of a second or more.
    #[serde(default)]
    pub stalled: Option<Stalled>,
    pub fairness: Fairness,
    pub counts: Counts,
    pub operations: Vec<Operation>,
    pub client: ClientCost,
    pub server: Option<ServerCost>,
    pub host: Option<HostShares>,
    /// CPUs that the programs of the network lane below the data used, on either side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_cpus: Option<f64>,
    /// CPUs that programs kept busy in the window which are neither the load, the server, nor below them; `null` where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_cpus: Option<f64>,
    /// What each load agent had of it; empty where the load was made on the machine that followed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentPoint>,
    /// New orders committed per minute of the window; `null` for other workloads than order entry.
    #[serde(default)]
    pub nopm: Option<f64>,
    #[serde(default)]
    pub order_entry: Option<OrderEntry>,
    /// The result as the workload's original prints it, where that is a listing of its own.
    #[serde(default)]
    pub original_listing: Option<String>,
    /// How far the means and percentiles above can be trusted.
    #[serde(default)]
    pub estimates: Estimates,
    /// What each round measured, where there were several and the point is all of them together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Point>,
}

/// What a load agent had of a load point, in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentPoint {
    pub agent: String,
    /// The name of its machine.
    pub machine: String,
    /// Whether that is the machine of the coordinator.
    pub is_here: bool,
    pub loops: usize,
    pub transactions: u64,
    pub queries: u64,
    /// Share of the time in which its loops were busy; `null` if nothing was measured.
    pub loops_busy: Option<f64>,
    /// Share of what its loops can do at most; `null` if that was not measured on its machine.
    pub of_ceiling: Option<f64>,
    /// CPUs that its processes used; `null` where nobody looked.
    pub cpus: Option<f64>,
    /// Longest delay of one of its loops, milliseconds.
    pub lag_ms: f64,
    /// CPUs that others kept busy on its machine; `null` where nobody looked.
    pub foreign_cpus: Option<f64>,
    /// How far its clock may have been misjudged at the start, and how far it has drifted since, microseconds.
    pub clock_bound_us: f64,
    pub clock_drift_us: Option<f64>,
    /// Why it did not come to the end; `null` if it did.
    pub lost: Option<String>,
}

impl Point {
    /// What each round measured; itself, if there was one.
    pub fn each_round(&self) -> &[Point] {
        if self.rounds.is_empty() { std::slice::from_ref(self) } else { &self.rounds }
    }

    /// CPUs of this machine that the load generator kept busy; of a fleet, those of its agents here.
    pub fn cpus_of_client(&self) -> Option<f64> {
        match self.agents.is_empty() {
            true => Some(self.client.process_cpu_us_per_query? * self.queries as f64 / 1e6 / self.seconds),
            false => {
                let mut here = self.agents.iter().filter(|agent| agent.is_here);
                here.try_fold(0.0, |sum, agent| Some(sum + agent.cpus?))
            }
        }
    }

    /// CPUs that neither the load generator, the server, the network lane below its data nor a hypervisor took; none
    /// where the server's process is not known.
    pub fn cpus_of_others(&self) -> Option<f64> {
        let (host, server, client) = (self.host?, self.server.as_ref()?.cpus_busy?, self.cpus_of_client()?);
        let storage = self.storage_cpus.unwrap_or(0.0);
        let busy = (host.busy - host.steal).max(0.0) * host.cpus as f64;
        Some((busy - client - server - storage).max(0.0)).filter(|cpus| cpus.is_finite())
    }

    /// The same, if they are so many that they disturbed it.
    pub fn disturbing_cpus(&self) -> Option<f64> {
        self.cpus_of_others().filter(|cpus| *cpus >= DISTURBED)
    }

    /// The share of all CPU time that a hypervisor took, if it is so much that it disturbed it.
    pub fn disturbing_steal(&self) -> Option<f64> {
        self.host.map(|host| host.steal).filter(|steal| *steal > STOLEN)
    }

    /// Errors whatever their code, and connections that were lost without one.
    pub fn error_count(&self) -> u64 {
        total(self.errors.values().copied().chain([self.lost_connections]))
    }

    /// For how long the load generator was stopped at the longest, seconds; none if it was not.
    pub fn generator_stopped(&self) -> Option<f64> {
        self.client.scheduling_lag_ms_max.filter(|ms| *ms >= STOPPED_MS).map(|ms| ms / 1e3)
    }

    /// Whether something outside of what was measured took so much of the machine that the point's numbers are partly
    /// its.
    pub fn is_disturbed(&self) -> bool {
        self.disturbing_cpus().is_some() || self.disturbing_steal().is_some()
    }
}

/// A stretch of the measured window in which nothing was completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stalled {
    /// Seconds from the window's start.
    pub start: f64,
    pub seconds: f64,
}

/// Statements by their effect: reads returned rows, writes changed them, others did neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadWriteOther {
    pub read: u64,
    pub write: u64,
    pub other: u64,
}

/// Milliseconds. Every field is `null` where there was no sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyMs {
    pub min: Option<f64>,
    pub mean: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
    pub max: Option<f64>,
}

impl LatencyMs {
    /// What is known of the distribution: a share, 0 to 1, and what that share of all times does not exceed, in order.
    pub fn known(&self) -> [(f64, Option<f64>); 7] {
        let LatencyMs { min, mean: _, p50, p90, p95, p99, p999, max } = *self;
        [(0.0, min), (0.5, p50), (0.9, p90), (0.95, p95), (0.99, p99), (0.999, p999), (1.0, max)]
    }
}

/// How evenly connections were served: transactions and busy seconds per connection. Means and standard deviations are
/// over all connections there were: a whole, not a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fairness {
    /// Transactions of the connection that had fewest; above 0 if every one was served.
    pub events_min: Option<u64>,
    pub events_mean: Option<f64>,
    pub events_stddev: Option<f64>,
    pub seconds_mean: Option<f64>,
    pub seconds_stddev: Option<f64>,
}

/// Transactions by what became of them, counted by due time (closed loop: start time) inside the window.
/// offered = started + dropped; started = finished + failed + unfinished; late is part of started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub offered: u64,
    pub started: u64,
    pub finished: u64,
    pub failed: u64,
    pub unfinished: u64,
    /// Sent more than 1 ms after it was due.
    pub late: u64,
    pub dropped: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OperationKind {
    Transaction,
    Statement,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    pub kind: OperationKind,
    pub name: String,
    pub count: u64,
    pub errors: u64,
    pub latency_ms: LatencyMs,
    /// How far `latency_ms.mean` can be trusted; `null` without samples.
    #[serde(default)]
    pub latency_mean_ms: Option<Estimate>,
    /// The same from the moment it was due; `null` for statements and in a closed loop.
    #[serde(default)]
    pub response_ms: Option<LatencyMs>,
    #[serde(default)]
    pub response_mean_ms: Option<Estimate>,
    /// Of transactions: those rolled back as the workload wanted it.
    #[serde(default)]
    pub rollbacks: u64,
    /// Of transactions: how often one was sent again.
    #[serde(default)]
    pub retries: u64,
}

/// What the load generator itself cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientCost {
    /// CPU of the loop threads in the window per query.
    pub cpu_us_per_query: Option<f64>,
    /// CPU of the loop threads in the window per transaction, intended rollbacks included.
    #[serde(default)]
    pub cpu_us_per_transaction: Option<f64>,
    /// CPU of the whole process in the window per query.
    pub process_cpu_us_per_query: Option<f64>,
    /// Share of the loop threads' time that they were on a CPU, 0 to 1.
    pub cpu_fraction: Option<f64>,
    /// Queries per second over what `plimsoll calibrate` found this machine can send; `null` before it ran.
    pub ceiling_fraction: Option<f64>,
    /// Largest delay of a wake-up of a loop.
    pub scheduling_lag_ms_max: Option<f64>,
    /// Threads of the process that were ready to run and waited for a CPU, on average over the window.
    #[serde(default)]
    pub threads_waiting_for_cpu: Option<f64>,
    /// Shortest time from a ping (COM_PING) to its answer before the load began, microseconds: what the way to the server
    /// and back takes at least.
    #[serde(default)]
    pub round_trip_us: Option<f64>,
    /// Time in the window that the workload's script took per query, a part of what the loop threads took; none of a
    /// workload without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script_us_per_query: Option<f64>,
    /// The longest time that it computed without asking anything, while all connections of its loop waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script_ms_max: Option<f64>,
}

/// What the window cost a server on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerCost {
    pub cpu_us_per_query: Option<f64>,
    /// Intended rollbacks included.
    #[serde(default)]
    pub cpu_us_per_transaction: Option<f64>,
    /// CPUs that the server kept busy: 1.5 means one and a half.
    pub cpus_busy: Option<f64>,
    /// Its threads that were ready to run and waited for a CPU, on average over the window.
    #[serde(default)]
    pub threads_waiting_for_cpu: Option<f64>,
    pub context_switches_per_query: Option<f64>,
    pub read_bytes_per_query: Option<f64>,
    pub written_bytes_per_query: Option<f64>,
    pub resident_bytes: Option<u64>,
    pub statements: Option<StatementCounts>,
}

/// Shares of the host's CPU time in the window, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostShares {
    pub cpus: usize,
    pub busy: f64,
    pub user: f64,
    pub system: f64,
    pub iowait: f64,
    pub steal: f64,
}

/// What an order-entry run says beside latency and throughput. It is TPC-C-like; its numbers are not TPC-C's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OrderEntry {
    pub profile: String,
    /// `strict`, or `compat` where known defects of the original are kept.
    pub fidelity: String,
    pub new_orders: NewOrders,
    /// Share of each kind among all transactions that ended, 0 to 1.
    pub mix: BTreeMap<String, f64>,
    /// The limits on the 90th percentile (clause 5.2.5.7).
    pub limits: Vec<ResponseLimit>,
    /// What was drawn against what clause 9.2.2.5 allows.
    pub audit: Vec<AuditLine>,
    pub skew: Vec<Skew>,
    /// Undelivered orders; `null` if the tables could not be asked.
    pub backlog: Option<Backlog>,
    /// Districts that a delivery found without an undelivered order.
    pub skipped_districts: u64,
    pub notes: Vec<String>,
}

/// New orders of the window by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewOrders {
    pub committed: u64,
    /// With an item that does not exist (clause 2.4.1.4).
    pub rolled_back: u64,
    pub failed: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResponseLimit {
    pub transaction: String,
    pub limit_seconds: f64,
    /// Response time where transactions have a due time, else latency.
    pub p90_seconds: Option<f64>,
    /// `null` without samples.
    pub holds: Option<bool>,
}

/// One measured share or mean with the range that it has to lie in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditLine {
    pub name: String,
    /// `null` without samples.
    pub value: Option<f64>,
    pub low: f64,
    pub high: f64,
    pub samples: u64,
    /// `null` where there are too few samples to say so: the range lies within the sampling error.
    pub holds: Option<bool>,
}

/// How unevenly keys were used: the share of accesses, 0 to 1, that went to the hottest 1, 10, 20 and 50 % of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Skew {
    pub keys: String,
    pub samples: u64,
    /// `null` without samples.
    pub measured: Option<[f64; 4]>,
    /// By the exact probabilities of NURand.
    pub expected: [f64; 4],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backlog {
    pub start: u64,
    pub end: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_hypervisor_took_is_not_told_as_other_processes() {
        let point = |busy, steal| Point {
            seconds: 10.0,
            queries: 1000,
            host: Some(HostShares { cpus: 4, busy, steal, ..HostShares::default() }),
            server: Some(ServerCost { cpus_busy: Some(1.0), ..ServerCost::default() }),
            client: ClientCost { process_cpu_us_per_query: Some(10_000.0), ..ClientCost::default() },
            ..Point::default()
        };
        assert_eq!(point(1.0, 0.0).cpus_of_others(), Some(2.0));
        assert_eq!(point(1.0, 0.5).cpus_of_others(), Some(0.0));
        assert_eq!(point(0.25, 0.5).cpus_of_others(), Some(0.0), "never less than none");
        let stolen = point(1.0, 0.5);
        assert!(stolen.disturbing_cpus().is_none() && stolen.disturbing_steal().is_some());
    }
}
