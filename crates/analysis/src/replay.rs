//! A schedule that is told what was recorded.

use plimsoll_model::lab::TrialStatus;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::TrialPlan;
use plimsoll_record::event::{Happening, RecordedEvent};
use plimsoll_record::read::{RecordingView, TrialView};
use plimsoll_schedule::{EndedTrial, Prospect, Prospects, Schedule};

/// Tells the schedule of the trials that were completed, up to the first that it did not ask for.
pub fn replayed(whole: &[&TrialView], schedule: &mut dyn Schedule) -> Vec<EndedTrial> {
    let mut ended = Vec::new();
    for recorded in whole {
        let planned = recorded.facts.load().and_then(|load| load.trial.as_ref());
        let trial = match planned {
            Some(planned) => schedule.again(planned),
            None => schedule.next(),
        };
        let trial = trial.filter(|trial| is_of(trial, recorded));
        let Some((trial, outcome)) = trial.zip(recorded.outcome.clone()) else { break };
        let told = EndedTrial { trial, outcome };
        schedule.tell(told.clone());
        ended.push(told);
    }
    ended
}

/// The trials of a lab that came to their end, as its plan asks for them.
pub fn ended(view: &RecordingView, plan: &LabPlan) -> Vec<EndedTrial> {
    let whole: Vec<&TrialView> = view.trials.iter().filter(|trial| has_ended(trial)).collect();
    replayed(&whole, plimsoll_schedule::of(plan, &prospects(view)).as_mut())
}

/// What was known of the rungs before they were tried, as the lab wrote it down when it began.
pub fn prospects(view: &RecordingView) -> Prospects {
    let prospect = |event: &RecordedEvent| match &event.what {
        Happening::RungLeftOut { variant, rung, removed, why } => {
            let prospect = if *removed { Prospect::Removed(why.clone()) } else { Prospect::Unsafe(why.clone()) };
            Some(((variant.clone(), rung.clone()), prospect))
        }
        _ => None,
    };
    view.events.iter().filter_map(prospect).collect()
}

/// Whether a trial came to its end by itself.
pub fn has_ended(trial: &TrialView) -> bool {
    trial.outcome.as_ref().is_some_and(|outcome| outcome.status != TrialStatus::Interrupted)
}

/// Whether this is what was recorded there.
pub fn is_of(trial: &TrialPlan, recorded: &TrialView) -> bool {
    let facts = &recorded.facts;
    (facts.index, &facts.variant, &facts.point, facts.round)
        == (trial.index, &trial.label, &trial.point.label(), trial.round)
}
