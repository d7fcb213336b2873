//! A storage evaluation.

use crate::found::Found;
use crate::repeat;
use plimsoll_host::facts::StorageFacts;
use plimsoll_model::Caveat;
use plimsoll_model::io::{DeviceFacts, IoSummary, SCHEMA_VERSION};
use plimsoll_plan::StoragePlan;
use plimsoll_record::read::RecordingView;
use plimsoll_report::subject::Subject;

/// What was recorded of it. The measurements of one that was cut short are not summed up again: the sheet stands on all
/// of them.
pub fn found(view: &RecordingView, plan: &StoragePlan) -> Found {
    let steps = plan.steps.len();
    let begun = view.trials.len();
    let missing = match &view.io {
        None if !view.being_written => vec![format!(
            "io.json is not there: {begun} of {steps} measurements had begun, and their seconds are in trials/, but the \
             sheet is only made when all are done"
        )],
        Some(io) if io.interrupted && io.probes.len() < steps => {
            vec![format!("{} of {steps} measurements were not made", steps - io.probes.len())]
        }
        _ => Vec::new(),
    };
    Found {
        title: view.manifest.name.clone(),
        subject: Subject::Storage(Box::new(view.io.clone().unwrap_or_else(|| unfinished(view, plan)))),
        state: view.being_written.then(|| format!("still running: measurement {begun} of {steps}")),
        missing,
        how_to_repeat: repeat::storage(plan),
    }
}

/// The summary of one that left none: what it was of.
fn unfinished(view: &RecordingView, plan: &StoragePlan) -> IoSummary {
    let storage = view.manifest.host.storage.clone();
    IoSummary {
        schema_version: SCHEMA_VERSION,
        directory: plan.directory.display().to_string(),
        suite: plan.suite.clone(),
        seed: view.manifest.seed,
        device: storage.map(device).unwrap_or_default(),
        probes: Vec::new(),
        sheet: Vec::new(),
        validation: Vec::new(),
        published: Vec::new(),
        caveats: vec![Caveat::new("cut_short", "it did not finish: run it again for a sheet")],
        recording: None,
        interrupted: true,
    }
}

fn device(facts: StorageFacts) -> DeviceFacts {
    DeviceFacts {
        name: facts.block.map(|block| block.name),
        filesystem: Some(facts.filesystem),
        mount_point: Some(facts.mount_point.display().to_string()),
        source: facts.device,
        mount_options: facts.options,
        ..DeviceFacts::default()
    }
}
