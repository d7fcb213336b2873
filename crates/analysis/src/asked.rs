//! What was asked for, in the words of a command line and of a plan.

use plimsoll_model::load_point::list_in_words;
use plimsoll_model::number::{percent, tick};
use plimsoll_model::text::each_once;
use plimsoll_plan::lab::{Order, Restore, StoppingRule, TrialRules, Variant, WarmUp};
use plimsoll_plan::plan::{ENDLESS, Measure};
use plimsoll_plan::{LabPlan, Plan, RunPlan, StoragePlan};
use plimsoll_record::read::RecordingView;
use std::collections::{BTreeMap, BTreeSet};

/// What, and what it was.
pub fn asked(view: &RecordingView) -> Vec<(String, String)> {
    let mut all = match &view.manifest.plan {
        Plan::Lab(plan) => of_lab(plan),
        Plan::Run(plan) | Plan::Quickstart(plan) | Plan::Sysbench(plan) => of_run(plan),
        Plan::Storage(plan) => of_storage(plan),
    };
    let at = all.len().min(1);
    all.splice(at..at, parameters(view));
    all
}

/// With every default filled in, where a trial has them; of trials with several workloads, the values of each.
fn parameters(view: &RecordingView) -> Vec<(String, String)> {
    let mut values: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (name, value) in view.trials.iter().filter_map(|trial| trial.facts.load()).flat_map(|load| &load.params) {
        values.entry(name).or_default().insert(value.to_string());
    }
    let joined = |values: BTreeSet<String>| values.into_iter().collect::<Vec<_>>().join("; ");
    values.into_iter().map(|(name, values)| (format!("Parameter {name}"), joined(values))).collect()
}

fn of_run(plan: &RunPlan) -> Vec<(String, String)> {
    vec![
        fact("Workload", &plan.workload),
        fact("Load points", list_in_words(&plan.points)),
        fact("Warm-up", duration(plan.warmup_seconds)),
        fact("Measured", measured(plan.measure)),
        fact("Rounds", plan.rounds.to_string()),
        fact("Protocol", &plan.protocol),
        fact("Loop threads", plan.loops.to_string()),
    ]
}

fn rounds_in_words(TrialRules { rounds, stopping, .. }: &TrialRules) -> String {
    let Some(StoppingRule { decide, max_seconds, fail_if_slower }) = stopping else { return rounds.to_string() };
    let time = max_seconds.map(|seconds| format!(" and {}", duration(seconds))).unwrap_or_default();
    let until = match fail_if_slower {
        Some(limit) => format!("it is known what is slower by more than {} %", tick(100.0 * limit)),
        None => format!("decided to {}", percent(*decide)),
    };
    format!("until {until}, at most {rounds}{time}")
}

fn of_lab(plan: &LabPlan) -> Vec<(String, String)> {
    let TrialRules { restore, warmup, measure, pause_seconds, order, recovery, .. } = &plan.trials;
    let each = |of: fn(&Variant) -> String| each_once(plan.variants.iter().map(of)).join("; ");
    let mut all = vec![
        fact("Workload", each(|variant| variant.workload.name())),
        fact("Load points", each(|variant| list_in_words(&variant.load.points))),
        fact("Data before each trial", restored(restore)),
        fact("Warm-up", warm_up(*warmup)),
        fact("Measured", measured(*measure)),
        fact("Pause", duration(*pause_seconds)),
        fact("Rounds", rounds_in_words(&plan.trials)),
        fact("Order", if *order == Order::Interleaved { "interleaved" } else { "sequential" }),
    ];
    let sought = plan.variants.iter().find_map(|variant| variant.load.find.as_ref());
    all.extend(sought.map(|objective| fact("Load line", &objective.text)));
    all.extend(recovery.then(|| fact("End of each trial", "kill -9 under load, and recovery timed")));
    all
}

fn of_storage(plan: &StoragePlan) -> Vec<(String, String)> {
    let mut all = vec![fact("Suite", &plan.suite), fact("Directory", plan.directory.display().to_string())];
    all.extend(plan.data_bytes.map(|bytes| fact("Bytes of page files", bytes.to_string())));
    all
}

fn fact(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}

/// `10 s`, `none`.
fn duration(seconds: f64) -> String {
    if seconds > 0.0 { format!("{} s", tick(seconds)) } else { "none".to_owned() }
}

fn warm_up(warm_up: WarmUp) -> String {
    match warm_up {
        WarmUp::Seconds(seconds) => duration(seconds),
        WarmUp::Auto => "until throughput has settled".to_owned(),
    }
}

fn measured(measure: Measure) -> String {
    match measure {
        Measure::Seconds(seconds) => duration(seconds),
        Measure::Events(ENDLESS) => "until it was ended".to_owned(),
        Measure::Events(events) => format!("{events} transactions"),
        Measure::EventsPerConnection(events) => format!("{events} transactions of each connection"),
    }
}

fn restored(restore: &Restore) -> String {
    match restore {
        Restore::None => "what the previous trial left".to_owned(),
        Restore::Once => {
            "a copy of the dataset for the first trial of a variant, then what the previous trial left".to_owned()
        }
        Restore::Snapshot(Some(method)) => format!("a copy of the dataset ({})", method.name()),
        Restore::Snapshot(None) => "a copy of the dataset".to_owned(),
        Restore::Reload => "dropped and loaded again".to_owned(),
        Restore::Commands(_) => "put back by commands of the plan".to_owned(),
    }
}
