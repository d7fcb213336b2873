//! All private servers of a home: list them, stop one, clean up after a killed Plimsoll.

use crate::directory::ServerDirectory;
use crate::error::DuringServer;
use crate::process::Ending;
use crate::snapshot::store;
use crate::{ServerError, freeze, template};
use plimsoll_host::Home;
use plimsoll_model::Build;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long `clean` lets a leftover server flush before it kills it.
const STOPS_WITHIN: Duration = Duration::from_secs(60);

/// The state of a private server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// Up; `held_by` is the Plimsoll that uses it now, if any.
    Running {
        pid: u32,
        held_by: Option<String>,
    },
    /// Up, although the Plimsoll that it should have died with is gone: `clean` stops it.
    Leftover {
        pid: u32,
    },
    Stopped,
    /// Down, although nobody stopped it: killed, crashed, or the machine was restarted.
    Stale,
}

/// One line of `server list`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    pub name: String,
    /// The home or place that it is in.
    pub home: Home,
    /// The build that made the data; none if there are no data yet.
    pub build: Option<Build>,
    pub state: ServerState,
    /// Where it listens, if it is up.
    pub socket: Option<PathBuf>,
    /// Bytes of its data on disk.
    pub data_bytes: u64,
    /// RFC 3339, UTC, if it is up.
    pub up_since: Option<String>,
    pub error_log: PathBuf,
}

/// All private servers of `home` by name, then those of its places. What is not Plimsoll's is skipped.
///
/// # Errors
/// [`HostError::Io`] when a directory of servers cannot be read.
pub fn list(home: &Home) -> Result<Vec<ServerInfo>, ServerError> {
    let mut all = Vec::new();
    for home in home.with_places()? {
        let directories = directories(&home)?.into_iter().filter_map(Result::ok);
        all.extend(directories.filter_map(|directory| info(&home, &directory).ok()));
    }
    Ok(all)
}

fn info(home: &Home, directory: &ServerDirectory) -> Result<ServerInfo, ServerError> {
    let record = directory.record()?;
    let held_by = directory.held_by();
    let up = directory.running(&record);
    let kept = record.process.as_ref().is_some_and(|process| process.kept);
    let state = match &up {
        Some(identity) if held_by.is_some() || kept => ServerState::Running { pid: identity.pid, held_by },
        Some(identity) => ServerState::Leftover { pid: identity.pid },
        None if record.process.is_some() && held_by.is_none() => ServerState::Stale,
        None => ServerState::Stopped,
    };
    let process = record.process.filter(|_| up.is_some());
    Ok(ServerInfo {
        name: directory.name().to_owned(),
        home: home.clone(),
        build: directory.data_build()?,
        state,
        socket: process.as_ref().map(|process| process.socket.clone()),
        data_bytes: occupied(&directory.data()),
        up_since: process.map(|process| process.started_at),
        error_log: directory.error_log(),
    })
}

/// Stops the private server `name`: SIGTERM, then SIGKILL after `patience`. A server in use is not stopped.
///
/// # Errors
/// [`ServerError::Unknown`], [`ServerError::Foreign`], [`ServerError::Locked`], [`ServerError::WillNotEnd`].
pub fn stop(home: &Home, name: &str, patience: Duration) -> Result<Ending, ServerError> {
    let directory = ServerDirectory::existing(home, name)?;
    let _lock = directory.lock("plimsoll server stop")?;
    directory.bring_down(patience).map(|(ending, _)| ending)
}

/// Where the error log of the private server `name` is; it need not exist yet.
///
/// # Errors
/// [`ServerError::Unknown`] or [`ServerError::Foreign`].
pub fn error_log(home: &Home, name: &str) -> Result<PathBuf, ServerError> {
    ServerDirectory::existing(home, name).map(|directory| directory.error_log())
}

/// One thing that `clean` removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cleaned {
    /// A server that was still up although its Plimsoll had died.
    Server { name: String, pid: u32 },
    /// A server that was paused for a copy, whose Plimsoll had died: it continues.
    Thawed { pid: u32 },
    /// A file or directory that an interrupted run left.
    Path(PathBuf),
}

