//! What the data consist of.

use super::parameters::TpccParameters;
use super::procedures;
use super::schema::{Entity, table_name};
use crate::dataset::DatasetNames;

/// What the data of these parameters consist of.
pub fn names(parameters: &TpccParameters) -> DatasetNames {
    let sets = || 1..=parameters.tables;
    let tables = sets().flat_map(|set| Entity::ALL.map(|entity| table_name(parameters.profile, entity, set)));
    let routines = sets().flat_map(|set| procedures::names(parameters.profile, set));
    DatasetNames { tables: tables.collect(), routines: routines.collect() }
}
