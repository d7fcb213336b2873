//! What other programs and the hypervisor took of the machine while trials ran, how fast CPUs and storage were, and the pairs of
//! rounds without that.

use crate::pairing::PairedVariants;
use plimsoll_model::LoadPoint;
use plimsoll_model::explained::Explained;
use plimsoll_model::lab::TrialOutcome;
use plimsoll_plan::lab::{TrialRules, Variant};
use plimsoll_stats::explained::{Explanation, ObservedPair, explain};
use plimsoll_stats::sides::Criterion;

type Measured = fn(&TrialOutcome) -> Option<f64>;

/// What is measured beside each trial and no setting of a server can influence.
const COVARIATES: [(&str, Measured); 4] = [
    ("the CPU time of other programs", |outcome| outcome.point.as_ref()?.program_cpus),
    ("the CPU time that the hypervisor took", |outcome| Some(outcome.point.as_ref()?.host?.steal)),
    ("the speed of the CPUs", |outcome| Some(outcome.cpu_speed?.ln())),
    ("the time of a commit on the storage", |outcome| Some(outcome.commit_us?.ln())),
];

/// The pairs of each comparison after so many rounds: as measured, or without what the covariates explain, if the rounds
/// up to that one tell. Comparisons that are a round ahead do not change it.
pub fn pairs(
    rules: &TrialRules,
    all: &[PairedVariants<'_>],
    rounds: u32,
) -> (Vec<Vec<(f64, f64)>>, Option<Explanation>) {
    let observed: Vec<Vec<ObservedPair>> = all.iter().map(|pair| observed(pair, rounds)).collect();
    let found = if rules.explain { explain(&observed).ok().flatten() } else { None };
    let measured = || observed.iter().map(|pairs| pairs.iter().map(|pair| pair.sides).collect()).collect();
    (found.as_ref().map_or_else(measured, |found| found.comparisons.clone()), found)
}

/// What was taken away, where it was, from a change that without that is `measured`.
pub fn told(found: &Explanation, criterion: &Criterion, measured: &[(f64, f64)]) -> Option<Explained> {
    Some(Explained {
        by: found.used.iter().map(|place| COVARIATES[*place].0.to_owned()).collect(),
        left: found.left,
        measured: criterion.paired(measured).ok()?,
    })
}

/// The rounds that have both sides; what was not measured in all of their trials is no number.
fn observed(pair: &PairedVariants<'_>, rounds: u32) -> Vec<ObservedPair> {
    let metric = pair.deciding();
    let values = [pair.a, pair.b].map(|side| pair.values(side, &pair.points, metric));
    let mean = |of: Measured, side: &Variant, round: u32| -> f64 {
        let at = |point: &LoadPoint| of(pair.outcome(side, *point, round)?);
        let all: Option<Vec<f64>> = pair.points.iter().map(at).collect();
        all.map_or(f64::NAN, |all| all.iter().sum::<f64>() / all.len() as f64)
    };
    let of_round = |(round, (a, b)): (u32, (&Option<f64>, &Option<f64>))| {
        let covariates = COVARIATES.iter().map(|(_, of)| mean(*of, pair.b, round) - mean(*of, pair.a, round));
        Some(ObservedPair { round, sides: ((*a)?, (*b)?), covariates: covariates.collect() })
    };
    (1..=rounds).zip(values[0].iter().zip(&values[1])).filter_map(of_round).collect()
}
