//! What a user can type. Each struct is what one subcommand was given; what it means is decided in `cmd`.

use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use plimsoll_model::Class;
use plimsoll_model::load_point::{Connections, Rates};
use plimsoll_plan::plan::{MOST_ROUNDS, script_of};
use plimsoll_plan::{PlanError, quantity};
use plimsoll_record::RecordError;
use plimsoll_record::manifest::is_name;
use plimsoll_server::find::Selector;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

mod advise;
mod crash;
mod datasets;
mod fleet;
mod gate;
pub mod help;
mod io;
mod lab;
mod lane;
#[cfg(test)]
mod named;
mod params;
mod report;
pub mod sysbench;
mod tune;

pub use advise::{AdviseArgs, MeasureArgs};
pub use crash::CrashArgs;
pub use datasets::{DatasetsAction, DatasetsArgs};
pub use fleet::{AgentArgs, FleetAction, FleetArgs, FleetOptions, UpArgs};
pub use gate::{LimitArgs, VerdictArgs};
pub use io::IoArgs;
pub use lab::LabArgs;
pub use lane::{DeviceArgs, LaneAction, LaneArgs, LanePart, LanePartArgs, NfsArgs};
pub use params::Params;
pub use report::{RecordingsAction, RecordingsArgs, ReportArgs, ReportFormat, ServeArgs};
pub use tune::TuneArgs;

const EXIT_CODES: &str = "Exit codes: 0 done; 1 done, but what was measured failed its check or its gate; 2 wrong \
                          arguments, nothing was started; 3 the environment or the server failed; 4 --fail-if-unclear, \
                          and the gate is undecided; 130 interrupted, results so far are kept.";

static RUN_HELP: LazyLock<String> = LazyLock::new(|| format!("{}\n\n{EXIT_CODES}", gate::HELP));

const COMPARE_HELP: &str = "\
Measure the two sides in turn, so that a drift of the machine affects both:
  for i in 1 2 3 4 5; do
    plimsoll run oltp_read_write --connections 16 --name base
    plimsoll run oltp_read_write --connections 16 --name new --target ...
  done
  plimsoll compare base new

As a gate in continuous integration, this exits 1 only if the whole interval says slower by more than 5 %:
  plimsoll compare base new --fail-if-slower 5%
If the interval extends to both sides of the limit, the gate is undecided: it says so, and exits 4 with \
--fail-if-unclear.

Exit codes: 0 compared; 1 slower than --fail-if-slower allows; 2 wrong arguments, or nothing to compare; 3 a \
recording cannot be read; 4 --fail-if-unclear, and the gate is undecided.";

