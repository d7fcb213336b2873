//! What can be typed.

use crate::peers::brought::{Brought, GO_TPC, HOW, MYSQLTUNER, SYSBENCH_TPCC};
use crate::peers::{AccessPattern, IoEngine};
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
    /// the other flavour for `point-select`, `read-write`, `load`, `sysbench`, `telemetry`, `advise` and `tune`; mysql is also looked for in
    /// PLIMSOLL_TEST_MYSQL]
    #[arg(long, value_delimiter = ',', value_parser = selector, value_name = "SERVER", value_hint = ValueHint::FilePath)]
    pub server: Vec<Selector>,
    /// Only these comparisons; a list, or repeated. [default: all but `advise` and `tune`, which take hours and go on where they
    /// were stopped if --home is given]
    #[arg(long, value_delimiter = ',', value_enum, value_name = "NAME")]
    pub only: Vec<BenchSuite>,
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
    pub command: Option<BenchCommand>,
}

#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// The bare loop, which runs as a process of its own to be measured like the others.
    #[command(hide = true)]
    Floor(FloorArgs),
    /// Terminals against a null server, in a process of their own whose memory is theirs.
    #[command(hide = true)]
    Terminals(TerminalsArgs),
    /// The workload `ledger`, with a log of its commits or without, in a process of its own.
    #[command(hide = true)]
    Ledger(LedgerArgs),
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
pub struct LedgerArgs {
    #[arg(long)]
    pub socket: PathBuf,
    #[arg(long)]
    pub connections: usize,
    #[arg(long)]
    pub seconds: u32,
    /// Where the log is, if there is one.
    #[arg(long)]
    pub log_in: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub struct EnginesArgs {
    #[arg(long)]
    pub file: PathBuf,
    #[arg(long)]
    pub bytes: u64,
    #[arg(long, value_enum)]
    pub access: AccessPattern,
    #[arg(long, value_enum)]
    pub engine: IoEngine,
    #[arg(long)]
    pub depth: u32,
    #[arg(long)]
    pub seconds: u32,
    #[arg(long)]
    pub seed: u64,
}

/// What is run together, because one run answers several questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchSuite {
    #[value(aliases = ["point-select-cpu", "point-select-throughput"])]
    PointSelect,
    #[value(alias = "read-write-throughput")]
    ReadWrite,
    #[value(name = "connections-2000", alias = "connections")]
    Connections,
    Load,
    Restore,
    Packaged,
    Sysbench,
    Telemetry,
    Lab,
    Verdicts,
    Advise,
    Tune,
    Live,
    Ledger,
    Fleet,
    Pages,
    TpccLoad,
    TpccSysbench,
    TpccGo,
    TpccTerminals,
    IoFio,
    IoSysbench,
    IoNull,
}

impl BenchSuite {
    pub const ALL: [BenchSuite; 23] = [
        BenchSuite::PointSelect,
        BenchSuite::ReadWrite,
        BenchSuite::Connections,
        BenchSuite::Load,
        BenchSuite::Restore,
        BenchSuite::Packaged,
        BenchSuite::Sysbench,
        BenchSuite::Telemetry,
        BenchSuite::Lab,
        BenchSuite::Verdicts,
        BenchSuite::Advise,
        BenchSuite::Tune,
        BenchSuite::Live,
        BenchSuite::Ledger,
        BenchSuite::Fleet,
        BenchSuite::Pages,
        BenchSuite::TpccLoad,
        BenchSuite::TpccSysbench,
        BenchSuite::TpccGo,
        BenchSuite::TpccTerminals,
        BenchSuite::IoFio,
        BenchSuite::IoSysbench,
        BenchSuite::IoNull,
    ];

    pub fn name(self) -> &'static str {
        match self {
            BenchSuite::PointSelect => "point-select",
            BenchSuite::ReadWrite => "read-write",
            BenchSuite::Connections => "connections-2000",
            BenchSuite::Load => "load",
            BenchSuite::Restore => "restore",
            BenchSuite::Telemetry => "telemetry",
            BenchSuite::Lab => "lab",
            BenchSuite::Verdicts => "verdicts",
            BenchSuite::Advise => "advise",
            BenchSuite::Tune => "tune",
            BenchSuite::Live => "live",
            BenchSuite::Ledger => "ledger",
            BenchSuite::Fleet => "fleet",
            BenchSuite::Pages => "pages",
            BenchSuite::Packaged => "packaged",
            BenchSuite::Sysbench => "sysbench",
            BenchSuite::TpccLoad => "tpcc-load",
            BenchSuite::TpccSysbench => "tpcc-sysbench",
            BenchSuite::TpccGo => "tpcc-go",
            BenchSuite::TpccTerminals => "tpcc-terminals",
            BenchSuite::IoFio => "io-fio",
            BenchSuite::IoSysbench => "io-sysbench",
            BenchSuite::IoNull => "io-null",
        }
    }

    /// Whether it is with this peer.
    pub fn needs(self, peer: &Brought) -> bool {
        match self {
            BenchSuite::TpccLoad => true,
            BenchSuite::TpccSysbench => *peer == SYSBENCH_TPCC,
            BenchSuite::TpccGo => *peer == GO_TPC,
            BenchSuite::Advise => *peer == MYSQLTUNER,
            BenchSuite::PointSelect | BenchSuite::ReadWrite | BenchSuite::Connections | BenchSuite::Load => false,
            BenchSuite::Lab
            | BenchSuite::Tune
            | BenchSuite::Verdicts
            | BenchSuite::Live
            | BenchSuite::Ledger
            | BenchSuite::Fleet
            | BenchSuite::Pages
            | BenchSuite::Restore
            | BenchSuite::Packaged
            | BenchSuite::Sysbench
            | BenchSuite::Telemetry
            | BenchSuite::TpccTerminals => false,
            BenchSuite::IoFio | BenchSuite::IoSysbench | BenchSuite::IoNull => false,
        }
    }

    /// Whether it is of files rather than of a server.
    pub fn is_storage(self) -> bool {
        matches!(self, BenchSuite::IoFio | BenchSuite::IoSysbench | BenchSuite::IoNull)
    }

    /// Whether it takes so long that it is made only for those who name it.
    pub fn is_by_name_only(self) -> bool {
        matches!(self, BenchSuite::Advise | BenchSuite::Tune)
    }

    /// Whether its ratio depends on the flavour of the server.
    pub fn depends_on_server(self) -> bool {
        matches!(
            self,
            BenchSuite::PointSelect
                | BenchSuite::ReadWrite
                | BenchSuite::Load
                | BenchSuite::Sysbench
                | BenchSuite::Telemetry
                | BenchSuite::Advise
                | BenchSuite::Tune
        )
    }

    pub fn needs_fio(self) -> bool {
        matches!(self, BenchSuite::IoFio | BenchSuite::IoNull)
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
        assert!([SYSBENCH_TPCC.name, GO_TPC.name, MYSQLTUNER.name].iter().all(|peer| help.contains(peer)), "{help}");
    }

    #[test]
    fn a_criterion_names_the_comparison_that_answers_it() {
        let args = Args::try_parse_from(["bench", "--only", "point-select-cpu,load", "--server", "mysql"]).unwrap();
        assert_eq!(args.only, [BenchSuite::PointSelect, BenchSuite::Load]);
        assert_eq!(args.server, [Selector::Flavour(Flavour::MySql)]);
    }
}
