//! What is asked of servers: workloads that exist, with parameters that they accept, on data that exist.

use crate::error::LabError;
use crate::error::refused;
use crate::load_spec::limit;
use crate::storage_plan;
use plimsoll_host::Home;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Variant, WarmUp, Where};
use plimsoll_server::snapshot::store;
use plimsoll_workloads::chosen::ChosenWorkload;
use std::path::Path;

/// About how many bytes a data directory takes besides the tables: system tables, undo, temporary tablespaces.
const DIRECTORY_BYTES: u64 = 150 << 20;

/// Refuses workloads, parameters and datasets that do not exist.
pub(super) fn check(home: &Home, plan: &LabPlan, variant: &Variant) -> Result<(), LabError> {
    let Some(chosen) = chosen(variant)? else {
        return storage_plan::plan(variant, 0, Path::new("")).map(|_| ());
    };
    let protocol = variant.load.protocol.as_deref().unwrap_or_else(|| chosen.default_protocol());
    let key = if variant.load.protocol.is_some() { "load.protocol" } else { "load.rate" };
    chosen
        .goes_with(protocol, plan.is_open_loop(variant))
        .map_err(|error| refused(nearest(variant, &[key, "load", "workload.kind"]), error.to_string()))?;
    chosen
        .ends_with(limit(plan.trials.measure), plan.trials.warmup != WarmUp::Seconds(0.0))
        .map_err(|error| refused(nearest(variant, &["workload.pacing", "workload.kind"]), error.to_string()))?;
    tables(variant, &chosen)?;
    dataset(home, variant)
}

/// The workload of a variant; `None` for a storage trial.
fn chosen(variant: &Variant) -> Result<Option<ChosenWorkload>, LabError> {
    let workload = &variant.workload;
    if workload.is_storage() {
        return Ok(None);
    }
    ChosenWorkload::before_data(&workload.kind, &workload.typed()).map(Some).map_err(|error| {
        let text = error.to_string();
        let parameter = workload.params.keys().find(|name| text.contains(&format!("'{name}'")));
        let key = parameter.map_or("workload.kind".to_owned(), |name| format!("workload.{name}"));
        refused(nearest(variant, &[&key, "workload.kind", "workload"]), text)
    })
}

/// About how many bytes the data of a variant take in one data directory.
///
/// # Errors
/// As those of the workload's parameters.
pub fn data_bytes(variant: &Variant) -> Result<u64, LabError> {
    Ok(table_bytes(variant)?.map_or(0, |tables| tables + DIRECTORY_BYTES))
}

/// About how many bytes its tables take; none of a storage trial.
///
/// # Errors
/// As those of the workload's parameters.
pub fn table_bytes(variant: &Variant) -> Result<Option<u64>, LabError> {
    let chosen = chosen(variant)?;
    let tables = |chosen: ChosenWorkload| chosen.dataset(variant.workload.seed).tables();
    Ok(chosen.map(|chosen| tables(chosen).iter().map(|table| table.bytes).sum()))
}

/// Refuses tables of the layout that the workload does not have.
fn tables(variant: &Variant, chosen: &ChosenWorkload) -> Result<(), LabError> {
    let there: Vec<String> =
        chosen.dataset(variant.workload.seed).tables().into_iter().map(|table| table.name).collect();
    let missing = variant.layout.tables.keys().find(|name| !there.contains(name));
    match missing {
        Some(name) => {
            let problem = format!(
                "layout.tables: {} has no table `{name}`; it has {}",
                chosen.name(),
                there.iter().take(20).cloned().collect::<Vec<_>>().join(", ")
            );
            Err(refused(variant.at(&format!("layout.tables.{name}")), problem))
        }
        None => Ok(()),
    }
}

fn dataset(home: &Home, variant: &Variant) -> Result<(), LabError> {
    let Some(wanted) = &variant.workload.dataset else { return Ok(()) };
    let stored = store::list(home)?;
    if stored.iter().any(|stored| stored.description.id == *wanted) {
        return Ok(());
    }
    let saved = stored.iter().map(|stored| stored.description.id.as_str()).collect::<Vec<_>>().join(", ");
    let problem = match saved.is_empty() {
        true => format!("there is no dataset `{wanted}`; `plimsoll datasets save` makes one"),
        false => format!("there is no dataset `{wanted}`; the saved ones are {saved}"),
    };
    Err(refused(variant.at("workload.dataset"), problem))
}

/// The first of these keys that the plan has.
pub(super) fn nearest(variant: &Variant, keys: &[&str]) -> Where {
    keys.iter().map(|key| variant.at(key)).find(|at| at.line > 0).unwrap_or_default()
}
