//! The contestants, one file each: how each is started, and how its own words become the same few numbers.

pub mod brought;
pub mod floor;
pub mod go_tpc;
pub mod local_data;
pub mod plimsoll;
pub mod sysbench;
pub mod sysbench_tpcc;
pub mod terminals;

use crate::child::Finished;
use std::fmt;
use std::time::Duration;

/// What all of them run on: the tables of `sbtest` in a database of that name.
pub const DATABASE: &str = "sbtest";
pub const TABLES: u64 = 4;
pub const TABLE_SIZE: u64 = 100_000;

/// Of each database of order entry.
pub const WAREHOUSES: u64 = 4;

/// Beyond the measured time: connecting thousands of threads, preparing, draining.
const AROUND_A_RUN: Duration = Duration::from_secs(180);
/// Nobody needs as long to load a million rows.
const LOAD_PATIENCE: Duration = Duration::from_secs(1200);

/// What to run against the tables.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub workload: &'static str,
    pub connections: usize,
    pub seconds: u32,
}

impl Load {
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
pub struct OrderEntry {
    /// Finished, of all types; new orders that were rolled back as they should be are among them.
    pub transactions: f64,
    /// Statements, where it tells.
    pub queries: Option<f64>,
    /// In which they were finished.
    pub seconds: f64,
    /// User and system time of its whole process: connecting, preparing and reporting included.
    pub cpu: Duration,
}

impl OrderEntry {
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
pub struct Measured {
    pub transactions_per_second: f64,
    /// User and system time of its whole process per query: connecting, preparing and reporting included.
    pub process_us_per_query: f64,
    /// CPU time of its loop's thread alone, where it tells.
    pub loop_us_per_query: Option<f64>,
    pub resident_bytes: u64,
    /// Transactions on the connection that got the fewest, where it tells.
    pub events_min: Option<u64>,
}

impl Measured {
    fn new(finished: &Finished, transactions_per_second: f64, queries: f64) -> Measured {
        Measured {
            transactions_per_second,
            process_us_per_query: finished.cpu.as_secs_f64() * 1e6 / queries,
            loop_us_per_query: None,
            resident_bytes: finished.resident_bytes,
            events_min: None,
        }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Measured { transactions_per_second, process_us_per_query, .. } = self;
        write!(f, "{transactions_per_second:.0}/s, {process_us_per_query:.1} µs CPU per query")
    }
}
