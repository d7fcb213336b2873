//! Which recording is meant by what somebody wrote: the path of its directory, the name of a directory below
//! `<home>/recordings` or a part of it that only one has, or the name of recordings.

use crate::AnalysisError;
use plimsoll_model::text::escaped;
use plimsoll_record::read::{Entry, FoundRecording, Listing, is_begun, manifest};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// As many candidates are named in a refusal.
const CANDIDATES: usize = 12;
const LISTED: &str = "`plimsoll recordings list` says what is there";

/// The one recording that is meant, also an unfinished one; of several of one name the latest.
///
/// # Errors
/// [`AnalysisError::Refused`] if there is none, or more than one that it may be.
pub fn latest(listing: &Listing, text: &str) -> Result<PathBuf, AnalysisError> {
    find(listing, text, |entries| match entries {
        [.., last] => Ok(last),
        [] => Err(nothing(listing, text)),
    })
}

/// The same for what cannot be undone: a name that several have means none of them.
///
/// # Errors
/// As [`latest`].
pub fn only(listing: &Listing, text: &str) -> Result<PathBuf, AnalysisError> {
    find(listing, text, |entries| match entries {
        [only] => Ok(only),
        all => Err(several(text, all)),
    })
}

fn find<'a>(
    listing: &'a Listing,
    text: &str,
    choose: impl FnOnce(&[&'a Entry]) -> Result<&'a Entry, AnalysisError>,
) -> Result<PathBuf, AnalysisError> {
    let directory = Path::new(text);
    if is_recording(directory) {
        return Ok(directory.to_owned());
    }
    match listing.find(text.trim_end_matches('/')) {
        FoundRecording::Directory(entry) => Ok(entry.directory.clone()),
        FoundRecording::Name(entries) => choose(&entries).map(|entry| entry.directory.clone()),
        FoundRecording::Several(entries) => Err(several(text, &entries)),
        FoundRecording::Nothing => Err(nothing(listing, text)),
    }
}

pub(crate) fn is_recording(directory: &Path) -> bool {
    directory.join("manifest.json").is_file()
}

/// The refusal of a text that several recordings may be meant by.
pub(crate) fn several(text: &str, entries: &[&Entry]) -> AnalysisError {
    let candidates = listed(entries.iter().map(|entry| entry.id()));
    AnalysisError::Refused(format!("`{}` may be any of {candidates}; give more of its name", escaped(text)))
}

/// The refusal of a text that no recording is meant by.
pub fn nothing(listing: &Listing, text: &str) -> AnalysisError {
    if let Some(error) = listing.unreadable_of(text.trim_end_matches('/')) {
        return AnalysisError::Environment(format!("{error}; {LISTED}"));
    }
    let directory = Path::new(text);
    match directory.is_dir().then(|| manifest(directory)) {
        Some(Err(error)) if is_begun(directory) => return AnalysisError::Environment(format!("{error}; {LISTED}")),
        Some(Err(error)) => return AnalysisError::Refused(format!("{error}; {LISTED}")),
        _ => {}
    }
    let names: BTreeSet<&str> = listing.recordings.iter().map(|entry| entry.manifest.name.as_str()).collect();
    let known = match (names.is_empty(), listing.unreadable.len()) {
        (true, 0) => "; there are none yet: `plimsoll run` makes them".to_owned(),
        (true, 1) => format!("; the only one there cannot be read, and {LISTED}"),
        (true, several) => format!("; {several} are there and cannot be read, and {LISTED}"),
        (false, _) => format!(": neither a directory nor one of {}", listed(names.into_iter().map(str::to_owned))),
    };
    AnalysisError::Refused(format!("no recording is called `{}`{known}", escaped(text)))
}

/// The first of some names, and how many more there are.
pub(crate) fn listed(candidates: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = candidates.collect();
    match all.len().saturating_sub(CANDIDATES) {
        0 => all.join(", "),
        more => format!("{} and {more} more", all[..CANDIDATES].join(", ")),
    }
}
