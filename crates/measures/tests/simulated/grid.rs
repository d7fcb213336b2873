//! The order of a grid.

use super::*;
use std::collections::BTreeSet;

const OPEN: LoadPoint = LoadPoint { connections: 16, rate: Some(500.0) };
const SMALL: LoadPoint = LoadPoint::closed(1);

fn three(points: &[LoadPoint]) -> Vec<Variant> {
    ["fc", "iscsi", "nfs"].map(|name| variant(name, points)).to_vec()
}

#[test]
fn the_order_of_a_plan_is_always_the_same() {
    let all = run(&plan(7, 2, three(&[CLOSED, OPEN])), &Prospects::new(), |_| reached(1000.0, 5.0));
    assert_eq!(
        labels(&all),
        [
            "iscsi c16 r1",
            "nfs c16 r1",
            "fc c16 r1",
            "iscsi c16-rate500 r1",
            "fc c16-rate500 r1",
            "nfs c16-rate500 r1",
            "iscsi c16 r2",
            "nfs c16 r2",
            "fc c16 r2",
            "nfs c16-rate500 r2",
            "iscsi c16-rate500 r2",
            "fc c16-rate500 r2",
        ]
    );
    let seeds: Vec<u64> = all.iter().map(|ended| ended.trial.seed).collect();
    assert!(seeds[..6].iter().all(|seed| *seed == seeds[0]) && seeds[6..].iter().all(|seed| *seed == seeds[6]));
    assert_ne!(seeds[0], seeds[6], "each round has a load of its own");
}

#[test]
fn sequential_is_one_variant_after_the_other() {
    let mut plan = plan(7, 2, three(&[CLOSED, OPEN])[..2].to_vec());
    plan.trials.order = Order::Sequential;
    assert_eq!(
        labels(&run(&plan, &Prospects::new(), |_| reached(1000.0, 5.0))),
        [
            "fc c16 r1",
            "fc c16-rate500 r1",
            "fc c16 r2",
            "fc c16-rate500 r2",
            "iscsi c16 r1",
            "iscsi c16-rate500 r1",
            "iscsi c16 r2",
            "iscsi c16-rate500 r2",
        ]
    );
}

#[test]
fn every_round_is_complete_and_those_to_be_compared_are_neighbours() {
    for rounds in 1..5 {
        for points in [&[CLOSED][..], &[SMALL, CLOSED], &[SMALL, CLOSED, OPEN]] {
            let plan = plan(rounds.into(), rounds, three(points));
            let all = run(&plan, &Prospects::new(), |_| reached(1000.0, 5.0));
            assert_eq!(all.len(), of(&plan, &Prospects::new()).about().trials());
            assert!(all.iter().zip(1..).all(|(ended, index)| ended.trial.index == index));
            for three in all.chunks(3) {
                let names: BTreeSet<&str> = three.iter().map(|ended| ended.trial.label.as_str()).collect();
                assert_eq!(names.len(), 3);
                assert!(three.iter().all(|ended| ended.trial.point == three[0].trial.point));
                assert!(three.iter().all(|ended| ended.trial.round == three[0].trial.round));
            }
            assert_resumable(&plan, &Prospects::new(), &all);
        }
    }
}

#[test]
fn every_order_is_drawn_about_as_often() {
    let all = run(&plan(1, 600, three(&[CLOSED])), &Prospects::new(), |_| reached(1000.0, 5.0));
    let mut orders: BTreeMap<Vec<&str>, u32> = BTreeMap::new();
    for three in all.chunks(3) {
        *orders.entry(three.iter().map(|ended| ended.trial.label.as_str()).collect()).or_default() += 1;
    }
    // 100 each; four standard deviations are 37.
    assert!(orders.len() == 6 && orders.values().all(|times| (63..=137).contains(times)), "{orders:?}");
}

#[test]
fn a_variant_is_measured_at_its_own_points() {
    let variants = vec![variant("a", &[SMALL, CLOSED]), variant("b", &[CLOSED])];
    let all = run(&plan(1, 1, variants), &Prospects::new(), |_| reached(1000.0, 5.0));
    let mut labels = labels(&all);
    labels.sort();
    assert_eq!(labels, ["a c1 r1", "a c16 r1", "b c16 r1"]);
}

#[test]
fn what_was_interrupted_is_run_again_and_strangers_are_passed_over() {
    let plan = plan(7, 1, three(&[CLOSED]));
    let mut course = of(&plan, &Prospects::new());
    let first = course.next().unwrap();
    course.tell(EndedTrial { trial: first.clone(), outcome: outcome(TrialStatus::Interrupted, Some("Ctrl-C"), None) });
    assert_eq!(course.next(), Some(first.clone()));
    let stranger = TrialPlan { round: 9, ..first.clone() };
    course.tell(EndedTrial { trial: stranger, outcome: reached(1000.0, 5.0) });
    assert_eq!(course.next(), Some(first));
}
