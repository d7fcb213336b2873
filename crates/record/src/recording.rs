//! A recording while it is being written.

use crate::directory::{attach, make_private};
use crate::event::{EVENTS_SCHEMA, Happening, RecordedEvent};
use crate::lines::{LineFile, replace_json};
use crate::manifest::{Manifest, Status, file_name};
use crate::read;
use crate::trial::{TrialFacts, TrialWriter};
use crate::{RecordError, Result};
use jiff::Timestamp;
use plimsoll_host::lock::lock_within;
use plimsoll_host::{owner, remove};
use plimsoll_model::io::IoSummary;
use plimsoll_model::lab::LabSummary;
use plimsoll_model::summary::Summary;
use rustix::fs::FlockOperation;
use std::fs::DirBuilder;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whoever asks whether a recording is being written holds a lock on it for a moment; that is waited for.
const ASKED: Duration = Duration::from_secs(1);

/// A recording that is being written. While it lives, its `events.ndjson` is locked, which is how others know that
/// it is in use; the lock goes with the process, however that ends.
#[derive(Debug)]
pub struct Recording {
    directory: PathBuf,
    manifest: Manifest,
    events: LineFile,
}

impl Recording {
    /// Makes `<utc>-<name>-<4 hex>/` below `home_recordings` (both with mode 0700) from the manifest's name and start.
    ///
    /// # Errors
    /// [`RecordError::BadName`], or [`RecordError::Write`] for a directory that cannot be written.
    pub fn create(home_recordings: &Path, manifest: Manifest) -> Result<Recording> {
        let name = file_name("recording", &manifest.name)?;
        let directory = make_directory(home_recordings, manifest.started, &name)?;
        make_private(&directory.join("trials"))?;
        let events = LineFile::create_json(directory.join("events.ndjson"), EVENTS_SCHEMA)?;
        rustix::fs::flock(events.file(), rustix::fs::FlockOperation::LockExclusive)
            .map_err(|e| RecordError::write(&directory.join("events.ndjson"))(e.into()))?;
        let recording = Recording { directory, manifest, events };
        recording.write_manifest()?;
        Ok(recording)
    }

    /// Goes on with a recording that nobody writes any more. Its status is *running* again.
    ///
    /// # Errors
    /// [`RecordError::NotARecording`], [`RecordError::InUse`] while a Plimsoll is writing it, [`RecordError::ReadOnly`]
    /// as [`read::must_be_ours`], [`RecordError::Write`].
    pub fn reopen(directory: &Path) -> Result<Recording> {
        read::must_be_ours(directory)?;
        let mut manifest = read::manifest(directory)?;
        let path = directory.join("events.ndjson");
        let mut events = LineFile::reopen(path.clone())?;
        let locked = lock_within(events.file(), FlockOperation::NonBlockingLockExclusive, ASKED);
        if !locked.map_err(RecordError::write(&path))? {
            return Err(RecordError::InUse { path: directory.to_owned() });
        }
        events.mend()?;
        (manifest.status, manifest.ended, manifest.why) = (Status::Running, None, None);
        let recording = Recording { directory: directory.to_owned(), manifest, events };
        recording.write_manifest()?;
        Ok(recording)
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Appends an event. `t_ns` is monotonic since the recording's start.
    pub fn event(&mut self, t_ns: u64, what: Happening) -> Result<()> {
        self.events.append_json(&RecordedEvent { t_ns, what })
    }

    /// Makes `trials/NNNN-<variant>-<point>-r<k>/` with its `trial.json` and its empty series.
    pub fn trial(&self, facts: &TrialFacts) -> Result<TrialWriter> {
        TrialWriter::create(&self.directory.join("trials"), facts)
    }

    /// Removes the directory of a trial that did not come to its end, so that the trial can be done again.
    ///
    /// # Errors
    /// [`RecordError::NotARecording`] for a directory that is none of its trials, [`RecordError::Host`].
    pub fn discard(&self, trial: &Path) -> Result<()> {
        if trial.parent() != Some(&self.directory.join("trials")) {
            let found = format!("it is no trial of {}", self.directory.display());
            return Err(RecordError::NotARecording { path: trial.to_owned(), found });
        }
        remove::tree(trial)?;
        Ok(())
    }

    /// Writes `summary.json`. An interrupted run has one, too: what was measured is kept.
    pub fn summary(&self, summary: &Summary) -> Result<()> {
        replace_json(&self.directory.join("summary.json"), summary)
    }

    /// Writes `io.json`, which a storage evaluation has instead.
    pub fn io_summary(&self, summary: &IoSummary) -> Result<()> {
        replace_json(&self.directory.join("io.json"), summary)
    }

    /// Writes `lab.json`, which a lab has instead.
    pub fn lab_summary(&self, summary: &LabSummary) -> Result<()> {
        replace_json(&self.directory.join("lab.json"), summary)
    }

    /// Writes a file of text beside the others, such as `report.html`, and says where.
    pub fn attach(&self, name: &str, text: &str) -> Result<PathBuf> {
        attach(&self.directory, name, text)
    }

    /// Keeps why it fails, for the manifest that [`Recording::finish`] writes.
    pub fn fails(&mut self, why: &str) {
        self.manifest.why = Some(why.to_owned());
    }

    /// Says in the manifest how it ended. The recording stays locked until it is dropped.
    pub fn finish(&mut self, status: Status, ended: Timestamp) -> Result<()> {
        self.manifest.status = status;
        self.manifest.ended = Some(ended);
        self.write_manifest()
    }

    fn write_manifest(&self) -> Result<()> {
        replace_json(&self.directory.join("manifest.json"), &self.manifest)
    }
}

impl Drop for Recording {
    /// A child that is being started holds copies of all open files until its program runs: closing ours would leave the
    /// recording locked meanwhile.
    fn drop(&mut self) {
        let _ = rustix::fs::flock(self.events.file(), rustix::fs::FlockOperation::Unlock);
    }
}

fn make_directory(home_recordings: &Path, started: Timestamp, name: &str) -> Result<PathBuf> {
    make_private(home_recordings)?;
    // A link to another disk is followed.
    let real = home_recordings.canonicalize().map_err(RecordError::write(home_recordings))?;
    owner::check(&real)?;
    let stamp = started.strftime("%Y%m%dT%H%M%SZ");
    loop {
        // The standard library seeds each RandomState from the system's generator; four digits need no more.
        let tail = RandomState::new().build_hasher().finish() as u16;
        let directory = home_recordings.join(format!("{stamp}-{name}-{tail:04x}"));
        match DirBuilder::new().mode(0o700).create(&directory) {
            Ok(()) => return Ok(directory),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(e) => return Err(RecordError::write(&directory)(e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_host::facts::HostFacts;
    use plimsoll_plan::{Plan, StoragePlan};

    #[test]
    fn a_copy_of_the_open_file_leaves_no_lock() {
        let home = tempfile::tempdir().unwrap();
        let plan = Plan::Storage(StoragePlan::default());
        let manifest = Manifest::new("copied", "0.1.0", Timestamp::UNIX_EPOCH, plan, HostFacts::default());
        let recording = Recording::create(home.path(), manifest).unwrap();
        let directory = recording.directory().to_owned();
        let _of_a_child = recording.events.file().try_clone().unwrap();
        assert!(read::is_being_written(&directory));
        drop(recording);
        assert!(!read::is_being_written(&directory));
    }
}
