//! What can be typed.

use crate::peers::brought::{Brought, GO_TPC, HOW, SYSBENCH_TPCC};
use crate::peers::{Access, Engine};
use clap::{Parser, Subcommand, ValueEnum, ValueHint};
use plimsoll_model::Build;
use plimsoll_model::Flavour;
use plimsoll_server::find::Selector;
use plimsoll_server::{ServerError, find};
use std::path::PathBuf;

/// Plimsoll against its peers on this machine: medians, spreads, ratios.
#[derive(Debug, Parser)]
#[command(name = "plimsoll-bench", version, max_term_width = 100, args_conflicts_with_subcommands = true)]
#[command(disable_help_subcommand = true, after_help = HOW)]
pub struct Args {
    /// Server to compare on: mariadb, mysql, or a path; a list, or repeated. [default: the first found for everything,
    /// the other flavour for `point-select`, `read-write`, `load` and `telemetry`; mysql is also looked for in
    /// PLIMSOLL_TEST_MYSQL]
    #[arg(long, value_delimiter = ',', value_parser = selector, value_name = "SERVER", value_hint = ValueHint::FilePath)]
    pub server: Vec<Selector>,
    /// Only these comparisons; a list, or repeated.
    #[arg(long, value_delimiter = ',', value_enum, value_name = "NAME")]
    pub only: Vec<Suite>,
    /// How often each contestant runs.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    pub pairs: u32,
    /// How often each contestant loads; --pairs if not given.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    pub load_pairs: Option<u32>,
    /// How long each run is measured; 10 s at least where there are many connections, and for order entry.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..), value_name = "S")]
    pub seconds: u32,
    /// Where the servers live, and stay, and where the files of `io-` are made; a temporary directory if not given.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub home: Option<PathBuf>,
    /// Print tables in Markdown.
    #[arg(long)]
    pub markdown: bool,
    /// Exit with 1 if a target is missed.
    #[arg(long)]
    pub check: bool,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// The bare loop, which runs as a process of its own to be measured like the others.
    #[command(hide = true)]
    Floor(FloorArgs),
    /// Terminals against a null server, in a process of their own whose memory is theirs.
    #[command(hide = true)]
    Terminals(TerminalsArgs),
    /// Plimsoll's engines of file I/O, in a process of their own, on the file that their peers take.
    #[command(hide = true)]
    Engines(EnginesArgs),
}

#[derive(Debug, clap::Args)]
pub struct FloorArgs {
    #[arg(long)]
    pub socket: PathBuf,
    #[arg(long)]
    pub connections: usize,
    #[arg(long)]
    pub seconds: u32,
}

#[derive(Debug, clap::Args)]
pub struct TerminalsArgs {
    #[arg(long)]
    pub terminals: u64,
    #[arg(long)]
    pub seconds: u32,
}

#[derive(Debug, clap::Args)]
pub struct EnginesArgs {
    #[arg(long)]
    pub file: PathBuf,
    #[arg(long)]
    pub bytes: u64,
    #[arg(long, value_enum)]
    pub access: Access,
    #[arg(long, value_enum)]
    pub engine: Engine,
    #[arg(long)]
    pub depth: u32,
    #[arg(long)]
    pub seconds: u32,
    #[arg(long)]
    pub seed: u64,
}

/// What is run together, because one run answers several questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Suite {
    #[value(aliases = ["point-select-cpu", "point-select-throughput"])]
    PointSelect,
    #[value(alias = "read-write-throughput")]
    ReadWrite,
    #[value(name = "connections-2000", alias = "connections")]
    Connections,
    Load,
    Restore,
    Telemetry,
    Lab,
    Live,
    TpccLoad,
    TpccSysbench,
    TpccGo,
    TpccTerminals,
    IoFio,
    IoSysbench,
    IoNull,
}

