//! A run: its summary, or what can be summed up of one that has none.

use crate::found::Found;
use crate::{trial, unfinished};
use plimsoll_measures::rounds::pooled;
use plimsoll_measures::{caveats, scaling};
use plimsoll_model::Flavour;
use plimsoll_model::LoadPoint;
use plimsoll_model::lab::TrialStatus;
use plimsoll_model::summary::{Point, SCHEMA_VERSION, ServerTotals, Summary, TargetFacts, Totals};
use plimsoll_plan::RunPlan;
use plimsoll_plan::knowledge::durability::durability;
use plimsoll_plan::plan::{ENDLESS, Measure};
use plimsoll_record::read::{RecordingView, TrialView};
use plimsoll_record::{RecordError, Status};
use plimsoll_report::subject::{Subject, Trial};
use std::collections::{BTreeMap, BTreeSet};

/// What was recorded of a run, and its load points; `how_to_repeat` is the command line that does it again.
///
/// # Errors
/// If what was sampled cannot be read.
pub fn found(view: &RecordingView, plan: &RunPlan, how_to_repeat: String) -> Result<(Found, Vec<Trial>), RecordError> {
    let mut missing = if view.being_written { Vec::new() } else { missing(view, plan)? };
    let points = points(view, plan, &mut missing)?;
    let trial = |of: &RecordedPoint| {
        let of_it = &view.trials[of.place];
        let series = of_it.series()?;
        let trial = trial::trial(of_it, &series, of.own.clone(), end(view, of.place));
        let latency = trial::latency(&trial, of_it, &series, &mut missing);
        Ok(Trial { latency, series, ..trial })
    };
    let trials: Vec<Trial> = points.iter().map(trial).collect::<Result<_, RecordError>>()?;
    let summary = match &view.summary {
        Some(summary) => summary.clone(),
        None => summed_up(view, points.into_iter().filter_map(|of| of.whole).collect())?,
    };
    // Without a server the load is all that there is, and nothing stands in its way.
    let has_server = summary.target.flavour.is_some();
    let judged = |trial: Trial| Trial { diagnosis: trial.diagnosis.filter(|_| has_server), ..trial };
    let trials = trials.into_iter().map(judged).collect();
    let found = Found {
        title: view.manifest.name.clone(),
        subject: Subject::Run(Box::new(summary)),
        state: state(view, plan),
        missing,
        how_to_repeat,
    };
    Ok((found, trials))
}

/// What a trial measured, and what its load point carried.
pub struct CarriedPoint<'a> {
    pub trial: &'a TrialView,
    pub point: Point,
    /// Transactions per second, over all rounds of the load point; none if none was finished.
    pub per_second: Option<f64>,
}

/// A load point, and the trial that stands for it: the only one, or that of the round in the middle.
struct RecordedPoint {
    /// Of the trial in the recording.
    place: usize,
    /// What that trial measured.
    own: Option<Point>,
    /// What all rounds measured together.
    whole: Option<Point>,
}

/// The load points of a recording, each with the trial that stands for it.
///
/// # Errors
/// If what was sampled cannot be read.
pub fn carried<'a>(
    view: &'a RecordingView,
    plan: &RunPlan,
    missing: &mut Vec<String>,
) -> Result<Vec<CarriedPoint<'a>>, RecordError> {
    let carried = |of: RecordedPoint| {
        let per_second = of.whole?.transactions_per_second;
        Some(CarriedPoint { trial: &view.trials[of.place], point: of.own?, per_second })
    };
    Ok(points(view, plan, missing)?.into_iter().filter_map(carried).collect())
}

/// The load points of a recording: those that the summary has are its first. Of what was measured again, the summary has
/// what counts; where there is no summary, the last does.
fn points(view: &RecordingView, plan: &RunPlan, missing: &mut Vec<String>) -> Result<Vec<RecordedPoint>, RecordError> {
    let summed = view.summary.as_ref().map_or(&[][..], |summary| &summary.points);
    let by_index = |index: u32| view.trials.iter().position(|trial| trial.facts.index == index);
    let of_summary = summed.iter().enumerate().filter_map(|(place, point)| {
        let place = point.trial.map_or(Some(place), by_index).filter(|place| *place < view.trials.len())?;
        let own = point.each_round().iter().find(|round| round.trial == point.trial).unwrap_or(point);
        Some(RecordedPoint { place, own: Some(own.clone()), whole: Some(point.clone()) })
    });
    let mut points: Vec<RecordedPoint> = of_summary.collect();
    let mut known: BTreeSet<&str> = points.iter().map(|of| view.trials[of.place].facts.point.as_str()).collect();
    for trial in &view.trials {
        if known.insert(&trial.facts.point) {
            points.push(from_seconds(view, &trial.facts.point, plan, missing)?);
        }
    }
    Ok(points)
}

