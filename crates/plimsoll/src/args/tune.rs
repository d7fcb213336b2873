//! `plimsoll tune`.

use super::{OwnServerArgs, Params, class, duration};
use clap::{Args, ValueEnum, ValueHint};
use plimsoll_model::Class;
use plimsoll_plan::lab::Objective;
use plimsoll_plan::lab::file::{objective, searched_setting};
use plimsoll_plan::lab::tune::{TuneObjective, TuneSampler};
use plimsoll_plan::{PlanError, quantity};
use std::path::PathBuf;
use std::time::Duration;

pub const HELP: &str = "\
  plimsoll tune --workload tpcc --warehouses 100 --affinity random --time 2h
  plimsoll tune --workload tpcc --warehouses 100 --config-file /etc/mysql/my.cnf --keep 'p99<20ms' --recovery 60s
  plimsoll tune --workload oltp_read_write --table-size 1000000 --objective p99 --server mysql
  plimsoll tune --workload tpcc --warehouses 100 --objective load-line --keep 'p99<20ms' --time 8h
  plimsoll tune --workload tpcc --warehouses 100 --settings innodb_io_capacity,innodb_log_file_size --lane slow
  plimsoll tune --workload lua:orders.lua --data oltp_read_write --in-memory --allow d1
  plimsoll tune --workload tpcc --warehouses 100 --dry-run    what would be tried, and why others are left alone
  plimsoll tune --resume tune-tpcc                              continues after Ctrl-C, a kill or a power cut

Every trial is on a private server with the same data. What is found is confirmed on other data and under another load against \
today's configuration, and each of its settings is put back once to see what it is worth. Nothing that costs safety is \
tried unless --allow says so.

Exit codes: 0 done: something better was found and confirmed, or nothing was found; 1 what was found was not confirmed; 2 wrong \
arguments, nothing was started; 3 the environment failed; 130 interrupted, results so far are kept, and --resume goes on.";

#[derive(Debug, Args)]
pub struct TuneArgs {
    /// What loads the server: see `plimsoll workloads`. `lua:FILE` is a script of your own, on the data that --data names.
    /// Parameters are those that `plimsoll run` takes.
    #[arg(long, value_name = "WORKLOAD", required_unless_present = "resume", conflicts_with = "resume")]
    pub workload: Option<String>,
    /// For all of it, with what confirms what was found.
    #[arg(long, default_value = "1h", value_parser = duration, value_name = "DURATION")]
    pub time: Duration,
    /// What is to become better: nopm (new orders per minute, or transactions), p99 (the 99th percentile), cost (CPU time of the
    /// server for each transaction), load-line (the highest rate of arrivals at which the limit of --keep holds; about six trials
    /// for each configuration).
    #[arg(long, value_enum, default_value_t = Goal::Nopm, value_name = "OBJECTIVE")]
    pub objective: Goal,
    /// What has to hold in any case, such as 'p99 < 20ms'.
    #[arg(long, value_parser = objective, value_name = "LIMIT", required_if_eq("objective", "load-line"))]
    pub keep: Option<Objective>,
    /// How long the server may take to come back after a kill, which every trial then ends with.
    #[arg(long, value_parser = duration, value_name = "DURATION")]
    pub recovery: Option<Duration>,
    /// A smaller gain is none.
    #[arg(long, default_value = "3%", value_parser = quantity::percent, value_name = "PERCENT")]
    pub decide: f64,
    /// A class of safety that settings may cost: d1 loses the last second of commits if the machine fails, d1p also if the server
    /// does, d2 leaves torn pages, d3 hides corruption, d4 endangers replicas and recovery to a point in time. A list, or repeated.
    #[arg(long, value_delimiter = ',', value_parser = class, value_name = "CLASS")]
    pub allow: Vec<Class>,
    /// The settings that are searched; a list, or repeated.
    #[arg(long, value_delimiter = ',', value_parser = searched_setting, value_name = "SETTING", conflicts_with = "top")]
    pub settings: Vec<String>,
    /// In place of their names: how many of those that matter most often. [default: 12]
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=100), value_name = "N")]
    pub top: Option<u8>,
    #[command(flatten)]
    pub own: OwnServerArgs,
    /// The storage lane of the server's data.
    #[arg(long, value_name = "LANE")]
    pub lane: Option<String>,
    /// Connections of the load. What is found is looked at with half of them and with twice as many, too.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..), value_name = "N")]
    pub connections: u16,
    /// With lua:FILE: the workload whose data the script runs on, such as oltp_read_write.
    #[arg(long, value_name = "WORKLOAD")]
    pub data: Option<String>,
    /// How long each trial is measured.
    #[arg(long, default_value = "20s", value_parser = duration, value_name = "DURATION")]
    pub measure: Duration,
    /// How long each trial warms up: auto, until throughput has settled, or a duration.
    #[arg(long, default_value = "auto", value_parser = warmup, value_name = "DURATION")]
    pub warmup: String,
    /// Search although the buffer pool holds all data.
    #[arg(long)]
    pub in_memory: bool,
    /// How configurations are chosen: learning from those before, or random, which a search has to beat.
    #[arg(long, value_enum, default_value_t = SamplerChoice::Learning, value_name = "SAMPLER", hide_short_help = true)]
    pub sampler: SamplerChoice,
    /// Search even while other programs keep the machine busy.
    #[arg(long)]
    pub noisy_host: bool,
    /// Where the option file with what was found goes, replacing what is there. [default: my.cnf in the recording]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub write_config: Option<PathBuf>,
    /// Write the plan instead, replacing what is there.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["json", "dry_run", "resume",
          "write_config"])]
    pub plan: Option<PathBuf>,
    /// Print what would be tried of each setting, and do nothing.
    #[arg(long, conflicts_with = "resume")]
    pub dry_run: bool,
    /// Continue an unfinished search: the directory of its recording, its name, or an unambiguous part of the directory's name.
    #[arg(long, value_name = "RECORDING", value_hint = ValueHint::DirPath,
          conflicts_with_all = ["time", "objective", "keep", "recovery", "decide", "allow", "settings", "top", "config_file", "set",
          "lane", "connections", "data", "measure", "warmup", "in_memory", "sampler", "seed"])]
    pub resume: Option<String>,
    /// Seed of everything that is drawn; random if not given, and printed.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Print the summary, or what would be tried, as one JSON document on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub params: Params,
}

/// What is to become better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Goal {
    Nopm,
    P99,
    Cost,
    LoadLine,
}

impl Goal {
    pub fn objective(self) -> TuneObjective {
        match self {
            Goal::Nopm => TuneObjective::Nopm,
            Goal::P99 => TuneObjective::P99,
            Goal::Cost => TuneObjective::Cost,
            Goal::LoadLine => TuneObjective::LoadLine,
        }
    }
}

/// How configurations are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SamplerChoice {
    Learning,
    Random,
}

impl SamplerChoice {
    pub fn sampler(self) -> TuneSampler {
        match self {
            SamplerChoice::Learning => TuneSampler::Learning,
            SamplerChoice::Random => TuneSampler::Random,
        }
    }
}

pub(super) fn warmup(text: &str) -> Result<String, PlanError> {
    if text != "auto" {
        quantity::duration(text)?;
    }
    Ok(text.to_owned())
}
