//! `plimsoll advise`.

use super::{TargetArgs, duration};
use clap::{Args, ValueEnum, ValueHint};
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

Releases: mysql-5.7 and later, mariadb-10.6 and later, with or without a patch level. What no server of a release has \
confirmed is marked as from documentation.

Exit codes: 0 judged, whatever was found; 1 --fail-on, and there is such a finding; 2 wrong arguments, or the file cannot be \
read; 3 the recording cannot be read, or the server was lost; 130 interrupted, what was seen is judged.";

#[derive(Debug, Args)]
pub struct AdviseArgs {
    /// A recording's directory, an unambiguous part of its name, or the name of recordings, of which the latest is taken: what its
    /// load point that carried most calls for.
    #[arg(value_name = "RECORDING", required_unless_present_any = ["config_file", "target", "server", "defaults_file"],
          conflicts_with_all = ["config_file", "target", "server", "defaults_file"])]
    pub recording: Option<String>,
    /// Judge an option file instead, with all that it includes. Nothing is started, asked or changed.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath,
          conflicts_with_all = ["target", "server", "defaults_file"])]
    pub config_file: Option<PathBuf>,
    /// The release that is to read the option file, such as mysql-8.4 or mariadb-10.11.19; if not given, the server of this machine.
    #[arg(long = "for", value_name = "RELEASE", value_parser = Release::parse, requires = "config_file")]
    pub release: Option<Release>,
    /// Watch a server that others load: it is asked SHOW and SET alone, and any login will do.
    #[command(flatten)]
    pub target: TargetArgs,
    /// With --target: watch for this long.
    #[arg(long, default_value = "60s", value_parser = duration, value_name = "DURATION")]
    pub time: Duration,
    /// With --target: look this often.
    #[arg(long, default_value = "1s", value_parser = duration, value_name = "DURATION")]
    pub interval: Duration,
    /// Print one JSON document on standard output.
    #[arg(long)]
    pub json: bool,
    /// Write a page as well, replacing what is there; its ending names the format: .html, .md, .csv or .json.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Exit 1 if there is a finding as severe as this.
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub fail_on: Option<FailOn>,
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