impl fmt::Display for Cleaned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cleaned::Server { name, pid } => write!(f, "stopped private server `{name}` (pid {pid})"),
            Cleaned::Thawed { pid } => write!(f, "let a paused private server continue (pid {pid})"),
            Cleaned::Path(path) => write!(f, "removed `{}`", path.display()),
        }
    }
}

/// What `clean` did.
#[derive(Debug, Default)]
pub struct Cleaning {
    pub cleaned: Vec<Cleaned>,
    /// What it left alone, and why: servers in use, directories that are not Plimsoll's.
    pub left: Vec<ServerError>,
}

/// Stops servers that outlived their Plimsoll, and removes stale sockets, incomplete data, datasets and templates, all
/// servers of labs, and directories in which no server was created yet; in the home and all its places. Servers that
/// `server start` keeps up, servers in use, and data stay. What cannot be read, or may have been put there by others,
/// is listed as left alone.
pub fn clean(home: &Home) -> Cleaning {
    let mut cleaning = Cleaning::default();
    for home in homes(home, &mut cleaning.left) {
        for directory in directories(&home).unwrap_or_else(|error| vec![Err(error)]) {
            // Before anything else, because the Plimsoll that uses the server may still be alive.
            match directory.as_ref().map(freeze::thaw) {
                Ok(Ok(Some(identity))) => cleaning.cleaned.push(Cleaned::Thawed { pid: identity.pid }),
                Ok(Err(e)) => cleaning.left.push(e),
                _ => {}
            }
            match directory.and_then(|directory| clean_one(&directory)) {
                Ok(cleaned) => cleaning.cleaned.extend(cleaned),
                Err(e) => cleaning.left.push(e),
            }
        }
        let (gone, left) = store::clean(&home);
        cleaning.cleaned.extend(gone.into_iter().map(Cleaned::Path));
        cleaning.left.extend(left);
    }
    for removed in [template::remove_half_built(home), home.forget_places().map_err(ServerError::from)] {
        match removed {
            Ok(paths) => cleaning.cleaned.extend(paths.into_iter().map(Cleaned::Path)),
            Err(error) => cleaning.left.push(error),
        }
    }
    cleaning
}

/// The home and its places; only the home if its notes cannot be read or trusted.
fn homes(home: &Home, left: &mut Vec<ServerError>) -> Vec<Home> {
    home.with_places().unwrap_or_else(|error| {
        left.push(error.into());
        vec![home.clone()]
    })
}

fn clean_one(directory: &ServerDirectory) -> Result<Vec<Cleaned>, ServerError> {
    let lock = directory.lock("plimsoll clean")?;
    let record = directory.record()?;
    if directory.kept(&record).is_some() {
        return Ok(Vec::new());
    }
    let up = directory.running(&record);
    let (ending, mut gone) = directory.bring_down(STOPS_WITHIN)?;
    if directory.goes_as_a_whole()? {
        directory.remove(lock)?;
        gone.push(directory.path().to_owned());
    }
    let server = up.filter(|_| ending != Ending::WasDown);
    let server = server.map(|identity| Cleaned::Server { name: directory.name().to_owned(), pid: identity.pid });
    Ok(server.into_iter().chain(gone.into_iter().map(Cleaned::Path)).collect())
}

fn directories(home: &Home) -> Result<Vec<Result<ServerDirectory, ServerError>>, ServerError> {
    let servers = home.servers();
    home.must_own("directory of servers", &servers)?;
    let entries = match fs::read_dir(&servers) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.during("read", &servers)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.during("read", &servers)?.file_name());
    }
    names.sort();
    Ok(names.iter().map(|name| ServerDirectory::existing(home, &name.to_string_lossy())).collect())
}

/// Bytes on disk below `path`; links are not followed, and what vanishes meanwhile does not count.
fn occupied(path: &Path) -> u64 {
    let Ok(facts) = fs::symlink_metadata(path) else { return 0 };
    let below = match facts.is_dir() {
        true => fs::read_dir(path).map(|entries| entries.flatten().map(|entry| occupied(&entry.path())).sum()),
        false => Ok(0),
    };
    facts.blocks() * 512 + below.unwrap_or(0)
}
