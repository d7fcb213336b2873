//! Resuming a lab that was killed or interrupted: a new schedule is told what was recorded, and then asks for exactly
//! the trial that was under way.

use crate::error::LabError;
use crate::journal::Journal;
use crate::options::Options;
use crate::preflight::Machine;
use crate::storage_plan::STORAGE;
use plimsoll_analysis::replay::{has_ended, is_of};
use plimsoll_host::facts::HostFacts;
use plimsoll_model::Caveat;
use plimsoll_model::agreed::AgreedLoad;
use plimsoll_model::lab::TrialStatus;
use plimsoll_plan::lab::{Restore, TrialPlan, Variant, file};
use plimsoll_plan::{LabPlan, Plan};
use plimsoll_record::event::RecordedEvent;
use plimsoll_record::read::{self, RecordingView, TrialView};
use plimsoll_record::{Happening, Manifest, Recording, Status};
use plimsoll_schedule::{EndedTrial, Schedule};
use std::collections::BTreeSet;
use std::path::Path;

/// What a recording is to be, in messages.
const RESUMED: &str = "resumed";

/// The plan of a recording that can be resumed: one that a file could have made. As for a file,
/// [`crate::preflight::permission::check`] decides what it may do without permission.
///
/// # Errors
/// [`LabError::Refused`] if it is being written, is done, or is not a lab's; [`LabError::Record`] if it cannot be
/// read, or does not belong to the user alone.
pub fn plan_of(directory: &Path) -> Result<LabPlan, LabError> {
    let manifest = manifest_of(directory)?;
    let refuse = |why: &str| Err(cannot(directory, RESUMED, why));
    if read::stays_being_written(directory) {
        return refuse("a running Plimsoll is still writing it");
    }
    if manifest.status == Status::Done {
        return refuse("it is done");
    }
    plan_in(directory, manifest, RESUMED)
}

/// The plan of a recording of which something is to be repeated, whether it is done or not.
///
/// # Errors
/// As [`plan_of`], but for one that is done.
pub fn plan_to_repeat(directory: &Path) -> Result<LabPlan, LabError> {
    plan_in(directory, manifest_of(directory)?, "repeated")
}

fn manifest_of(directory: &Path) -> Result<Manifest, LabError> {
    let manifest = read::manifest(directory)?;
    read::must_be_ours(directory)?;
    Ok(manifest)
}

fn plan_in(directory: &Path, manifest: Manifest, be: &str) -> Result<LabPlan, LabError> {
    let Plan::Lab(plan) = manifest.plan else { return Err(cannot(directory, be, "it is not of `plimsoll lab`")) };
    file::recorded(*plan).map_err(|error| cannot(directory, be, &error.to_string()))
}

fn cannot(directory: &Path, be: &str, why: &str) -> LabError {
    LabError::Refused(format!("{} cannot be {be}: {why}", directory.display()))
}

/// A recording that is resumed.
pub struct Resumed {
    pub journal: Journal,
    /// The completed trials, in order.
    pub ended: Vec<EndedTrial>,
    pub caveats: Vec<Caveat>,
    /// What the agents of a fleet were at.
    pub left: Option<LeftLoad>,
}

/// The measured load of a trial that did not end.
pub struct LeftLoad {
    /// The trial's place in the plan.
    pub trial: u32,
    pub load: AgreedLoad,
}

