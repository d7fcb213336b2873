//! A lab: its summary, or what can be summed up of one that has none.

use crate::found::Found;
use crate::replay::{self, has_ended, prospects, replayed};
use crate::{repeat, trial, unfinished};
use plimsoll_diagnosis::cost::corroborate;
use plimsoll_measures::lab::{headline, summary};
use plimsoll_model::comparison::{Row, Verdict};
use plimsoll_model::lab::{LabSummary, Ladder, LadderStep, RungVerdict, TrialStatus, VariantComparison};
use plimsoll_model::stopping::flipped_label;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{SwitchbackBlock, TrialPlan};
use plimsoll_plan::plan::Measure;
use plimsoll_record::RecordError;
use plimsoll_record::read::{RecordingView, TrialView};
use plimsoll_report::section::mean_cost;
use plimsoll_report::subject::{CostCorroboration, Subject, Trial};
use plimsoll_schedule::labels::counted_label;
use plimsoll_schedule::{EndedTrial, Prospects};
use std::collections::BTreeSet;

/// What was recorded of a lab, and its trials.
///
/// # Errors
/// If what was sampled cannot be read.
pub fn found(view: &RecordingView, plan: &LabPlan) -> Result<(Found, Vec<Trial>), RecordError> {
    let prospects = prospects(view);
    let mut schedule = plimsoll_schedule::of(plan, &prospects);
    let whole: Vec<&TrialView> = view.trials.iter().filter(|trial| has_ended(trial)).collect();
    let ended = replayed(&whole, schedule.as_mut());
    let mut missing: Vec<String> = view.trials.iter().filter_map(torn).collect();
    if let Some(unknown) = whole.get(ended.len()) {
        missing.push(format!(
            "The plan does not have {} here, so another version of Plimsoll wrote it: trials from that one on are not \
             summed up",
            unknown.directory.display()
        ));
    }
    let summary = match &view.lab {
        Some(summary) => summary.clone(),
        None => summed_up(view, plan, &prospects, &ended),
    };
    if view.lab.is_none() && !view.being_written {
        missing.push("lab.json is not there: this page was summed up again from the trials".to_owned());
    }
    if !view.being_written {
        missing.extend(cut(view, plan)?);
        // What comes next may take long to find, and one that goes on does not wait for us.
        missing.extend(schedule.next().as_ref().and_then(|next| not_run(schedule.about().trials(), ended.len(), next)));
    }
    let given_up: BTreeSet<&str> = view.trials.iter().filter_map(|trial| flipped_label(&trial.facts.variant)).collect();
    let trials = view.trials.iter().filter(|trial| counts(trial, &given_up)).map(|view| {
        // One trial’s seconds are in memory at a time: a recording may have hundreds.
        let series = view.series()?;
        let point = trial::readable(trial::point(view), &mut missing);
        Ok(trial::trial(view, &series, point, trial::end(view.outcome.as_ref())))
    });
    let trials = trials.collect::<Result<_, RecordError>>()?;
    let found = Found {
        title: plan.title.clone().unwrap_or_else(|| plan.name.clone()),
        subject: Subject::Lab(Box::new(summary)),
        state: view.being_written.then(|| state(view, schedule.about().trials())),
        missing,
        how_to_repeat: repeat::lab(plan),
    };
    Ok((found, trials))
}

/// What the lab says of its trials, or what they say where it has no summary, or goes on.
pub fn summary_of(view: &RecordingView, plan: &LabPlan) -> LabSummary {
    let from_trials = || summed_up(view, plan, &prospects(view), &replay::ended(view, plan));
    view.lab.clone().filter(|_| !view.being_written).unwrap_or_else(from_trials)
}

fn summed_up(view: &RecordingView, plan: &LabPlan, prospects: &Prospects, ended: &[EndedTrial]) -> LabSummary {
    let mut found = summary(plan, prospects, ended);
    if view.being_written {
        found.interrupted = false;
        found.headline = headline(&found, ended);
    }
    found
}

/// `still running: trial 5 of 12`.
fn state(view: &RecordingView, about: usize) -> String {
    match view.trials.len() {
        0 => "still running: no trial has begun".to_owned(),
        begun => format!("still running: trial {begun} of {}", about.max(begun)),
    }
}

/// Whether a trial is one of those that a page shows. A block after a flip tells only what is carried over, and where flips
/// were given up, trials of the same label with `restarted` took their place.
fn counts(trial: &TrialView, given_up: &BTreeSet<&str>) -> bool {
    let planned = trial.facts.load().and_then(|load| load.trial.as_ref());
    match planned.and_then(|trial| trial.block) {
        Some(SwitchbackBlock::First) => false,
        Some(SwitchbackBlock::Second) => !given_up.contains(trial.facts.variant.as_str()),
        None => true,
    }
}