/// Finds the load line of a MySQL-family server: how much load it carries here, and what stops it.
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, propagate_version = true, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// Everything behind it is sysbench's affair.
#[derive(Debug, Args)]
pub struct SysbenchArgs {
    /// As sysbench takes them: options, a script or a test, a command.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
    pub words: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// From nothing to a measured report: a private server, data, a sweep over connections.
    Quickstart(QuickstartArgs),
    /// List the workloads, or say what one does: its parameters, its statements.
    Workloads(WorkloadsArgs),
    /// Create a workload's schema and data.
    #[command(alias = "prepare")]
    Load(LoadArgs),
    /// Run a workload and measure it.
    #[command(after_help = RUN_HELP.as_str())]
    Run(Box<RunArgs>),
    /// Be sysbench 1.0: its options, its tests and scripts, its output and exit codes.
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Sysbench(SysbenchArgs),
    /// Check the invariants of a workload's data; exits 1 if any is broken.
    Check(CheckArgs),
    /// Compare two sides, each the rounds of one or several recordings: how much slower is B than A, and how certain is
    /// that?
    #[command(after_help = COMPARE_HELP)]
    Compare(CompareArgs),
    /// Remove what `load` created, and nothing else.
    #[command(alias = "cleanup")]
    Drop(DropArgs),
    /// Evaluate storage for MySQL: probes do what the servers really do, and a sheet says what follows.
    #[command(after_help = io::HELP)]
    Io(Box<IoArgs>),
    /// Execute a plan: several variants, each trial from the same data, settings verified, rounds interleaved.
    #[command(after_help = lab::HELP.as_str())]
    Lab(LabArgs),
    /// What to do about a server's configuration, and why: advice with its reason, its price in safety and its source.
    #[command(after_help = advise::HELP)]
    Advise(AdviseArgs),
    /// Let a server crash under load, and count the commits that it loses, beside what its settings bring.
    #[command(after_help = crash::HELP)]
    Crash(Box<CrashArgs>),
    /// Search for better settings of a private server under a load, safely: what is found is confirmed on other data, and each
    /// setting has to show what it is worth.
    #[command(after_help = tune::HELP)]
    Tune(Box<TuneArgs>),
    /// Build storage paths on this machine for a comparison: a medium, a file system, a throttle, latency.
    Lane(LaneArgs),
    /// A part of a lane, as `plimsoll lane up` starts it.
    #[command(hide = true)]
    LanePart(Box<LanePartArgs>),
    /// The load of a script, as `run` and `lab` start it.
    #[command(hide = true)]
    ScriptPart,
    /// Make parts of the loads that a coordinator on another machine asks for.
    #[command(after_help = fleet::AGENT_HELP)]
    Agent(AgentArgs),
    /// Load agents on several machines that measure as one: who is there, and a fleet of this machine to try it.
    #[command(after_help = fleet::FLEET_HELP)]
    Fleet(FleetArgs),
    /// Starting data of trials: list, save from a running private server, copy, remove.
    Datasets(DatasetsArgs),
    /// Show a recording as a page, as text or as data; several go side by side.
    Report(ReportArgs),
    /// Recordings: list, show, keep as a baseline, tag, remove.
    Recordings(RecordingsArgs),
    /// Serve a dashboard for the browser: history, reports, comparisons, running plans.
    Serve(ServeArgs),
    /// Manage private servers by hand.
    Server(ServerArgs),
    /// Measure this machine's own ceiling as a load generator.
    Calibrate(CalibrateArgs),
    /// Remove what an interrupted run left behind.
    Clean(CleanArgs),
    /// Print a tab-completion script for a shell.
    Completions(CompletionsArgs),
    /// Write a manual page for each command.
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub struct QuickstartArgs {
    /// Server to start: auto, mariadb, mysql, or the path of a server binary.
    #[arg(long, default_value = "auto", value_name = "SERVER", value_hint = ValueHint::FilePath)]
    pub server: String,
    /// How long each number of connections is measured in a round.
    #[arg(long, default_value = "5s", value_parser = duration, value_name = "DURATION")]
    pub time: Duration,
    /// Passes over all numbers of connections; 3 or more give intervals.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_ROUNDS)), value_name = "N")]
    pub rounds: u32,
    /// Where to write report.html; the recording's directory if not given.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Numbers of connections to sweep over.
    #[arg(long, default_value = "1..64", value_name = "LIST")]
    pub connections: Connections,
    /// Rows in each of the 4 tables.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000), value_name = "N")]
    pub table_size: u64,
}

#[derive(Debug, Args)]
pub struct WorkloadsArgs {
    /// The workload to describe.
    #[arg(value_name = "WORKLOAD")]
    pub name: Option<String>,
}

#[derive(Debug, Args)]
pub struct LoadArgs {
    /// The workload whose data to load: see `plimsoll workloads`. Its name and --help show its parameters.
    #[arg(value_name = "WORKLOAD")]
    pub workload: String,
    #[command(flatten)]
    pub target: TargetArgs,
    /// Connections that load in parallel, of each agent if there is a fleet; the data do not depend on it.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256), value_name = "N")]
    pub threads: u16,
    /// Seed of the data.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    #[command(flatten)]
    pub fleet: FleetOptions,
    #[command(flatten)]
    pub params: Params,
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// The workload to run: see `plimsoll workloads`. Its name and --help show its parameters. `lua:FILE` runs a script
    /// of your own, written for sysbench: see docs/scripts.md.
    #[arg(value_name = "WORKLOAD")]
    pub workload: String,
    #[command(flatten)]
    pub target: TargetArgs,
    /// Connections: 64, 1,8,64, 1..64 (doubling) or 8..64+8.
    #[arg(long, alias = "threads", default_value = "1", value_name = "LIST")]
    pub connections: Connections,
    /// Transactions offered per second (open loop); without it, each connection sends as soon as it has an answer.
    #[arg(long, value_name = "LIST")]
    pub rate: Option<Rates>,
    /// How the arrivals of an open loop are spaced.
    #[arg(long, default_value = "poisson", value_parser = ["poisson", "constant"], value_name = "SPREAD",
          requires = "rate")]
    pub arrivals: String,
    /// Run this long before measuring.
    #[arg(long, default_value = "0s", value_parser = duration, value_name = "DURATION")]
    pub warmup: Duration,
    /// Measure this long.
    #[arg(long, value_parser = duration, value_name = "DURATION", help = "Measure this long [default: 10s]")]
    pub time: Option<Duration>,
    /// Measure this many transactions over all connections instead of a time.
    #[arg(long, value_name = "N", conflicts_with_all = ["events_per_connection", "time"])]
    pub events: Option<u64>,
    /// Measure this many transactions on each connection instead of a time.
    #[arg(long, value_name = "N", conflicts_with = "time")]
    pub events_per_connection: Option<u64>,
    /// Measure all load points this often, one pass after the other; 3 or more give intervals that say how far another
    /// run would differ.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_ROUNDS)), value_name = "N")]
    pub rounds: u32,
    /// Seconds between progress lines, each of which adds them up; 0 for none. A terminal shows each second in place, and
    /// lines only for longer intervals.
    #[arg(long, default_value_t = 1, value_name = "SECONDS")]
    pub report_interval: u64,
    /// Seed of the load; random if not given, and printed.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Event loop threads; the load does not depend on it.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256), value_name = "N")]
    pub loops: u16,
    /// How statements with parameters are sent; as in the workload's original if not given.
    #[arg(long, value_parser = ["prepared", "text"], value_name = "PROTOCOL")]
    pub protocol: Option<String>,
    /// How long a server may be gone before the run ends; one that sends something but never finishes has four times as
    /// long.
    #[arg(long, default_value = "30s", value_parser = duration, value_name = "DURATION")]
    pub outage_limit: Duration,
    /// Server error codes that fail a transaction but do not end the run.
    #[arg(long, value_delimiter = ',', value_name = "CODES")]
    pub ignore_errors: Vec<u16>,
    /// Name of the recording; runs of the same name are the rounds that `compare` compares. The workload's name if not
    /// given.
    #[arg(long, value_parser = name, value_name = "NAME")]
    pub name: Option<String>,
    /// Check the invariants of the data afterwards; exits 1 if any is broken.
    #[arg(long)]
    pub check: bool,
    /// Print the summary as one JSON document on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub fleet: FleetOptions,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Exit 1 if it is slower than --baseline by more than this and the whole interval says so.
    #[arg(long, value_parser = quantity::percent, value_name = "PERCENT", requires = "baseline", help_heading = "Gate")]
    pub fail_if_slower: Option<f64>,
    #[command(flatten)]
    pub verdict: VerdictArgs,
    /// An option of a script (`lua:FILE`), by the name that the script gives it.
    #[arg(long, value_name = "NAME=VALUE", value_parser = script_option)]
    pub set: Vec<(String, String)>,
    #[command(flatten)]
    pub params: Params,
}