/// Tells the schedule about the completed trials, checks that their surroundings are still there, and only then opens
/// the recording and removes the trials that were not completed.
///
/// # Errors
/// [`LabError::Refused`] if what is recorded is not what the plan asks for, or if the data have changed; as
/// [`Recording::reopen`].
pub fn resume(
    directory: &Path,
    options: &Options,
    host: &HostFacts,
    machine: &mut Machine<'_>,
    plan: &LabPlan,
    schedule: &mut dyn Schedule,
) -> Result<Resumed, LabError> {
    let view = read::open(directory)?;
    let mut caveats = changes(&view.manifest, options, host);
    caveats.extend(torn(&view.trials));
    // A schedule is told about its trials in order: what came after a torn one is done again, too.
    let whole: Vec<&TrialView> =
        view.trials.iter().take_while(|trial| has_ended(trial) && trial.torn.is_none()).collect();
    let ended = replay(&view, &whole, schedule)?;
    caveats.extend(other_servers(directory, &whole, &ended, machine, plan)?);
    caveats.extend(schedule.next().and_then(|next| fresh_data(plan, &next)));
    let recording = Recording::reopen(directory)?;
    for unfinished in read::trial_directories(directory)? {
        if !whole.iter().any(|trial| trial.directory == unfinished) {
            recording.discard(&unfinished)?;
        }
    }
    let left = left_load(&view.events);
    let latest_ns = view.events.iter().map(|event| event.t_ns).max().unwrap_or(0);
    let mut journal = Journal::go_on(recording, latest_ns);
    let tool_version = options.tool_version.clone();
    journal.event(Happening::Resumed { trials: ended.len(), tool_version })?;
    Ok(Resumed { journal, ended, caveats, left })
}

