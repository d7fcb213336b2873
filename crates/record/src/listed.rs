//! A recording in a list for programs.

use crate::Labels;
use crate::read::Entry;
use jiff::Timestamp;
use serde::Serialize;
use std::path::PathBuf;

/// What a list says of a recording: a row of `recordings list --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedRecording {
    /// The name of its directory.
    pub recording: String,
    pub directory: PathBuf,
    pub name: String,
    pub status: &'static str,
    pub ended_early: Option<String>,
    pub started: Timestamp,
    pub ended: Option<Timestamp>,
    pub seed: u64,
    pub tool_version: String,
    #[serde(flatten)]
    pub labels: Labels,
}

impl ListedRecording {
    pub fn new(entry: &Entry, labels: Labels) -> ListedRecording {
        let manifest = &entry.manifest;
        ListedRecording {
            recording: entry.id(),
            directory: entry.directory.clone(),
            name: manifest.name.clone(),
            status: entry.state().word(),
            ended_early: entry.ended_early(),
            started: manifest.started,
            ended: manifest.ended,
            seed: manifest.seed,
            tool_version: manifest.tool_version.clone(),
            labels,
        }
    }
}
