//! One private server's directory: what is in it, whether it is ours, its lock, its record.
//!
//! ```text
//! <home>/servers/<name>/
//!   lock          flock, held by the Plimsoll that uses the server; names it
//!   server.json   the record, and the marker that the directory is Plimsoll's
//!   data/         the data directory, with plimsoll-data.json naming the build that made it
//!   data.new/     one that is being copied; renamed to data/ when complete
//!   directory           marks the directory of a lab, which goes with the lab
//!   my.cnf  error.log  error.log.1  server.pid  tmp/
//! ```

use crate::ServerError;
use crate::error::DuringServer;
use crate::last_words::first_complaint;
use crate::memory_group::MemoryGroup;
use crate::process::{self, Ending, find_by_config, runs_with};
use plimsoll_host::Home;
use plimsoll_host::home::real_directory;
use plimsoll_host::lock::Lock;
use plimsoll_host::process::Identity;
use plimsoll_host::replace::{is_begun, replace};
use plimsoll_host::{owner, remove};
use plimsoll_model::Build;
use plimsoll_model::text::{clean, escaped};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// In a longer log, what went wrong was written long before the end.
const READ_AT_MOST: u64 = 64 << 20;
const RECORD: &str = "server.json";
const LOCK: &str = "lock";
const RIG: &str = "rig";
const DATA_MARKER: &str = "plimsoll-data.json";

/// A reader of the directory holds the lock for an instant, so try again before saying "in use".
const LOCK_TRIES: u32 = 5;
const LOCK_PAUSE: Duration = Duration::from_millis(40);

/// The content of `server.json`. Its first key is the marker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Version of this format: 1.
    pub plimsoll_server: u32,
    /// The last server that was started, unless it was stopped properly.
    pub process: Option<ProcessRecord>,
}

/// A started server, as recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRecord {
    #[serde(flatten)]
    pub identity: Identity,
    pub build: Build,
    pub socket: PathBuf,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Started by `server start`, and ready: it may run without a Plimsoll.
    pub kept: bool,
}

/// The directory of one private server that exists and is ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerDirectory {
    name: String,
    path: PathBuf,
}

/// What is at a path where a server's directory should be.
enum Presence {
    Missing,
    /// Ours: it has a record.
    Ours,
    /// Empty, or left by a Plimsoll that was killed before it wrote the first record.
    Fresh,
}

impl ServerDirectory {
    /// Opens the directory of the server `name`.
    ///
    /// # Errors
    /// [`ServerError::Unknown`] when there is none, [`ServerError::Foreign`] when it is not ours.
    pub fn existing(home: &Home, name: &str) -> Result<ServerDirectory, ServerError> {
        let directory = ServerDirectory::named(home, name)?;
        match examine(&directory.path)? {
            Presence::Missing => Err(ServerError::Unknown { name: name.to_owned() }),
            Presence::Ours | Presence::Fresh => Ok(directory),
        }
    }

