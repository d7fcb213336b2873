//! What `plimsoll datasets` was given.

use clap::{Args, Subcommand, ValueHint};
use plimsoll_data::datasets::{Choice, SnapshotMethod};
use plimsoll_plan::PlanError;
use std::path::PathBuf;

const METHODS: &str = "\
Methods:
  btrfs-snapshot   a snapshot of the data's subvolume; the server keeps running
  reflink          the server is paused for an instant while its files are cloned (XFS, Btrfs)
  clone            MySQL's clone plugin, installed for this and removed afterwards
  mariadb-backup   MariaDB's backup program (package mariadb-backup)
  auto             the first of these that is available; a running server is never copied byte by byte

The copy is started, which recovers it. Every dataset in it that `plimsoll load` made is checked, and it is shut down.
The server's own counters show what the copy cost it: 2 s before, during, and 2 s after.

  plimsoll run tpcc --time 10m &
  plimsoll datasets save half-way

Exit codes: 0 saved; 1 the copy failed its check and was removed; 2 no such server, or no way to copy it; 3 a server \
or the disk failed; 130 interrupted. Whatever happens, the server keeps running and a partial copy is removed.";

#[derive(Debug, Args)]
pub struct DatasetsArgs {
    #[command(subcommand)]
    pub action: DatasetsAction,
}

#[derive(Debug, Subcommand)]
pub enum DatasetsAction {
    /// List the datasets on all storage paths: what is in them, how and when they were made.
    List {
        /// Print one JSON document on standard output.
        #[arg(long)]
        json: bool,
    },
    /// Remove datasets, from all storage paths.
    Rm {
        /// Their ids, or unambiguous beginnings of them.
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },
    /// Save the data of a running private server, even while it is under load.
    #[command(after_help = METHODS)]
    Save {
        /// Name of the dataset: a-z, 0-9, `_` and `-`.
        #[arg(value_name = "NAME")]
        name: String,
        /// The private server: default-mariadb, default-mysql, or a name that `server list` shows. If not given, the
        /// only one that is running.
        #[arg(long, value_name = "SERVER")]
        server: Option<String>,
        /// auto, btrfs-snapshot, reflink, clone or mariadb-backup.
        #[arg(long, default_value = "auto", value_parser = method, value_name = "METHOD")]
        method: Choice,
        /// Print the result as one JSON document on standard output.
        #[arg(long)]
        json: bool,
    },
    /// Copy a dataset to another storage path and compare every file.
    Clone {
        /// Its id, or an unambiguous beginning of it.
        #[arg(value_name = "ID")]
        id: String,
        /// A directory there.
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        directory: PathBuf,
        /// Print the result as one JSON document on standard output.
        #[arg(long)]
        json: bool,
    },
}

fn method(text: &str) -> Result<Choice, PlanError> {
    let known = SnapshotMethod::ALL.into_iter().find(|method| method.name() == text);
    match (text, known) {
        ("auto", _) => Ok(Choice::Auto),
        (_, Some(method)) => Ok(Choice::Exactly(method)),
        _ => Err(PlanError::value("--method", text, "auto, btrfs-snapshot, reflink, clone or mariadb-backup")),
    }
}
