//! `plimsoll advise`.

use super::tune::warmup;
use super::{Params, TargetArgs, class, duration};
use clap::{Args, ValueEnum, ValueHint};
use plimsoll_model::Class;
use plimsoll_model::advice::Severity;
use plimsoll_plan::knowledge::Release;
use std::path::PathBuf;
use std::time::Duration;

pub const HELP: &str = "\
  plimsoll advise --config-file /etc/mysql/my.cnf
  plimsoll advise --config-file my.cnf --for mysql-8.4 --json
  plimsoll advise --config-file my.cnf --for mariadb-11.8 --fail-on critical -o advice.html
  plimsoll advise quickstart
  plimsoll advise --target 'mysql://watcher@db.example:3306/' --time 60s
  plimsoll advise --workload tpcc --warehouses 4 --measure 30m
  plimsoll advise --workload tpcc --config-file my.cnf --server mysql --measure 1h --allow d1
  plimsoll advise --walk

Releases: mysql-5.7 and later, mariadb-10.6 and later, with or without a patch level. What no server of a release has \
confirmed is marked as from documentation.

Exit codes: 0 judged, whatever was found; 1 --fail-on, and there is such a finding; 2 wrong arguments, or the file cannot be \
read; 3 the recording cannot be read, or the server was lost; 130 interrupted, what was seen is judged.";

#[derive(Debug, Args)]
pub struct AdviseArgs {
    /// A recording's directory, an unambiguous part of its name, or the name of recordings, of which the latest is taken: what its
    /// load point that carried most calls for.
    #[arg(value_name = "RECORDING",
          required_unless_present_any = ["config_file", "target", "server", "defaults_file", "workload", "walk"],
          conflicts_with_all = ["config_file", "target", "server", "defaults_file", "database", "ask_password", "workload",
                                "walk"])]
    pub recording: Option<String>,
    /// Judge an option file instead, with all that it includes. Nothing is started, asked or changed. With --workload: the
    /// configuration that is measured.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config_file: Option<PathBuf>,
    /// The release that is to read the option file, such as mysql-8.4 or mariadb-10.11.19; if not given, the server of this machine.
    #[arg(long = "for", value_name = "RELEASE", value_parser = Release::parse, requires = "config_file",
          conflicts_with = "workload")]
    pub release: Option<Release>,
    /// How long to watch a target (60s), or how long each trial of a workload is measured (10s).
    #[arg(long, value_parser = duration, value_name = "DURATION", conflicts_with_all = ["recording", "walk"])]
    pub time: Option<Duration>,
    /// With --target: look this often (1s).
    #[arg(long, value_parser = duration, value_name = "DURATION",
          conflicts_with_all = ["recording", "config_file", "workload", "walk"])]
    pub interval: Option<Duration>,
    /// A class of safety that may be given up, by advice and by an option file: d1 loses the last second of commits if the machine fails, d1p also if the
    /// server does, d2 leaves torn pages, d3 hides corruption, d4 endangers replicas and recovery to a point in time. May be
    /// repeated.
    #[arg(long, value_name = "CLASS", value_parser = class)]
    pub allow: Vec<Class>,
    /// A file with a section [needs]: latency = "p99 < 20ms", loss = "none", "machine" or "server", recovery = "2m", backup = "4h",
    /// replication = true or false, isolation = "READ-COMMITTED". What may be lost bounds what is advised.
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    pub needs: Option<PathBuf>,
    /// Go through the six steps one by one: asks what only you know, does the rest by itself, and asks before anything that takes
    /// longer than a minute. Every answer is kept, so that it goes on where it was stopped.
    #[arg(long, conflicts_with_all = ["config_file", "target", "server", "defaults_file", "database", "ask_password",
                                      "workload", "needs", "json", "output", "allow", "fail_on"])]
    pub walk: bool,
    /// With --walk: begin another one.
    #[arg(long, requires = "walk")]
    pub anew: bool,
    /// Print one JSON document on standard output.
    #[arg(long)]
    pub json: bool,
    /// Write a page as well, replacing what is there; its ending names the format: .html, .md, .csv or .json.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Exit 1 if there is a finding as severe as this.
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub fail_on: Option<FailOn>,
    // What has a heading of its own comes last: a heading holds for all that follows it.
    /// Watch a server that others load: it is asked SHOW and SET alone, and any login will do.
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// What nothing is measured with. Where a workload cannot be given, that it is required would not be missed.
const NO_WORKLOAD: [&str; 7] = ["recording", "release", "target", "defaults_file", "database", "ask_password", "walk"];

/// Advice for a workload, on a private server of the build and with the option file that are given.
#[derive(Debug, Args)]
#[command(next_help_heading = "Advice that is measured")]
pub struct MeasureArgs {
    /// Look at a private server under this workload: see `plimsoll workloads`. `lua:FILE` is a script of your own, on the data
    /// that --data names. Its parameters are those that `plimsoll run` takes.
    #[arg(long, value_name = "WORKLOAD", conflicts_with_all = ["target", "defaults_file", "database", "ask_password"])]
    pub workload: Option<String>,
    /// Try each piece of advice on that server, for at most about this long in all: what helps is kept, and written as an option
    /// file beside the last recording.
    #[arg(long, value_parser = duration, value_name = "DURATION", requires = "workload", conflicts_with = "plan",
          conflicts_with_all = NO_WORKLOAD)]
    pub measure: Option<Duration>,
    /// Write what would be tried as a plan for `plimsoll lab` instead, replacing what is there.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "workload",
          conflicts_with_all = NO_WORKLOAD)]
    pub plan: Option<PathBuf>,
    /// Connections of the workload.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..), value_name = "N",
          requires = "workload", conflicts_with_all = NO_WORKLOAD)]
    pub connections: u16,
    /// The storage lane of the server's data.
    #[arg(long, value_name = "LANE", requires = "workload", conflicts_with_all = NO_WORKLOAD)]
    pub lane: Option<String>,
    /// With lua:FILE: the workload whose data the script runs on, such as oltp_read_write.
    #[arg(long, value_name = "WORKLOAD", requires = "workload", conflicts_with_all = NO_WORKLOAD)]
    pub data: Option<String>,
    /// How long each trial warms up: auto, until throughput has settled, or a duration.
    #[arg(long, default_value = "auto", value_parser = warmup, value_name = "DURATION", requires = "workload",
          conflicts_with_all = NO_WORKLOAD)]
    pub warmup: String,
    /// Measure even while other programs keep the machine busy.
    #[arg(long, requires = "measure", conflicts_with_all = NO_WORKLOAD)]
    pub noisy_host: bool,
    /// Where the option file goes, replacing what is there.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "measure",
          conflicts_with_all = NO_WORKLOAD)]
    pub write_config: Option<PathBuf>,
    /// Give the option file permission to load code and to name paths, as for `plimsoll lab`.
    #[arg(long, requires = "workload", conflicts_with_all = NO_WORKLOAD)]
    pub allow_commands: bool,
    #[command(flatten)]
    pub params: Params,
}

/// The severities that are worth failing for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    Warn,
    Critical,
}

impl FailOn {
    pub fn severity(self) -> Severity {
        match self {
            FailOn::Warn => Severity::Warn,
            FailOn::Critical => Severity::Critical,
        }
    }
}
