//! Variants that take turns on one running server, and when they no longer do. What their trials are called is in
//! [`crate::labels`].

use crate::labels::label;
use crate::pairing::PairedVariants;
use plimsoll_model::stopping::CarriedOver;
use plimsoll_plan::lab::{SwitchbackBlock, TrialRules};
use plimsoll_stats::sides::Criterion;
use plimsoll_stats::switchback::{Switched, SwitchedPair, carry_over, switched};

/// Both blocks of a side, in their order.
pub(crate) const BLOCKS: [SwitchbackBlock; 2] = [SwitchbackBlock::First, SwitchbackBlock::Second];

/// The complete rounds of two variants, with the blocks after a flip; empty if they did not take turns.
pub fn rounds(pair: &PairedVariants<'_>) -> Vec<SwitchedPair> {
    let metric = pair.deciding();
    complete([&pair.a.name, &pair.b.name], |label| pair.values_called(label, &pair.points, metric))
}

/// The complete rounds of two sides, if the trials with a label have these values, by round.
pub(crate) fn complete(sides: [&str; 2], values: impl Fn(&str) -> Vec<Option<f64>>) -> Vec<SwitchedPair> {
    let [a, b] = sides.map(|side| BLOCKS.map(|block| values(&label(side, block))));
    let pair = |round: usize| {
        let both = |block: usize| Some((a[block][round]?, b[block][round]?));
        Some(SwitchedPair { first: both(0)?, second: both(1)? })
    };
    (0..a[0].len()).filter_map(pair).collect()
}

/// What rounds of a switchback say, judged by the criterion of the plan.
pub(crate) fn judged(rounds: &[SwitchedPair], criterion: &Criterion, decide: f64) -> Switched {
    match criterion {
        Criterion::Sequential(looks) => switched(rounds, looks, decide),
        Criterion::Planned { .. } => Switched::Open,
    }
}

/// Whether two variants still share a running server.
fn take_turns(rules: &TrialRules, pair: &PairedVariants<'_>) -> bool {
    rules.switchback.is_some() && !pair.is_restarted()
}

/// The pairs that count of variants that take turns: of complete rounds, the blocks that do not come after a flip. `None`
/// where trials start a server of their own.
pub fn pairs(rules: &TrialRules, pair: &PairedVariants<'_>) -> Option<Vec<(f64, f64)>> {
    take_turns(rules, pair).then(|| rounds(pair).into_iter().map(|round| round.second).collect())
}

/// Whether what is carried over from flip to flip leaves verdicts on these variants open.
pub fn is_open(rules: &TrialRules, pair: &PairedVariants<'_>, criterion: &Criterion) -> bool {
    let turns = rules.stopping.filter(|_| take_turns(rules, pair));
    turns.is_some_and(|rule| judged(&rounds(pair), criterion, rule.decide) != Switched::Decided)
}

/// What flips of these variants carried over, where they took turns.
pub fn carried_over(rules: &TrialRules, pair: &PairedVariants<'_>, criterion: &Criterion) -> Option<CarriedOver> {
    rules.switchback.and_then(|_| carried(&rounds(pair), criterion, pair.is_restarted()))
}

/// The same of rounds of a switchback that went on, or that was given up for restarts.
pub(crate) fn carried(rounds: &[SwitchedPair], criterion: &Criterion, restarted: bool) -> Option<CarriedOver> {
    let Criterion::Sequential(looks) = criterion else { return None };
    Some(CarriedOver { carried: carry_over(rounds, looks).ok()?, restarted })
}
