//! Recordings as they lie on disk: opened, listed, removed.
//!
//! A recording can be read while it grows and after its writer was killed: a torn last line, files that are not
//! there yet and fields that a newer Plimsoll added are all tolerated.

use crate::event::{EVENTS_SCHEMA, RecordedEvent};
use crate::lines::{read_json, read_json_lines};
use crate::manifest::{Manifest, SCHEMA_VERSION, Status, folded};
use crate::memory::Allowance;
use crate::series;
use crate::settings::RecordedSetting;
use crate::trial::TrialFacts;
use crate::{RecordError, Result, file, latency};
use hdrhistogram::Histogram;
use plimsoll_host::lock::try_lock;
use plimsoll_host::{owner, remove as trees};
use plimsoll_load::histogram::BinCounts;
use plimsoll_model::io::IoSummary;
use plimsoll_model::lab::{LabSummary, TrialOutcome};
use plimsoll_model::samples::Interval;
use plimsoll_model::series::Series;
use plimsoll_model::summary::Summary;
use rustix::fs::{FlockOperation, flock};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What a recording says of itself and of each trial. What grows with the time that was measured is read on demand, a
/// trial at a time: [`TrialView::series`], [`TrialView::each_latency`].
#[derive(Clone, Debug)]
pub struct RecordingView {
    pub directory: PathBuf,
    pub manifest: Manifest,
    /// A running Plimsoll is still writing it.
    pub being_written: bool,
    pub summary: Option<Summary>,
    /// Of a storage evaluation, which has no [`RecordingView::summary`].
    pub io: Option<IoSummary>,
    /// Of a lab, which has neither.
    pub lab: Option<LabSummary>,
    pub events: Vec<RecordedEvent>,
    /// In the order of the plan.
    pub trials: Vec<TrialView>,
}

#[derive(Clone, Debug)]
pub struct TrialView {
    pub directory: PathBuf,
    pub facts: TrialFacts,
    pub settings: BTreeMap<String, RecordedSetting>,
    /// Of a trial of a lab that came to its end, whichever.
    pub outcome: Option<TrialOutcome>,
    /// Of a storage trial of a lab.
    pub io: Option<IoSummary>,
    /// Which series lost something after the outcome was written, in words.
    pub torn: Option<String>,
}

impl TrialView {
    /// What was sampled of the trial, as far as it came.
    ///
    /// # Errors
    /// [`RecordError::Malformed`] with file and line for damage, and for more than this machine has memory for.
    pub fn series(&self) -> Result<Series> {
        series::read(&self.directory)
    }

    /// The seconds of its load alone, for whoever needs nothing else of [`TrialView::series`].
    ///
    /// # Errors
    /// As there.
    pub fn intervals(&self) -> Result<Vec<Interval>> {
        series::intervals(&self.directory, &Allowance::of_now())
    }

    /// The latency histograms (nanoseconds) by tag, added up over the seconds that start in `window`, which is in
    /// nanoseconds since the trial's start.
    ///
    /// # Errors
    /// As [`TrialView::each_latency`].
    pub fn latency(&self, window: Range<u64>) -> Result<BTreeMap<String, Histogram<u64>>> {
        latency::merge(&self.directory.join("latency.hlog"), window)
    }

    /// Tells the latencies (nanoseconds) histogram by histogram as they were recorded, with their tag and their start, of
    /// the seconds that start in `window` (both in nanoseconds since the trial's start), if their tag is `wanted`.
    ///
    /// # Errors
    /// [`RecordError::Malformed`] with the line of what cannot be read, or of what `told` says is wrong.
    pub fn each_latency(
        &self,
        window: Range<u64>,
        wanted: impl Fn(&str) -> bool,
        told: impl FnMut(&str, u64, BinCounts<'_>) -> std::result::Result<(), String>,
    ) -> Result<()> {
        latency::each(&self.directory.join("latency.hlog"), window, wanted, told)
    }
}

/// A recording in a list.
#[derive(Clone, Debug)]
pub struct Entry {
    pub directory: PathBuf,
    pub manifest: Manifest,
    pub being_written: bool,
}

/// How far a recording came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Running,
    Done,
    Interrupted,
    Failed,
    /// Its Plimsoll is gone without a word.
    Killed,
}

impl State {
    pub fn word(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Done => "done",
            State::Interrupted => "interrupted",
            State::Failed => "failed",
            State::Killed => "killed",
        }
    }
}

