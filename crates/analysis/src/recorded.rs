//! Everything that a report shows of a recording: also of one that still grows, or that was cut short.

use crate::AnalysisError;
use crate::circumstances::circumstances;
use crate::repeat::ParametersOf;
use crate::{asked, caveats, environment, missing, plan, published, repeat, run, scaling, storage, trial};
use plimsoll_plan::lab::MOST_TRIALS;
use plimsoll_plan::{LabPlan, Plan};
use plimsoll_record::RecordError;
use plimsoll_record::read::RecordingView;
use plimsoll_report::lab;
use plimsoll_report::subject::{Recorded, Subject, Trial};

/// Everything that a report shows of a recording. `generated` says when and by what it was made, `parameters_of` what a
/// workload lets one choose.
///
/// # Errors
/// [`AnalysisError::Record`] if it has more trials than any plan may have.
pub fn recorded(view: &RecordingView, generated: &str, parameters_of: ParametersOf) -> Result<Recorded, AnalysisError> {
    let lab = view.manifest.plan.lab();
    if let Some(many) = lab.map(LabPlan::trials_at_least).filter(|many| *many > MOST_TRIALS) {
        let found = format!("a plan of {many} trials, where up to {MOST_TRIALS} are accepted");
        return Err(RecordError::Malformed { path: view.directory.join("manifest.json"), line: 1, found }.into());
    }
    let (mut found, trials) = match &view.manifest.plan {
        Plan::Lab(plan) => plan::found(view, plan),
        Plan::Storage(plan) => (storage::found(view, plan), Vec::new()),
        Plan::Run(plan) => run::found(view, plan, repeat::run(plan, false, parameters_of)),
        Plan::Quickstart(plan) => run::found(view, plan, repeat::run(plan, true, parameters_of)),
        Plan::Sysbench(plan) => run::found(view, plan, repeat::sysbench(plan)),
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
    let recorded = Recorded {
        title: found.title,
        published: lab.map(|plan| published::published(plan, &found.subject, &trials)).unwrap_or_default(),
        chosen: lab.map(|plan| plan.chosen.clone()).unwrap_or_default(),
        scaling: scaling::of(&found.subject),
        environment: environment::environment(view, lab, &found.subject),
        circumstances: circumstances(view, &found.subject, &trials),
        subject: found.subject,
        state: found.state,
        ended_early: view.ended_early(),
        asked: asked::asked(view),
        trials,
        corroboration,
        missing,
        how_to_repeat: found.how_to_repeat,
        generated: generated.to_owned(),
    };
    let recorded = caveats::with_those_of_trials(recorded);
    Ok(match &view.manifest.plan {
        Plan::Lab(_) => with_latencies(recorded, view),
        _ => recorded,
    })
}

/// With how long transactions took in those trials of a lab of which its page shows it.
fn with_latencies(mut recorded: Recorded, view: &RecordingView) -> Recorded {
    let Subject::Lab(summary) = &recorded.subject else { return recorded };
    let shown = lab::with_latency(&recorded, summary);
    let mut missing = std::mem::take(&mut recorded.missing);
    let read = |(place, trial): (usize, Trial)| {
        let find = || view.trials.iter().find(|of_it| of_it.facts.index == trial.index);
        match shown.contains(&place).then(find).flatten() {
            Some(of_it) => trial::with_latency(trial, of_it, &mut missing),
            None => trial,
        }
    };
    let trials = std::mem::take(&mut recorded.trials).into_iter().enumerate().map(read).collect();
    Recorded { trials, missing, ..recorded }
}
