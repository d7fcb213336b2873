//! Variants that take turns on one running server, where it is known what one leaves behind for the other.

use super::*;
use plimsoll_measures::gate::slower_variants;
use plimsoll_measures::lab::summary;
use plimsoll_model::comparison::Verdict;
use plimsoll_model::gate::Decision;
use plimsoll_model::lab::{LabSummary, RungVerdict, VariantComparison};
use plimsoll_plan::lab::{StoppingRule, SwitchbackBlock, SwitchbackRule};
use std::cell::Cell;

fn turning(seed: u64) -> LabPlan {
    let mut plan = plan(seed, 40, ["base", "other"].map(|name| variant(name, &[CLOSED])).to_vec());
    plan.trials.stopping = Some(StoppingRule { decide: 0.02, max_seconds: None, fail_if_slower: None });
    plan.trials.switchback = Some(SwitchbackRule { washout_seconds: 1.0, block_seconds: 2.0 });
    plan.trials.explain = false;
    plan
}

/// A server on which `other` changes throughput by a share at once, and by another one as what has built up since it runs,
/// half of the rest in each block. Trials that start a server of their own see all of it.
fn server(seed: u64, at_once: f64, later: f64) -> impl Fn(&TrialPlan) -> TrialOutcome {
    let built_up = Cell::new(0.0);
    move |trial| {
        let is_other = trial.variant.name == "other";
        let target = if is_other { later } else { 0.0 };
        built_up.set(match trial.block {
            Some(_) => (built_up.get() + target) / 2.0,
            None => target,
        });
        let share = 1.0 + built_up.get() + if is_other { at_once } else { 0.0 };
        reached(1000.0 * share * noise(seed, trial, 0.01), 5.0)
    }
}

fn ended(plan: &LabPlan, server: impl Fn(&TrialPlan) -> TrialOutcome) -> (Vec<EndedTrial>, LabSummary) {
    let all = run(plan, &Prospects::new(), server);
    let found = summary(plan, &Prospects::new(), &all);
    (all, found)
}

fn compared(found: &LabSummary) -> (Verdict, &VariantComparison) {
    (found.comparisons[0].rows[0].verdict, &found.comparisons[0])
}

#[test]
fn each_side_has_two_blocks_in_a_row_and_the_second_counts() {
    let plan = turning(7);
    let (all, found) = ended(&plan, server(7, 0.1, 0.0));
    let (verdict, comparison) = compared(&found);
    assert_eq!(verdict, Verdict::Higher, "{}", found.headline);
    for two in all.chunks(2) {
        let [first, second] = two else { panic!("an odd number of blocks") };
        assert_eq!(
            (first.trial.block, second.trial.block),
            (Some(SwitchbackBlock::First), Some(SwitchbackBlock::Second))
        );
        assert_eq!(first.trial.label, format!("{}/first", second.trial.label));
    }
    let change = &comparison.rows[0].change;
    assert!(change.low.unwrap() < 0.1 && 0.1 < change.high.unwrap(), "{change:?}");
    assert_eq!(found.cells[0].rounds, all.len() / 4, "first blocks are no rounds");
    let stopping = comparison.stopping.as_ref().expect("it ended by itself");
    assert!(stopping.decided && stopping.in_words().contains("by flips of a running server"), "{}", found.headline);
    assert_resumable(&plan, &Prospects::new(), &all);
}

#[test]
fn what_is_carried_over_makes_it_go_on_with_restarts_that_alone_count() {
    // A gain at once, and a loss that is larger in the end.
    for (at_once, later, truth) in [(0.1, -0.2, Verdict::Lower), (0.0, 0.2, Verdict::Higher)] {
        let plan = turning(11);
        let (all, found) = ended(&plan, server(11, at_once, later));
        let (verdict, comparison) = compared(&found);
        assert_eq!(verdict, truth, "{at_once} {later}: {}", found.headline);
        let change = &comparison.rows[0].change;
        assert!((change.value - at_once - later).abs() < 0.03, "{change:?}");
        let restarted = all.iter().filter(|ended| ended.trial.label == "base/restarted").count();
        assert!(restarted >= 3 && all.iter().rev().take(restarted).all(|ended| ended.trial.block.is_none()));
        assert_eq!(found.cells[0].rounds, restarted, "blocks are no rounds any more");
        assert!(
            found.headline.contains("with restarts, because flips of a running server carried something over"),
            "{}",
            found.headline
        );
        assert_resumable(&plan, &Prospects::new(), &all);
    }
}

#[test]
fn no_sign_is_wrong_and_equal_sides_are_rarely_told_apart() {
    let (mut wrong, mut told_apart) = (0, 0);
    for seed in 0..100 {
        let (_, found) = ended(&turning(seed), server(seed, 0.1, -0.15));
        wrong += usize::from(compared(&found).0 == Verdict::Higher);
        let (_, found) = ended(&turning(seed), server(seed, 0.0, 0.0));
        told_apart += usize::from(matches!(compared(&found).0, Verdict::Higher | Verdict::Lower));
    }
    // 5 are meant; 12 are three standard deviations.
    assert!(wrong == 0 && told_apart <= 12, "{wrong} wrong signs, {told_apart} of 100 equal sides told apart");
}

