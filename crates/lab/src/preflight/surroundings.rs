//! What surrounds a trial besides what the plan says: its server, its data, its storage. `trial.json` records them, and
//! a resumed lab compares them.

use super::Machine;
use crate::error::LabError;
use plimsoll_data::starting_data::recipe::Recipe;
use plimsoll_host::Home;
use plimsoll_host::facts::storage_facts;
use plimsoll_model::Build;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Storage, Variant};
use plimsoll_record::surroundings::{Place, StartingDataset, Surroundings};
use plimsoll_server::snapshot::store;
use std::path::Path;

impl Machine<'_> {
    /// What surrounds the trials of a variant.
    ///
    /// # Errors
    /// As [`Machine::prepare`].
    pub fn surroundings(&mut self, plan: &LabPlan, variant: &Variant) -> Result<Surroundings, LabError> {
        let prepared = self.prepare(variant)?;
        let copied = plan.trials.restore.copies();
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

fn dataset(home: &Home, build: &Build, variant: &Variant) -> Result<StartingDataset, LabError> {
    match &variant.workload.dataset {
        Some(id) => {
            Ok(StartingDataset { id: id.clone(), made: Some(store::find_anywhere(home, id)?.description.made) })
        }
        None => Ok(StartingDataset { id: Recipe::of(build, variant)?.id(), made: None }),
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
