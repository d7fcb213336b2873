//! Which recordings a side of a comparison is.
//!
//! A side is written as one or several of these, joined by commas: the path of a recording's directory, the name of
//! a directory below `<home>/recordings` or a part of it that only one has, or the name of recordings, which means all
//! finished ones of that name. `:VARIANT` after it picks one variant where there are several.

use crate::AnalysisError;
use crate::find::{self, is_recording, listed};
use plimsoll_model::lab::TrialStatus;
use plimsoll_record::read::{self, Entry, FoundRecording, Listing, RecordingView, TrialView};
use plimsoll_record::{Manifest, Status};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The variant of all storage evaluations.
const STORAGE: &str = "io";

/// Recordings that are the rounds of one side, whose name somebody else has chosen.
#[derive(Clone, Copy, Debug)]
pub struct NamedRounds<'a> {
    pub name: &'a str,
    /// Their directories.
    pub recordings: &'a [PathBuf],
    /// Of a lab; without it, the only one that there is.
    pub variant: Option<&'a str>,
}

/// The recordings of a side.
#[derive(Debug)]
pub struct Chosen {
    pub name: String,
    pub variant: String,
    /// In the order in which they began.
    pub recordings: Vec<RecordingView>,
    /// Recordings of that name that are not used, and why.
    pub left_out: Vec<String>,
}

impl Chosen {
    /// Finds what `text` names.
    pub fn find(listing: &Listing, text: &str) -> Result<Chosen, AnalysisError> {
        let (names, variant) = split_variant(text);
        let each: Vec<&str> = names.split(',').map(|name| name.trim_end_matches('/')).collect();
        let (mut found, mut left_out) = (Vec::new(), Vec::new());
        for name in &each {
            found.extend(directories(listing, name, &mut left_out)?);
        }
        // Of a path its last part is enough; a slash in a name belongs to it.
        let short = |name: &&'_ str| match name.rsplit_once('/') {
            Some((_, last)) if is_recording(Path::new(name)) => last.to_owned(),
            _ => brief(listing, name).to_owned(),
        };
        let name = each.iter().map(short).collect::<Vec<_>>().join(",")
            + &variant.map_or(String::new(), |variant| format!(":{variant}"));
        let chosen = Chosen::of(NamedRounds { name: names, recordings: &found, variant })?;
        left_out.extend(chosen.left_out);
        Ok(Chosen { name, left_out, ..chosen })
    }

    /// The side that these recordings are.
    pub fn of(
        NamedRounds { name, recordings: directories, variant }: NamedRounds<'_>,
    ) -> Result<Chosen, AnalysisError> {
        let (mut recordings, mut left_out) = (Vec::new(), Vec::new());
        for directory in directories {
            let mut view = read::open(directory)?;
            left_out.extend(leave_out_failed(&mut view, variant));
            recordings.push(view);
        }
        recordings.sort_by(|a, b| (a.manifest.started, &a.directory).cmp(&(b.manifest.started, &b.directory)));
        recordings.dedup_by(|a, b| real(&a.directory) == real(&b.directory));
        let variant = choose_variant(name, variant, &recordings)?;
        Ok(Chosen { name: name.to_owned(), variant, recordings, left_out })
    }

    /// True if this side is evaluations of storage, false if it is runs of a workload.
    pub fn is_storage(&self) -> Result<bool, AnalysisError> {
        let is_storage = |view: &&RecordingView| view.io.is_some();
        let (storage, runs): (Vec<_>, Vec<_>) = self.recordings.iter().partition(is_storage);
        match (storage.first(), runs.first()) {
            (Some(storage), Some(run)) => Err(AnalysisError::Refused(format!(
                "{} has recordings of two kinds: {} is a storage evaluation, {} a run of a workload; name those of one kind",
                self.name,
                storage.directory.display(),
                run.directory.display()
            ))),
            (storage, _) => Ok(storage.is_some()),
        }
    }

    /// Refuses a side that would be compared with itself.
    pub fn must_not_share(&self, other: &Chosen) -> Result<(), AnalysisError> {
        let theirs: Vec<PathBuf> = other.recordings.iter().map(|view| real(&view.directory)).collect();
        let shared = self.recordings.iter().find(|view| theirs.contains(&real(&view.directory)));
        match shared.filter(|_| self.variant == other.variant) {
            Some(shared) => Err(AnalysisError::Refused(format!(
                "{} is on both sides; name recordings that have nothing in common",
                shared.directory.display()
            ))),
            None => Ok(()),
        }
    }
}