impl Suite {
    pub const ALL: [Suite; 15] = [
        Suite::PointSelect,
        Suite::ReadWrite,
        Suite::Connections,
        Suite::Load,
        Suite::Restore,
        Suite::Telemetry,
        Suite::Lab,
        Suite::Live,
        Suite::TpccLoad,
        Suite::TpccSysbench,
        Suite::TpccGo,
        Suite::TpccTerminals,
        Suite::IoFio,
        Suite::IoSysbench,
        Suite::IoNull,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Suite::PointSelect => "point-select",
            Suite::ReadWrite => "read-write",
            Suite::Connections => "connections-2000",
            Suite::Load => "load",
            Suite::Restore => "restore",
            Suite::Telemetry => "telemetry",
            Suite::Lab => "lab",
            Suite::Live => "live",
            Suite::TpccLoad => "tpcc-load",
            Suite::TpccSysbench => "tpcc-sysbench",
            Suite::TpccGo => "tpcc-go",
            Suite::TpccTerminals => "tpcc-terminals",
            Suite::IoFio => "io-fio",
            Suite::IoSysbench => "io-sysbench",
            Suite::IoNull => "io-null",
        }
    }

    /// Whether it is with this peer.
    pub fn needs(self, peer: &Brought) -> bool {
        match self {
            Suite::TpccLoad => true,
            Suite::TpccSysbench => *peer == SYSBENCH_TPCC,
            Suite::TpccGo => *peer == GO_TPC,
            Suite::PointSelect | Suite::ReadWrite | Suite::Connections | Suite::Load => false,
            Suite::Lab | Suite::Live | Suite::Restore | Suite::Telemetry | Suite::TpccTerminals => false,
            Suite::IoFio | Suite::IoSysbench | Suite::IoNull => false,
        }
    }

    /// Whether it is of files rather than of a server.
    pub fn is_storage(self) -> bool {
        matches!(self, Suite::IoFio | Suite::IoSysbench | Suite::IoNull)
    }

    /// Whether its ratio depends on the flavour of the server.
    pub fn depends_on_server(self) -> bool {
        matches!(self, Suite::PointSelect | Suite::ReadWrite | Suite::Load | Suite::Telemetry)
    }

    pub fn needs_fio(self) -> bool {
        matches!(self, Suite::IoFio | Suite::IoNull)
    }
}

fn selector(text: &str) -> Result<Selector, ServerError> {
    text.parse()
}

/// The server that `selector` names. MySQL is often only unpacked somewhere: `PLIMSOLL_TEST_MYSQL` says where.
///
/// # Errors
/// As [`plimsoll_server::find`].
pub fn server(selector: &Selector) -> Result<Build, ServerError> {
    let unpacked = || std::env::var_os("PLIMSOLL_TEST_MYSQL").filter(|path| !path.is_empty());
    match find(selector) {
        Err(missing @ ServerError::NoBuild { .. }) if *selector == Selector::Flavour(Flavour::MySql) => {
            match unpacked() {
                Some(path) => find(&Selector::Path(path.into())),
                None => Err(missing),
            }
        }
        other => other,
    }
}

/// A server of the other flavour, if there is one.
pub fn other_flavour(flavour: Flavour) -> Option<Build> {
    let other = match flavour {
        Flavour::MariaDb => Flavour::MySql,
        Flavour::MySql => Flavour::MariaDb,
    };
    server(&Selector::Flavour(other)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn the_readme_asks_for_a_help_that_says_how_peers_are_brought_in() {
        let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
        assert!(std::fs::read_to_string(readme).unwrap().contains("`make bench ARGS=--help` says how"));
        let help = Args::try_parse_from(["bench", "--help"]).unwrap_err().to_string();
        assert!([SYSBENCH_TPCC.name, GO_TPC.name].iter().all(|peer| help.contains(peer)), "{help}");
    }

    #[test]
    fn a_criterion_names_the_comparison_that_answers_it() {
        let args = Args::try_parse_from(["bench", "--only", "point-select-cpu,load", "--server", "mysql"]).unwrap();
        assert_eq!(args.only, [Suite::PointSelect, Suite::Load]);
        assert_eq!(args.server, [Selector::Flavour(Flavour::MySql)]);
    }
}
