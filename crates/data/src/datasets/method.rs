//! How the files of a running server become a copy that it can be started from.

use super::{backup, clone, source::Source};
use crate::DataError;
use plimsoll_model::Flavour;
use plimsoll_server::snapshot::tree::{self, Way};
use serde::Serialize;
use std::path::Path;

/// A way to a consistent copy of a running server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The server is stopped for an instant while its files are cloned: what a kill would have left
    /// ([`plimsoll_server::freeze`]).
    Reflink,
    /// A snapshot of the subvolume, which holds everything that the server had flushed: what a power failure would have
    /// left. The server runs on.
    BtrfsSnapshot,
    /// MySQL's clone plugin (MySQL Reference Manual, "Cloning Data Locally").
    Clone,
    /// MariaDB's backup program, and its `--prepare`.
    MariadbBackup,
}

impl Method {
    pub const ALL: [Method; 4] = [Method::Reflink, Method::BtrfsSnapshot, Method::Clone, Method::MariadbBackup];

    pub fn name(self) -> &'static str {
        match self {
            Method::Reflink => "reflink",
            Method::BtrfsSnapshot => "btrfs-snapshot",
            Method::Clone => "clone",
            Method::MariadbBackup => "mariadb-backup",
        }
    }
}

/// Which method was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// A snapshot, else clones of the files, else what the server's flavour brings.
    Auto,
    Exactly(Method),
}

/// The method by which `source` is copied to the new directory `to`.
///
/// # Errors
/// [`DataError::Refused`] says what is missing. A running server is never copied byte by byte.
pub fn choose(choice: Choice, source: &mut Source, to: &Path) -> Result<Method, DataError> {
    match choice {
        Choice::Exactly(method) => lacks(method, source, to)?.map_or(Ok(method), |why| Err(refused(method, &why))),
        Choice::Auto => {
            let own = match source.build.flavour {
                Flavour::MySql => Method::Clone,
                Flavour::MariaDb => Method::MariadbBackup,
            };
            let mut reasons = Vec::new();
            for method in [Method::BtrfsSnapshot, Method::Reflink, own] {
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

fn refused(method: Method, why: &str) -> DataError {
    DataError::Refused(format!("--method {} cannot be had: {why}", method.name()))
}

/// What keeps the method from working here; none if nothing does.
fn lacks(method: Method, source: &mut Source, to: &Path) -> Result<Option<String>, DataError> {
    let flavour = source.build.flavour;
    Ok(match method {
        Method::Reflink | Method::BtrfsSnapshot if source.writes_binlog()? => Some(
            "the server writes a binary log (log_bin), which decides what becomes of transactions that are prepared, \
             and a copy of the files is started without it"
                .to_owned(),
        ),
        Method::Reflink | Method::BtrfsSnapshot => match source.outside()? {
            Some(found) => Some(format!("part of the data lies outside of the data directory ({found})")),
            None => files_lack(method, &source.directory.data(), to),
        },
        Method::Clone if flavour != Flavour::MySql => Some(format!("the server is {flavour}, and only MySQL has it")),
        Method::Clone => clone::lacks(&mut source.control)?,
        Method::MariadbBackup if flavour != Flavour::MariaDb => {
            Some(format!("the server is {flavour}, and it copies only MariaDB"))
        }
        Method::MariadbBackup => backup::program(&source.build).err(),
    })
}

fn files_lack(method: Method, data: &Path, to: &Path) -> Option<String> {
    let data_shown = data.display();
    match (method, tree::fastest(data, to)) {
        (Method::BtrfsSnapshot, Way::BtrfsSnapshot) | (Method::Reflink, Way::Reflink | Way::BtrfsSnapshot) => None,
        (Method::BtrfsSnapshot, _) => Some(format!("`{data_shown}` is no Btrfs subvolume")),
        (_, _) => {
            Some(format!("the file system of `{data_shown}` cannot share blocks between files (XFS and Btrfs can)"))
        }
    }
}
