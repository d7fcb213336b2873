//! Load lines of a server whose line is known: one queue with exponential service times (M/M/1), in which response
//! times are exponential with rate μ − λ, so that p99 is ln 100 ÷ (μ − λ).

use super::super::summary::summary;
use super::*;
use plimsoll_model::lab::LoadLine;
use plimsoll_plan::lab::Objective;

const SERVED_PER_SECOND: f64 = 500.0;
const SECONDS: f64 = 10.0;

fn seeking(seed: u64, names: &[&str]) -> LabPlan {
    let objective = Objective { text: "p99 < 20ms".to_owned(), quantile: 0.99, limit_ms: 20.0 };
    let mut variants: Vec<Variant> = names.iter().map(|name| variant(name, &[CLOSED])).collect();
    variants.iter_mut().for_each(|variant| variant.load.find = Some(objective.clone()));
    plan(seed, 2, variants)
}

/// Every response time of a window, each from the one before it (Lindley 1952).
fn queue(seed: u64, trial: &TrialPlan, served: f64) -> TrialOutcome {
    let Some(rate) = trial.point.rate else { return reached(served * noise(seed, trial, 0.02), 30.0) };
    let mut rng = Rng::new(seed, 11, trial.index.into());
    let mut exponential = |rate: f64| -(1.0 - rng.unit()).ln() / rate;
    let (mut now, mut waiting, mut responses) = (0.0, 0.0, Vec::new());
    while now < SECONDS {
        let service = exponential(served);
        responses.push(1e3 * (waiting + service));
        let gap = exponential(rate);
        now += gap;
        waiting = f64::max(0.0, waiting + service - gap);
    }
    responses.sort_by(f64::total_cmp);
    let at = |share: f64| Some(responses[((responses.len() - 1) as f64 * share) as usize]);
    let mut outcome = reached(responses.len() as f64 / 10.0, 1.0);
    let response_ms = LatencyMs {
        min: at(0.0),
        p50: at(0.5),
        p90: at(0.9),
        p95: at(0.95),
        p99: at(0.99),
        p999: at(0.999),
        max: at(1.0),
        mean: None,
    };
    outcome.point.as_mut().unwrap().response_ms = Some(response_ms);
    outcome
}

fn line(plan: &LabPlan, server: impl FnMut(&TrialPlan) -> TrialOutcome) -> (LoadLine, Vec<Ended>) {
    let all = run(plan, &Prospects::new(), server);
    (summary(plan, &Prospects::new(), &all).load_lines.remove(0), all)
}

#[test]
fn the_line_is_found_within_its_interval() {
    let truth = SERVED_PER_SECOND - 100f64.ln() / 0.020;
    let (mut inside, mut width) = (0, 0.0);
    for seed in 0..200 {
        let (found, _) = line(&seeking(seed, &["base"]), |trial| queue(seed, trial, SERVED_PER_SECOND));
        let (low, high) = found.rate.as_ref().and_then(|rate| rate.interval()).unwrap_or_default();
        inside += u32::from(low <= truth && truth <= high);
        width += (high - low) / truth / 200.0;
    }
    println!("{inside} of 200, mean width {width}");
    assert!(inside >= 180 && width < 0.5, "{inside} of 200, mean width {width}");
}

#[test]
fn it_begins_with_a_closed_loop_and_ends_with_confirmations() {
    let plan = seeking(1, &["base"]);
    let (found, all) = line(&plan, |trial| queue(1, trial, SERVED_PER_SECOND));
    let rates: Vec<Option<f64>> = all.iter().map(|ended| ended.trial.point.rate).collect();
    assert_eq!(rates[0], None);
    let first = rates[1].unwrap();
    assert!((first / SERVED_PER_SECOND - 0.7).abs() < 0.05, "{first}");
    assert!(all.len() <= 1 + 12 + 2 && all.len() <= of(&plan, &Prospects::new()).about());
    let confirmed: Vec<f64> = found.tried.iter().filter(|tried| tried.confirmation).map(|tried| tried.rate).collect();
    assert_eq!(confirmed.len(), 2);
    assert_eq!(found.tried.len(), all.len() - 1);
    assert!(found.tried.iter().all(|tried| format!("{}", tried.rate).len() <= 4), "three digits: {:?}", found.tried);
    assert_resumable(&plan, &Prospects::new(), &all);
}

#[test]
fn variants_take_turns() {
    let plan = seeking(1, &["slow", "fast"]);
    let served = |trial: &TrialPlan| if trial.label == "fast" { 800.0 } else { 400.0 };
    let all = run(&plan, &Prospects::new(), |trial| queue(1, trial, served(trial)));
    let labels: Vec<&str> = all.iter().map(|ended| ended.trial.label.as_str()).collect();
    assert_eq!(labels[..8], ["slow", "fast", "slow", "fast", "slow", "fast", "slow", "fast"]);
    let found = summary(&plan, &Prospects::new(), &all);
    assert!(found.cells.is_empty() && found.comparisons.is_empty(), "they look for lines");
    let rate = |place: usize| found.load_lines[place].rate.as_ref().unwrap().value;
    assert!(rate(1) > 2.0 * rate(0), "{} and {}", rate(0), rate(1));
    assert!(
        found.headline.contains(" slow carries ") && found.headline.contains(" fast carries "),
        "{}",
        found.headline
    );
    assert_resumable(&plan, &Prospects::new(), &all);
}

#[test]
fn a_line_that_cannot_be_found_says_why() {
    let plan = seeking(1, &["base"]);
    let (down, all) = line(&plan, |_| failed("no such file"));
    assert_eq!((all.len(), down.rate), (1, None));
    assert!(down.why_not.unwrap().ends_with("no such file"));
    let slow = |trial: &TrialPlan| match trial.point.rate {
        None => reached(500.0, 1.0),
        Some(_) => queue(1, trial, 10.0),
    };
    let (missed, _) = line(&plan, slow);
    assert!(missed.rate.is_none() && missed.tried.iter().all(|tried| !tried.kept));
    assert!(missed.why_not.unwrap().contains("missed even at the lowest rate"));
    let dying = |trial: &TrialPlan| match trial.point.rate {
        None => reached(500.0, 1.0),
        Some(_) => failed("the server died"),
    };
    let (dead, all) = line(&plan, dying);
    assert_eq!((all.len(), dead.tried.len()), (13, 0), "a bounded number of trials");
    assert!(dead.why_not.unwrap().ends_with("the server died"));
}
