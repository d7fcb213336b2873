//! What `plimsoll io` was given.

use super::duration;
use clap::{Args, ValueHint};
use plimsoll_plan::{PlanError, quantity};
use plimsoll_storage::probe::test::{IoMode, TestMode};
use std::path::PathBuf;
use std::time::Duration;

pub const HELP: &str = "\
What the storage below a directory can do for MySQL, in a minute and a half:
  plimsoll io /var/lib/mysql-new
Everything, and a private MariaDB on the same directory beside the predictions:
  plimsoll io /mnt/candidate --suite full --validate=mariadb --name candidate
Commits and page reads only:
  plimsoll io /mnt/candidate --probes 1,2,6
One measurement with the parameters of sysbench fileio:
  plimsoll io /mnt/candidate --test rndrw --files 16 --size 4G --threads 8 --direct --time 60s

It works in a directory of its own below DIR and removes it at the end, after Ctrl-C too; after a kill, `plimsoll \
clean` removes it. It needs no root.

Exit codes: 0 done; 1 done, but a measurement failed, or what was read was not what had been written; 2 wrong \
arguments, nothing was started; 3 the environment failed; 130 interrupted, results so far are kept.";

#[derive(Debug, Args)]
pub struct IoArgs {
    /// The directory whose storage is evaluated; Plimsoll works in a directory of its own below it.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
    /// Which probes to run: quick takes at most 90 s and 2 GB, full 20 minutes; percona-2008 repeats the matrix of an
    /// article and shows its figures beside.
    #[arg(long, default_value = "quick", value_parser = ["quick", "full", "percona-2008"], value_name = "SUITE")]
    pub suite: String,
    /// Also watch whether throughput lasts, for half an hour or more.
    #[arg(long, conflicts_with = "test")]
    pub steady: bool,
    /// Run only these probes of the suite, by number: 1,6,13.
    #[arg(long, value_delimiter = ',', value_name = "LIST", conflicts_with = "test")]
    pub probes: Vec<u8>,
    /// Bytes of the page files, or of all files of a --test; if not given, it follows from free space and memory.
    #[arg(long, value_parser = size, value_name = "SIZE")]
    pub size: Option<u64>,
    /// How long each measurement lasts; if not given, as the suite says, or 10s for a --test.
    #[arg(long, value_parser = duration, value_name = "DURATION")]
    pub time: Option<Duration>,
    /// Afterwards, run private servers on the same directory and compare their commits and reads with the predictions:
    /// a list of auto, mariadb, mysql, or paths of server binaries.
    #[arg(
        long,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto",
        value_delimiter = ',',
        value_name = "SERVERS",
        conflicts_with = "test"
    )]
    pub validate: Vec<String>,
    /// Seed of all offsets and contents; random if not given, and printed.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Keep the files.
    #[arg(long)]
    pub keep: bool,
    /// Name of the recording; recordings of the same name are the rounds that `compare` compares.
    #[arg(long, default_value = "io", value_parser = super::name, value_name = "NAME")]
    pub name: String,
    /// Print the summary as one JSON document on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub test: TestArgs,
}

/// One measurement with the parameters of sysbench fileio; each has the default that it has there unless another is
/// given.
#[derive(Debug, Args)]
#[command(next_help_heading = "One measurement instead of a suite")]
pub struct TestArgs {
    /// What to measure: sequential writes, rewrites or reads; random reads, writes, or both.
    #[arg(
        long,
        value_parser = TestMode::NAMES,
        conflicts_with = "suite",
        value_name = "MODE"
    )]
    pub test: Option<String>,
    /// Threads, or rings if --io-mode is async.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096), requires = "test", value_name = "N")]
    pub threads: u32,
    /// Files that share --size (2G if not given).
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=65536), requires = "test", value_name = "N")]
    pub files: u32,
    /// Bytes of one operation.
    #[arg(long, default_value = "16K", value_parser = block, requires = "test", value_name = "SIZE")]
    pub block: u32,
    /// Threads with pread and pwrite (sync), io_uring (async), a shared mapping (mmap), or nothing at all (null).
    #[arg(long, default_value = "sync", value_parser = IoMode::NAMES, requires = "test", value_name = "MODE")]
    pub io_mode: String,
    /// Operations under way at the same time in each ring of --io-mode async.
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=4096), requires = "test", value_name = "N")]
    pub depth: u32,
    /// Open the files with O_DIRECT, which bypasses the page cache.
    #[arg(long, requires = "test")]
    pub direct: bool,
    /// Open the files with O_DSYNC: each write returns when it is durable.
    #[arg(long, requires = "test")]
    pub dsync: bool,
    /// Reads per write of rndrw.
    #[arg(long, default_value_t = 1.5, value_parser = ratio, requires = "test", value_name = "RATIO")]
    pub rw_ratio: f64,
    /// Sync all files after this many requests of a thread if any of them wrote; 0 for never.
    #[arg(long, default_value_t = 100, requires = "test", value_name = "N")]
    pub fsync_every: u64,
    /// Sync the file after each write, instead of --fsync-every.
    #[arg(long, requires = "test")]
    pub fsync_all: bool,
    /// How to sync.
    #[arg(long, default_value = "fsync", value_parser = ["fsync", "fdatasync"], requires = "test", value_name = "CALL")]
    pub fsync_mode: String,
    /// Sync all files at the end.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, requires = "test", value_name = "BOOL")]
    pub fsync_at_end: bool,
    /// Merge this many sequential blocks into one operation; 0 for none.
    #[arg(long, default_value_t = 0, requires = "test", value_name = "N")]
    pub merged: u32,
    /// Operations offered per second (open loop): latency then counts from when each was due.
    #[arg(long, value_parser = rate, requires = "test", value_name = "RATE")]
    pub rate: Option<f64>,
    /// How the arrivals of an open loop are spaced.
    #[arg(long, default_value = "poisson", value_parser = ["poisson", "constant"], requires = "rate", value_name = "SPREAD")]
    pub arrivals: String,
    /// Verify everything that is read, and at the end everything that was written.
    #[arg(long, requires = "test")]
    pub verify: bool,
    /// Measure this many operations instead of a time.
    #[arg(long, requires = "test", conflicts_with = "time", value_name = "N")]
    pub events: Option<u64>,
    /// Run this long before measuring.
    #[arg(long, default_value = "0s", value_parser = duration, requires = "test", value_name = "DURATION")]
    pub warmup: Duration,
}

fn size(text: &str) -> Result<u64, PlanError> {
    quantity::size(text)
}

fn block(text: &str) -> Result<u32, PlanError> {
    let accepted = "a size from 512 to 64M";
    let bytes = quantity::size(text)?;
    u32::try_from(bytes)
        .ok()
        .filter(|bytes| (512..=64 << 20).contains(bytes))
        .ok_or_else(|| PlanError::value("block", text, accepted))
}

fn ratio(text: &str) -> Result<f64, PlanError> {
    let ratio = text.parse().ok().filter(|ratio: &f64| *ratio > 0.0 && ratio.is_finite());
    ratio.ok_or_else(|| PlanError::value("ratio", text, "reads per write above 0, such as 1.5"))
}

fn rate(text: &str) -> Result<f64, PlanError> {
    let rate = text.parse().ok().filter(|rate: &f64| *rate > 0.0 && *rate <= 1e7);
    rate.ok_or_else(|| PlanError::value("rate", text, "operations per second above 0"))
}
