//! `plimsoll recordings`: lists, shows, labels, exports, imports and removes recordings.

mod labels;
mod travel;

use super::DONE;
use super::report::recorded;
use crate::args::{RecordingsAction, RecordingsArgs};
use crate::terminal;
use plimsoll_analysis::{AnalysisError, find};
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_record::listed::ListedRecording;
use plimsoll_record::read::{self, Entry, Listing, State};
use plimsoll_report::subject::Subject;
use plimsoll_report::table::{Column, Table};
use plimsoll_report::terminal::table;
use std::collections::BTreeSet;
use std::path::PathBuf;

pub fn run(args: &RecordingsArgs) -> anyhow::Result<u8> {
    let home = Home::from_env().map_err(LabError::from)?;
    let listing = read::list(&home.recordings()).map_err(LabError::from)?;
    match &args.action {
        RecordingsAction::List { json } => list(&listing, *json),
        RecordingsAction::Show { recording } => show(&listing, recording),
        RecordingsAction::Keep { name, release } => labels::keep(&listing, name, *release),
        RecordingsAction::Tag { recording, tags, remove } => labels::tag(&listing, recording, tags, *remove),
        RecordingsAction::Note { recording, text } => labels::annotate(&listing, recording, text),
        RecordingsAction::Export { recording, output, anonymise } => {
            travel::export(&listing, recording, output, *anonymise)
        }
        RecordingsAction::Import { file } => travel::import(&home, file),
        RecordingsAction::Rm { recordings } => remove(&listing, recordings),
    }
}

fn list(listing: &Listing, json: bool) -> anyhow::Result<u8> {
    if json {
        let row = |entry| ListedRecording::new(entry, labels::of(entry));
        let rows: Vec<ListedRecording> = listing.recordings.iter().map(row).collect();
        terminal::json(&rows)?;
    } else if listing.recordings.is_empty() {
        terminal::note("no recordings yet; `plimsoll run` creates one");
    } else {
        terminal::styled(&table(&listing_table(listing), terminal::look()))?;
    }
    for error in &listing.unreadable {
        terminal::note(&format!("cannot be read: {error}"));
    }
    Ok(DONE)
}

/// Its state, and why it ended early.
fn status(entry: &Entry) -> String {
    let why = entry.ended_early().and_then(|why| why.lines().next().map(str::to_owned));
    match why.filter(|_| entry.state() == State::Failed) {
        Some(why) => format!("failed: {why}"),
        None => entry.state().word().to_owned(),
    }
}

/// With what somebody has said of them, where anybody has.
fn listing_table(listing: &Listing) -> Table {
    let cells = |of: fn(&Entry) -> String| listing.recordings.iter().map(of).collect::<Vec<String>>();
    let said = cells(|entry| labels::in_words(&labels::of(entry)));
    let columns = [
        Column::words("recording", cells(Entry::id)),
        Column::words("name", cells(|entry| entry.manifest.name.clone())),
        Column::words("started", cells(|entry| entry.manifest.started.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())),
        Column::words("status", cells(status)),
    ];
    let has_labels = said.iter().any(|said| !said.is_empty());
    Table::new(columns.into_iter().chain(has_labels.then(|| Column::words("labels", said))).collect())
}

fn show(listing: &Listing, text: &str) -> anyhow::Result<u8> {
    let directory = find::latest(listing, text).map_err(LabError::from)?;
    let recorded = recorded(&directory)?;
    terminal::styled(&plimsoll_report::terminal(&recorded, terminal::look()))?;
    if matches!(recorded.subject, Subject::Lab(_)) {
        terminal::what_limited(&recorded);
    }
    terminal::note(&format!("recording: {}", directory.display()));
    Ok(DONE)
}

fn remove(listing: &Listing, texts: &[String]) -> anyhow::Result<u8> {
    // All are found before any is removed.
    let found = texts
        .iter()
        .map(|text| find::only(listing, text))
        .collect::<Result<Vec<PathBuf>, AnalysisError>>()
        .map_err(LabError::from)?;
    let found = each_once(found);
    if let Some(directory) = found.iter().find(|directory| read::is_being_written(directory)) {
        return Err(LabError::Refused(format!(
            "{} is still being written by a running Plimsoll; stop it first",
            directory.display()
        ))
        .into());
    }
    labels::must_not_be_kept(&found)?;
    for directory in found {
        read::remove(&directory, false).map_err(LabError::from)?;
        terminal::note(&format!("removed {}", directory.display()));
    }
    Ok(DONE)
}

/// Without what is named a second time, however that is written.
fn each_once(mut found: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    found.retain(|directory| seen.insert(directory.canonicalize().unwrap_or_else(|_| directory.clone())));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_twice_is_one() {
        let home = tempfile::tempdir().unwrap();
        let (a, b) = (home.path().join("a"), home.path().join("b"));
        for directory in [&a, &b] {
            std::fs::create_dir(directory).unwrap();
        }
        let again = home.path().join("b/../a");
        assert_eq!(each_once(vec![b.clone(), a.clone(), again, b.clone()]), [b, a]);
    }
}