/// The load that was agreed last, unless its trial has ended or began anew since. Where it was being collected, agents keep it
/// until all of it has come.
fn left_load(events: &[RecordedEvent]) -> Option<LeftLoad> {
    let mut left: Option<LeftLoad> = None;
    let (mut is_resumed, mut is_collected) = (false, false);
    for event in events {
        match &event.what {
            Happening::Resumed { .. } => is_resumed = true,
            Happening::TrialBegins { trial, .. } => {
                let is_left = left.as_ref().is_some_and(|left| left.trial == *trial);
                is_collected = std::mem::take(&mut is_resumed) && is_left;
                left.take_if(|_| !is_collected);
            }
            Happening::Agreed { trial, load } => {
                is_collected &= left.as_ref().is_some_and(|left| left.load == *load);
                left = Some(LeftLoad { trial: *trial, load: load.clone() });
            }
            Happening::TrialEnds { status: TrialStatus::Interrupted, .. } if is_collected => {}
            Happening::TrialEnds { .. } => left = None,
            _ => {}
        }
    }
    left
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
                "{} cannot be resumed: the plan has no trial {} at this place, so another version of Plimsoll wrote it",
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

/// Refuses data that differ from those of earlier trials, and notes other servers.
fn other_servers(
    directory: &Path,
    whole: &[&TrialView],
    ended: &[EndedTrial],
    machine: &mut Machine<'_>,
    plan: &LabPlan,
) -> Result<Option<Caveat>, LabError> {
    let mut differing = BTreeSet::new();
    for (recorded, EndedTrial { trial, .. }) in whole.iter().zip(ended) {
        let before = recorded.facts.load().map(|load| load.surroundings.clone()).unwrap_or_default();
        let now = machine.surroundings(plan, &trial.variant)?;
        if let (Some(had), Some(has)) = (&before.dataset, &now.dataset)
            && had != has
        {
            return Err(LabError::Refused(format!(
                "{} cannot be resumed: `{}` started from the dataset {had}, but would now start from {has}; restore that dataset \
                 or its server, or start a new lab",
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
    let message =
        || format!("started with another server ({}): compare only trials of the same server", servers.join("; "));
    Ok((!servers.is_empty()).then(|| Caveat::new("other_server", message())))
}

/// What the servers of a killed lab contained is gone: with `restore = "none"` the rest starts with other data.
fn fresh_data(plan: &LabPlan, next: &TrialPlan) -> Option<Caveat> {
    let Variant { target, workload, .. } = &next.variant;
    let kept = plan.trials.restore == Restore::None && target.is_none() && workload.kind != STORAGE;
    (kept && next.index > 1).then(|| {
        let message = format!(
            "restore = \"none\": from trial {} on, the data are those that were loaded again when the lab was resumed, \
             not those that earlier trials left",
            next.index
        );
        Caveat::new("fresh_data", message)
    })
}

/// The trial from which on trials are done again although they have outcomes: a power cut or a copy lost something.
fn torn(trials: &[TrialView]) -> Option<Caveat> {
    let first = trials.iter().find(|trial| trial.torn.is_some())?;
    let (name, why) = (first.directory.file_name()?.to_string_lossy(), first.torn.as_ref()?);
    let message = format!("trial {name} and those after it were done again: {why}, as after a power cut");
    Some(Caveat::new("torn_series", message))
}

/// What has changed since the recording began.
fn changes(manifest: &Manifest, options: &Options, host: &HostFacts) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if manifest.tool_version != options.tool_version {
        caveats.push(Caveat::new(
            "other_version",
            format!(
                "started with Plimsoll {} and resumed with {}: compare only trials of the same version",
                manifest.tool_version, options.tool_version
            ),
        ));
    }
    let differing = manifest.host.other_machine(host);
    if !differing.is_empty() {
        let message = format!(
            "started on another machine ({} differ): compare only trials of the same machine",
            differing.join(", ")
        );
        caveats.push(Caveat::new("other_machine", message));
    }
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left after these.
    fn left(events: &[Happening]) -> Option<String> {
        let event = |what: &Happening| RecordedEvent { t_ns: 1, what: what.clone() };
        let events: Vec<RecordedEvent> = events.iter().map(event).collect();
        left_load(&events).map(|left| format!("{} of {}", left.load.load, left.trial))
    }

    fn begins(trial: u32) -> Happening {
        Happening::TrialBegins { trial, variant: "v".to_owned(), place: 1, of: 9, left_seconds: 1.0 }
    }

    fn agreed(trial: u32, load: &str) -> Happening {
        Happening::Agreed { trial, load: AgreedLoad { load: load.to_owned(), loops: 1, agents: Vec::new() } }
    }

    fn ends(trial: u32, status: TrialStatus) -> Happening {
        Happening::TrialEnds { trial, status, why: None }
    }

    fn resumed() -> Happening {
        Happening::Resumed { trials: 0, tool_version: "1".to_owned() }
    }

    #[test]
    fn the_load_of_a_killed_lab_is_left_and_that_of_a_trial_that_ended_is_not() {
        assert_eq!(left(&[begins(2), agreed(2, "a")]).as_deref(), Some("a of 2"));
        for status in [TrialStatus::Done, TrialStatus::Failed, TrialStatus::Interrupted] {
            assert_eq!(left(&[begins(2), agreed(2, "a"), ends(2, status)]), None, "{status:?}: its load was cut short");
        }
        assert_eq!(left(&[begins(2), agreed(2, "a"), begins(2)]), None, "it is made anew");
    }

    #[test]
    fn a_load_is_left_until_it_was_collected_whatever_becomes_of_whoever_does() {
        let killed = [begins(2), agreed(2, "a"), resumed()];
        let then = |more: &[Happening]| left(&[&killed[..], more].concat());
        let left = Some("a of 2".to_owned());
        assert_eq!(then(&[begins(2)]), left, "killed before all agents were asked");
        assert_eq!(then(&[begins(2), agreed(2, "a")]), left, "and after that");
        assert_eq!(then(&[begins(2), ends(2, TrialStatus::Interrupted)]), left);
        assert_eq!(then(&[begins(2), agreed(2, "a"), ends(2, TrialStatus::Interrupted), resumed(), begins(2)]), left);
        for status in [TrialStatus::Done, TrialStatus::Failed] {
            assert_eq!(then(&[begins(2), agreed(2, "a"), ends(2, status)]), None);
        }
        assert_eq!(then(&[begins(3)]), None, "another trial");
        let anew = [begins(2), agreed(2, "a"), agreed(2, "b")];
        assert_eq!(then(&anew).as_deref(), Some("b of 2"), "made anew, and killed again");
        assert_eq!(then(&[&anew[..], &[ends(2, TrialStatus::Interrupted)][..]].concat()), None);
    }
}
