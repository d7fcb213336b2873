//! A run: its summary, or what can be summed up of one that has none.

use crate::found::Found;
use crate::{trial, unfinished};
use plimsoll_measures::{caveats, scaling};
use plimsoll_model::Flavour;
use plimsoll_model::LoadPoint;
use plimsoll_model::lab::TrialStatus;
use plimsoll_model::summary::{Point, SCHEMA_VERSION, ServerTotals, Summary, TargetFacts, Totals};
use plimsoll_plan::RunPlan;
use plimsoll_plan::knowledge::durability::durability;
use plimsoll_plan::plan::Measure;
use plimsoll_record::Status;
use plimsoll_record::read::{RecordingView, TrialView};
use plimsoll_report::subject::{Subject, Trial};
use std::collections::BTreeSet;

/// What was recorded of a run, and its load points; `how_to_repeat` is the command line that does it again.
pub fn found(view: &RecordingView, plan: &RunPlan, how_to_repeat: String) -> (Found, Vec<Trial>) {
    let mut missing = if view.being_written { Vec::new() } else { missing(view, plan) };
    let points = points(view, plan, &mut missing);
    let trials = points
        .iter()
        .map(|(place, point)| trial::trial(&view.trials[*place], point.clone(), end(view, *place), &mut missing));
    let trials = trials.collect();
    let summary = match &view.summary {
        Some(summary) => summary.clone(),
        None => summed_up(view, points.into_iter().filter_map(|(_, point)| point).collect()),
    };
    let found = Found {
        title: view.manifest.name.clone(),
        subject: Subject::Run(Box::new(summary)),
        state: state(view, plan),
        missing,
        how_to_repeat,
    };
    (found, trials)
}

/// The trials that count, by their places, and what each measured: those that the summary has are its first. Of a load
/// point that was measured again, the summary has the one that counts; where there is no summary, the last does.
fn points(view: &RecordingView, plan: &RunPlan, missing: &mut Vec<String>) -> Vec<(usize, Option<Point>)> {
    let summed = view.summary.as_ref().map_or(&[][..], |summary| &summary.points);
    let by_index = |index: u32| view.trials.iter().position(|trial| trial.facts.index == index);
    let of_summary = summed.iter().enumerate().filter_map(|(place, point)| {
        let place = point.trial.map_or(Some(place), by_index).filter(|place| *place < view.trials.len())?;
        Some((place, Some(point.clone())))
    });
    let mut points: Vec<(usize, Option<Point>)> = of_summary.collect();
    let known: BTreeSet<usize> = points.iter().map(|(place, _)| *place).collect();
    for (place, trial) in view.trials.iter().enumerate() {
        let is_of_another_round = |other: &TrialView| {
            let (here, there) = (&trial.facts, &other.facts);
            here.point == there.point && here.round != there.round
        };
        let counts_instead = |(other, of): (usize, &TrialView)| {
            is_of_another_round(of) && (known.contains(&other) || of.facts.round > trial.facts.round)
        };
        if !known.contains(&place) && !view.trials.iter().enumerate().any(counts_instead) {
            points.push((place, trial::readable(unfinished::point(trial, plan.loops), missing)));
        }
    }
    points
}

/// How a load point ended. Only the last one can have been cut short.
fn end(view: &RecordingView, place: usize) -> trial::TrialEnd {
    if place + 1 < view.trials.len() {
        return (TrialStatus::Done, None);
    }
    match view.manifest.status {
        Status::Done => (TrialStatus::Done, None),
        Status::Failed => (TrialStatus::Failed, view.ended_early()),
        Status::Running if view.being_written => (TrialStatus::Interrupted, Some("it is under way".to_owned())),
        Status::Interrupted | Status::Running => (TrialStatus::Interrupted, view.ended_early()),
    }
}

/// The summary of a run that left none.
fn summed_up(view: &RecordingView, points: Vec<Point>) -> Summary {
    let variables = view.trials.last().map(trial::effective).unwrap_or_default();
    let version = variables.get("version").cloned().unwrap_or_default();
    let load = view.trials.first().and_then(|trial| trial.facts.load());
    let mut totals = Totals::default();
    for interval in view.trials.iter().flat_map(|trial| &trial.intervals) {
        totals.statements += interval.sent;
    }
    let told = points.iter().flat_map(caveats::of_point).collect();
    Summary {
        schema_version: SCHEMA_VERSION,
        workload: load.map(|load| load.workload.clone()).unwrap_or_default(),
        params: load.map(|load| load.params.clone()).unwrap_or_default(),
        target: TargetFacts {
            flavour: Flavour::from_version_text(&version),
            version,
            durability: durability(&variables),
        },
        seed: view.manifest.seed,
        scaling: scaling::of(&points),
        points,
        totals,
        server: ServerTotals::default(),
        caveats: caveats::together(told),
        checks: None,
        recording: None,
        interrupted: !view.being_written,
    }
}

/// `still running: load point 2 of 7`.
fn state(view: &RecordingView, plan: &RunPlan) -> Option<String> {
    let of = plan.points.len();
    view.being_written.then(|| match view.trials.len() {
        0 => "still running: no load point has begun".to_owned(),
        begun => format!("still running: load point {begun} of {of}"),
    })
}

/// What the plan asked for and is not there.
fn missing(view: &RecordingView, plan: &RunPlan) -> Vec<String> {
    let mut missing = Vec::new();
    if view.summary.is_none() {
        missing.push(
            "summary.json is not there: the load points are summed up again from their seconds, without what was only \
             known at the end: counts by due time, fairness over connections, single statements, and statements sent \
             in the second that was under way"
                .to_owned(),
        );
    }
    if view.manifest.status != Status::Done {
        missing.extend(view.trials.last().and_then(|trial| cut(trial, plan)));
    }
    let begun = view.trials.iter().filter(|trial| trial.facts.round == 1).count();
    let not_run: Vec<String> = plan.points.iter().skip(begun).map(LoadPoint::to_string).collect();
    match not_run.as_slice() {
        [] => {}
        [only] => missing.push(format!("One load point was not run: {only}")),
        all => missing.push(format!("{} load points were not run: {}", all.len(), all.join("; "))),
    }
    missing
}

/// In which second the last load point ended.
fn cut(trial: &TrialView, plan: &RunPlan) -> Option<String> {
    let Measure::Seconds(wanted) = plan.measure else {
        return Some(format!("{} ended before all its transactions", unfinished::asked(trial)));
    };
    unfinished::ended_in(trial, wanted)
}
