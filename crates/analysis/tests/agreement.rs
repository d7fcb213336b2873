//! The page of a lab and `plimsoll compare` say the same of two of its variants.

use jiff::{SignedDuration, Timestamp};
use plimsoll_analysis::compare::{Compared, compare};
use plimsoll_host::facts::HostFacts;
use plimsoll_measures::lab::summary;
use plimsoll_model::Estimate;
use plimsoll_model::LoadPoint;
use plimsoll_model::comparison::{Comparison, Design, Row, Verdict};
use plimsoll_model::lab::LabSummary;
use plimsoll_model::stopping::{CarriedOver, MAY_BE_CARRIED_OVER};
use plimsoll_plan::LabPlan;
use plimsoll_plan::Plan;
use plimsoll_plan::lab::{Order, StoppingRule, SwitchbackBlock, SwitchbackRule, TrialPlan};
use plimsoll_record::{LoadParameters, Parameters};
use plimsoll_record::{Manifest, Recording, Status, TrialFacts};
use plimsoll_schedule::{EndedTrial, Prospects};
use plimsoll_testkit::servers;
use plimsoll_testkit::simulated::*;

/// What both say of the same trials, `other` against `base`.
fn both(plan: &LabPlan, all: &[EndedTrial], equivalence: Option<f64>) -> (LabSummary, Comparison) {
    let home = servers::home();
    let start: Timestamp = "2026-11-21T19:30:00Z".parse().unwrap();
    let asked = Plan::Lab(Box::new(plan.clone()));
    let host = HostFacts { cpus: 2, ..HostFacts::default() };
    let manifest = Manifest::new("simulated", "0.1.0", start, asked, host);
    let mut recording = Recording::create(home.path(), manifest).unwrap();
    for EndedTrial { trial, outcome } in all {
        let facts = TrialFacts {
            index: trial.index,
            variant: trial.label.clone(),
            point: trial.point.label(),
            round: trial.round,
            started: start + SignedDuration::from_secs(20 * i64::from(trial.index)),
            parameters: Parameters::Load(Box::new(LoadParameters {
                workload: "tpcc".to_owned(),
                point: trial.point,
                ..LoadParameters::default()
            })),
        };
        recording.trial(&facts).unwrap().outcome(outcome).unwrap();
    }
    let found = summary(plan, &Prospects::new(), all);
    recording.lab_summary(&found).unwrap();
    recording.finish(Status::Done, start + SignedDuration::from_secs(10_000)).unwrap();
    drop(recording);
    match compare(home.path(), "simulated:base", "simulated:other", equivalence).unwrap() {
        Compared::Runs(compared) => (found, *compared),
        Compared::Storage(found) => panic!("trials were taken for storage: {found:?}"),
    }
}

#[track_caller]
fn near(a: Option<f64>, b: Option<f64>) {
    match (a, b) {
        (Some(a), Some(b)) => assert!((a - b).abs() <= 1e-9 * a.abs().max(1.0), "{a} and {b}"),
        (a, b) => assert_eq!(a, b),
    }
}

#[track_caller]
fn same(a: &Estimate, b: &Estimate) {
    near(Some(a.value), Some(b.value));
    near(a.low, b.low);
    near(a.high, b.high);
    near(Some(a.confidence), Some(b.confidence));
    assert_eq!(a.method, b.method);
}

#[track_caller]
fn same_row(a: &Row, b: &Row) {
    assert_eq!((a.load, a.metric, a.verdict), (b.load, b.metric, b.verdict));
    assert_eq!(a.pairs_needed, b.pairs_needed);
    near(Some(a.a), Some(b.a));
    near(Some(a.b), Some(b.b));
    near(a.detectable, b.detectable);
    same(&a.change, &b.change);
}

#[track_caller]
fn agree(plan: &LabPlan, all: &[EndedTrial]) -> Verdict {
    let (lab, compared) = both(plan, all, None);
    let of_lab = &lab.comparisons[0];
    assert_eq!((of_lab.a.as_str(), of_lab.b.as_str(), of_lab.design), ("base", "other", compared.design));
    near(Some(of_lab.equivalence), Some(compared.equivalence));
    same(of_lab.floor.as_ref().unwrap(), compared.a.noise_floor.as_ref().unwrap());
    same_row(&of_lab.rows[0], &compared.headline);
    for row in &compared.rows {
        let known = |of: &&Row| (of.load, of.metric) == (row.load, row.metric);
        same_row(of_lab.rows.iter().find(known).expect("the lab has it as well"), row);
    }
    compared.headline.verdict
}

