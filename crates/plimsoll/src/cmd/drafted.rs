//! What commands that write their plan themselves share: the workload and the option file that were typed.

use crate::args::Params;
use anyhow::Context;
use plimsoll_lab::LabError;
use plimsoll_plan::lab::{PlannedScript, PlannedWorkload};
use plimsoll_plan::plan::script_of;
use plimsoll_record::manifest::name_of;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The seed of the data.
const DATA_SEED: u64 = 1;

/// The workload, or the script and the workload whose `data` it runs on.
pub fn workload(name: &str, data: Option<&str>, params: &Params) -> Result<PlannedWorkload, LabError> {
    let refused = |why: &str| LabError::Refused(format!("--workload {name}: {why}"));
    let (kind, script) = match (script_of(name), data) {
        (None, None) => (name.to_owned(), None),
        (None, Some(_)) => return Err(refused("--data is for scripts (lua:FILE)")),
        (Some(_), None) => return Err(refused("--data says whose data the script runs on, such as oltp_read_write")),
        (Some(path), Some(data)) => {
            let path = std::path::absolute(path).map_err(|error| refused(&error.to_string()))?;
            (data.to_owned(), Some(PlannedScript { path, options: BTreeMap::new() }))
        }
    };
    Ok(PlannedWorkload { script, ..without_script(&kind, params) })
}

pub fn without_script(kind: &str, params: &Params) -> PlannedWorkload {
    let params = params.0.iter().cloned().collect();
    PlannedWorkload { kind: kind.to_owned(), params, seed: DATA_SEED, dataset: None, script: None }
}

/// The settings that were typed, by name.
///
/// # Errors
/// If one is there twice: a plan has each once.
pub fn settings(typed: &[(String, String)]) -> Result<BTreeMap<String, String>, LabError> {
    let mut settings = BTreeMap::new();
    for (name, value) in typed {
        if let Some(first) = settings.insert(name.clone(), value.clone()) {
            let problem =
                format!("--set {name}: it is there twice, as {first} and as {value}; accepted is one of them");
            return Err(LabError::Refused(problem));
        }
    }
    Ok(settings)
}

/// What recordings of a command under a workload are called: `advise-tpcc`.
pub fn name(command: &str, workload: &str) -> String {
    let short = Path::new(script_of(workload).unwrap_or(workload)).file_stem().unwrap_or_default();
    format!("{command}-{}", name_of(&short.to_string_lossy()))
}

/// The option file, wherever the plan will be.
pub fn config_file(typed: Option<&PathBuf>) -> anyhow::Result<Option<String>> {
    let path = typed.map(std::path::absolute).transpose().context("the option file has no path")?;
    Ok(path.map(|path| path.to_string_lossy().into_owned()))
}
