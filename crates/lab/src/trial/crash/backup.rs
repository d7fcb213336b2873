//! The event `backup`: under load an online copy of the data is made, as `plimsoll datasets save` makes one; the load goes
//! on for a while and ends in order, and what the copy has is what is looked at.

use super::super::{ServerSetup, UnderWay};
use super::environment;
use super::reckoning::{entries, has};
use super::strike::Strike;
use crate::error::LabError;
use plimsoll_data::datasets::{OnlineCopy, copy_online};
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::{CommitLog, LoggedCommit};
use plimsoll_model::crash::CopyFacts;
use plimsoll_server::TrialDirectory;
use plimsoll_server::directory::ServerDirectory;
use plimsoll_watch::{Event, Watcher};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where an online copy of a trial's data is made.
pub struct Backup {
    from: ServerDirectory,
    directory: TrialDirectory,
    holder: String,
}

impl Backup {
    /// Beside the data.
    ///
    /// # Errors
    /// As [`TrialDirectory::take`].
    pub fn beside(setup: &ServerSetup) -> Result<Backup, LabError> {
        let data = &setup.directories.data;
        let name = format!("{}-copy", data.directory().name());
        let directory = TrialDirectory::take(data.home(), &name, setup.holder)?;
        Ok(Backup { from: data.directory().clone(), directory, holder: setup.holder.to_owned() })
    }

    /// Its data directory.
    pub fn data(&self) -> PathBuf {
        self.directory.data()
    }

    /// Copies the data of the running server, unless its load ends before.
    ///
    /// # Errors
    /// As [`copy_online`].
    pub fn copy(&self, is_over: &AtomicBool) -> Result<OnlineCopy, LabError> {
        Ok(copy_online(&self.from, &self.directory, &self.holder, &mut UntilOver(is_over))?)
    }

    /// Starts a server on the copy.
    ///
    /// # Errors
    /// As [`OnlineCopy::start`].
    pub fn open(
        &self,
        copy: &OnlineCopy,
        setup: &ServerSetup,
        watch: &mut dyn Watcher,
    ) -> Result<OpenTarget, LabError> {
        Ok(copy.start(&self.directory, setup.build, setup.settings.clone(), setup.holder, watch)?)
    }

    /// Removes it, with the copy, on which no server runs any more.
    ///
    /// # Errors
    /// If something cannot be removed.
    pub fn remove(self) -> Result<(), LabError> {
        Ok(self.directory.remove()?)
    }
}

/// Nobody is told, and the end of a load is an interruption.
struct UntilOver<'o>(&'o AtomicBool);

impl Watcher for UntilOver<'_> {
    fn tell(&mut self, _: Event<'_>) {}

    fn interrupted(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Ends a load once what is done under it is done.
pub(super) struct UntilDone<'d> {
    pub inner: &'d mut dyn Watcher,
    pub is_done: &'d AtomicBool,
}

impl Watcher for UntilDone<'_> {
    fn tell(&mut self, event: Event<'_>) {
        self.inner.tell(event);
    }

    fn interrupted(&self) -> bool {
        self.is_done.load(Ordering::Acquire) || self.inner.interrupted()
    }
}

/// What is known of a copy.
pub(super) fn facts(copy: &OnlineCopy) -> CopyFacts {
    CopyFacts {
        method: copy.method.name().to_owned(),
        seconds: copy.ended.duration_since(copy.begun).as_secs_f64(),
        paused_seconds: copy.stopped.map(|stopped| stopped.as_secs_f64()),
        commits_before: copy.cost.before.commits_per_second,
        commits_during: copy.cost.during.commits_per_second,
        commits_after: copy.cost.after.commits_per_second,
    }
}

/// The commits that have to be there: all, and in a copy those that clients were told of before it began.
pub(super) fn promised(told: &[LoggedCommit], strike: &Strike, log: &CommitLog) -> Vec<LoggedCommit> {
    let until = strike.copy.as_ref().map_or(u64::MAX, |copy| log.time_ns(copy.begun));
    told.iter().filter(|commit| commit.t_ns < until).copied().collect()
}

/// A copy has no commit that was made after it had ended, or the clocks that all this is reckoned with are wrong.
///
/// # Errors
/// If it has one, or does not answer.
pub(super) fn must_not_be_newer(target: &mut OpenTarget, told: &[LoggedCommit], ended_ns: u64) -> Result<(), LabError> {
    let entries = entries(target)?;
    let mut connections = BTreeSet::new();
    // The answer to the first of each connection may have been on its way when the copy ended.
    let later = told.iter().filter(|commit| commit.t_ns > ended_ns && !connections.insert(commit.connection));
    match later.filter(|commit| has(&entries, commit)).count() {
        0 => Ok(()),
        some => Err(environment(format!("the copy has {some} commits from after its end; this is a bug"))),
    }
}

impl UnderWay<'_> {
    /// Removes the copy of its data, if one was made.
    pub(in super::super) fn end_backup(&mut self) -> Result<(), LabError> {
        self.backup.take().map_or(Ok(()), Backup::remove)
    }
}