/// What is left of the rounds of a load point of which there is no sum.
fn from_seconds(
    view: &RecordingView,
    label: &str,
    plan: &RunPlan,
    missing: &mut Vec<String>,
) -> Result<RecordedPoint, RecordError> {
    let places = (0..view.trials.len()).filter(|place| view.trials[*place].facts.point == label);
    let by_round: BTreeMap<u32, usize> = places.map(|place| (view.trials[place].facts.round, place)).collect();
    let mut rounds: Vec<usize> = by_round.into_values().collect();
    // A part of a round is no match for whole ones. Only the last can be one.
    if let [_, .., last] = rounds[..]
        && end(view, last).0 != TrialStatus::Done
        && cut(&view.trials[last], plan)?.is_some()
    {
        rounds.pop();
    }
    let measured: Vec<(usize, Option<Point>)> = rounds
        .iter()
        .map(|place| {
            let trial = &view.trials[*place];
            let point = trial::readable(unfinished::point(trial, plan.loops), missing);
            (*place, point.map(|point| Point { trial: Some(trial.facts.index), ..point }))
        })
        .collect();
    let whole = pooled(measured.iter().filter_map(|(_, point)| point.clone()).collect());
    let stands = |(_, point): &&(usize, Option<Point>)| {
        point.as_ref().and_then(|point| point.trial) == whole.as_ref().and_then(|whole| whole.trial)
    };
    let (place, own) = measured.iter().find(stands).cloned().unwrap_or((rounds.first().copied().unwrap_or(0), None));
    Ok(RecordedPoint { place, own, whole })
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
fn summed_up(view: &RecordingView, points: Vec<Point>) -> Result<Summary, RecordError> {
    let variables = view.trials.last().map(trial::effective).unwrap_or_default();
    let version = variables.get("version").cloned();
    let load = view.trials.first().and_then(|trial| trial.facts.load());
    let mut totals = Totals::default();
    for trial in &view.trials {
        trial.intervals()?.iter().for_each(|interval| totals.statements += interval.sent);
    }
    let told = points.iter().flat_map(caveats::of_point).collect();
    Ok(Summary {
        schema_version: SCHEMA_VERSION,
        workload: load.map(|load| load.workload.clone()).unwrap_or_default(),
        params: load.map(|load| load.params.clone()).unwrap_or_default(),
        target: TargetFacts {
            flavour: version.as_deref().map(Flavour::from_version_text),
            version: version.unwrap_or_default(),
            durability: durability(&variables),
            data_bytes: None,
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
    })
}

/// `still running: load point 2 of 7`.
fn state(view: &RecordingView, plan: &RunPlan) -> Option<String> {
    let of = plan.points.len();
    let place = |round: u32| view.trials.iter().filter(|trial| trial.facts.round == round).count();
    view.being_written.then(|| match view.trials.last().map(|trial| trial.facts.round) {
        None => "still running: no load point has begun".to_owned(),
        Some(_) if plan.rounds == 1 => format!("still running: load point {} of {of}", view.trials.len()),
        Some(round) => {
            format!("still running: load point {} of {of} in round {round} of {}", place(round), plan.rounds)
        }
    })
}

/// What the plan asked for and is not there.
fn missing(view: &RecordingView, plan: &RunPlan) -> Result<Vec<String>, RecordError> {
    let mut missing = Vec::new();
    if view.summary.is_none() {
        missing.push(
            "summary.json is not there: the load points are summed up again from their seconds, without what was only \
             known at the end: counts by due time, fairness over connections, single statements, and statements sent \
             in the second that was under way"
                .to_owned(),
        );
    }
    if let Some(last) = view.trials.last().filter(|_| view.manifest.status != Status::Done) {
        missing.extend(cut(last, plan)?);
    }
    let begun = view.trials.iter().filter(|trial| trial.facts.round == 1).count();
    let not_run: Vec<String> = plan.points.iter().skip(begun).map(LoadPoint::to_string).collect();
    match not_run.as_slice() {
        [] => {}
        [only] => missing.push(format!("One load point was not run: {only}")),
        all => missing.push(format!("{} load points were not run: {}", all.len(), all.join("; "))),
    }
    let last_round = view.trials.iter().map(|trial| trial.facts.round).max().unwrap_or(1);
    if view.trials.len() < plan.trials() && plan.rounds > 1 {
        missing.push(format!("It ended in round {last_round} of {}", plan.rounds));
    }
    Ok(missing)
}

/// In which second the last load point ended.
fn cut(trial: &TrialView, plan: &RunPlan) -> Result<Option<String>, RecordError> {
    match plan.measure {
        Measure::Seconds(wanted) => unfinished::ended_in(trial, wanted),
        // It was meant to go on until somebody ends it.
        Measure::Events(ENDLESS) => Ok(None),
        _ => Ok(Some(format!("{} ended before all its transactions", unfinished::asked(trial)))),
    }
}
