//! How comparisons are judged, and when one has shown enough.

use crate::block::PairedBlock;
use crate::quantity::Quantity;
use crate::switchback;
use plimsoll_model::Estimate;
use plimsoll_model::Metric;
use plimsoll_model::comparison::{Verdict, worse_by_more_than};
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_model::stopping::{RoundLook, Stopping};
use plimsoll_plan::lab::{StoppingRule, TrialRules};
use plimsoll_stats::comparison::{each_of, pairs_needed, spread, verdict};
use plimsoll_stats::sequential::Looks;
use plimsoll_stats::sides::Criterion;
use plimsoll_stats::switchback::Switched;

/// A comparison is given up as soon as so many more of its rounds have failed than were complete.
const PATIENCE: usize = 3;
/// Nobody runs more rounds than this.
const MOST_NEEDED: usize = 10_000;
/// Two one-sided tests at 5 %.
const EQUIVALENCE: f64 = 0.9;

/// The criterion of each of so many intervals that hold together with 95 % (Šidák 1967), also where a plan looks at them
/// after every round.
pub fn criterion(rules: &TrialRules, among: usize) -> Criterion {
    with_confidence(rules, each_of(among, CONFIDENCE))
}

/// Of an interval that shows that a rung has no effect: two one-sided tests at 5 % (Schuirmann 1987).
pub(crate) fn equivalence(rules: &TrialRules) -> Criterion {
    with_confidence(rules, EQUIVALENCE)
}

fn with_confidence(rules: &TrialRules, confidence: f64) -> Criterion {
    match rules.stopping {
        Some(_) => Criterion::Sequential(Looks::new(rules.rounds as usize, confidence)),
        None => Criterion::Planned { confidence },
    }
}

/// How pairs that may end sooner came to their end; `None` where a plan sets their number. They are given as they were
/// judged after each round.
pub fn stopping(
    rules: &TrialRules,
    criterion: &Criterion,
    judged: &[Vec<(f64, f64)>],
    decided: bool,
) -> Option<Stopping> {
    let StoppingRule { decide, max_seconds, .. } = rules.stopping?;
    let look = |pairs: &Vec<(f64, f64)>| {
        let change = criterion.paired(pairs).ok()?;
        Some(RoundLook { rounds: pairs.len(), change: change.value, low: change.low, high: change.high })
    };
    let looks: Vec<RoundLook> = judged.iter().filter_map(look).collect();
    let needed = || {
        let size = looks.last()?.change.abs();
        let pairs = judged.last()?;
        // It would show as a change, or as none.
        let needed = pairs_needed(spread(pairs)?, size.max(decide - size), criterion.confidence());
        (needed <= MOST_NEEDED).then_some(needed.max(pairs.len() + 1))
    };
    let rounds_needed = if decided { None } else { needed() };
    Some(Stopping {
        decide,
        most: rules.rounds,
        most_seconds: max_seconds,
        decided,
        looks,
        rounds_needed,
        gate: None,
        switchback: None,
    })
}

/// Pairs as they were after each round, where later ones do not change them.
pub fn prefixes(pairs: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
    (1..=pairs.len()).map(|rounds| pairs[..rounds].to_vec()).collect()
}

/// What a comparison that gets rounds until it is decided came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonState {
    Open,
    Decided,
    /// Too many of its rounds have failed.
    GivenUp,
}

/// Of a block.
pub(crate) fn of_block(
    block: &PairedBlock,
    deciding: Metric,
    criterion: &Criterion,
    rule: &StoppingRule,
) -> ComparisonState {
    let quantity = Quantity::Of(deciding);
    if !block.is_flipped() {
        return of_pairs(&block.pairs(quantity), deciding, criterion, rule, block.ended_rounds());
    }
    let rounds = block.switched(quantity);
    match switchback::judged(&rounds, criterion, rule.decide) {
        Switched::Decided => ComparisonState::Decided,
        _ if is_hopeless(rounds.len(), block.ended_rounds()) => ComparisonState::GivenUp,
        _ => ComparisonState::Open,
    }
}

/// Of pairs of so many rounds.
pub(crate) fn of_pairs(
    pairs: &[(f64, f64)],
    deciding: Metric,
    criterion: &Criterion,
    rule: &StoppingRule,
    rounds: u32,
) -> ComparisonState {
    match criterion.paired(pairs) {
        Ok(change) if answers(rule, &change, deciding) => ComparisonState::Decided,
        _ if is_hopeless(pairs.len(), rounds) => ComparisonState::GivenUp,
        _ => ComparisonState::Open,
    }
}

/// Whether a change answers what is asked.
fn answers(rule: &StoppingRule, change: &Estimate, metric: Metric) -> bool {
    match rule.fail_if_slower {
        Some(limit) => worse_by_more_than(change, metric.more_is_better(), limit).is_some(),
        None => verdict(change, rule.decide) != Verdict::Unclear,
    }
}

/// Whether more rounds would fail, too, judging by those that have ended.
pub(crate) fn is_hopeless(complete: usize, ended: u32) -> bool {
    ended as usize >= 2 * complete + PATIENCE
}
