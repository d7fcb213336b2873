//! `plimsoll report`, `plimsoll recordings` and `plimsoll serve`: what was measured, shown.

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A recording's directory, an unambiguous part of its name, or the name of recordings, of which the latest is
    /// taken. Several are shown side by side, as further systems.
    #[arg(value_name = "RECORDING", required = true)]
    pub recordings: Vec<String>,
    /// Where to write it, replacing what is there; `-` is standard output. If not given, html goes into the recording
    /// (the first, of several), anything else but a png to standard output.
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// The format; if not given, it follows from the ending of --output, or else is html.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<ReportFormat>,
    /// For html: every section open, as for a printer; else all but the first are folded.
    #[arg(long)]
    pub print_all: bool,
    /// One page, one sheet on paper: the answer, the main figure, the table below it, and the caveats.
    #[arg(long)]
    pub short: bool,
    /// Show all recordings of this name over time, and where their level changed: the regression view of a nightly job.
    #[arg(long, conflicts_with = "print_all")]
    pub trend: bool,
    /// For svg and png: the name of the figure; the main one if not given.
    #[arg(long, value_name = "NAME")]
    pub figure: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    Html,
    Md,
    Json,
    Csv,
    Svg,
    Png,
}

#[derive(Debug, Args)]
pub struct RecordingsArgs {
    #[command(subcommand)]
    pub action: RecordingsAction,
}

#[derive(Debug, Subcommand)]
pub enum RecordingsAction {
    /// List the recordings, the latest last.
    List {
        /// Print one JSON document on standard output.
        #[arg(long)]
        json: bool,
    },
    /// Show what a recording found.
    Show {
        #[arg(value_name = "RECORDING")]
        recording: String,
    },
    /// Make what was recorded under a name since the last time its baseline, for --baseline of run and lab.
    Keep {
        /// The name of recordings (`run --name`).
        #[arg(value_name = "NAME")]
        name: String,
        /// Let go of the baseline instead.
        #[arg(long)]
        release: bool,
    },
    /// Tag a recording; tags are listed, shown by the dashboard, and say nothing to Plimsoll.
    Tag {
        #[arg(value_name = "RECORDING")]
        recording: String,
        #[arg(value_name = "TAG", required = true)]
        tags: Vec<String>,
        /// Remove these tags instead.
        #[arg(long)]
        remove: bool,
    },
    /// Write a note beside a recording, in place of the one that it has; an empty one removes it.
    Note {
        #[arg(value_name = "RECORDING")]
        recording: String,
        #[arg(value_name = "TEXT")]
        text: String,
    },
    /// Pack a recording into one file, to keep it or to show it to somebody.
    Export {
        #[arg(value_name = "RECORDING")]
        recording: String,
        /// The new file: a tar archive in Zstandard.
        #[arg(short, long, value_name = "FILE.tar.zst", value_hint = ValueHint::FilePath)]
        output: PathBuf,
        /// Take out host names, users, addresses and paths; logs, option files, pages and notes stay behind.
        #[arg(long)]
        anonymise: bool,
    },
    /// Unpack an exported recording among the others.
    Import {
        #[arg(value_name = "FILE.tar.zst", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Remove recordings with everything in them, except those that are kept.
    Rm {
        #[arg(value_name = "RECORDING", required = true)]
        recordings: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Where to listen. Viewers need the token in the printed link, even on this machine.
    #[arg(long, default_value = "127.0.0.1:7576", value_parser = address, value_name = "ADDRESS:PORT")]
    pub listen: SocketAddr,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let accepted = "accepted is an IP address with a port, such as 127.0.0.1:7576, [::1]:7576 or 0.0.0.0:7576";
    text.parse().map_err(|_| format!("it is not an address to listen on; {accepted}"))
}
