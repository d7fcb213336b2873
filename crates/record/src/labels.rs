//! What somebody has said of a recording since: `labels.json` beside what was measured, the only file that changes after its
//! end.

use crate::lines::replace_json;
use crate::manifest::is_name;
use crate::read::{Entry, Listing, State, must_be_ours, optional};
use crate::{RecordError, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const FILE: &str = "labels.json";
/// Of a note, characters.
const LONGEST_NOTE: usize = 1000;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    /// It is a round of the baseline of its name, and is not removed by accident.
    #[serde(default)]
    pub kept: bool,
    #[serde(default)]
    pub tags: BTreeSet<String>,
    #[serde(default)]
    pub note: Option<String>,
}

impl Labels {
    /// Of the recording in this directory; without any, the default.
    ///
    /// # Errors
    /// If a file that is there cannot be read.
    pub fn of(recording: &Path) -> Result<Labels> {
        Ok(optional(&recording.join(FILE))?.unwrap_or_default())
    }

    /// Writes them beside the recording, in place of those before.
    ///
    /// # Errors
    /// [`RecordError::ReadOnly`] for a recording that others can write to, [`RecordError::Write`].
    pub fn write(&self, recording: &Path) -> Result<()> {
        must_be_ours(recording)?;
        replace_json(&recording.join(FILE), self)
    }

    /// Adds a tag.
    ///
    /// # Errors
    /// [`RecordError::BadName`].
    pub fn tag(&mut self, tag: &str) -> Result<()> {
        if !is_name(tag) {
            return Err(RecordError::BadName { what: "tag", name: tag.to_owned() });
        }
        self.tags.insert(tag.to_owned());
        Ok(())
    }

    /// Replaces the note; an empty one removes it.
    ///
    /// # Errors
    /// [`RecordError::LongNote`].
    pub fn annotate(&mut self, note: &str) -> Result<()> {
        let length = note.chars().count();
        if length > LONGEST_NOTE {
            return Err(RecordError::LongNote { found: length, most: LONGEST_NOTE });
        }
        self.note = Some(note.trim().to_owned()).filter(|note| !note.is_empty());
        Ok(())
    }
}

/// The rounds of the baseline of this name, oldest first.
///
/// # Errors
/// If the labels of a recording of this name cannot be read.
pub fn baseline(listing: &Listing, name: &str) -> Result<Vec<PathBuf>> {
    of_name(&listing.recordings, name, |labels| labels.kept)
}

/// Makes what was recorded under this name since the last time its baseline, in place of what was kept until now: the new
/// rounds, and those that are no longer kept. Without new ones nothing changes.
///
/// # Errors
/// If labels cannot be read or written.
pub fn keep(listing: &Listing, name: &str) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let before = baseline(listing, name)?;
    let newest = before.last().and_then(|last| listing.recordings.iter().position(|entry| entry.directory == *last));
    let later = &listing.recordings[newest.map_or(0, |newest| newest + 1)..];
    let new = of_name(later, name, |_| true)?;
    if new.is_empty() {
        return Ok((new, Vec::new()));
    }
    // A kill in between leaves both: more rounds, and none that is lost.
    new.iter().try_for_each(|recording| set_kept(recording, true))?;
    before.iter().try_for_each(|recording| set_kept(recording, false))?;
    Ok((new, before))
}

/// Lets go of the baseline of this name: what was kept until now.
///
/// # Errors
/// If labels cannot be read or written.
pub fn release(listing: &Listing, name: &str) -> Result<Vec<PathBuf>> {
    let before = baseline(listing, name)?;
    before.iter().try_for_each(|recording| set_kept(recording, false))?;
    Ok(before)
}

/// The recordings of this name that are done and whose labels are wanted.
fn of_name(among: &[Entry], name: &str, is_wanted: impl Fn(&Labels) -> bool) -> Result<Vec<PathBuf>> {
    let is_meant = |entry: &&Entry| entry.manifest.name == name && entry.state() == State::Done;
    let named = among.iter().filter(is_meant);
    let mut found = Vec::new();
    for entry in named {
        if is_wanted(&Labels::of(&entry.directory)?) {
            found.push(entry.directory.clone());
        }
    }
    Ok(found)
}

fn set_kept(recording: &Path, kept: bool) -> Result<()> {
    Labels { kept, ..Labels::of(recording)? }.write(recording)
}
