//! Variants that take turns on one running server, and when they no longer do. What their trials are called is in
//! [`crate::labels`].

use crate::labels::label;
use crate::pairing::PairedVariants;
use plimsoll_model::stopping::CarriedOver;
use plimsoll_plan::lab::{SwitchbackBlock, TrialRules, Variant};
use plimsoll_stats::sides::Criterion;
use plimsoll_stats::switchback::{Switched, SwitchedPair, carry_over, switched};

/// The complete rounds of two variants, with the blocks after a flip; empty if they did not take turns.
pub fn rounds(pair: &PairedVariants<'_>) -> Vec<SwitchedPair> {
    let metric = pair.deciding();
    let of = |side: &Variant, block| pair.values_called(&label(&side.name, Some(block)), &pair.points, metric);
    let [a, b] =
        [pair.a, pair.b].map(|side| [SwitchbackBlock::First, SwitchbackBlock::Second].map(|block| of(side, block)));
    let complete = |round: usize| {
        let both = |block: usize| Some((a[block][round]?, b[block][round]?));
        Some(SwitchedPair { first: both(0)?, second: both(1)? })
    };
    (0..a[0].len()).filter_map(complete).collect()
}

/// What rounds of a switchback say, judged by the criterion of the plan.
pub(crate) fn judged(rounds: &[SwitchedPair], criterion: &Criterion, decide: f64) -> Switched {
    match criterion {
        Criterion::Sequential(looks) => switched(rounds, looks, decide),
        Criterion::Planned { .. } => Switched::Open,
    }
}

/// Whether what is carried over from flip to flip leaves verdicts on these variants open.
pub fn is_open(rules: &TrialRules, pair: &PairedVariants<'_>, criterion: &Criterion) -> bool {
    let turns = rules.stopping.filter(|_| rules.switchback.is_some() && !pair.is_restarted());
    turns.is_some_and(|rule| judged(&rounds(pair), criterion, rule.decide) != Switched::Decided)
}

/// What flips of these variants carried over, where they took turns.
pub fn carried_over(rules: &TrialRules, pair: &PairedVariants<'_>, criterion: &Criterion) -> Option<CarriedOver> {
    let (Some(_), Criterion::Sequential(looks)) = (rules.switchback, criterion) else { return None };
    Some(CarriedOver { carried: carry_over(&rounds(pair), looks).ok()?, restarted: pair.is_restarted() })
}