/// Takes the trials of a lab out that were not done, and says how many of this variant there were.
fn leave_out_failed(view: &mut RecordingView, variant: Option<&str>) -> Option<String> {
    view.lab.as_ref()?;
    let done = |trial: &TrialView| trial.outcome.as_ref().is_some_and(|outcome| outcome.status == TrialStatus::Done);
    let of_variant = |trial: &&TrialView| variant.is_none_or(|variant| trial.facts.variant == variant);
    let all = view.trials.iter().filter(of_variant).count();
    let failed = view.trials.iter().filter(of_variant).filter(|trial| !done(trial)).count();
    view.trials.retain(done);
    let id = view.directory.file_name().unwrap_or_default().to_string_lossy();
    (failed > 0).then(|| format!("{failed} of {all} trials of {id}, which were not done"))
}

/// `base:fc` is the variant `fc` of `base`; the path of a directory may have a colon of its own.
fn split_variant(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((names, variant)) if !names.is_empty() && !is_recording(Path::new(text)) => (names, Some(variant)),
        _ => (text, None),
    }
}

/// The name of a directory without the time that it begins with, where that still means it alone: `oltp-read-write-4f1c`.
fn brief<'a>(listing: &Listing, name: &'a str) -> &'a str {
    let is_the_same = |rest: &&str| match (listing.find(name), listing.find(rest)) {
        (FoundRecording::Directory(named), FoundRecording::Directory(found)) => named.directory == found.directory,
        _ => false,
    };
    name.split_once("Z-").map(|(_, rest)| rest).filter(is_the_same).unwrap_or(name)
}

/// The same for every way to write a path.
fn real(directory: &Path) -> PathBuf {
    directory.canonicalize().unwrap_or_else(|_| directory.to_owned())
}

/// The directories that one name means. Of several recordings of one name those that did not end well are left out; one
/// that was named itself is refused.
fn directories(listing: &Listing, name: &str, left_out: &mut Vec<String>) -> Result<Vec<PathBuf>, AnalysisError> {
    let directory = Path::new(name);
    if is_recording(directory) {
        return match unusable(&read::manifest(directory)?, read::is_being_written(directory)) {
            Some(why) => Err(not_finished(name, why)),
            None => Ok(vec![directory.to_owned()]),
        };
    }
    let unusable = |entry: &&Entry| unusable(&entry.manifest, entry.being_written);
    match listing.find(name) {
        FoundRecording::Directory(entry) => match unusable(&entry) {
            Some(why) => Err(not_finished(&entry.id(), why)),
            None => Ok(vec![entry.directory.clone()]),
        },
        FoundRecording::Name(entries) => {
            let (bad, good): (Vec<&Entry>, Vec<&Entry>) =
                entries.into_iter().partition(|entry| unusable(entry).is_some());
            let said = bad.iter().filter_map(|entry| Some(format!("{} {}", entry.id(), unusable(entry)?)));
            left_out.extend(said);
            match good.is_empty() {
                true => Err(AnalysisError::Refused(format!(
                    "no recording called {name} is finished: {}",
                    left_out.join("; ")
                ))),
                false => Ok(good.into_iter().map(|entry| entry.directory.clone()).collect()),
            }
        }
        FoundRecording::Several(entries) => Err(find::several(name, &entries)),
        FoundRecording::Nothing => Err(find::nothing(listing, name)),
    }
}

fn not_finished(name: &str, why: &str) -> AnalysisError {
    AnalysisError::Refused(format!("{name} {why}; only finished recordings can be compared"))
}

/// Why a recording cannot be a round.
fn unusable(manifest: &Manifest, being_written: bool) -> Option<&'static str> {
    match manifest.status {
        _ if being_written => Some("is still being written"),
        Status::Running => Some("was killed before it was finished"),
        Status::Interrupted => Some("was interrupted"),
        Status::Failed => Some("failed before it was finished"),
        Status::Done => None,
    }
}

/// The variant that was asked for, which every recording must have, or the only one that there is.
fn choose_variant(names: &str, wanted: Option<&str>, recordings: &[RecordingView]) -> Result<String, AnalysisError> {
    let of = |view: &RecordingView| -> BTreeSet<String> {
        view.trials.iter().map(|trial| trial.facts.variant.clone()).collect()
    };
    let Some(wanted) = wanted else {
        // The parts of a storage evaluation are measurements, not variants.
        if recordings.iter().any(|view| view.io.is_some()) {
            return Ok(STORAGE.to_owned());
        }
        let all: BTreeSet<String> = recordings.iter().flat_map(of).collect();
        let mut each = all.iter();
        return match (each.next(), each.next()) {
            (Some(only), None) => Ok(only.clone()),
            (None, _) => Err(AnalysisError::Refused(format!("{names} has no trials"))),
            (Some(first), Some(_)) => {
                let variants = listed(all.iter().cloned());
                Err(AnalysisError::Refused(format!("{names} has the variants {variants}; name one: {names}:{first}")))
            }
        };
    };
    match recordings.iter().find(|view| !of(view).contains(wanted)) {
        None => Ok(wanted.to_owned()),
        Some(view) => Err(AnalysisError::Refused(format!(
            "{} has no variant `{wanted}`; it has {}",
            view.directory.display(),
            listed(of(view).into_iter())
        ))),
    }
}
