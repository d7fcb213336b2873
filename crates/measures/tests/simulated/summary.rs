//! What is said of all trials together.

use super::*;
use plimsoll_measures::lab::summary;
use plimsoll_model::Metric;
use plimsoll_model::comparison::{Design, Verdict};
use plimsoll_model::lab::{LabSummary, Restored, Restores};
use plimsoll_model::summary::HostShares;
use plimsoll_model::{Caveat, Class};

fn two(seed: u64, rounds: u32) -> LabPlan {
    plan(seed, rounds, vec![variant("base", &[CLOSED]), variant("other", &[CLOSED])])
}

/// `other` is faster by a factor.
fn measured(plan: &LabPlan, factor: f64, deviation: f64) -> LabSummary {
    let server = |trial: &TrialPlan| {
        let factor = if trial.label == "other" { factor } else { 1.0 };
        reached(1000.0 * factor * noise(plan.seed, trial, deviation), 5.0 * noise(plan.seed + 1000, trial, deviation))
    };
    summary(plan, &Prospects::new(), &run(plan, &Prospects::new(), server))
}

#[test]
fn two_equal_variants_are_seldom_called_different() {
    let (mut different, mut equal) = (0, 0);
    for seed in 0..200 {
        let found = measured(&two(seed, 8), 1.0, 0.03);
        match found.comparisons[0].rows[0].verdict {
            Verdict::Higher | Verdict::Lower => different += 1,
            Verdict::Equivalent => equal += 1,
            Verdict::Unclear => {}
        }
    }
    println!("{different} different, {equal} equal");
    assert!(different <= 14 && equal >= 170, "{different} called different, {equal} equal");
}

#[test]
fn a_slow_variant_is_found_with_its_size() {
    let inside = |seed: &u64| {
        let found = measured(&two(*seed, 8), 0.8, 0.03);
        let row = &found.comparisons[0].rows[0];
        let (low, high) = row.change.interval().unwrap();
        assert_eq!(row.verdict, Verdict::Lower);
        low <= -0.2 && -0.2 <= high
    };
    let inside = (0..200).filter(inside).count();
    assert!(inside >= 182, "{inside} of 200 intervals");
}

#[test]
fn work_that_is_not_the_same_is_said_with_the_numbers() {
    let mut plan = two(3, 8);
    plan.variants[0].workload.params.insert("table-size".to_owned(), "100000".to_owned());
    let found = measured(&plan, 0.8, 0.01);
    assert!(found.headline.contains(", of other work (table_size 100000 and its default)"), "{}", found.headline);
    plan.variants[1].workload.params.insert("table-size".to_owned(), "100000".to_owned());
    assert!(!measured(&plan, 0.8, 0.01).headline.contains("other work"));
    plan.variants[1].workload.seed = 2;
    assert!(measured(&plan, 1.0, 0.01).headline.contains(", of other work (seed 1 and 2)"));
}

#[test]
fn the_headline_counts_trials_that_others_disturbed() {
    let plan = two(3, 3);
    let server = |trial: &TrialPlan| {
        let mut outcome = reached(1000.0, 5.0);
        let steal = if trial.index == 2 { 0.5 } else { 0.0 };
        let host = HostShares { cpus: 2, steal, ..HostShares::default() };
        outcome.point.as_mut().unwrap().host = Some(host);
        outcome
    };
    let found = summary(&plan, &Prospects::new(), &run(&plan, &Prospects::new(), server));
    assert_eq!(found.trials.disturbed, 1);
    assert!(found.headline.ends_with("; other processes disturbed 1 of 6 trials."), "{}", found.headline);
}

#[test]
fn the_headline_tells_each_case() {
    let same = measured(&two(3, 8), 1.0, 0.01);
    assert!(
        same.headline.starts_with("No difference larger than ") && same.headline.contains(", floor "),
        "{}",
        same.headline
    );
    let slow = measured(&two(3, 8), 0.8, 0.01);
    assert!(
        slow.headline.starts_with("Against base other is ") && slow.headline.contains(" % slower (−"),
        "{}",
        slow.headline
    );
    let few = measured(&two(3, 1), 0.8, 0.01);
    assert!(few.headline.starts_with("No verdict on other") && few.headline.contains("3 can"), "{}", few.headline);
    assert!(few.caveats.iter().any(|caveat| caveat.code == "few_rounds"));
    let alone = plan(3, 3, vec![variant("base", &[CLOSED])]);
    let found = summary(&alone, &Prospects::new(), &run(&alone, &Prospects::new(), |_| reached(1234.0, 5.0)));
    assert_eq!(found.headline, "At 16 connections base does 1,234 transactions per second (1,234 – 1,234).");
    let dead = summary(&alone, &Prospects::new(), &run(&alone, &Prospects::new(), |_| failed("no such file")));
    assert_eq!(dead.headline, "Nothing was measured: all 3 trials failed, the first because no such file.");
    assert_eq!((dead.trials.done, dead.trials.failed), (0, 3));
}

