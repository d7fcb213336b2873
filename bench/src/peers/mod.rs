//! The contestants, one file each: how each is started, and how its own words become the same few numbers.

pub mod advisors;
pub mod brought;
pub mod engines;
pub mod fio;
pub mod fleet;
pub mod floor;
pub mod go_tpc;
pub mod ledger;
pub mod local_data;
pub mod namespaces;
pub mod plimsoll;
pub mod recordings;
pub mod sysbench;
pub mod sysbench_fileio;
pub mod sysbench_tpcc;
pub mod terminals;
pub mod tuners;

use crate::child::FinishedProcess;
use clap::ValueEnum;
use std::fmt;
use std::time::Duration;

/// What all of them run on: the tables of `sbtest` in a database of that name.
pub const DATABASE: &str = "sbtest";
pub const TABLES: u64 = 4;
pub const TABLE_SIZE: u64 = 100_000;

/// Of each database of order entry.
pub const WAREHOUSES: u64 = 4;

/// Of reads and writes of a file, bytes: a page.
pub const BLOCK: u32 = 16 << 10;

/// Beyond the measured time: connecting thousands of threads, preparing, draining.
const AROUND_A_RUN: Duration = Duration::from_secs(180);
/// Nobody needs as long to load a million rows.
const LOAD_PATIENCE: Duration = Duration::from_secs(1200);

/// What to run against the tables.
#[derive(Clone, Copy, Debug)]
pub struct PeerLoad {
    pub workload: &'static str,
    pub connections: usize,
    pub seconds: u32,
}

impl PeerLoad {
    fn patience(&self) -> Duration {
        Duration::from_secs(self.seconds.into()) + AROUND_A_RUN
    }
}

/// Order entry to run against the warehouses of a database.
#[derive(Clone, Copy, Debug)]
pub struct OrderLoad {
    pub database: &'static str,
    pub connections: usize,
    pub seconds: u32,
}

impl OrderLoad {
    fn patience(&self) -> Duration {
        Duration::from_secs(self.seconds.into()) + AROUND_A_RUN
    }
}

/// What a contestant says of a run of order entry, and what its process cost.
#[derive(Clone, Debug)]
pub struct OrderEntryRun {
    /// Finished, of all types; new orders that were rolled back as they should be are among them.
    pub transactions: f64,
    /// Statements, where it tells.
    pub queries: Option<f64>,
    /// In which they were finished.
    pub seconds: f64,
    /// User and system time of its whole process: connecting, preparing and reporting included.
    pub cpu: Duration,
}

impl OrderEntryRun {
    pub fn transactions_per_second(&self) -> f64 {
        self.transactions / self.seconds
    }

    pub fn cpu_us_per_transaction(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.transactions
    }

    pub fn cpu_us_per_query(&self) -> Option<f64> {
        self.queries.map(|queries| self.cpu.as_secs_f64() * 1e6 / queries)
    }
}

/// What a contestant did in one run, and what that cost.
#[derive(Clone, Debug)]
pub struct PeerMeasurement {
    pub transactions_per_second: f64,
    /// User and system time of its whole process per query: connecting, preparing and reporting included.
    pub process_us_per_query: f64,
    /// CPU time of its loop's thread alone, where it tells.
    pub loop_us_per_query: Option<f64>,
    pub resident_bytes: u64,
    /// Transactions on the connection that got the fewest, where it tells.
    pub events_min: Option<u64>,
}

impl PeerMeasurement {
    fn new(finished: &FinishedProcess, transactions_per_second: f64, queries: f64) -> PeerMeasurement {
        PeerMeasurement {
            transactions_per_second,
            process_us_per_query: finished.cpu.as_secs_f64() * 1e6 / queries,
            loop_us_per_query: None,
            resident_bytes: finished.resident_bytes,
            events_min: None,
        }
    }
}

impl fmt::Display for PeerMeasurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PeerMeasurement { transactions_per_second, process_us_per_query, .. } = self;
        write!(f, "{transactions_per_second:.0}/s, {process_us_per_query:.1} µs CPU per query")
    }
}

/// Reads or writes at random places of a file, to run past the page cache.
#[derive(Clone, Copy, Debug)]
pub struct FileLoad {
    pub access: AccessPattern,
    pub engine: IoEngine,
    /// Operations that are under way at once.
    pub depth: u32,
    pub seconds: u32,
}

impl FileLoad {
    fn patience(&self) -> Duration {
        Duration::from_secs(self.seconds.into()) + AROUND_A_RUN
    }
}

impl fmt::Display for FileLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} {}", self.access.name(), self.engine.name(), self.depth)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AccessPattern {
    Read,
    Write,
}

impl AccessPattern {
    pub fn name(self) -> &'static str {
        match self {
            AccessPattern::Read => "read",
            AccessPattern::Write => "write",
        }
    }
}

/// The way in which operations are done, whoever does them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum IoEngine {
    /// pread(2) and pwrite(2), a thread for each operation under way.
    Threads,
    IoUring,
    /// Nothing is done.
    Null,
}

impl IoEngine {
    pub fn name(self) -> &'static str {
        match self {
            IoEngine::Threads => "threads",
            IoEngine::IoUring => "io-uring",
            IoEngine::Null => "null",
        }
    }
}

/// What a contestant says of its reads or writes in one run, and what its process cost.
#[derive(Clone, Debug)]
pub struct Transfers {
    /// Operations per second.
    pub iops: f64,
    pub operations: f64,
    /// User and system time of its whole process: starting and reporting included.
    pub cpu: Duration,
    /// The same of the threads that do the operations, while they do, where it tells.
    pub loop_cpu: Option<Duration>,
    /// From submission to completion, microseconds, where it tells.
    pub mean_us: Option<f64>,
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
}

impl Transfers {
    pub fn cpu_us_per_operation(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.operations
    }

    pub fn loop_us_per_operation(&self) -> Option<f64> {
        self.loop_cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / self.operations)
    }

    /// Operations that were under way at once, by Little's law: what latencies leave out is missing here.
    pub fn under_way(&self) -> Option<f64> {
        self.mean_us.map(|mean| self.iops * mean / 1e6)
    }
}

impl fmt::Display for Transfers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0}/s, {:.2} µs CPU per operation", self.iops, self.cpu_us_per_operation())?;
        self.p99_us.map_or(Ok(()), |p99| write!(f, ", 99 % within {p99:.0} µs"))
    }
}
