//! Everything that a report shows of a recording: also of one that still grows, or that was cut short.

use crate::AnalysisError;
use crate::repeat::Parameters;
use crate::{asked, environment, missing, plan, published, run, scaling, storage};
use plimsoll_plan::lab::MOST_TRIALS;
use plimsoll_plan::{LabPlan, RunPlan};
use plimsoll_record::RecordError;
use plimsoll_record::read::RecordingView;
use plimsoll_report::subject::{Recorded, Subject};
use serde::Deserialize;

/// Everything that a report shows of a recording. `generated` says when and by what it was made, `parameters_of` what a
/// workload lets one choose.
///
/// # Errors
/// [`AnalysisError::Refused`] if the plan in the manifest is none that this version knows and nothing was summed up;
/// [`AnalysisError::Record`] if it has more trials than any plan may have.
pub fn recorded(view: &RecordingView, generated: &str, parameters_of: Parameters) -> Result<Recorded, AnalysisError> {
    let plan = &view.manifest.plan;
    let lab = LabPlan::deserialize(plan).ok();
    if let Some(many) = lab.as_ref().map(LabPlan::trials_at_least).filter(|many| *many > MOST_TRIALS) {
        let found = format!("a plan of {many} trials, where up to {MOST_TRIALS} are accepted");
        return Err(RecordError::Malformed { path: view.directory.join("manifest.json"), line: 1, found }.into());
    }
    let (mut found, trials) = match &lab {
        Some(plan) => plan::found(view, plan),
        None if storage::is_of(view) => (storage::found(view), Vec::new()),
        None => run::found(view, RunPlan::deserialize(plan).ok().as_ref(), parameters_of)?,
    };
    // Where it is now: it may have been copied.
    let recording = Some(view.directory.display().to_string());
    match &mut found.subject {
        Subject::Run(summary) => summary.recording = recording,
        Subject::Lab(summary) => summary.recording = recording,
        Subject::Storage(summary) => summary.recording = recording,
    }
    let corroboration = match &found.subject {
        Subject::Lab(summary) => plan::corroboration(summary, &trials),
        _ => Vec::new(),
    };
    let mut missing = found.missing;
    missing.extend(missing::files(view));
    Ok(Recorded {
        title: found.title,
        published: lab.as_ref().map(|plan| published::published(plan, &found.subject, &trials)).unwrap_or_default(),
        chosen: lab.as_ref().map(|plan| plan.chosen.clone()).unwrap_or_default(),
        scaling: scaling::of(&found.subject),
        environment: environment::environment(view, lab.as_ref(), &found.subject),
        subject: found.subject,
        state: found.state,
        ended_early: view.ended_early(),
        asked: asked::asked(view, lab.as_ref()),
        trials,
        corroboration,
        missing,
        how_to_repeat: found.how_to_repeat,
        generated: generated.to_owned(),
    })
}