#[test]
fn variants_that_are_not_equally_safe_are_not_ranked_silently() {
    let plan = two(3, 4);
    let server = |trial: &TrialPlan| {
        let mut outcome = reached(if trial.label == "other" { 1500.0 } else { 1000.0 }, 5.0);
        if trial.label == "other" {
            outcome.risks.insert(Class::D1);
        }
        outcome
    };
    let found = summary(&plan, &Prospects::new(), &run(&plan, &Prospects::new(), server));
    assert!(
        found.headline.contains("but they are not equally safe: other loses the last second of commits"),
        "{}",
        found.headline
    );
    assert!(found.caveats.iter().any(|caveat| caveat.code == "unlike_durability"));
    assert_eq!(found.cells[1].risks, Risks::from([Class::D1]));
}

#[test]
fn failed_trials_are_counted_and_their_pairs_left_out() {
    let plan = two(3, 5);
    let server = |trial: &TrialPlan| match (trial.label.as_str(), trial.round) {
        ("other", 2) => failed("the server died"),
        _ => TrialOutcome { caveats: vec![Caveat::new("shared_cores", "…"); 2], ..reached(1000.0, 5.0) },
    };
    let all = run(&plan, &Prospects::new(), server);
    let found = summary(&plan, &Prospects::new(), &all);
    assert_eq!((found.trials.done, found.trials.failed), (9, 1));
    assert_eq!((found.cells[1].rounds, found.cells[1].failed), (4, 1));
    assert_eq!(found.comparisons[0].rows[0].change.effective_n, 4.0);
    let caveat =
        |code: &str| found.caveats.iter().find(|caveat| caveat.code == code).map(|caveat| caveat.message.as_str());
    assert_eq!(caveat("shared_cores"), Some("in 9 of 10 trials: …"));
    assert!(caveat("failed_trials").unwrap().contains("other at c16 in round 2: the server died"));
    assert!(!found.interrupted, "failures are no interrupt");
    let half = summary(&plan, &Prospects::new(), &all[..5]);
    assert!(half.interrupted && half.headline.ends_with("interrupted after 5 trials."), "{}", half.headline);
}

#[test]
fn rows_stand_over_all_points_then_for_each() {
    let points = [CLOSED, LoadPoint::closed(32)];
    let mut plan = plan(3, 4, vec![variant("base", &points), variant("other", &points)]);
    let server = |trial: &TrialPlan| reached(1000.0 * noise(3, trial, 0.01), 5.0);
    let found = summary(&plan, &Prospects::new(), &run(&plan, &Prospects::new(), server));
    let rows = &found.comparisons[0].rows;
    let heads: Vec<_> = rows.iter().map(|row| (row.load, row.metric)).collect();
    assert_eq!(
        heads,
        [
            (None, Metric::TransactionsPerSecond),
            (Some(points[0]), Metric::TransactionsPerSecond),
            (Some(points[1]), Metric::TransactionsPerSecond),
            (Some(points[0]), Metric::P99),
            (Some(points[1]), Metric::P99),
        ]
    );
    assert!(rows[1].change.confidence > rows[0].change.confidence, "those of one metric hold together");
    assert_eq!(found.comparisons[0].design, Design::Paired);
    plan.trials.order = Order::Sequential;
    let found = summary(&plan, &Prospects::new(), &run(&plan, &Prospects::new(), server));
    assert_eq!(found.comparisons[0].design, Design::Unpaired);
    assert!(found.caveats.iter().any(|caveat| caveat.code == "not_interleaved"));
}

#[test]
fn storage_is_told_by_the_last_evaluation_of_each_variant() {
    let plan = two(3, 2);
    let server = |trial: &TrialPlan| {
        let storage = Some(format!("Good for {} reads per second.", trial.round));
        TrialOutcome { storage, ..outcome(TrialStatus::Done, None, None) }
    };
    let found = summary(&plan, &Prospects::new(), &run(&plan, &Prospects::new(), server));
    assert_eq!(found.headline, "base: Good for 2 reads per second; other: Good for 2 reads per second.");
}

#[test]
fn restores_are_told_and_data_that_differ() {
    let plan = two(3, 3);
    let server = |trial: &TrialPlan| {
        let sum = if (trial.label.as_str(), trial.round) == ("other", 2) { "8" } else { "7" };
        let restored = Restored {
            dataset: Some("d".to_owned()),
            method: "copy".to_owned(),
            seconds: f64::from(trial.round),
            bytes: 32,
            checksums: BTreeMap::from([("sbtest.sbtest1".to_owned(), sum.to_owned())]),
        };
        TrialOutcome { restored: Some(restored), ..reached(1000.0, 5.0) }
    };
    let found = summary(&plan, &Prospects::new(), &run(&plan, &Prospects::new(), server));
    assert_eq!(found.restores, [Restores { method: "copy".to_owned(), trials: 6, seconds: 2.0, bytes: 32 }]);
    let unlike: Vec<&str> = found
        .caveats
        .iter()
        .filter(|caveat| caveat.code == "unlike_data")
        .map(|caveat| caveat.message.as_str())
        .collect();
    assert_eq!(unlike, ["trials of other did not all start from the same data"]);
}
