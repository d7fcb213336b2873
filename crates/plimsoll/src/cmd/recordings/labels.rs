//! What somebody says of recordings: kept, tagged, with a note.

use crate::cmd::DONE;
use crate::terminal;
use plimsoll_analysis::find;
use plimsoll_lab::LabError;
use plimsoll_model::number::counted;
use plimsoll_model::text::{escaped, shell_word};
use plimsoll_record::read::{Entry, Listing};
use plimsoll_record::{Labels, RecordError, labels};
use std::path::{Path, PathBuf};

/// Of an entry; what cannot be read is said, and counts as none.
pub fn of(entry: &Entry) -> Labels {
    Labels::of(&entry.directory).unwrap_or_else(|error| {
        terminal::note(&format!("cannot be read: {error}"));
        Labels::default()
    })
}

/// `kept, nightly, before-upgrade: the old disk`.
pub fn in_words(labels: &Labels) -> String {
    let kept = labels.kept.then(|| "kept".to_owned());
    let words: Vec<String> = kept.into_iter().chain(labels.tags.iter().cloned()).collect();
    let parts: Vec<String> =
        [words.join(", ")].into_iter().chain(labels.note.clone()).filter(|part| !part.is_empty()).collect();
    parts.join(": ")
}

/// Makes recordings the baseline of their name, or lets go of it.
pub fn keep(listing: &Listing, name: &str, release: bool) -> anyhow::Result<u8> {
    let name = listing.name_meant(name);
    let known = listing.recordings.iter().any(|entry| entry.manifest.name == name);
    if !known {
        return Err(LabError::from(find::nothing(listing, name)).into());
    }
    if release {
        let before = labels::release(listing, name).map_err(LabError::from)?;
        said("no longer kept", &before);
        return Ok(DONE);
    }
    let (new, before) = labels::keep(listing, name).map_err(LabError::from)?;
    if new.is_empty() {
        return Err(LabError::Refused(format!(
            "nothing called `{}` has come to its end since it was kept the last time",
            escaped(name)
        ))
        .into());
    }
    said("no longer kept", &before);
    said("kept", &new);
    terminal::note(&format!("the baseline of {name}: {}", counted(new.len() as f64, "recording")));
    Ok(DONE)
}

fn said(what: &str, recordings: &[PathBuf]) {
    recordings.iter().for_each(|recording| terminal::note(&format!("{what}: {}", recording.display())));
}

/// Adds tags to a recording, or removes them.
pub fn tag(listing: &Listing, recording: &str, tags: &[String], remove: bool) -> anyhow::Result<u8> {
    change(listing, recording, |labels| match remove {
        true => {
            labels.tags.retain(|tag| !tags.contains(tag));
            Ok(())
        }
        false => tags.iter().try_for_each(|tag| labels.tag(tag)),
    })
}

/// Replaces the note of a recording.
pub fn annotate(listing: &Listing, recording: &str, text: &str) -> anyhow::Result<u8> {
    change(listing, recording, |labels| labels.annotate(text))
}

fn change(
    listing: &Listing,
    recording: &str,
    by: impl FnOnce(&mut Labels) -> Result<(), RecordError>,
) -> anyhow::Result<u8> {
    let directory = find::only(listing, recording).map_err(LabError::from)?;
    let mut labels = Labels::of(&directory).map_err(LabError::from)?;
    by(&mut labels).map_err(|error| LabError::Refused(error.to_string()))?;
    labels.write(&directory).map_err(LabError::from)?;
    let said = in_words(&labels);
    terminal::note(&format!("{}: {}", directory.display(), if said.is_empty() { "no labels" } else { &said }));
    Ok(DONE)
}

/// Refuses to remove the rounds of a baseline.
///
/// # Errors
/// [`LabError::Refused`] names the first one.
pub fn must_not_be_kept(recordings: &[PathBuf]) -> Result<(), LabError> {
    // What cannot be read protects nothing.
    let is_kept = |recording: &&PathBuf| Labels::of(recording).is_ok_and(|labels| labels.kept);
    match recordings.iter().find(is_kept) {
        Some(kept) => Err(LabError::Refused(format!(
            "{} is kept as a baseline; `plimsoll recordings keep {} --release` lets go of it",
            kept.display(),
            shell_word(&name_of(kept))
        ))),
        None => Ok(()),
    }
}

fn name_of(recording: &Path) -> String {
    plimsoll_record::read::manifest(recording).map_or_else(|_| "NAME".to_owned(), |manifest| manifest.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use plimsoll_host::facts::HostFacts;
    use plimsoll_plan::{Plan, StoragePlan};
    use plimsoll_record::Manifest;

    fn listing(name: &str) -> Listing {
        let plan = Plan::Storage(StoragePlan::default());
        let manifest = Manifest::new(name, "0.1.0", Timestamp::UNIX_EPOCH, plan, HostFacts::default());
        let directory = PathBuf::from(format!("/nowhere/20260101T000000Z-{name}-1f3a"));
        Listing { recordings: vec![Entry { directory, manifest, being_written: false }], ..Listing::default() }
    }

    #[test]
    fn a_name_is_known_as_it_is_typed() {
        let listing = listing("oltp-read-write");
        for typed in ["oltp-read-write", "oltp_read_write", "OLTP_read_write"] {
            assert_eq!(listing.name_meant(typed), "oltp-read-write");
        }
        assert_eq!(listing.name_meant("tpcc"), "tpcc");
        assert_eq!(listing.name_meant("1f3a"), "1f3a", "a recording is no name");
    }

    #[test]
    fn a_kept_recording_names_one_word_to_let_go_of_it() {
        let home = tempfile::tempdir().unwrap();
        let of = listing("x; reboot").recordings.remove(0);
        std::fs::write(home.path().join("manifest.json"), serde_json::to_string(&of.manifest).unwrap()).unwrap();
        std::fs::write(home.path().join("labels.json"), r#"{"kept":true}"#).unwrap();
        let refused = must_not_be_kept(&[home.path().to_owned()]).unwrap_err().to_string();
        assert!(refused.contains("keep 'x; reboot' --release"), "{refused}");
    }
}
