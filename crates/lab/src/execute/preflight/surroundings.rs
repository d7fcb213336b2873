//! What a trial has around it besides what the plan says: its server, its data, its storage. `trial.json` tells of
//! them, and a lab that is gone on with compares.

use super::Machine;
use crate::error::LabError;
use crate::starting_data::recipe::Recipe;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Storage, Variant};
use plimsoll_server::host::{StorageFacts, storage_facts};
use plimsoll_server::snapshot::store;
use plimsoll_server::{Build, Home};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// Part of the parameters in `trial.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Surroundings {
    /// None for a server that is not ours, and where storage is measured.
    pub build: Option<Build>,
    /// None where each trial loads its data or finds them.
    pub dataset: Option<Dataset>,
    /// Of the data, then of each part of the layout.
    pub storage: Vec<Place>,
}

/// The dataset that a trial starts from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dataset {
    pub id: String,
    /// Of one that was saved, RFC 3339: another may have been given its name since.
    pub made: Option<String>,
}

impl fmt::Display for Dataset {
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

impl Machine<'_> {
    /// What the trials of a variant have around them.
    ///
    /// # Errors
    /// As [`Machine::prepare`].
    pub fn surroundings(&mut self, plan: &LabPlan, variant: &Variant) -> Result<Surroundings, LabError> {
        let prepared = self.prepare(variant)?;
        let copied = plan.procedure.restore.copies();
        let dataset = match &prepared.build {
            Some(build) if copied => {
                let asked = Variant { config: prepared.requested.clone(), ..variant.clone() };
                Some(dataset(self.home, build, &asked)?)
            }
            _ => None,
        };
        let storage = if variant.target.is_none() { places(self.home, variant) } else { Vec::new() };
        Ok(Surroundings { build: prepared.build, dataset, storage })
    }
}

fn dataset(home: &Home, build: &Build, variant: &Variant) -> Result<Dataset, LabError> {
    match &variant.workload.dataset {
        Some(id) => Ok(Dataset { id: id.clone(), made: Some(store::find_anywhere(home, id)?.description.made) }),
        None => Ok(Dataset { id: Recipe::of(build, variant)?.id(), made: None }),
    }
}

fn places(home: &Home, variant: &Variant) -> Vec<Place> {
    let (lane, data) = match &variant.storage {
        Storage::Home => (None, home.path()),
        Storage::Directory(path) => (None, path.as_path()),
        Storage::Lane(name) => (Some(name.clone()), home.path()),
    };
    let place = |key: String, lane: Option<String>, path: &Path| Place { key, lane, facts: storage_facts(path) };
    let apart = variant.layout.parts().map(|(key, path)| match path.is_absolute() {
        true => place(key, None, path),
        false => place(key, lane.clone(), data),
    });
    std::iter::once(place("datadir".to_owned(), lane.clone(), data)).chain(apart).collect()
}
