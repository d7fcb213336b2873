//! One trial of a recording, judged: what it measured, what limited it, what a transaction cost.

use crate::{latency, unfinished};
use plimsoll_diagnosis::Observed;
use plimsoll_model::diagnosis::{Cost, Diagnosis, StorageUse};
use plimsoll_model::lab::{PhaseSpan, TrialOutcome, TrialStatus};
use plimsoll_model::samples::Interval;
use plimsoll_model::series::Series;
use plimsoll_model::summary::Point;
use plimsoll_model::{Caveat, Flavour};
use plimsoll_plan::knowledge;
use plimsoll_plan::knowledge::durability::durability;
use plimsoll_plan::knowledge::value::in_effect;
use plimsoll_plan::lab::TrialPlan;
use plimsoll_record::read::TrialView;
use plimsoll_record::{RecordError, RecordedSetting};
use plimsoll_report::SettingRow;
use plimsoll_report::section::memory::memory_rates;
use plimsoll_report::subject::{DurableSetting, Latency, Trial};
use std::collections::{BTreeMap, BTreeSet};

/// What a trial measured: as it summed it up itself, else from its seconds.
///
/// # Errors
/// If what was sampled cannot be read.
pub fn point(trial: &TrialView) -> Result<Option<Point>, RecordError> {
    match trial.outcome.as_ref().and_then(|outcome| outcome.point.clone()) {
        Some(point) => Ok(Some(point)),
        None => unfinished::point(trial, loops(trial)),
    }
}

/// What follows from the samples of a trial.
#[derive(Clone, Debug)]
pub struct Judged {
    pub diagnosis: Diagnosis,
    /// Of one transaction.
    pub cost: Cost,
    /// Of a network lane.
    pub storage: Option<StorageUse>,
    /// Beside those that the trial found itself.
    pub caveats: Vec<Caveat>,
}

/// What limited `point`, what a transaction of it cost, and what the samples of its trial, on a server with these settings,
/// say against it.
pub fn judge(series: &Series, point: &Point, settings: &BTreeMap<String, String>) -> Judged {
    let observed = observed(series, point, settings);
    let diagnosis = plimsoll_diagnosis::diagnose(&observed);
    let caveats = plimsoll_diagnosis::caveats::caveats(&observed, &diagnosis);
    let (cost, storage) = (plimsoll_diagnosis::cost::cost(&observed), plimsoll_diagnosis::storage_use(&observed));
    Judged { diagnosis, cost, storage, caveats }
}

/// The samples of a trial that measured `point`, on a server with these settings.
pub(super) fn observed<'a>(
    series: &'a Series,
    point: &'a Point,
    settings: &'a BTreeMap<String, String>,
) -> Observed<'a> {
    Observed {
        point,
        intervals: &series.intervals,
        host: &series.host,
        server: &series.server,
        status: &series.status,
        storage: &series.storage,
        settings,
    }
}

/// How a trial ended, and why if it is not done.
pub(super) type TrialEnd = (TrialStatus, Option<String>);

/// What was read of histograms; where that failed nothing, and why is `missing`.
pub(super) fn readable<T>(found: Result<Option<T>, RecordError>, missing: &mut Vec<String>) -> Option<T> {
    found.unwrap_or_else(|error| {
        let why = format!("{error}: what the histograms of this trial show is left out");
        if !missing.contains(&why) {
            missing.push(why);
        }
        None
    })
}

/// How long the transactions of a trial took, which takes long to read. What cannot be read is told to `missing`.
pub(super) fn latency(trial: &Trial, view: &TrialView, series: &Series, missing: &mut Vec<String>) -> Option<Latency> {
    let open_loop = trial.point.as_ref().is_some_and(|point| point.response_ms.is_some());
    readable(latency::latency(view, unfinished::window(&series.intervals)?, open_loop), missing)
}

