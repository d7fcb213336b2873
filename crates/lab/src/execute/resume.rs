//! Going on with a lab that was killed or interrupted: what it recorded is told to a new schedule, which then asks for
//! exactly the trial that was under way.

use crate::error::LabError;
use crate::journal::Journal;
use crate::options::Options;
use crate::preflight::Machine;
use crate::storage_plan::STORAGE;
use plimsoll_analysis::replay::{has_ended, is_of};
use plimsoll_model::Caveat;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Restore, TrialPlan, Variant, file};
use plimsoll_record::read::{self, RecordingView, TrialView};
use plimsoll_record::surroundings::Surroundings;
use plimsoll_record::{Manifest, Recording, Status};
use plimsoll_schedule::{EndedTrial, Schedule};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Facts of a host that make it another one.
const OF_THE_MACHINE: [&str; 5] = ["identity", "cpu_model", "cpus", "memory_bytes", "machine"];

/// The plan of a recording that can be gone on with: one that a file could have made. What it may do without leave,
/// [`crate::preflight::leave::check`] decides, as for a file.
///
/// # Errors
/// [`LabError::Refused`] if it is being written, is done, or is not of a lab; [`LabError::Record`] if it cannot be
/// read, or is not ours alone.
pub fn plan_of(directory: &Path) -> Result<LabPlan, LabError> {
    let manifest = read::manifest(directory)?;
    read::must_be_ours(directory)?;
    let refuse = |why: &str| Err(LabError::Refused(format!("{} cannot be resumed: {why}", directory.display())));
    if read::is_being_written(directory) {
        return refuse("a running Plimsoll is still writing it");
    }
    if manifest.status == Status::Done {
        return refuse("it is done");
    }
    match file::recorded(manifest.plan) {
        Ok(plan) => Ok(plan),
        Err(error) => refuse(&error.to_string()),
    }
}

/// A recording that is gone on with.
pub struct Resumed {
    pub journal: Journal,
    /// The trials that came to their end, in their order.
    pub ended: Vec<EndedTrial>,
    pub caveats: Vec<Caveat>,
}

/// Tells the schedule of the trials that came to their end, looks whether what they had around them is still there, and
/// only then opens the recording and removes trials that did not.
///
/// # Errors
/// [`LabError::Refused`] if what is recorded is not what the plan asks for, or the data are others now; as
/// [`Recording::reopen`].
pub fn resume(
    directory: &Path,
    options: &Options,
    host: &Value,
    (machine, plan): (&mut Machine<'_>, &LabPlan),
    schedule: &mut dyn Schedule,
) -> Result<Resumed, LabError> {
    let view = read::open(directory)?;
    let mut caveats = changes(&view.manifest, options, host);
    caveats.extend(torn(&view.trials));
    // A schedule is told of its trials in their order: what came after a torn one is done again with it.
    let whole: Vec<&TrialView> =
        view.trials.iter().take_while(|trial| has_ended(trial) && trial.torn.is_none()).collect();
    let ended = replay(&view, &whole, schedule)?;
    caveats.extend(other_servers(directory, &whole, &ended, (machine, plan))?);
    caveats.extend(schedule.next().and_then(|next| fresh_data(plan, &next)));
    let recording = Recording::reopen(directory)?;
    for unfinished in read::trial_directories(directory)? {
        if !whole.iter().any(|trial| trial.directory == unfinished) {
            recording.discard(&unfinished)?;
        }
    }
    let latest_ns = view.events.iter().map(|event| event.t_ns).max().unwrap_or(0);
    let mut journal = Journal::go_on(recording, latest_ns);
    journal.event("resumed", serde_json::json!({ "trials": ended.len(), "tool_version": options.tool_version }))?;
    Ok(Resumed { journal, ended, caveats })
}

fn replay(
    view: &RecordingView,
    whole: &[&TrialView],
    schedule: &mut dyn Schedule,
) -> Result<Vec<EndedTrial>, LabError> {
    let mut ended = Vec::new();
    for recorded in whole {
        let expected = schedule.next().filter(|trial| is_of(trial, recorded)).ok_or_else(|| {
            LabError::Refused(format!(
                "{} cannot be resumed: the plan does not have {} here, so another version of Plimsoll wrote it",
                view.directory.display(),
                recorded.directory.display()
            ))
        })?;
        let Some(outcome) = recorded.outcome.clone() else { continue };
        let told = EndedTrial { trial: expected, outcome };
        schedule.tell(told.clone());
        ended.push(told);
    }
    Ok(ended)
}

/// Refuses other data than the trials before had, and remarks on other servers.
fn other_servers(
    directory: &Path,
    whole: &[&TrialView],
    ended: &[EndedTrial],
    (machine, plan): (&mut Machine<'_>, &LabPlan),
) -> Result<Option<Caveat>, LabError> {
    let mut differing = BTreeSet::new();
    for (recorded, EndedTrial { trial, .. }) in whole.iter().zip(ended) {
        let before: Surroundings = serde_json::from_value(recorded.facts.parameters.clone()).unwrap_or_default();
        let now = machine.surroundings(plan, &trial.variant)?;
        if let (Some(had), Some(has)) = (&before.dataset, &now.dataset)
            && had != has
        {
            return Err(LabError::Refused(format!(
                "{} cannot be resumed: `{}` started from the dataset {had}, and would go on from {has}; put that one \
                 or its server back, or begin anew",
                directory.display(),
                trial.label
            )));
        }
        if let (Some(had), Some(has)) = (&before.build, &now.build)
            && had != has
        {
            differing.insert(format!("{had}, then {has}"));
        }
    }
    let servers: Vec<String> = differing.into_iter().collect();
    let message = || format!("begun with another server ({}): compare only trials of one of them", servers.join("; "));
    Ok((!servers.is_empty()).then(|| Caveat::new("other_server", message())))
}

/// What a killed lab's servers had in them is gone: with `restore = "none"` the rest begins with other data.
fn fresh_data(plan: &LabPlan, next: &TrialPlan) -> Option<Caveat> {
    let Variant { target, workload, .. } = &next.variant;
    let kept = plan.procedure.restore == Restore::None && target.is_none() && workload.kind != STORAGE;
    (kept && next.index > 1).then(|| {
        let message = format!(
            "restore = \"none\": from trial {} on the data are those that were loaded anew when the lab was resumed, \
             not what the trials before it left",
            next.index
        );
        Caveat::new("fresh_data", message)
    })
}

/// From which trial on they are done again though they have outcomes: a power cut, or a copy, took something of it.
fn torn(trials: &[TrialView]) -> Option<Caveat> {
    let first = trials.iter().find(|trial| trial.torn.is_some())?;
    let (name, why) = (first.directory.file_name()?.to_string_lossy(), first.torn.as_ref()?);
    let message = format!("trial {name} and those after it were done again: {why}, as after a power cut");
    Some(Caveat::new("torn_series", message))
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
