//! A variant whose workload is an evaluation of its storage.

use crate::error::{LabError, refused};
use plimsoll_evaluate::{IoPlan, What, is_possible};
use plimsoll_plan::lab::Variant;
use plimsoll_plan::{PlanError, quantity};
use plimsoll_storage::suite::Suite;
use std::path::Path;

/// The workload of trials that measure storage and need no server.
pub const STORAGE: &str = "io";
/// The parameters of such a workload, as in `plimsoll io`.
const PARAMETERS: &str = "suite, probes, size, time and steady";

/// What to measure in `directory`.
///
/// # Errors
/// Unknown parameters, with file and line.
pub(crate) fn plan(variant: &Variant, seed: u64, directory: &Path) -> Result<IoPlan, LabError> {
    let mut plan = IoPlan {
        directory: directory.to_owned(),
        what: What::Suite { suite: Suite::Quick, steady: false },
        probes: Vec::new(),
        data_bytes: None,
        window: None,
        seed,
        keep: false,
        name: "io".to_owned(),
        validate: Vec::new(),
    };
    for (name, value) in &variant.workload.params {
        set(&mut plan, name, value)
            .map_err(|error| refused(variant.at(&format!("workload.{name}")), error.to_string()))?;
    }
    is_possible(&plan).map_err(|error| refused(variant.at("workload.probes"), error.to_string()))?;
    Ok(plan)
}

fn set(plan: &mut IoPlan, name: &str, value: &str) -> Result<(), PlanError> {
    match (name, &mut plan.what) {
        ("suite", What::Suite { suite, .. }) => *suite = suite_of(value)?,
        ("steady", What::Suite { steady, .. }) => *steady = truth(value)?,
        ("probes", _) => plan.probes = probes(value)?,
        ("size", _) => plan.data_bytes = Some(quantity::size(value)?),
        ("time", _) => plan.window = Some(quantity::duration(value)?),
        _ => return Err(PlanError::Combination(format!("io has no parameter `{name}`; it has {PARAMETERS}"))),
    }
    Ok(())
}

fn suite_of(name: &str) -> Result<Suite, PlanError> {
    let known = Suite::ALL.into_iter().find(|suite| suite.name() == name);
    known.ok_or_else(|| PlanError::value("suite", name, "quick, full or percona-2008"))
}

fn truth(text: &str) -> Result<bool, PlanError> {
    text.parse().map_err(|_| PlanError::value("steady", text, "true or false"))
}

fn probes(text: &str) -> Result<Vec<u8>, PlanError> {
    let all: Result<Vec<u8>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    all.map_err(|_| PlanError::value("probes", text, "numbers of probes: 1,4"))
}
