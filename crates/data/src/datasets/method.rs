//! How the files of a running server become a copy that a server can be started on.

use super::{backup, clone, source::DatasetSource};
use crate::DataError;
use plimsoll_model::Flavour;
use plimsoll_server::snapshot::tree::{self, Way};
use serde::Serialize;
use std::path::Path;

/// A way to a consistent copy of a running server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SnapshotMethod {
    /// The server is paused for an instant while its files are cloned: what a kill would have left
    /// ([`plimsoll_server::freeze`]).
    Reflink,
    /// A snapshot of the subvolume, which has everything that the server had flushed: what a power failure would have
    /// left. The server keeps running.
    BtrfsSnapshot,
    /// MySQL's clone plugin (MySQL Reference Manual, "Cloning Data Locally").
    Clone,
    /// MariaDB's backup program, and its `--prepare`.
    MariadbBackup,
}

impl SnapshotMethod {
    pub const ALL: [SnapshotMethod; 4] =
        [SnapshotMethod::Reflink, SnapshotMethod::BtrfsSnapshot, SnapshotMethod::Clone, SnapshotMethod::MariadbBackup];

    pub fn name(self) -> &'static str {
        match self {
            SnapshotMethod::Reflink => "reflink",
            SnapshotMethod::BtrfsSnapshot => "btrfs-snapshot",
            SnapshotMethod::Clone => "clone",
            SnapshotMethod::MariadbBackup => "mariadb-backup",
        }
    }
}

/// Which method was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// A snapshot, else clones of the files, else the method of the server's flavour.
    Auto,
    Exactly(SnapshotMethod),
}

/// The method for copying `source` to the new directory `to`.
///
/// # Errors
/// [`DataError::Refused`] says what is missing. A running server is never copied byte by byte.
pub fn choose(choice: Choice, source: &mut DatasetSource, to: &Path) -> Result<SnapshotMethod, DataError> {
    match choice {
        Choice::Exactly(method) => lacks(method, source, to)?.map_or(Ok(method), |why| Err(refused(method, &why))),
        Choice::Auto => {
            let own = match source.build.flavour {
                Flavour::MySql => SnapshotMethod::Clone,
                Flavour::MariaDb => SnapshotMethod::MariadbBackup,
            };
            let mut reasons = Vec::new();
            for method in [SnapshotMethod::BtrfsSnapshot, SnapshotMethod::Reflink, own] {
                match lacks(method, source, to)? {
                    None => return Ok(method),
                    Some(why) => reasons.push(format!("{}: {why}", method.name())),
                }
            }
            Err(DataError::Refused(format!(
                "private server `{}` cannot be copied while it runs. {}",
                source.directory.name(),
                reasons.join("; ")
            )))
        }
    }
}

fn refused(method: SnapshotMethod, why: &str) -> DataError {
    DataError::Refused(format!("--method {} is not possible: {why}", method.name()))
}

/// What prevents the method from working here, if anything.
fn lacks(method: SnapshotMethod, source: &mut DatasetSource, to: &Path) -> Result<Option<String>, DataError> {
    let flavour = source.build.flavour;
    Ok(match method {
        SnapshotMethod::Reflink | SnapshotMethod::BtrfsSnapshot if source.writes_binlog()? => Some(
            "the server writes a binary log (log_bin), which decides what becomes of prepared transactions, and a copy \
             of the files is started without it"
                .to_owned(),
        ),
        SnapshotMethod::Reflink | SnapshotMethod::BtrfsSnapshot => match source.outside()? {
            Some(found) => Some(format!("part of the data is outside the data directory ({found})")),
            None => files_lack(method, &source.directory.data(), to),
        },
        SnapshotMethod::Clone if flavour != Flavour::MySql => {
            Some(format!("the server is {flavour}, and only MySQL has the \
                                                                    clone plugin"))
        }
        SnapshotMethod::Clone => clone::lacks(&mut source.control)?,
        SnapshotMethod::MariadbBackup if flavour != Flavour::MariaDb => {
            Some(format!("the server is {flavour}, and mariadb-backup copies only MariaDB"))
        }
        SnapshotMethod::MariadbBackup => backup::program(&source.build).err(),
    })
}

fn files_lack(method: SnapshotMethod, data: &Path, to: &Path) -> Option<String> {
    let data_shown = data.display();
    match (method, tree::fastest(data, to)) {
        (SnapshotMethod::BtrfsSnapshot, Way::BtrfsSnapshot)
        | (SnapshotMethod::Reflink, Way::Reflink | Way::BtrfsSnapshot) => None,
        (SnapshotMethod::BtrfsSnapshot, _) => Some(format!("`{data_shown}` is not a Btrfs subvolume")),
        (_, _) => {
            Some(format!("the file system of `{data_shown}` cannot share blocks between files (XFS and Btrfs can)"))
        }
    }
}
