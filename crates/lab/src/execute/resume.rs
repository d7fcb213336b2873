//! Going on with a lab that was killed or interrupted: what it recorded is told to a new course, which then asks for
//! exactly the trial that was under way.

use super::Options;
use super::journal::Journal;
use crate::course::{Course, Ended};
use crate::error::LabError;
use plimsoll_model::Caveat;
use plimsoll_model::lab::TrialStatus;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::TrialPlan;
use plimsoll_record::read::{self, RecordingView, TrialView};
use plimsoll_record::{Manifest, Recording, Status};
use serde_json::Value;
use std::path::Path;

/// Facts of a host that make it another one.
const OF_THE_MACHINE: [&str; 5] = ["identity", "cpu_model", "cpus", "memory_bytes", "machine"];

/// The plan of a recording that can be gone on with.
///
/// # Errors
/// [`LabError::Refused`] if it is being written, is done, or is not of a lab; [`LabError::Record`] if it cannot be read.
pub fn plan_of(directory: &Path) -> Result<LabPlan, LabError> {
    let manifest = read::manifest(directory)?;
    let refuse = |why: &str| Err(LabError::Refused(format!("{} cannot be resumed: {why}", directory.display())));
    if read::is_being_written(directory) {
        return refuse("a running Plimsoll is still writing it");
    }
    if manifest.status == Status::Done {
        return refuse("it is done");
    }
    match serde_json::from_value(manifest.plan) {
        Ok(plan) => Ok(plan),
        Err(_) => refuse("it is not of `plimsoll lab`, or of another version of it"),
    }
}

/// A recording that is gone on with.
pub struct Resumed {
    pub journal: Journal,
    /// The trials that came to their end, in their order.
    pub ended: Vec<Ended>,
    pub caveats: Vec<Caveat>,
}

/// Opens the recording, removes trials that did not come to their end, and tells the course of those that did.
///
/// # Errors
/// [`LabError::Refused`] if what is recorded is not what the plan asks for; as [`Recording::reopen`].
pub fn resume(directory: &Path, options: &Options, host: &Value, course: &mut dyn Course) -> Result<Resumed, LabError> {
    let recording = Recording::reopen(directory)?;
    let view = read::open(directory)?;
    let caveats = changes(&view.manifest, options, host);
    let ended = replay(&recording, &view, course)?;
    let latest_ns = view.events.iter().map(|event| event.t_ns).max().unwrap_or(0);
    let mut journal = Journal::go_on(recording, latest_ns);
    journal.event("resumed", serde_json::json!({ "trials": ended.len(), "tool_version": options.tool_version }))?;
    Ok(Resumed { journal, ended, caveats })
}

fn replay(recording: &Recording, view: &RecordingView, course: &mut dyn Course) -> Result<Vec<Ended>, LabError> {
    for unfinished in read::trial_directories(&view.directory)? {
        if !view.trials.iter().any(|trial| trial.directory == unfinished && is_whole(trial)) {
            recording.discard(&unfinished)?;
        }
    }
    let mut ended = Vec::new();
    for recorded in view.trials.iter().filter(|trial| is_whole(trial)) {
        let expected = course.next().filter(|trial| is_of(trial, recorded)).ok_or_else(|| {
            LabError::Refused(format!(
                "{} cannot be resumed: the plan does not have {} at this place, so another version of Plimsoll wrote it",
                view.directory.display(),
                recorded.directory.display()
            ))
        })?;
        let Some(outcome) = recorded.outcome.clone() else { continue };
        let told = Ended { trial: expected, outcome };
        course.tell(told.clone());
        ended.push(told);
    }
    Ok(ended)
}

/// Whether a trial came to its end by itself.
fn is_whole(trial: &TrialView) -> bool {
    trial.outcome.as_ref().is_some_and(|outcome| outcome.status != TrialStatus::Interrupted)
}

fn is_of(trial: &TrialPlan, recorded: &TrialView) -> bool {
    let facts = &recorded.facts;
    (facts.index, &facts.variant, &facts.point, facts.round)
        == (trial.index, &trial.label, &trial.point.label(), trial.round)
}

/// What is not as it was when the recording began.
fn changes(manifest: &Manifest, options: &Options, host: &Value) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if manifest.tool_version != options.tool_version {
        caveats.push(Caveat::new(
            "other_version",
            format!(
                "begun with Plimsoll {} and gone on with {}: compare only trials of one of them",
                manifest.tool_version, options.tool_version
            ),
        ));
    }
    let differing: Vec<&str> = OF_THE_MACHINE.into_iter().filter(|fact| manifest.host[*fact] != host[*fact]).collect();
    if !differing.is_empty() {
        let message =
            format!("begun on another machine ({} differ): compare only trials of one of them", differing.join(", "));
        caveats.push(Caveat::new("other_machine", message));
    }
    caveats
}