#[test]
fn blocks_go_on_until_a_gate_is_known() {
    for seed in 0..10 {
        let mut plan = turning(seed);
        plan.trials.stopping = Some(StoppingRule { decide: 0.02, max_seconds: None, fail_if_slower: Some(0.05) });
        let (all, found) = ended(&plan, server(seed, -0.06, 0.0));
        let decision = slower_variants(&plan, &found, 0.05)[0].decision;
        let is_last = all.iter().any(|ended| ended.trial.round == 40);
        assert!(decision != Decision::Undecided || is_last, "{seed}: {}", found.headline);
        assert_resumable(&plan, &Prospects::new(), &all);
    }
}

/// What the rungs do: a share at once, and one that builds up while they are set.
const RUNGS: [(&str, f64, f64); 4] = [
    ("innodb_lru_scan_depth", 0.2, 0.0),
    ("innodb_flush_neighbors", 0.0, 0.0),
    ("innodb_max_dirty_pages_pct", 0.1, -0.3),
    // It needs a restart.
    ("innodb_buffer_pool_size", 0.3, 0.0),
];

fn climbing(seed: u64) -> LabPlan {
    let mut plan = turning(seed);
    plan.variants.truncate(1);
    plan.rungs = RUNGS.iter().map(|(name, ..)| rung(name)).collect();
    plan
}

fn with_rungs(seed: u64) -> impl Fn(&TrialPlan) -> TrialOutcome {
    let built_up = Cell::new([0.0; RUNGS.len()]);
    move |trial| {
        let mut all = built_up.get();
        let mut rate = 1000.0;
        for ((name, at_once, later), built_up) in RUNGS.into_iter().zip(&mut all) {
            let is_set = f64::from(trial.variant.config.iter().any(|setting| setting.name == name));
            let target = later * is_set;
            *built_up = if trial.block.is_some() { (*built_up + target) / 2.0 } else { target };
            rate *= 1.0 + *built_up + at_once * is_set;
        }
        built_up.set(all);
        reached(rate * noise(seed, trial, 0.005), 5.0)
    }
}

#[test]
fn rungs_are_flipped_if_they_can_be_and_restarted_if_not() {
    let plan = climbing(5);
    let prospects = Prospects::new();
    let (all, found) = ended(&plan, with_rungs(5));
    let steps = &found.ladders[0].steps;
    let verdicts: Vec<RungVerdict> = steps.iter().map(|step| step.verdict).collect();
    let expected = [RungVerdict::Kept, RungVerdict::NoEffect, RungVerdict::Worse, RungVerdict::Kept];
    assert_eq!(verdicts, expected, "{:#?}", found.ladders[0]);
    let how = |place: usize| steps[place].stopping.as_ref().expect("it ended by itself").in_words();
    assert!(how(0).ends_with("by flips of a running server"), "{}", how(0));
    assert!(how(2).ends_with("because flips of a running server carried something over"), "{}", how(2));
    assert!(how(3).ends_with("rounds"), "{}", how(3));
    let blocks = |label: &str| {
        let of: Vec<bool> =
            all.iter().filter(|ended| ended.trial.label == label).map(|ended| ended.trial.block.is_some()).collect();
        (of.len(), of.iter().filter(|is_block| **is_block).count())
    };
    let flipped = |label: &str| {
        let ((second, flipped), (first, _)) = (blocks(label), blocks(&format!("{label}/first")));
        second >= 3 && second == flipped && first == second
    };
    assert!(flipped("base/innodb_lru_scan_depth/with") && flipped("base/innodb_flush_neighbors/without"));
    let restarted = blocks(&found.ladders[0].label(&steps[2], "with"));
    assert!(restarted.0 >= 3 && restarted.1 == 0, "{restarted:?}");
    assert_eq!(blocks("base/innodb_buffer_pool_size/with").1, 0);
    // What each is worth in the end, on the other: as each rung was measured.
    assert!(flipped("base/worth/innodb_lru_scan_depth/with"));
    assert_eq!((blocks("base/worth/innodb_buffer_pool_size/with").1, blocks("base/gain/with").1), (0, 0));
    let gain = found.ladders[0].gain.as_ref().expect("two are kept");
    assert!((gain.value - 0.56).abs() < 0.05, "1.2 · 1.3 − 1: {gain:?}");
    assert!(all.len() <= plimsoll_schedule::of(&plan, &prospects).about().trials());
    assert_resumable(&plan, &prospects, &all);
}

#[test]
fn no_rung_is_called_better_that_is_worse_in_the_end() {
    let (mut wrong, mut flipped) = (0, 0);
    for seed in 0..30 {
        let (all, found) = ended(&climbing(seed), with_rungs(seed));
        let verdicts: Vec<RungVerdict> = found.ladders[0].steps.iter().map(|step| step.verdict).collect();
        wrong += usize::from(verdicts[0] == RungVerdict::Worse || verdicts[2] == RungVerdict::Kept);
        flipped += all.iter().filter(|ended| ended.trial.block.is_some()).count();
    }
    assert_eq!(wrong, 0);
    assert!(flipped > 30 * 3 * 12, "{flipped} blocks");
}