/// The name has underscores in Lua, however it is typed.
fn script_option(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("NAME=VALUE is accepted")?;
    Ok((name.replace('-', "_"), value.to_owned()))
}

impl RunArgs {
    /// The path of the script that is to be run, if the workload is one.
    pub fn script(&self) -> Option<&str> {
        script_of(&self.workload)
    }

    /// Whether there is a limit to judge.
    pub fn has_gate(&self) -> bool {
        !self.limits.fail_if.is_empty() || self.fail_if_slower.is_some()
    }

    /// Whether nothing was said of how long or how often to measure.
    pub fn leaves_the_length_open(&self) -> bool {
        self.time.is_none() && self.events.is_none() && self.events_per_connection.is_none() && self.rounds == 1
    }
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The workload whose data to check.
    #[arg(value_name = "WORKLOAD", required_unless_present = "same")]
    pub workload: Option<String>,
    /// Instead, whether two databases are the same: tables, their definitions, rows and checksums, triggers, routines and
    /// events, and which views there are; what views say is not compared. Each is a target with its database, on any
    /// servers. Nobody may write to them meanwhile.
    #[arg(long, num_args = 2, value_names = ["TARGET", "TARGET"],
          conflicts_with_all = ["workload", "target", "server", "database", "threads"])]
    pub same: Option<Vec<String>>,
    #[command(flatten)]
    pub target: TargetArgs,
    /// Connections that query in parallel.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256), value_name = "N")]
    pub threads: u16,
    /// Print the findings as one JSON document on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub params: Params,
}

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The side to compare with: the name of recordings (`run --name`), a recording's directory or an unambiguous part
    /// of its name, or several of these joined by commas; followed by `:VARIANT` if there are several.
    #[arg(value_name = "A")]
    pub a: String,
    /// The side to be compared with A, named in the same way.
    #[arg(value_name = "B")]
    pub b: String,
    /// Exit 1 if B is slower than A by more than this and the whole interval says so.
    #[arg(long, value_parser = quantity::percent, value_name = "PERCENT", help_heading = "Gate")]
    pub fail_if_slower: Option<f64>,
    #[command(flatten)]
    pub verdict: VerdictArgs,
    /// A change within this, up or down, counts as no difference. If not given: how far two rounds of A differ by
    /// chance (from 1 % to 10 %), as in the report of a lab; 2 % for storage.
    #[arg(long, value_parser = quantity::percent, value_name = "PERCENT")]
    pub equivalent: Option<f64>,
    /// Print the comparison as one JSON document on standard output.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DropArgs {
    /// The workload whose data to remove.
    #[arg(value_name = "WORKLOAD")]
    pub workload: String,
    #[command(flatten)]
    pub target: TargetArgs,
}

