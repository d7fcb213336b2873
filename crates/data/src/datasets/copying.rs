//! Copies the data of a running private server, and samples the server meanwhile.

use super::cost::{CopyCost, ServerMeter};
use super::method::{self, Choice, SnapshotMethod};
use super::source::DatasetSource;
use super::{backup, clone, interrupted, verify};
use crate::DataError;
use crate::starting_data::server;
use crate::target::OpenTarget;
use plimsoll_model::Build;
use plimsoll_server::directory::ServerDirectory;
use plimsoll_server::freeze::Frozen;
use plimsoll_server::snapshot::tree::{self, Way};
use plimsoll_server::{Settings, TrialDirectory};
use plimsoll_watch::{Event, Watcher};
use rustix::fs::syncfs;
use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long the server is sampled before the copy, and after it.
const AROUND: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(50);

/// A copy of a running server's data on which no server has been started yet.
#[derive(Clone, Debug)]
pub struct OnlineCopy {
    pub method: SnapshotMethod,
    /// How long the server was paused, if it was.
    pub stopped: Option<Duration>,
    pub begun: Instant,
    pub ended: Instant,
    pub cost: CopyCost,
    /// The copy has MySQL's clone plugin, although the server had not.
    with_plugin: bool,
}

/// Copies the data of the server that runs in `from` to the empty directory `to` of the same home, by the fastest method
/// that there is.
///
/// # Errors
/// [`DataError::Refused`] if there is none; [`DataError::Interrupted`]; those of servers and files.
pub fn copy_online(
    from: &ServerDirectory,
    to: &TrialDirectory,
    holder: &str,
    watcher: &mut dyn Watcher,
) -> Result<OnlineCopy, DataError> {
    let mut source = DatasetSource::open(to.home().clone(), from.clone())?;
    let method = method::choose(Choice::Auto, &mut source, to.directory().path())?;
    Copying { source: &mut source, to, holder, watcher }.by(method)
}

impl OnlineCopy {
    /// Starts a server on the copy in `directory`.
    ///
    /// # Errors
    /// If it does not start, or has transactions that nobody can decide.
    pub fn start(
        &self,
        directory: &TrialDirectory,
        build: &Build,
        settings: Settings,
        holder: &str,
        watcher: &mut dyn Watcher,
    ) -> Result<OpenTarget, DataError> {
        TrialDirectory::mark_data(&directory.data(), build)?;
        let mut target = server::open(directory, build, settings, holder, watcher)?;
        if self.with_plugin {
            clone::uninstall(&mut target.control)?;
        }
        verify::nothing_is_prepared(&mut target.control)?;
        Ok(target)
    }
}

/// A copy under way.
pub(super) struct Copying<'c> {
    pub source: &'c mut DatasetSource,
    pub to: &'c TrialDirectory,
    pub holder: &'c str,
    pub watcher: &'c mut dyn Watcher,
}

impl Copying<'_> {
    /// Copies the data into the directory and samples the server meanwhile.
    pub fn by(mut self, method: SnapshotMethod) -> Result<OnlineCopy, DataError> {
        let meter = ServerMeter::begin(&self.source.socket);
        self.watcher.tell(Event::Doing("sampling the server's counters"));
        self.wait(AROUND)?;
        self.watcher.tell(Event::Doing("copying the server's data"));
        let begun = Instant::now();
        let (mut stopped, mut with_plugin) = (None, false);
        let to = self.to.data();
        match method {
            SnapshotMethod::Reflink => stopped = Some(self.reflink(&to)?),
            SnapshotMethod::BtrfsSnapshot => self.snapshot(&to)?,
            SnapshotMethod::Clone => with_plugin = clone::copy(self.source, &to, self.watcher)?,
            SnapshotMethod::MariadbBackup => {
                let log = self.to.directory().path().join("backup.log");
                backup::copy(self.source, &to, &log, self.watcher)?;
            }
        }
        let ended = Instant::now();
        self.watcher.tell(Event::Doing("sampling the server's counters"));
        self.wait(AROUND)?;
        let cost = meter.end(begun, ended)?;
        Ok(OnlineCopy { method, stopped, begun, ended, cost, with_plugin })
    }

    /// Clones the files of the paused server; returns for how long it was paused.
    fn reflink(&mut self, to: &Path) -> Result<Duration, DataError> {
        let data = self.source.directory.data();
        let failed = |error: std::io::Error| DataError::Environment(format!("{}: {error}", data.display()));
        // What is flushed now need not be flushed while it is paused.
        syncfs(File::open(&data).map_err(failed)?).map_err(|errno| failed(errno.into()))?;
        let frozen = Frozen::stop(&self.source.directory, &self.source.identity, self.holder)?;
        let copied = tree::share(&data, to, &mut || !self.watcher.interrupted());
        let stopped = frozen.resume()?;
        copied.map(|_| stopped).map_err(interrupted)
    }

    fn snapshot(&mut self, to: &Path) -> Result<(), DataError> {
        let go_on = &mut || !self.watcher.interrupted();
        tree::copy(&self.source.directory.data(), to, Way::BtrfsSnapshot, go_on).map(drop).map_err(interrupted)
    }

    fn wait(&mut self, time: Duration) -> Result<(), DataError> {
        let begun = Instant::now();
        while begun.elapsed() < time {
            if self.watcher.interrupted() {
                return Err(DataError::Interrupted);
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }
}
