//! What `plimsoll lab` was given.

use super::duration;
use clap::{Args, ValueHint};
use plimsoll_plan::target::Place;
use plimsoll_server::find::Selector;
use std::path::PathBuf;
use std::time::Duration;

pub const HELP: &str = "\
A plan says what to compare and how; each trial starts from the same data:

  name = \"flush-at-commit\"

  [workload]
  kind = \"oltp_read_write\"
  table_size = 100000

  [load]
  connections = [16]

  [procedure]
  warmup = \"10s\"
  measure = \"30s\"
  rounds = 5

  [[variant]]
  name = \"safe\"

  [[variant]]
  name = \"fast\"
  config = { innodb_flush_log_at_trx_commit = 2 }

  [preset.small]
  workload.table_size = 1000
  procedure = { measure = \"5s\", rounds = 2 }

A preset is the same experiment in another size: what it says is laid over the plan, `--preset small` here. With \
[[rung]], each variant climbs a staircase: each step is tried on top of those that have helped. With \
find = \"p99 < 20ms\" under [load] the highest rate is looked for that keeps this.

  plimsoll lab plan.toml --dry-run             what it would do, how long, every setting and where it comes from
  plimsoll lab plan.toml --preset small
  plimsoll lab plan.toml --server mysql        the same with another server
  plimsoll lab --resume RECORDING              goes on after Ctrl-C, a kill or a power cut

What a plan may do without leave: servers that are found or that --server names, settings that can neither load code \
nor name a path, a few variables of the environment. A refusal names every line that needs --allow-commands.

Exit codes: 0 done; 1 done, but a trial failed (one whose settings are not in effect does, unless the plan says \
lenient = true: then it is 0 with a caveat), no load line was found, or data were damaged after a crash; 2 a \
mistake in the plan, nothing was started; 3 the environment failed, others kept the machine busy, or another lab has the \
plan; 130 interrupted, what was measured is kept.";

#[derive(Debug, Args)]
pub struct LabArgs {
    /// The plan.
    #[arg(value_name = "PLAN.toml", value_hint = ValueHint::FilePath, required_unless_present = "resume")]
    pub plan: Option<PathBuf>,
    /// The variation of the plan to execute.
    #[arg(long, value_name = "NAME", conflicts_with = "resume")]
    pub preset: Option<String>,
    /// The server of all variants that name none of their own, in place of the plan's `[server] build`: auto, mariadb,
    /// mysql, or the path of a server binary. With --resume, the one that the lab was begun with.
    #[arg(long, value_name = "SERVER", value_parser = server)]
    pub server: Option<String>,
    /// Say what would be done, and do nothing.
    #[arg(long, conflicts_with = "resume")]
    pub dry_run: bool,
    /// Let the plan run its commands, with `sh -c`, and server programs that --server does not name, and give servers
    /// any environment and any settings, those too that load code or name paths. --dry-run lists what it wants.
    #[arg(long)]
    pub allow_commands: bool,
    /// A server that the plan's `target` names and that your password is meant for: HOST, HOST:PORT or the path of a
    /// socket. May be given several times.
    #[arg(long, value_name = "SERVER", value_parser = place)]
    pub password_for: Vec<Place>,
    /// An option file whose [client] section has the password, and names the server that it is for.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub defaults_file: Option<PathBuf>,
    /// Ask for the password of the plan's `target` on the terminal.
    #[arg(long)]
    pub ask_password: bool,
    /// How long a search for a load line, or a ladder, waits for other programs to leave the machine alone (half a CPU over
    /// 10 s is too much), before it begins and after a trial that they disturbed; then it ends with exit code 3.
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration, conflicts_with = "noisy_host")]
    pub wait_quiet: Duration,
    /// Search and climb on a machine that others keep busy, too, as `noisy_host = true` in [procedure] does: what is found
    /// is then partly theirs, and says so.
    #[arg(long)]
    pub noisy_host: bool,
    /// Print the summary, or what would be done, as one JSON document on standard output.
    #[arg(long)]
    pub json: bool,
    /// Connections that load data at the same time; the data do not depend on it.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256), value_name = "N")]
    pub threads: u16,
    /// Seed of orders and loads, where the plan has none; random if not given, and printed.
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    pub seed: Option<u64>,
    /// Go on with a recording that did not come to its end: its directory, or an unmistakable part of its name.
    #[arg(long, value_name = "RECORDING", value_hint = ValueHint::DirPath, conflicts_with = "plan")]
    pub resume: Option<String>,
}

fn server(text: &str) -> Result<String, String> {
    text.parse::<Selector>().map(|_| text.to_owned()).map_err(|error| error.to_string())
}

fn place(text: &str) -> Result<Place, String> {
    Place::parse(text).map_err(|error| error.to_string())
}