    /// Opens or creates the directory of the server `name`, mode 0700.
    ///
    /// # Errors
    /// [`ServerError::Name`], [`ServerError::Foreign`], [`HostError::Place`], or [`HostError::Io`].
    pub fn prepare(home: &Home, name: &str) -> Result<ServerDirectory, ServerError> {
        let directory = ServerDirectory::named(home, name)?;
        real_directory("directory of servers", &home.servers(), "move it away")?;
        if let Presence::Missing = examine(&directory.path)? {
            match DirBuilder::new().mode(0o700).create(&directory.path) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                made => made.during("create", &directory.path)?,
            }
        }
        Ok(directory)
    }

    /// Whether nothing was ever recorded here: a Plimsoll is just starting, or was killed at that moment.
    pub(crate) fn is_fresh(&self) -> Result<bool, ServerError> {
        Ok(matches!(examine(&self.path)?, Presence::Fresh))
    }

    fn named(home: &Home, name: &str) -> Result<ServerDirectory, ServerError> {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let valid = name.len() <= 64
            && name.starts_with(inner)
            && name.chars().all(|c| inner(c) || matches!(c, '.' | '_' | '-'));
        if !valid {
            return Err(ServerError::Name { name: escaped(name) });
        }
        home.must_own("directory of servers", &home.servers())?;
        Ok(ServerDirectory { name: name.to_owned(), path: home.servers().join(name) })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    pub(crate) fn half_made_data(&self) -> PathBuf {
        self.path.join("data.new")
    }

    pub fn tmp(&self) -> PathBuf {
        self.path.join("tmp")
    }

    pub fn my_cnf(&self) -> PathBuf {
        self.path.join("my.cnf")
    }

    pub fn error_log(&self) -> PathBuf {
        self.path.join("error.log")
    }

    pub(crate) fn pid_file(&self) -> PathBuf {
        self.path.join("server.pid")
    }

    /// Marks the directory of a lab.
    pub(crate) fn rig_marker(&self) -> PathBuf {
        self.path.join(RIG)
    }

    /// The files that mark the directory as a lab's, in the order of their removal: without the record, it looks like
    /// one in which a Plimsoll was killed before it wrote the first record.
    pub(crate) fn markers(&self) -> [PathBuf; 3] {
        [RECORD, LOCK, RIG].map(|name| self.path.join(name))
    }

    /// Takes the server's lock for `holder` (a command, say), until the lock is dropped.
    ///
    /// # Errors
    /// [`ServerError::Locked`] names its holder.
    pub fn lock(&self, holder: &str) -> Result<Lock, ServerError> {
        let path = self.path.join(LOCK);
        for _ in 0..LOCK_TRIES {
            match Lock::try_take(&path, holder)? {
                Some(lock) => return Ok(lock),
                None => thread::sleep(LOCK_PAUSE),
            }
        }
        Err(ServerError::Locked { name: self.name.clone(), holder: self.holder() })
    }

    fn holder(&self) -> String {
        Lock::holder(&self.path.join(LOCK))
    }

    /// Who holds the lock now, if anybody does. One that cannot be looked at is held by nobody that we know of; whoever
    /// takes it is told why that fails.
    pub fn held_by(&self) -> Option<String> {
        match Lock::try_peek(&self.path.join(LOCK)) {
            Ok(false) => Some(self.holder()),
            Ok(true) | Err(_) => None,
        }
    }

    /// The record; a fresh directory has an empty one.
    ///
    /// # Errors
    /// [`ServerError::Foreign`] when `server.json` is not ours.
    pub fn record(&self) -> Result<Record, ServerError> {
        match read_record(&self.path)? {
            Some(record) => Ok(record),
            None => Ok(Record { plimsoll_server: 1, process: None }),
        }
    }

    /// Replaces the record in one step.
    pub(crate) fn write_record(&self, record: &Record) -> Result<(), ServerError> {
        write_json(&self.path.join(RECORD), record)
    }

    /// Which build made the data; none when there are no data yet.
    ///
    /// # Errors
    /// [`ServerError::Foreign`] when `data` is a link or has no marker of ours.
    pub fn data_build(&self) -> Result<Option<Build>, ServerError> {
        let data = self.data();
        let foreign = |found: String| ServerError::Foreign { path: data.clone(), found };
        match fs::symlink_metadata(&data) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e).during("look at", &data),
            Ok(facts) if !facts.is_dir() => Err(foreign("it is a symbolic link or not a directory".into())),
            Ok(_) => {
                let text = fs::read_to_string(data.join(DATA_MARKER))
                    .map_err(|e| foreign(format!("its marker `{DATA_MARKER}` cannot be read: {e}")))?;
                let build = serde_json::from_str(&text);
                Ok(Some(build.map_err(|e| foreign(format!("its marker `{DATA_MARKER}` is damaged: {e}")))?))
            }
        }
    }

    /// Marks the data directory `data` as made by `build`.
    pub(crate) fn mark_data(data: &Path, build: &Build) -> Result<(), ServerError> {
        write_json(&data.join(DATA_MARKER), build)
    }

    /// The server that runs on this directory, found by the record, else by its command line.
    pub fn running(&self, record: &Record) -> Option<Identity> {
        let recorded = record.process.as_ref().map(|process| &process.identity);
        match recorded.filter(|identity| runs_with(identity, &self.my_cnf())) {
            Some(identity) => Some(identity.clone()),
            None => find_by_config(&self.my_cnf(), &self.data()),
        }
    }

    /// The server that `server start` made and that still runs.
    pub fn kept<'r>(&self, record: &'r Record) -> Option<&'r ProcessRecord> {
        record.process.as_ref().filter(|process| process.kept && runs_with(&process.identity, &self.my_cnf()))
    }

    /// Ends what runs here and removes what it left. Only with the lock held. Nothing is signalled unless the data
    /// directory has our marker.
    pub(crate) fn bring_down(&self, patience: Duration) -> Result<(Ending, Vec<PathBuf>), ServerError> {
        let record = self.record()?;
        let running = self.running(&record);
        // Data that a lab has half restored have no marker yet; if nothing runs, nothing has to be proved ours.
        let data = if running.is_none() && self.is_rig() { None } else { self.data_build()? };
        let ending = match (running, data) {
            (None, _) => Ending::WasDown,
            (Some(identity), Some(_)) => process::end(&self.name, &identity, &self.my_cnf(), patience)?,
            (Some(identity), None) => {
                let found = format!("pid {} runs on it, but its data directory is not Plimsoll's", identity.pid);
                return Err(ServerError::Foreign { path: self.path.clone(), found });
            }
        };
        let gone = match &record.process {
            Some(process) => self.settle(&process.socket)?,
            None => self.sweep(None)?,
        };
        Ok((ending, gone))
    }

    /// Records that the server is down and removes what it left.
    pub(crate) fn settle(&self, socket: &Path) -> Result<Vec<PathBuf>, ServerError> {
        let gone = self.sweep(Some(socket))?;
        self.write_record(&Record { plimsoll_server: 1, process: None })?;
        Ok(gone)
    }

    /// Removes what a stopped server has left: socket, pid file, incomplete data, the limit of its memory. Only with
    /// the lock held, and only if nothing runs. Returns what was there.
    pub(crate) fn sweep(&self, socket: Option<&Path>) -> Result<Vec<PathBuf>, ServerError> {
        let mut gone = Vec::new();
        let mut files = vec![self.pid_file()];
        if let Some(socket) = socket.filter(|path| is_socket(path)) {
            let mut lock = socket.as_os_str().to_owned();
            lock.push(".lock");
            files.extend([socket.to_owned(), lock.into()]);
        }
        for file in files {
            match fs::remove_file(&file) {
                Ok(()) => gone.push(file),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e).during("remove", &file),
            }
        }
        if remove_tree(&self.half_made_data())? {
            gone.push(self.half_made_data());
        }
        if let Some(group) = MemoryGroup::of(self.path())? {
            gone.push(group.remove()?);
        }
        remove_tree(&self.tmp())?;
        Ok(gone)
    }

    /// The last `lines` lines of the error log, without control characters; empty when there is none.
    pub fn error_log_tail(&self, lines: usize) -> String {
        last_lines(&end_of(&self.error_log()), lines)
    }

    /// The first complaint in the error log since the server was ready, without control characters.
    pub fn first_complaint(&self) -> Option<String> {
        let log = File::open(self.error_log()).ok()?.take(READ_AT_MOST);
        first_complaint(log).map(|line| clean(&line))
    }

    /// What the error log says about a failure: the first complaints, or else the last lines.
    pub(crate) fn complaint(&self) -> String {
        let text = end_of(&self.error_log());
        let errors: Vec<String> = text.lines().filter(|line| line.contains("[ERROR]")).map(clean).collect();
        match errors.is_empty() {
            true => match self.error_log_tail(8) {
                tail if tail.is_empty() => "its error log is empty".to_owned(),
                tail => tail,
            },
            false => errors[..errors.len().min(6)].join("\n"),
        }
    }
}

