//! What a plan would show, judging by a pilot on servers whose noise is known.

use super::*;
use crate::ladder::{ladder_plan, simulated};
use plimsoll_measures::lab::{compares, reach, summary};
use plimsoll_model::comparison::Verdict;
use plimsoll_model::lab::PhaseSpan;
use plimsoll_model::samples::Phase;
use plimsoll_plan::lab::{Order, StoppingRule};
use plimsoll_plan::plan::Measure;

const NOISE: f64 = 0.03;
const TRIAL_SECONDS: f64 = 10.0;

fn two(seed: u64, rounds: u32) -> LabPlan {
    plan(seed, rounds, ["base", "slow"].map(|name| variant(name, &[CLOSED])).to_vec())
}

/// `slow` reaches this share of what `base` does.
fn trials(plan: &LabPlan, share: f64) -> Vec<EndedTrial> {
    let seed = plan.seed;
    run(plan, &Prospects::new(), move |trial| {
        let share = if trial.label == "slow" { share } else { 1.0 };
        let span = PhaseSpan { phase: Phase::Measure, t_ns: 0, seconds: TRIAL_SECONDS };
        TrialOutcome { phases: vec![span], ..reached(1000.0 * share * noise(seed, trial, NOISE), 5.0) }
    })
}

#[test]
fn the_rounds_that_are_needed_find_what_is_there() {
    let pilot = two(3, 40);
    // A large effect is not taken for chance.
    let told = reach(&two(3, 10), &Prospects::new(), &pilot, &trials(&pilot, 0.5)).expect("comparisons");
    let expected = NOISE * 2_f64.sqrt();
    assert!((told.spread.value / expected - 1.0).abs() < 0.3, "{:?}, expected {expected}", told.spread);
    assert!(told.unlike.is_empty() && told.rounds == 10, "{told:?}");
    let needed = told.rounds_needed.value as u32;
    let finds = |seed: &u64| {
        let plan = two(*seed, needed);
        let found = summary(&plan, &Prospects::new(), &trials(&plan, 1.0 - told.wanted));
        found.comparisons[0].rows[0].verdict == Verdict::Lower
    };
    let found = (0..200).filter(finds).count();
    assert!((120..=192).contains(&found), "{found} of 200 with {needed} rounds, 160 expected");
}

#[test]
fn time_limits_the_rounds_and_unlike_trials_are_told() {
    let pilot = two(5, 3);
    let ended = trials(&pilot, 1.0);
    let mut plan = two(5, 40);
    plan.trials.stopping =
        Some(StoppingRule { decide: 0.05, max_seconds: Some(2.0 * TRIAL_SECONDS * 9.0), fail_if_slower: None });
    let told = reach(&plan, &Prospects::new(), &pilot, &ended).expect("comparisons");
    assert_eq!((told.rounds, told.seconds, told.wanted), (9, 180.0, 0.05), "{told:?}");
    assert!(told.unlike.is_empty(), "{:?}", told.unlike);
    plan.trials.measure = Measure::Events(1000);
    let told = reach(&plan, &Prospects::new(), &pilot, &ended).expect("comparisons");
    assert!(told.unlike[0].contains("not 1,000 transactions"), "{:?}", told.unlike);
}

#[test]
fn a_ladder_tells_by_its_blocks() {
    let plan = ladder_plan(11, &["helpful", "useless"]);
    let ended = run(&plan, &Prospects::new(), simulated(11, NOISE));
    let told = reach(&plan, &Prospects::new(), &plan, &ended).expect("blocks");
    assert!(told.spread.value > 0.0 && told.spread.value < 0.2, "{told:?}");
    assert!(told.spread.degrees.is_some_and(|degrees| degrees >= 6.0), "{told:?}");
}

#[test]
fn what_compares_nothing_by_rounds_is_refused() {
    let alone = plan(1, 3, vec![variant("alone", &[CLOSED])]);
    let mut sequential = two(1, 3);
    sequential.trials.order = Order::Sequential;
    for plan in [alone, sequential] {
        assert!(compares(&plan).is_err(), "{plan:?}");
        assert!(reach(&plan, &Prospects::new(), &two(1, 3), &trials(&two(1, 3), 1.0)).is_err());
    }
    let too_few = reach(&two(1, 3), &Prospects::new(), &two(1, 1), &trials(&two(1, 1), 1.0));
    assert!(too_few.is_err_and(|why| why.0.contains("two complete rounds")));
}