/// What a text means among the recordings of a listing.
#[derive(Clone, Debug)]
pub enum FoundRecording<'a> {
    /// All recordings of this name, oldest first.
    Name(Vec<&'a Entry>),
    /// The one whose directory is called so, or has this in its name.
    Directory(&'a Entry),
    /// Several directories have this in their names.
    Several(Vec<&'a Entry>),
    Nothing,
}

/// What lies below `<home>/recordings`: the recordings by age, oldest first, and what could not be read of them.
#[derive(Debug, Default)]
pub struct Listing {
    /// Where they lie.
    pub directory: PathBuf,
    pub recordings: Vec<Entry>,
    pub unreadable: Vec<RecordError>,
}

impl Entry {
    /// The name of its directory.
    pub fn id(&self) -> String {
        self.directory.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub fn state(&self) -> State {
        match self.manifest.status {
            Status::Done => State::Done,
            Status::Interrupted => State::Interrupted,
            Status::Failed => State::Failed,
            Status::Running if self.being_written => State::Running,
            Status::Running => State::Killed,
        }
    }
}

impl Listing {
    /// What `text` means: the whole name of a directory, else the name of recordings, else a part of one directory's
    /// name. How it is spelt matters only between those that would be the same otherwise ([`folded`]).
    pub fn find(&self, text: &str) -> FoundRecording<'_> {
        if let Some(entry) = self.recordings.iter().find(|entry| entry.id() == text) {
            return FoundRecording::Directory(entry);
        }
        let named = self.which(|entry| entry.manifest.name == text);
        if !named.is_empty() {
            return FoundRecording::Name(named);
        }
        let wanted = folded(text);
        if let [entry] = self.which(|entry| folded(&entry.id()) == wanted)[..] {
            return FoundRecording::Directory(entry);
        }
        let named = self.which(|entry| folded(&entry.manifest.name) == wanted);
        let is_one_name = named.iter().all(|entry| entry.manifest.name == named[0].manifest.name);
        match (named.is_empty(), is_one_name) {
            (false, true) => return FoundRecording::Name(named),
            (false, false) => return FoundRecording::Several(named),
            (true, _) => {}
        }
        let in_part = self.which(|entry| !text.is_empty() && folded(&entry.id()).contains(&wanted));
        match in_part.as_slice() {
            [] => FoundRecording::Nothing,
            [entry] => FoundRecording::Directory(entry),
            _ => FoundRecording::Several(in_part),
        }
    }

    /// The name of recordings that a text means: `oltp-read-write` for `oltp_read_write`; the text itself if none are
    /// called so.
    pub fn name_meant<'a>(&'a self, text: &'a str) -> &'a str {
        match self.find(text) {
            FoundRecording::Name(all) => all.first().map_or(text, |entry| entry.manifest.name.as_str()),
            _ => text,
        }
    }

    fn which(&self, is_meant: impl Fn(&Entry) -> bool) -> Vec<&Entry> {
        self.recordings.iter().filter(|entry| is_meant(entry)).collect()
    }

    /// What could not be read of a directory that is called so, or has this in its name.
    pub fn unreadable_of(&self, text: &str) -> Option<&RecordError> {
        let wanted = folded(text);
        let has = |path: &Path| path.iter().any(|part| folded(&part.to_string_lossy()).contains(&wanted));
        let below = |path: &Path| path.strip_prefix(&self.directory).is_ok_and(has);
        let is_meant = |error: &&RecordError| !text.is_empty() && error.path().is_some_and(below);
        self.unreadable.iter().find(is_meant)
    }
}

/// Opens the recording in `directory`.
///
/// # Errors
/// [`RecordError::NotARecording`] without a manifest of ours, [`RecordError::Malformed`] with file and line for
/// damage, [`RecordError::TooNew`] and [`RecordError::TooOld`] for a layout of another version.
pub fn open(directory: &Path) -> Result<RecordingView> {
    let manifest = manifest(directory)?;
    let summary = summary(directory)?;
    let io = optional(&directory.join("io.json"))?;
    let lab = lab_summary(directory)?;
    let events = read_json_lines(&directory.join("events.ndjson"), EVENTS_SCHEMA, &Allowance::of_now())?;
    let trials = trial_directories(directory)?
        .iter()
        // A kill between making the directory and writing its first file leaves nothing to show.
        .filter(|trial| trial.join("trial.json").exists())
        .map(|trial| open_trial(trial))
        .collect::<Result<_>>()?;
    Ok(RecordingView {
        directory: directory.to_owned(),
        manifest,
        being_written: is_being_written(directory),
        summary,
        io,
        lab,
        events,
        trials,
    })
}

/// The summary of a run, alone; none if it left none.
///
/// # Errors
/// If a file that is there cannot be read.
pub fn summary(directory: &Path) -> Result<Option<Summary>> {
    optional(&directory.join("summary.json"))
}

/// The summary of a lab, alone; none if it left none.
///
/// # Errors
/// If a file that is there cannot be read.
pub fn lab_summary(directory: &Path) -> Result<Option<LabSummary>> {
    optional(&directory.join("lab.json"))
}

fn open_trial(directory: &Path) -> Result<TrialView> {
    Ok(TrialView {
        directory: directory.to_owned(),
        facts: read_json(&directory.join("trial.json"))?,
        settings: optional(&directory.join("variables.json"))?.unwrap_or_default(),
        outcome: optional(&directory.join("outcome.json"))?,
        io: optional(&directory.join("io.json"))?,
        torn: series::torn(directory)?,
    })
}

/// The directories of all trials of a recording by their place in the plan, also of those that did not get as far as
/// their first file.
pub fn trial_directories(recording: &Path) -> Result<Vec<PathBuf>> {
    let trials = recording.join("trials");
    if trials.is_symlink() {
        return Ok(Vec::new());
    }
    let mut trials = subdirectories(&trials)?;
    // As text 10000 would come before 9999.
    trials.sort_by_key(|trial| place_in_plan(trial));
    Ok(trials)
}

/// The number that the name of a trial's directory begins with.
fn place_in_plan(trial: &Path) -> Option<u32> {
    trial.file_name()?.to_str()?.split('-').next()?.parse().ok()
}

/// Lists the recordings below `home_recordings`; none if that directory is not there. Directories that have neither a
/// manifest nor anything else of a recording are not ours and are passed over.
pub fn list(home_recordings: &Path) -> Result<Listing> {
    let mut listing = Listing { directory: home_recordings.to_owned(), ..Listing::default() };
    for directory in subdirectories(home_recordings)? {
        match manifest(&directory) {
            Ok(manifest) => {
                let being_written = is_being_written(&directory);
                listing.recordings.push(Entry { directory, manifest, being_written });
            }
            // One that has just been begun has no manifest for a moment.
            Err(RecordError::NotARecording { .. }) if !is_begun(&directory) || is_being_written(&directory) => {}
            Err(e) => listing.unreadable.push(e),
        }
    }
    listing.recordings.sort_by_key(|entry| entry.manifest.started);
    Ok(listing)
}

/// Removes a recording with everything in it. Never follows a symbolic link.
///
/// # Errors
/// [`RecordError::NotARecording`] for anything that has no manifest of ours, [`RecordError::InUse`] while a
/// Plimsoll is writing it, unless `force`.
pub fn remove(directory: &Path, force: bool) -> Result<()> {
    manifest(directory)?;
    if !force && is_being_written(directory) {
        return Err(RecordError::InUse { path: directory.to_owned() });
    }
    trees::tree(directory)?;
    Ok(())
}

/// Refuses a recording that others can have changed: one that is not ours with everything above it, that others can
/// write to, or that holds anything but directories and regular files with one name each. Whoever writes to a
/// recording, or starts what it says, asks first.
///
/// # Errors
/// [`RecordError::ReadOnly`] names what was found where.
pub fn must_be_ours(directory: &Path) -> Result<()> {
    let read_only = |source| RecordError::ReadOnly { path: directory.to_owned(), source };
    owner::check_all_below(directory).map_err(read_only)
}

/// True while the process that writes the recording lives: it holds a lock on `events.ndjson`.
pub fn is_being_written(directory: &Path) -> bool {
    let Ok(events) = file::open(&directory.join("events.ndjson")) else { return false };
    flock(&events, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
}

/// As [`is_being_written`], for whoever means to write it: the lock of a process that was killed a moment ago is waited for.
pub fn stays_being_written(directory: &Path) -> bool {
    let Ok(events) = file::open(&directory.join("events.ndjson")) else { return false };
    matches!(try_lock(&events, FlockOperation::NonBlockingLockShared), Ok(false))
}

/// Whether what a recording begins with is there, whatever it is.
pub fn is_begun(directory: &Path) -> bool {
    ["events.ndjson", "trials", "manifest.json"].iter().any(|name| directory.join(name).symlink_metadata().is_ok())
}

/// The manifest of a real directory (no link) that holds one of ours.
///
/// # Errors
/// As [`open`].
pub fn manifest(directory: &Path) -> Result<Manifest> {
    let not = |found: &str| RecordError::NotARecording { path: directory.to_owned(), found: found.to_owned() };
    let kind = |path: &Path| match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata.file_type())),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(RecordError::read(path)(e)),
    };
    match kind(directory)? {
        None => return Err(not("there is no such directory")),
        Some(kind) if kind.is_symlink() => return Err(not("it is a symbolic link; name the directory itself")),
        Some(kind) if !kind.is_dir() => return Err(not("it is not a directory")),
        Some(_) => {}
    }
    let path = directory.join("manifest.json");
    match kind(&path)? {
        Some(kind) if kind.is_file() => {}
        Some(_) => return Err(not("its manifest.json is not a regular file")),
        None if is_begun(directory) => {
            return Err(not("its manifest.json is missing; a Plimsoll that was killed early may leave none"));
        }
        None => return Err(not("it has no manifest.json")),
    }
    let document: serde_json::Value = read_json(&path)?;
    let Some(found) = document["schema_version"].as_u64() else {
        return Err(not("its manifest.json is not Plimsoll's: it has no schema_version"));
    };
    match found.cmp(&u64::from(SCHEMA_VERSION)) {
        Ordering::Less => return Err(RecordError::TooOld { path, found, known: SCHEMA_VERSION }),
        Ordering::Equal => {}
        Ordering::Greater => return Err(RecordError::TooNew { path, found, known: SCHEMA_VERSION }),
    }
    serde_json::from_value(document).map_err(|e| not(&format!("its manifest.json is not Plimsoll's: {e}")))
}

/// One JSON document; none if the file is not there.
pub(crate) fn optional<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match read_json(path) {
        Err(RecordError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// The directories below `path` by name, links left out; none if it is not there.
fn subdirectories(path: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(RecordError::read(path)(e)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(RecordError::read(path))?;
        if entry.file_type().map_err(RecordError::read(path))?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}
