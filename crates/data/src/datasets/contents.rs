//! What Plimsoll has loaded into a server: the datasets of all its databases, by their markers.

use crate::DataError;
use crate::dataset::{DatasetState, Marker, TABLE, markers};
use plimsoll_engine::control::Control;
use plimsoll_model::Scalar;
use plimsoll_server::snapshot::store::StoredContent;
use plimsoll_wire::text::identifier;
use plimsoll_workloads::chosen::{ChosenWorkload, of_family};

/// A dataset of a family, in a database.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundDataset {
    pub database: String,
    pub marker: Marker,
}

/// The data parameters that differ from the workload's defaults, by name and value.
///
/// All of them if this version of Plimsoll has no such workload.
pub fn chosen_parameters(content: &StoredContent) -> Vec<(&str, &Scalar)> {
    let defaults = of_family(&content.family).and_then(|name| ChosenWorkload::new(name, &[], None).ok());
    let defaults = defaults.map(|chosen| chosen.dataset(content.seed).parameters()).unwrap_or_default();
    let all = content.parameters.iter();
    all.filter(|(name, value)| defaults.get(*name) != Some(value)).map(|(name, value)| (name.as_str(), value)).collect()
}

impl FoundDataset {
    /// In the form that the store uses.
    pub fn content(&self) -> StoredContent {
        let description = &self.marker.description;
        StoredContent {
            database: self.database.clone(),
            family: self.marker.family.clone(),
            parameters: description.parameters.clone(),
            seed: description.seed,
        }
    }

    /// A workload of its family that uses all of its data.
    ///
    /// # Errors
    /// [`DataError::Environment`] if this version of Plimsoll has none; [`DataError::Workload`] if the parameters are not
    /// accepted.
    pub fn workload(&self) -> Result<ChosenWorkload, DataError> {
        let unknown = || DataError::Environment(format!("no workload has data of the family `{}`", self.marker.family));
        let name = of_family(&self.marker.family).ok_or_else(unknown)?;
        let loaded = || self.marker.description.loaded();
        Ok(ChosenWorkload::new(name, &[], Some(loaded()))?.over_all(loaded())?)
    }
}

/// The databases with a table of our name that has our columns: another one is somebody else's.
fn databases() -> String {
    format!(
        "SELECT table_schema FROM information_schema.columns WHERE table_name = '{TABLE}' \
         AND column_name IN ('family', 'part', 'state', 'detail') GROUP BY table_schema HAVING COUNT(*) = 4 ORDER BY 1"
    )
}

/// All datasets of all databases.
///
/// # Errors
/// [`DataError::Refused`] if one of them is still being loaded, [`DataError::Environment`] if the server does not answer.
pub fn found(control: &mut Control) -> Result<Vec<FoundDataset>, DataError> {
    let failed = |failure| DataError::sql("looking for datasets", &failure);
    let databases = control.rows(&databases()).map_err(failed)?;
    let mut all = Vec::new();
    for database in databases.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()) {
        control.run(&format!("USE {}", identifier(&database))).map_err(failed)?;
        for marker in markers(control)? {
            if marker.state == DatasetState::Loading {
                return Err(DataError::Refused(format!(
                    "loading `{}` into the database `{database}` has not finished; a copy of it could not be checked",
                    marker.family
                )));
            }
            all.push(FoundDataset { database: database.clone(), marker });
        }
    }
    Ok(all)
}