/// The trial with everything that a report shows of it but its series and its latencies. `point` is what it measured.
pub(super) fn trial(view: &TrialView, series: &Series, point: Option<Point>, end: TrialEnd) -> Trial {
    let (status, why) = end;
    let load = view.facts.load();
    let variables = effective(view);
    let judged = point.as_ref().map(|point| judge(series, point, &variables));
    let (diagnosis, cost, storage, found) = match judged {
        Some(judged) => (Some(judged.diagnosis), judged.cost, judged.storage, judged.caveats),
        None => (None, Cost::default(), None, Vec::new()),
    };
    let outcome = view.outcome.as_ref();
    Trial {
        index: view.facts.index,
        variant: view.facts.variant.clone(),
        base: base(view).to_owned(),
        workload: load.map(|load| load.workload.clone()).unwrap_or_default(),
        parameters: parameters(view),
        cpus: planned(view).and_then(|trial| trial.variant.cpus.as_ref()).map(Vec::len),
        load: unfinished::asked(view),
        round: view.facts.round,
        status,
        why,
        caveats: found,
        latency: None,
        point,
        io: view.io.clone().map(Box::new),
        diagnosis,
        cost,
        storage,
        phases: outcome.map_or_else(|| phases(&series.intervals), |outcome| outcome.phases.clone()),
        restored: outcome.and_then(|outcome| outcome.restored.clone()),
        recovery_seconds: outcome.and_then(|outcome| Some(outcome.recovery.as_ref()?.seconds)),
        crash: outcome.and_then(|outcome| outcome.crash.clone()).map(Box::new),
        verifications: outcome.map(|outcome| outcome.verifications.clone()).unwrap_or_default(),
        settings: settings(view, &variables),
        durability: durable(&variables),
        memory: memory_rates(series),
        has_seconds: !series.intervals.is_empty(),
        series: Series::default(),
    }
}

fn parameters(view: &TrialView) -> BTreeMap<String, String> {
    let params = view.facts.load().into_iter().flat_map(|load| &load.params);
    params.map(|(name, value)| (name.clone(), value.to_string())).collect()
}

/// The trial of a lab as it was planned.
fn planned(view: &TrialView) -> Option<&TrialPlan> {
    view.facts.load()?.trial.as_ref()
}

/// The variant of the plan that a trial belongs to: `fc` of `fc/pool-6g/with`.
pub(super) fn base(view: &TrialView) -> &str {
    planned(view).map_or(&view.facts.variant, |trial| &trial.variant.name)
}

/// How a trial of a lab ended; one without an outcome was under way when the recording ends.
pub(super) fn end(outcome: Option<&TrialOutcome>) -> TrialEnd {
    match outcome {
        Some(outcome) => (outcome.status, outcome.why.clone()),
        None => (TrialStatus::Interrupted, Some("the recording ends in the middle of it".to_owned())),
    }
}

/// Phases as the intervals tell them, where nobody wrote them down.
fn phases(intervals: &[Interval]) -> Vec<PhaseSpan> {
    let mut spans: Vec<PhaseSpan> = Vec::new();
    for interval in intervals {
        match spans.last_mut().filter(|span| span.phase == interval.phase) {
            Some(span) => span.seconds += interval.seconds,
            None => spans.push(PhaseSpan { phase: interval.phase, t_ns: interval.t_ns, seconds: interval.seconds }),
        }
    }
    spans
}

/// Values of the running server by name.
pub(super) fn effective(view: &TrialView) -> BTreeMap<String, String> {
    let value = |(name, setting): (&String, &RecordedSetting)| Some((name.clone(), setting.effective.clone()?));
    view.settings.iter().filter_map(value).collect()
}

/// Settings that decide what a commit survives, and what their values cost.
fn durable(variables: &BTreeMap<String, String>) -> BTreeMap<String, DurableSetting> {
    let flavour = Flavour::from_version_text(variables.get("version").map_or("", String::as_str));
    let mut costly = knowledge::risks_by_variable(variables, flavour);
    let mut names: BTreeSet<String> = durability(variables).into_keys().collect();
    names.extend(costly.keys().cloned());
    let value = |name: &str| variables.get(name).cloned().unwrap_or_default();
    names
        .into_iter()
        .map(|name| {
            let durable = DurableSetting { value: value(&name), risks: costly.remove(&name).unwrap_or_default() };
            (name, durable)
        })
        .collect()
}

/// Settings that somebody asked for, and those that decide what a commit survives.
fn settings(view: &TrialView, variables: &BTreeMap<String, String>) -> Vec<SettingRow> {
    let durable = durability(variables);
    let shown =
        |(name, setting): &(&String, &RecordedSetting)| setting.requested.is_some() || durable.contains_key(*name);
    let row = |(name, setting): (&String, &RecordedSetting)| SettingRow {
        name: name.clone(),
        requested: setting.requested.clone(),
        effective: setting.effective.clone(),
        origin: setting.origin.clone(),
        differs: setting
            .requested
            .as_ref()
            .zip(setting.effective.as_ref())
            .is_some_and(|(wanted, has)| !in_effect(name, wanted, has)),
    };
    view.settings.iter().filter(shown).map(row).collect()
}

/// Threads of the load generator.
fn loops(trial: &TrialView) -> usize {
    planned(trial).map_or(1, |trial| trial.variant.load.loops)
}
