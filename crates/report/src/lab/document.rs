//! What the report of a lab shows, in the order in which a reader asks.

use super::places::Group;
use super::{answer, crashes, effects, figures, limits, numbers, places, published, safety, storage, trials, tuned};
use crate::document::{Document, Finding, Section};
use crate::found::span;
use crate::section::{agents, caveats, cost, environment, latency, memory, repeat, storage_server};
use crate::subject::{Latency, Recorded, Trial};
use crate::sweep::shown_latency;
use plimsoll_model::lab::LabSummary;
use plimsoll_model::number::counted;
use serde_json::{Value, json};

/// The answer, the main figure, the numbers with their intervals, then what they rest on.
pub fn document(recorded: &Recorded, summary: &LabSummary) -> Document {
    let shown = places::shown(recorded, summary);
    // Whoever repeats a paper asks first whether what it says holds.
    let claims = published::answer(&recorded.published);
    let (of_the_paper, published) = match claims {
        Some(_) => (published::section(recorded), None),
        None => (None, published::section(recorded)),
    };
    let first = [
        of_the_paper,
        summary.tune.as_ref().and_then(tuned::section),
        crashes::section(summary),
        figures::section(recorded, summary),
        numbers::section(summary),
    ];
    let then = [
        effects::comparisons(recorded, summary),
        published,
        limits::section(recorded, summary),
        effects::cpu(recorded, summary),
        memory::section(&places::trials(recorded)),
        agents::section(recorded),
        storage_server::of(&places::storage(&places::all(recorded))),
        environment::section(recorded),
        cost::of(&places::costs(&shown), &places::costs(&places::all(recorded))),
        trials::section(recorded),
        latency(&shown),
        safety::section(recorded, summary),
        caveats::section(&summary.caveats, None, &missing(recorded)),
        repeat::section(&recorded.how_to_repeat, summary.recording.as_deref()),
    ];
    let sections = first
        .into_iter()
        .flatten()
        .chain(storage::matrix(recorded))
        .chain(storage::sections(recorded))
        .chain(then.into_iter().flatten());
    let measured = storage::answer(recorded).unwrap_or_else(|| answer::answer(summary));
    let mut findings = answer::findings(recorded, summary);
    if claims.is_some() {
        findings.insert(0, Finding::labelled("Measured here", &measured));
    }
    Document {
        title: recorded.title.clone(),
        answer: claims.unwrap_or(measured),
        findings,
        facts: facts(recorded, summary),
        sections: sections.collect(),
        generated: recorded.generated.clone(),
        data: data(recorded, summary),
    }
}

/// The places of the trials whose latencies the page shows: those of others need not be read.
pub fn with_latency(recorded: &Recorded, summary: &LabSummary) -> Vec<usize> {
    let shown = places::shown(recorded, summary);
    let told: Vec<&Trial> = shown.iter().filter_map(told).collect();
    places::indices(recorded, &told)
}

/// The trial that stands for its group.
fn told<'a>(group: &Group<'a>) -> Option<&'a Trial> {
    places::agreed(group).map(|agreed| agreed.trial).or(group.trials.first().copied())
}

/// Percentiles of the middle round of each group, and, second by second, those of the group that carried most.
fn latency(shown: &[Group<'_>]) -> Option<Section> {
    let of = |group: &Group<'_>| -> Option<(f64, String, Latency)> {
        let trial = told(group)?;
        let label = format!("{}, round {}", group.label, trial.round);
        let rate = trial.point.as_ref().and_then(|point| point.transactions_per_second).unwrap_or(0.0);
        Some((rate, label, trial.latency.clone()?))
    };
    let known: Vec<(f64, String, Latency)> = shown.iter().filter_map(of).collect();
    let lines: Vec<(String, &Latency)> = known.iter().map(|(_, label, latency)| (label.clone(), latency)).collect();
    let most = known.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let section = latency::of(&lines, most.map(|(_, label, latency)| (label.clone(), latency)))?;
    Some(section.found(slowest(shown)))
}

/// `99 % within 3.1 to 8.2 ms`, over all trials that are shown.
fn slowest(shown: &[Group<'_>]) -> String {
    let points = shown.iter().flat_map(|group| &group.trials).filter_map(|trial| trial.point.as_ref());
    let p99 = span(points.filter_map(|point| shown_latency(point).p99));
    p99.map_or(String::new(), |p99| format!("99 % within {p99} ms"))
}

/// What was measured, in a few words each.
fn facts(recorded: &Recorded, summary: &LabSummary) -> Vec<String> {
    let asked = |name: &str| recorded.asked.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let servers =
        recorded.environment.facts.iter().filter(|(name, _)| name == "Server").map(|(_, value)| value.clone());
    let mut bases: Vec<&str> = recorded.trials.iter().map(|trial| trial.base.as_str()).collect();
    bases.sort_unstable();
    bases.dedup();
    let done = summary.trials.done.saturating_add(summary.trials.failed);
    let mut facts: Vec<String> = asked("Workload").into_iter().chain(servers).collect();
    facts.push(format!("{}, {}", counted(bases.len() as f64, "variant"), counted(done as f64, "trial")));
    facts.extend(asked("Measured").map(|each| format!("{each} each")));
    facts.extend(summary.preset.as_ref().map(|preset| format!("preset {preset}")));
    facts.extend(summary.source.as_ref().map(|source| format!("after {source}")));
    facts
}

/// What is missing, and the trials that failed.
fn missing(recorded: &Recorded) -> Vec<String> {
    recorded.missing.iter().cloned().chain(trials::failures(recorded)).collect()
}

/// The summary, and for each trial what limited it and what a transaction cost.
fn data(recorded: &Recorded, summary: &LabSummary) -> Value {
    json!({
        "lab": summary,
        "trials": recorded.trials.iter().map(trials::data).collect::<Vec<Value>>(),
        "published": recorded.published.iter().map(published::data).collect::<Vec<Value>>(),
        "corroboration": recorded.corroboration,
        "missing": recorded.missing,
    })
}