/// The last `lines` lines of a text, without control characters.
pub(crate) fn last_lines(text: &str, lines: usize) -> String {
    let all: Vec<String> = text.lines().map(clean).collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// A path that was read from a record is only removed if it is a socket.
fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| facts.file_type().is_socket())
}

fn examine(path: &Path) -> Result<Presence, ServerError> {
    let foreign = |found: String| Err(ServerError::Foreign { path: path.to_owned(), found });
    let facts = match fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Presence::Missing),
        facts => facts.during("look at", path)?,
    };
    if facts.is_symlink() {
        return foreign("it is a symbolic link".into());
    }
    if !facts.is_dir() {
        return foreign("it is not a directory".into());
    }
    owner::itself(path)?;
    if read_record(path)?.is_some() {
        return Ok(Presence::Ours);
    }
    for entry in fs::read_dir(path).during("read", path)? {
        let name = entry.during("read", path)?.file_name();
        if name != LOCK && name != RIG && !is_begun(&name, RECORD) {
            return foreign(format!("it contains `{}` but no `{RECORD}`", escaped(&name.to_string_lossy())));
        }
    }
    Ok(Presence::Fresh)
}

fn read_record(directory: &Path) -> Result<Option<Record>, ServerError> {
    let path = directory.join(RECORD);
    match fs::read_to_string(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e).during("read", &path),
        Ok(text) => match serde_json::from_str::<Record>(&text) {
            Ok(record) if record.plimsoll_server == 1 => Ok(Some(record)),
            Ok(record) => Err(ServerError::Foreign {
                path,
                found: format!("its format is {}, and this Plimsoll knows 1", record.plimsoll_server),
            }),
            Err(e) => {
                Err(ServerError::Foreign { path, found: format!("it is not the record of a private server: {e}") })
            }
        },
    }
}

/// Replaces the file in one step, so that a reader or a crash sees the old or the new one.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), ServerError> {
    let mut text = serde_json::to_vec_pretty(value).map_err(io::Error::from).during("describe", path)?;
    text.push(b'\n');
    Ok(replace(path, &text)?)
}

/// Removes a directory of ours and everything below it, like [`remove::tree`]. Returns whether there was one.
pub(crate) fn remove_tree(path: &Path) -> Result<bool, ServerError> {
    Ok(remove::tree(path)?)
}

/// At most the last 256 KiB of a log, whatever bytes it contains.
fn end_of(path: &Path) -> String {
    const MOST: u64 = 256 << 10;
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(MOST)))?;
        file.take(MOST).read_to_end(&mut bytes)
    });
    read.map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_cannot_be_asked_is_held_by_nobody() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::resolve(|name| (name == "PLIMSOLL_HOME").then(|| place.path().into())).unwrap();
        let directory = ServerDirectory::prepare(&home, "a").unwrap();
        let lock = directory.lock("a test").unwrap();
        assert!(directory.held_by().is_some_and(|holder| holder.starts_with("a test (pid ")));
        drop(lock);
        assert_eq!(directory.held_by(), None);
        let path = directory.path().join(LOCK);
        fs::remove_file(&path).unwrap();
        // It leads to itself, so nobody can open it.
        std::os::unix::fs::symlink(LOCK, &path).unwrap();
        assert_eq!(directory.held_by(), None);
    }
}
