//! What a trial has around it besides what the plan says: its server, its data, its storage. `trial.json` tells of
//! them, and a lab that is resumed compares.

use plimsoll_host::facts::StorageFacts;
use plimsoll_model::Build;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Part of the parameters of a load in `trial.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Surroundings {
    /// None for a server that is not ours, and where storage is measured.
    pub build: Option<Build>,
    /// None where each trial loads its data or finds them.
    pub dataset: Option<StartingDataset>,
    /// Of the data, then of each part of the layout.
    pub storage: Vec<Place>,
}

/// The dataset that a trial starts from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartingDataset {
    pub id: String,
    /// Of one that was saved, RFC 3339: another may have been given its name since.
    pub made: Option<String>,
}

impl fmt::Display for StartingDataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let made = self.made.as_ref().map_or(String::new(), |made| format!(" of {made}"));
        write!(f, "`{}`{made}", self.id)
    }
}

/// The file system below a path of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// `datadir`, `layout.redo`.
    pub key: String,
    /// The lane that the files lie on; then the facts are of the storage below its image.
    pub lane: Option<String>,
    pub facts: Option<StorageFacts>,
}