#[test]
fn a_lab_and_a_comparison_of_its_variants_agree() {
    let points = [CLOSED, LoadPoint::closed(32)];
    let mut verdicts = Vec::new();
    for (seed, factor, order, names) in [
        (3, 0.8, Order::Interleaved, &["base", "other"][..]),
        (4, 1.0, Order::Interleaved, &["base", "other", "third", "fourth"]),
        (5, 0.96, Order::Interleaved, &["base", "other", "third", "fourth"]),
        (6, 1.04, Order::Sequential, &["base", "other"]),
        (7, 1.0, Order::Sequential, &["base", "other"]),
    ] {
        for points in [&points[..1], &points[..]] {
            let mut plan = plan(seed, 6, names.iter().map(|name| variant(name, points)).collect());
            plan.trials.order = order;
            let server = |trial: &TrialPlan| match (trial.label.as_str(), trial.round) {
                // One that failed takes its partner with it, in both.
                ("other", 2) if seed == 5 => failed("the server died"),
                (label, _) => {
                    let factor = if label == "other" { factor } else { 1.0 };
                    reached(1000.0 * factor * noise(seed, trial, 0.02), 5.0 * noise(seed + 50, trial, 0.05))
                }
            };
            let all = run(&plan, &Prospects::new(), server);
            verdicts.push(agree(&plan, &all));
            let design = if order == Order::Sequential { Design::Unpaired } else { Design::Paired };
            assert_eq!(both(&plan, &all, None).1.design, design);
        }
    }
    assert!(verdicts.contains(&Verdict::Lower) && verdicts.iter().any(|of| *of != Verdict::Lower), "{verdicts:?}");
}

#[test]
fn a_bound_that_somebody_gave_is_taken() {
    let plan = plan(3, 6, vec![variant("base", &[CLOSED]), variant("other", &[CLOSED])]);
    let all = run(&plan, &Prospects::new(), |trial| reached(1000.0 * noise(3, trial, 0.02), 5.0));
    assert_eq!(both(&plan, &all, Some(0.3)).1.equivalence, 0.3);
}

/// Two variants that take turns on a running server for so many rounds at most.
fn turning(seed: u64, rounds: u32) -> LabPlan {
    let mut plan = plan(seed, rounds, ["base", "other"].map(|name| variant(name, &[CLOSED])).to_vec());
    plan.trials.stopping = Some(StoppingRule { decide: 0.02, max_seconds: None, fail_if_slower: None });
    plan.trials.switchback = Some(SwitchbackRule { washout_seconds: 1.0, block_seconds: 2.0 });
    plan.trials.explain = false;
    plan
}

#[test]
fn blocks_that_flips_have_spoilt_count_for_neither() {
    let plan = turning(11, 40);
    let server = |trial: &TrialPlan| {
        let factor = match (trial.variant.name.as_str(), trial.block) {
            ("base", _) => 1.0,
            (_, Some(SwitchbackBlock::First)) => 1.4,
            (_, Some(SwitchbackBlock::Second)) => 1.2,
            (_, None) => 0.9,
        };
        reached(1000.0 * factor * noise(11, trial, 0.005), 5.0)
    };
    let all = run(&plan, &Prospects::new(), server);
    assert!(all.iter().any(|ended| ended.trial.label == "other/restarted"));
    assert_eq!(agree(&plan, &all), Verdict::Lower);
}

#[test]
fn what_may_be_carried_over_has_no_verdict_in_either() {
    let plan = turning(12, 5);
    let server = |trial: &TrialPlan| {
        let wavers = trial.block == Some(SwitchbackBlock::First) && trial.round % 2 == 1;
        let factor = match trial.variant.name.as_str() {
            "base" => 1.0,
            _ if wavers => 0.8,
            _ => 1.2,
        };
        reached(1000.0 * factor * noise(12, trial, 0.005), 5.0)
    };
    let all = run(&plan, &Prospects::new(), server);
    assert_eq!(agree(&plan, &all), Verdict::Unclear);
    let (lab, compared) = both(&plan, &all, None);
    assert_eq!(compared.headline.worse_by_more_than(0.05), None, "no gate passes");
    assert!(lab.headline.starts_with("No verdict on other against base (+"), "{}", lab.headline);
    assert!(lab.headline.contains(MAY_BE_CARRIED_OVER), "{}", lab.headline);
    let stopping = lab.comparisons[0].stopping.as_ref().expect("rounds end by themselves");
    // The last bit of a number may change where it is written down.
    let told = |of: &Option<CarriedOver>| of.as_ref().map(|of| ((1e9 * of.carried.value).round(), of.restarted));
    assert_eq!(told(&compared.switchback), told(&stopping.switchback), "what a gate has to know");
    assert_eq!((stopping.decided, stopping.rounds_needed), (false, None), "no number of rounds tells");
}

#[test]
fn sides_are_not_equal_within_a_bound_that_is_less_than_what_may_be_carried_over() {
    let mut plan = turning(13, 5);
    // So little that chance alone leaves it open.
    plan.trials.stopping = Some(StoppingRule { decide: 0.001, max_seconds: None, fail_if_slower: None });
    let server = |trial: &TrialPlan| {
        let factor = match (trial.variant.name.as_str(), trial.block) {
            ("base", _) | (_, Some(SwitchbackBlock::Second) | None) => 1.0,
            (_, Some(SwitchbackBlock::First)) if trial.round % 2 == 1 => 1.3,
            (_, Some(SwitchbackBlock::First)) => 0.95,
        };
        reached(1000.0 * factor * noise(13, trial, 0.005), 5.0)
    };
    let all = run(&plan, &Prospects::new(), server);
    let (_, compared) = both(&plan, &all, Some(0.05));
    assert!(compared.switchback.as_ref().is_some_and(|of| of.hides_more_than(0.05)), "{:?}", compared.switchback);
    assert_eq!(compared.headline.verdict, Verdict::Unclear);
    assert_eq!(compared.headline.change.missing.as_deref(), Some(MAY_BE_CARRIED_OVER));
}
