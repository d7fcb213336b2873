//! What can go wrong with a private server. Each message names the object, what was found, and the remedy.

use plimsoll_host::HostError;
use plimsoll_model::Flavour;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error(
        "no {wanted} server found: looked for {names} in {places}; install the package `{package}`, or name the binary \
         with `--server PATH`"
    )]
    NoBuild { wanted: &'static str, names: &'static str, places: String, package: &'static str },

    #[error("`{}` is not a MySQL-family server: {found}; name the server binary or a directory that contains one", path.display())]
    NotAServer { path: PathBuf, found: String },

    #[error(
        "`{name}` cannot name a private server; use 1 to 64 of a-z, 0-9, `.`, `_` and `-`, beginning with a letter or digit"
    )]
    Name { name: String },

    #[error("private server `{name}` is in use by {holder}; wait until that ends, or use another server")]
    Locked { name: String, holder: String },

    #[error("there is no private server `{name}`; `plimsoll server list` shows those that exist")]
    Unknown { name: String },

    #[error("`{}` is not Plimsoll's: {found}; it was not touched; move it away, or choose another home with \
             PLIMSOLL_HOME", path.display())]
    Foreign { path: PathBuf, found: String },

    #[error(
        "the data of private server `{name}` were made by {data}, but the chosen server is {build}; choose the former \
         with `--server PATH`, or remove `{}` to begin with an empty server",
        path.display()
    )]
    OtherBuild { name: String, path: PathBuf, data: String, build: String },

    #[error("{build} could not initialise a data directory: {reason}")]
    InitialiseFailed { build: String, reason: String },

    #[error("private server `{name}` did not start ({found}): {reason}; the whole log is `{}`", log.display())]
    StartFailed { name: String, found: String, reason: String, log: PathBuf },

    #[error("private server `{name}` was not ready after {waited:?}: {reason}; the whole log is `{}`", log.display())]
    StartTimeout { name: String, waited: Duration, reason: String, log: PathBuf },

    #[error(
        "private server `{name}` hangs: while it started it has neither computed nor read nor written for {} s: {reason}; the whole \
         log is `{}`",
        idle.as_secs(),
        log.display()
    )]
    Hung { name: String, idle: Duration, reason: String, log: PathBuf },

    #[error("private server `{name}` runs as pid {pid} but does not answer on `{}`; stop it with `plimsoll server stop {name}`", socket.display())]
    Unreachable { name: String, pid: u32, socket: PathBuf },

    #[error(
        "pid {pid} of private server `{name}` did not end within {waited:?} after it was killed; it may hang in a \
         device: see its state in /proc/{pid}/status"
    )]
    WillNotEnd { name: String, pid: u32, waited: Duration },

    #[error("pid {pid} of private server `{name}` could not be paused: {found}; it keeps running")]
    NotStopped { name: String, pid: u32, found: String },

    #[error("server setting `{name}` = `{value}` is refused: {found}")]
    Setting { name: String, value: String, found: String },

    #[error("it is impossible to confine anything to the CPUs {cpus:?}: {found}; name CPUs of this machine")]
    Cpus { cpus: Vec<usize>, found: String },

    #[error("unknown server `{given}`; use auto, mariadb, mysql or the path of a server binary")]
    Selector { given: String },

    #[error("interrupted before `{name}` was ready")]
    Interrupted { name: String },

    #[error("the plan `{name}` is being executed by {holder}; wait until that ends, or give this plan another `name`")]
    PlanLocked { name: String, holder: String },

    #[error("dataset `{id}` is in use by {holder}; wait until that ends")]
    DatasetLocked { id: String, holder: String },

    #[error("there is already a dataset `{id}`; remove it with `plimsoll datasets rm {id}`, or choose another name")]
    DatasetExists { id: String },

    #[error("there is no dataset `{id}` in `{}`; `plimsoll datasets list` shows those that exist", home.display())]
    NoDataset { id: String, home: PathBuf },

    #[error("`{id}` cannot name a dataset; use 1 to 64 of a-z, 0-9, `_` and `-`, beginning with a letter or digit")]
    DatasetName { id: String },

    #[error("the copy `{}` differs from its original `{}`: {found}", copy.display(), original.display())]
    NotEqual { original: PathBuf, copy: PathBuf, found: String },

    #[error(transparent)]
    Host(HostError),
}

impl From<HostError> for ServerError {
    fn from(error: HostError) -> ServerError {
        match error {
            HostError::NoTree { path, found } => ServerError::Foreign { path, found: found.to_owned() },
            untrusted @ HostError::Untrusted { .. } => ServerError::Host(HostError::ours(
                "file or directory",
                "use another home with PLIMSOLL_HOME",
            )(untrusted)),
            other => ServerError::Host(other),
        }
    }
}

/// Names the action and the path of a failed system call: `fs::read(p).during("read", p)?`.
pub(crate) trait DuringServer<T> {
    fn during(self, action: &'static str, path: &Path) -> Result<T, ServerError>;
}

impl<T, E: Into<io::Error>> DuringServer<T> for Result<T, E> {
    fn during(self, action: &'static str, path: &Path) -> Result<T, ServerError> {
        self.map_err(|error| ServerError::Host(HostError::Io { action, path: path.to_owned(), source: error.into() }))
    }
}

/// The package with a server of this flavour on Debian and Ubuntu.
pub(crate) fn package_of(flavour: Option<Flavour>) -> &'static str {
    match flavour {
        Some(Flavour::MySql) => "mysql-server-core",
        _ => "mariadb-server-core",
    }
}
