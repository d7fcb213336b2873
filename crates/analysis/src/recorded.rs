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
use plimsoll_report::subject::{Recorded, Subject};

/// Everything that a report shows of a recording. `generated` says when and by what it was made, `parameters_of` what a
/// workload lets one choose.
///
/// # Errors
/// [`AnalysisError::Record`] if it has more trials than any plan may have, or if something of it cannot be read.
pub fn recorded(view: &RecordingView, generated: &str, parameters_of: ParametersOf) -> Result<Recorded, AnalysisError> {
    let lab = view.manifest.plan.lab();
    if let Some(many) = lab.map(LabPlan::trials_at_least).filter(|many| *many > MOST_TRIALS) {
        let found = format!("a plan of {many} trials, where up to {MOST_TRIALS} are accepted");
        return Err(RecordError::Malformed { path: view.directory.join("manifest.json"), line: 1, found }.into());
    }
    let (mut found, trials) = match &view.manifest.plan {
        Plan::Lab(plan) => plan::found(view, plan)?,
        Plan::Storage(plan) => (storage::found(view, plan), Vec::new()),
        Plan::Run(plan) => run::found(view, plan, repeat::run(plan, false, parameters_of))?,
        Plan::Quickstart(plan) => run::found(view, plan, repeat::run(plan, true, parameters_of))?,
        Plan::Sysbench(plan) => run::found(view, plan, repeat::sysbench(plan))?,
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
        environment: environment::environment(view, lab, &found.subject, &trials),
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
    match &view.manifest.plan {
        Plan::Lab(_) => Ok(with_seconds(recorded, view)?),
        _ => Ok(recorded),
    }
}

/// With what was sampled, and with how long transactions took, in those trials of a lab of which its page shows it: of
/// hundreds of trials the rest would only take memory.
fn with_seconds(mut recorded: Recorded, view: &RecordingView) -> Result<Recorded, RecordError> {
    let Subject::Lab(summary) = &recorded.subject else { return Ok(recorded) };
    let (drawn, timed) = (lab::with_series(&recorded), lab::with_latency(&recorded, summary));
    for place in 0..recorded.trials.len() {
        let (is_drawn, is_timed) = (drawn.contains(&place), timed.contains(&place));
        let index = recorded.trials[place].index;
        let of_it = view.trials.iter().find(|of_it| of_it.facts.index == index);
        let Some(of_it) = of_it.filter(|_| is_drawn || is_timed) else { continue };
        let series = of_it.series()?;
        let trial = &mut recorded.trials[place];
        if is_timed {
            trial.latency = trial::latency(trial, of_it, &series, &mut recorded.missing);
        }
        if is_drawn {
            trial.series = series;
        }
    }
    Ok(recorded)
}