/// A trial whose series lost something since its outcome was written.
fn torn(trial: &TrialView) -> Option<String> {
    Some(format!("{}: {}, as after a power cut", trial.directory.display(), trial.torn.as_ref()?))
}

/// The trial that was under way, and how far it came.
fn cut(view: &RecordingView, plan: &LabPlan) -> Result<Option<String>, RecordError> {
    let Some(last) = view.trials.last().filter(|trial| !has_ended(trial)) else { return Ok(None) };
    let place = format!("Trial {} ({}, round {})", last.facts.index, last.facts.variant, last.facts.round);
    let trial = last.facts.load().and_then(|load| load.trial.as_ref());
    let how = match trial.map_or(plan.trials.measure, |trial| trial.measure(&plan.trials)) {
        Measure::Seconds(wanted) => unfinished::ended_in(last, wanted)?,
        Measure::Events(_) | Measure::EventsPerConnection(_) => None,
    };
    let how = how.unwrap_or_else(|| "it ended after it was measured, before all was collected".to_owned());
    Ok(Some(format!("{place} did not finish and is left out of the estimates: {how}")))
}

/// `7 of 12 trials were not run; the next would have been nfs, 64 connections, round 2`.
fn not_run(about: usize, done: usize, next: &TrialPlan) -> Option<String> {
    let left = about.saturating_sub(done);
    let next = format!("the next would have been {}, {}, round {}", next.label, next.point, next.round);
    (left > 0).then(|| format!("{left} of about {about} trials were not run; {next}"))
}

/// What the costs of a transaction say to each comparison and each rung that was kept.
pub fn corroboration(summary: &LabSummary, trials: &[Trial]) -> Vec<CostCorroboration> {
    let rungs = summary.ladders.iter().flat_map(|ladder| {
        let kept = ladder.steps.iter().filter(|step| step.verdict == RungVerdict::Kept);
        kept.filter_map(move |step| of_rung(ladder, step, trials))
    });
    summary.comparisons.iter().filter_map(|compared| of_variants(compared, trials)).chain(rungs).collect()
}

/// At the load point with the most transactions among those where throughput is shown to differ: what is not shown needs
/// no explanation.
fn of_variants(compared: &VariantComparison, trials: &[Trial]) -> Option<CostCorroboration> {
    let is_shown = |row: &&Row| row.metric.more_is_better() && matches!(row.verdict, Verdict::Higher | Verdict::Lower);
    let of_points = compared.rows.iter().filter(is_shown).filter(|row| row.load.is_some());
    let row = of_points.max_by(|a, b| a.a.total_cmp(&b.a))?;
    let is_there = |trial: &Trial| row.load == Some(trial.load);
    let [a, b] = [&compared.a, &compared.b]
        .map(|name| counted_label(name, |label| trials.iter().any(|trial| trial.variant == label)));
    let sides = Sides { names: (&compared.a, &compared.b), labels: (&a, &b) };
    sides.corroboration(row.change.value, trials, is_there)
}

fn of_rung(ladder: &Ladder, step: &LadderStep, trials: &[Trial]) -> Option<CostCorroboration> {
    let change = step.change.as_ref().filter(|_| ladder.metric.more_is_better())?;
    let (without, with) = (ladder.label(step, "without"), ladder.label(step, "with"));
    let sides = Sides { names: (&ladder.variant, &step.rung), labels: (&without, &with) };
    sides.corroboration(change.value, trials, |_| true)
}

/// Two sides whose costs are set against each other.
struct Sides<'a> {
    names: (&'a str, &'a str),
    /// Of their trials.
    labels: (&'a str, &'a str),
}

impl Sides<'_> {
    fn corroboration(
        &self,
        change: f64,
        trials: &[Trial],
        is_there: impl Fn(&Trial) -> bool,
    ) -> Option<CostCorroboration> {
        let of = |label: &str| -> Vec<&Trial> {
            let done = trials.iter().filter(|trial| trial.status == TrialStatus::Done && is_there(trial));
            done.filter(|trial| trial.variant == label).collect()
        };
        let (before, after) = (of(self.labels.0), of(self.labels.1));
        let (first, found) = (before.first()?, corroborate(change, &mean_cost(&before), &mean_cost(&after))?);
        Some(CostCorroboration {
            a: self.names.0.to_owned(),
            b: self.names.1.to_owned(),
            load: first.load,
            corroborated: found.corroborated,
            sentence: found.sentence,
        })
    }
}
