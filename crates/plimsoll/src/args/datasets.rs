//! What `plimsoll datasets` was given.

use clap::{Args, Subcommand, ValueHint};
use plimsoll_data::datasets::{Choice, Method};
use plimsoll_plan::PlanError;
use std::path::PathBuf;

const METHODS: &str = "\
Methods:
  btrfs-snapshot   a snapshot of the subvolume that the data are in; the server runs on
  reflink          the server is stopped for an instant, while its files are cloned (XFS, Btrfs)
  clone            MySQL's clone plugin, installed for it and removed again
  mariadb-backup   MariaDB's backup program (package mariadb-backup)
  auto             the first of these that there is; a running server is never copied byte by byte

The copy is started, which recovers it, every dataset in it that `plimsoll load` made is checked, and it is shut down.
What it cost the server is told by its own counters, for 2 s before, during, and 2 s after.

  plimsoll run tpcc --time 10m &
  plimsoll datasets save half-way

Exit codes: 0 saved; 1 the copy failed its check, and is gone; 2 no such server, or no way to copy it; 3 a server or \
the disk failed; 130 interrupted. Whatever happens, the server runs on and half a copy is removed.";

#[derive(Debug, Args)]
pub struct DatasetsArgs {
    #[command(subcommand)]
    pub action: DatasetsAction,
}

#[derive(Debug, Subcommand)]
pub enum DatasetsAction {
    /// List the datasets, on all storage paths: what is in them, how and when they were made.
    List {
        /// Print one JSON document on standard output.
        #[arg(long)]
        json: bool,
    },
    /// Remove datasets, from all storage paths.
    Rm {
        /// Their ids, or beginnings that only one id has.
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },
    /// Save the data of a running private server, also while it is under load.
    #[command(after_help = METHODS)]
    Save {
        /// What to call the dataset: a-z, 0-9, `_` and `-`.
        #[arg(value_name = "NAME")]
        name: String,
        /// The private server: default-mariadb, default-mysql, or what `server list` shows; the only one that runs if
        /// not given.
        #[arg(long, value_name = "SERVER")]
        server: Option<String>,
        /// auto, btrfs-snapshot, reflink, clone or mariadb-backup.
        #[arg(long, default_value = "auto", value_parser = method, value_name = "METHOD")]
        method: Choice,
        /// Print what came of it as one JSON document on standard output.
        #[arg(long)]
        json: bool,
    },
    /// Copy a dataset to another storage path, and compare every file.
    Clone {
        /// Its id, or a beginning that only one id has.
        #[arg(value_name = "ID")]
        id: String,
        /// A directory there.
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        directory: PathBuf,
        /// Print what came of it as one JSON document on standard output.
        #[arg(long)]
        json: bool,
    },
}

fn method(text: &str) -> Result<Choice, PlanError> {
    let known = Method::ALL.into_iter().find(|method| method.name() == text);
    match (text, known) {
        ("auto", _) => Ok(Choice::Auto),
        (_, Some(method)) => Ok(Choice::Exactly(method)),
        _ => Err(PlanError::value("--method", text, "auto, btrfs-snapshot, reflink, clone or mariadb-backup")),
    }
}