/// Which server, and how to log in.
#[derive(Debug, Args)]
#[command(next_help_heading = "Target")]
pub struct TargetArgs {
    /// private, private:mariadb, private:mysql, private:PATH, or mysql://user@host:3306/database?ssl-mode=required
    /// (also socket, ssl-ca, server-public-key-path, get-server-public-key).
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// The private server of this build, as for lab and quickstart: auto, mariadb, mysql, or the path of a server binary.
    #[arg(long, value_name = "SERVER", value_parser = server, value_hint = ValueHint::FilePath,
          conflicts_with_all = ["target", "defaults_file"])]
    pub server: Option<String>,
    /// Option file; its [client] section says where the server is and how to log in.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub defaults_file: Option<PathBuf>,
    /// Ask for the password on the terminal; otherwise it comes from the option file or MYSQL_PWD.
    #[arg(long)]
    pub ask_password: bool,
    /// Database, in place of the target's.
    #[arg(long, value_name = "NAME")]
    pub database: Option<String>,
}

#[derive(Debug, Args)]
pub struct ServerArgs {
    #[command(subcommand)]
    pub action: ServerAction,
}

#[derive(Debug, Subcommand)]
pub enum ServerAction {
    /// Start a private server and leave it up.
    Start {
        /// Its name; `--target private` uses default-mariadb or default-mysql.
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// auto, mariadb, mysql, or the path of a server binary.
        #[arg(long, default_value = "auto", value_name = "SERVER", value_hint = ValueHint::FilePath)]
        server: String,
        /// A server setting, NAME=VALUE, on top of Plimsoll's baseline; may be repeated.
        #[arg(long = "set", value_name = "NAME=VALUE")]
        set: Vec<String>,
    },
    /// Stop a private server, or all of them if no name is given.
    Stop {
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// List the private servers.
    List {
        /// Print one JSON document on standard output.
        #[arg(long)]
        json: bool,
    },
    /// Print a private server's error log.
    Logs {
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// How long to measure.
    #[arg(long, default_value = "5s", value_parser = duration, value_name = "DURATION")]
    pub time: Duration,
    /// Print the result as one JSON document on standard output.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CleanArgs {}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    pub shell: Shell,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Where to write them, replacing what is there; made if it is not there.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
}

fn duration(text: &str) -> Result<Duration, PlanError> {
    quantity::duration(text)
}

/// What `--server` names.
fn server(text: &str) -> Result<String, String> {
    text.parse::<Selector>().map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// A class of safety.
fn class(text: &str) -> Result<Class, String> {
    Class::named(text).ok_or_else(|| {
        let names: Vec<&str> = Class::ALL.iter().map(|class| class.name()).collect();
        format!("accepted is one of {}", names.join(", "))
    })
}

/// The private server that a command starts.
#[derive(Debug, Args)]
pub struct OwnServerArgs {
    /// The configuration of the server.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config_file: Option<PathBuf>,
    /// A setting of the server, on top of that; may be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// The server: auto, mariadb, mysql, or the path of a server binary.
    #[arg(long, value_name = "SERVER", value_parser = server)]
    pub server: Option<String>,
    /// Give the option file permission to load code and to name paths, as for `plimsoll lab`.
    #[arg(long)]
    pub allow_commands: bool,
}

/// A setting of a server.
fn setting(text: &str) -> Result<(String, String), String> {
    let named = text.split_once('=').filter(|(name, _)| !name.trim().is_empty());
    let (name, value) = named.ok_or("accepted is NAME=VALUE, as in innodb_flush_log_at_trx_commit=2")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// The name of a recording.
fn name(text: &str) -> Result<String, RecordError> {
    match is_name(text) {
        true => Ok(text.to_owned()),
        false => Err(RecordError::BadName { what: "recording", name: text.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_duration_that_is_none_says_what_is_accepted() {
        let error =
            Cli::try_parse_from(["plimsoll", "run", "oltp_read_only", "--time", "soon"]).unwrap_err().to_string();
        assert!(error.contains("soon") && error.contains("accepted is a duration"), "{error}");
    }
}
