//! What `plimsoll lab` was given.

use super::gate::{LimitArgs, VerdictArgs};
use super::{FleetOptions, duration, gate, server};
use clap::{Args, ValueHint};
use plimsoll_plan::quantity;
use plimsoll_plan::target::ListeningPlace;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

pub static HELP: LazyLock<String> = LazyLock::new(|| [PLANS, gate::HELP, OF_VARIANTS, EXIT_CODES].join("\n\n"));

const PLANS: &str = "\
A plan says what to compare and how; each trial starts from the same data:

  name = \"flush-at-commit\"

  [workload]
  kind = \"oltp_read_write\"
  table_size = 100000

  [load]
  connections = [16]

  [trials]
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
  trials = { measure = \"5s\", rounds = 2 }

A preset is the same experiment in another size: its lines override those of the plan (`--preset small` here). With \
[[rung]], each variant climbs a ladder: each rung is tried on top of those kept so far. With \
find = \"p99 < 20ms\" under [load], the plan searches for the highest rate that meets this objective.

  plimsoll lab plan.toml --dry-run             what it would do, how long, every setting and where it comes from
  plimsoll lab plan.toml --preset small
  plimsoll lab plan.toml --server mysql        the same with another server
  plimsoll lab --resume RECORDING              continues after Ctrl-C, a kill or a power cut

What a plan may use without permission: servers that are found or that --server names, settings that can neither load \
code nor name a path, and a few environment variables. A refusal names every line that needs --allow-commands.";

const OF_VARIANTS: &str = "\
In a lab, limits are judged for each variant over its rounds, and --fail-if-slower 5% judges each variant against the \
first, or with --baseline against the same variant there. With rounds = \"auto\" rounds end as soon as the verdict is known.";

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 done, but a trial failed (so does one whose settings are not in effect, unless the plan says \
lenient = true: then it is 0 with a caveat), no load line was found, a crash or a fault lost or damaged what the settings promise to \
keep, or the gate failed; 2 a mistake in the plan, nothing was started; 3 the environment failed, every trial did, other programs kept the machine busy, \
or another lab has the plan; 4 --fail-if-unclear, and the gate is undecided; 130 interrupted, results so far are kept.";

#[derive(Debug, Args)]
pub struct LabArgs {
    /// The plan.
    #[arg(value_name = "PLAN.toml", value_hint = ValueHint::FilePath, required_unless_present = "resume")]
    pub plan: Option<PathBuf>,
    /// The preset of the plan to execute.
    #[arg(long, value_name = "NAME", conflicts_with = "resume")]
    pub preset: Option<String>,
    #[command(flatten)]
    pub fleet: FleetOptions,
    /// Rounds, in place of those of the plan: a number, or `auto` for as many as it takes to decide each comparison.
    #[arg(long, value_name = "N", value_parser = rounds, conflicts_with = "resume")]
    pub rounds: Option<String>,
    /// With rounds = "auto": no round begins after this long, as `max_time` in [trials] does.
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "resume")]
    pub max_time: Option<Duration>,
    /// The server of all variants that name none of their own, instead of the plan's `[server] build`: auto, mariadb,
    /// mysql, or the path of a server binary. With --resume, the one that the lab was started with.
    #[arg(long, value_name = "SERVER", value_parser = server)]
    pub server: Option<String>,
    /// Print what would be done, and do nothing.
    #[arg(long, conflicts_with = "resume")]
    pub dry_run: bool,
    /// With --dry-run: say also what the plan's rounds would show, judging by how much the trials of this recording vary.
    #[arg(long, value_name = "RECORDING", value_hint = ValueHint::DirPath, requires = "dry_run")]
    pub from: Option<String>,
    /// Run three rounds only, and say what those of the plan would show: from which difference on, in which time.
    #[arg(long, conflicts_with_all = ["resume", "rounds", "dry_run"])]
    pub pilot: bool,
    /// Give the plan permission to run its commands, with `sh -c`, and server binaries that --server does not name, and
    /// to give servers any environment and any settings, including those that load code or name paths. --dry-run lists
    /// what it wants.
    #[arg(long)]
    pub allow_commands: bool,
    /// A server that the plan's `target` names and that may get your password: HOST, HOST:PORT or the path of a socket.
    /// May be repeated.
    #[arg(long, value_name = "SERVER", value_parser = place)]
    pub password_for: Vec<ListeningPlace>,
    /// Option file; its [client] section has the password and names the server that it is for.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub defaults_file: Option<PathBuf>,
    /// Ask for the password of the plan's `target` on the terminal.
    #[arg(long)]
    pub ask_password: bool,
    /// How long a search for a load line, or a ladder, waits for other programs to leave the machine alone (half a CPU
    /// over 10 s is too much) before it begins and after a disturbed trial; then it ends with exit code 3.
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = duration, conflicts_with = "noisy_host")]
    pub wait_quiet: Duration,
    /// Search and climb even while other programs keep the machine busy, as `noisy_host = true` in [trials] does:
    /// they then affect the result, and it says so. With --resume, it does not wait for them, and judges trials as before.
    #[arg(long)]
    pub noisy_host: bool,
    /// Print the summary, or what would be done, as one JSON document on standard output.
    #[arg(long)]
    pub json: bool,
    /// Connections that load data in parallel; the data do not depend on it.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256), value_name = "N")]
    pub threads: u16,
    /// Seed of the order of trials and of loads, if the plan has none; random if not given, and printed.
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    pub seed: Option<u64>,
    /// Continue the lab of an unfinished recording: its directory, its name, or an unambiguous part of the directory's name.
    #[arg(long, value_name = "RECORDING", value_hint = ValueHint::DirPath, conflicts_with = "plan")]
    pub resume: Option<String>,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Exit 1 if a variant is slower than the first one, or with --baseline than it was there, by more than this and
    /// the whole interval says so.
    #[arg(long, value_parser = quantity::percent, value_name = "PERCENT", help_heading = "Gate")]
    pub fail_if_slower: Option<f64>,
    #[command(flatten)]
    pub verdict: VerdictArgs,
}

fn rounds(text: &str) -> Result<String, String> {
    match text.parse() {
        Ok(1..=1000) => Ok(text.to_owned()),
        _ if text == "auto" => Ok(text.to_owned()),
        _ => Err("accepted is auto, or a whole number from 1 to 1000".to_owned()),
    }
}

fn place(text: &str) -> Result<ListeningPlace, String> {
    ListeningPlace::parse(text).map_err(|error| error.to_string())
}
