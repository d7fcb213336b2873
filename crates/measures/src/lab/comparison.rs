//! Each variant of a grid against the first that does the same work.

use super::cell_risks;
use plimsoll_model::LoadPoint;
use plimsoll_model::Metric;
use plimsoll_model::comparison::{Design, Difference, Verdict, unlike_work};
use plimsoll_model::durability::Risks;
use plimsoll_model::lab::VariantComparison;
use plimsoll_model::stopping::{MAY_BE_CARRIED_OVER, Stopping, StoppingGate};
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::pairs::pairs;
use plimsoll_plan::lab::{Order, PlannedWorkload, TrialRules, Variant};
use plimsoll_schedule::explained;
use plimsoll_schedule::pairing::{Outcomes, PairedVariants};
use plimsoll_schedule::stopping::{criterion, prefixes, stopping};
use plimsoll_schedule::{EndedTrial, seeks_line, switchback};
use plimsoll_stats::explained::Explanation;
use plimsoll_stats::sides::{self, Criterion, Sides};
use std::collections::{BTreeMap, BTreeSet};

/// Variants of a grid against those that they are [paired](pairs) with, where these share a load point. The intervals of
/// what decides hold together with 95 % over all comparisons, those of one metric over all comparisons and load points
/// (Šidák 1967).
pub(super) fn comparisons(plan: &LabPlan, ended: &[EndedTrial]) -> Vec<VariantComparison> {
    let pairs = compared(plan);
    let outcomes: Outcomes<'_> = ended.iter().collect();
    let paired = pairs.into_iter().map(|[a, b]| PairedVariants::new(a, b, &outcomes, plan.trials.rounds));
    let all: Vec<PairedVariants<'_>> = paired.collect();
    let judged = Judged { ended, design: design(plan.trials.order), rules: &plan.trials, all: &all };
    (0..all.len()).filter_map(|place| judged.comparison(place)).collect()
}

/// How many comparisons of variants a plan makes.
pub fn comparisons_of(plan: &LabPlan) -> usize {
    compared(plan).len()
}

/// The variants of a grid, paired.
pub(crate) fn compared(plan: &LabPlan) -> Vec<[&Variant; 2]> {
    let measured: Vec<&Variant> = plan.variants.iter().filter(|variant| !seeks_line(plan, variant)).collect();
    pairs(&measured).into_iter().map(|places| places.map(|place| measured[place])).collect()
}

fn design(order: Order) -> Design {
    match order {
        Order::Interleaved => Design::Paired,
        Order::Sequential => Design::Unpaired,
    }
}

/// How the comparisons of a plan are judged.
struct Judged<'a> {
    ended: &'a [EndedTrial],
    design: Design,
    rules: &'a TrialRules,
    all: &'a [PairedVariants<'a>],
}

impl Judged<'_> {
    fn comparison(&self, place: usize) -> Option<VariantComparison> {
        let pair = &self.all[place];
        let among = self.all.len();
        let deciding = pair.deciding();
        let floor = sides::floor(&pair.values(pair.a, &pair.points, deciding));
        let equivalence = self.rules.stopping.map_or(sides::equivalence(floor.as_ref()), |rule| rule.decide);
        let of_all = criterion(self.rules, among);
        let is_open = switchback::is_open(self.rules, pair, &of_all);
        let row = |sides: Sides, points: &[LoadPoint], metric: Metric, criterion: &Criterion| {
            let only = if let [only] = points { Some(*only) } else { None };
            let row = sides.row(only, metric, criterion, equivalence).ok()?;
            Some(if is_open { row.withheld(MAY_BE_CARRIED_OVER) } else { row })
        };
        let measured = pair.sides(self.design, &pair.points, deciding);
        let turned = switchback::pairs(self.rules, pair);
        let (judged, found) = match &turned {
            Some(pairs) => (prefixes(pairs), None),
            None => self.judged(place),
        };
        let explained = found.and_then(|found| explained::told(&found, &of_all, &measured.pairs()));
        let judged_otherwise = turned.is_some() || explained.is_some();
        let sides = match judged.last() {
            Some(pairs) if judged_otherwise => measured.with_pairs(pairs.clone()),
            _ => measured,
        };
        let all = row(sides, &pair.points, deciding, &of_all);
        // What failed in every round is said; what has not had a round yet, or has nothing to compare, is not.
        if all.is_none() && (self.rules.stopping.is_none() || pair.ended_rounds() == 0) {
            return None;
        }
        let decided = all.as_ref().is_some_and(|row| row.verdict != Verdict::Unclear);
        let limit = self.rules.stopping.and_then(|rule| rule.fail_if_slower).filter(|_| turned.is_none());
        let stopping = stopping(self.rules, &of_all, &judged, decided).map(|of| Stopping {
            gate: limit
                .zip(all.as_ref())
                .map(|(limit, row)| StoppingGate { limit, decided: row.worse_by_more_than(limit).is_some() }),
            switchback: switchback::carried_over(self.rules, pair, &of_all),
            // More rounds narrow chance, and not what is carried over.
            rounds_needed: of.rounds_needed.filter(|_| all.as_ref().is_some_and(|row| row.change.missing.is_none())),
            ..of
        });
        let of_each = criterion(self.rules, among * pair.points.len());
        let each = Metric::COMPARED.into_iter().flat_map(|metric| pair.points.iter().map(move |point| (metric, point)));
        // One load point is all of them together.
        let each = each.filter(|(metric, _)| pair.points.len() > 1 || *metric != deciding);
        let rows = each
            .filter_map(|(metric, point)| row(pair.sides(self.design, &[*point], metric), &[*point], metric, &of_each));
        Some(VariantComparison {
            a: pair.a.name.clone(),
            b: pair.b.name.clone(),
            design: self.design,
            equivalence,
            rows: all.map(|all| std::iter::once(all).chain(rows).collect()).unwrap_or_default(),
            floor,
            unlike: self.unlike(pair),
            unlike_work: unlike_work_of(&pair.a.workload, &pair.b.workload),
            stopping,
            explained,
        })
    }

    /// The pairs of a comparison as they were judged after each of its rounds, and what explains the last ones.
    fn judged(&self, place: usize) -> (Vec<Vec<(f64, f64)>>, Option<Explanation>) {
        if self.design == Design::Unpaired {
            return (Vec::new(), None);
        }
        let after = |rounds| {
            let (mut pairs, found) = explained::pairs(self.rules, self.all, rounds);
            (pairs.swap_remove(place), found)
        };
        let ended = self.all[place].ended_rounds();
        // Where their number is set, they are judged once.
        let first = if self.rules.stopping.is_some() { 1 } else { ended };
        let (mut pairs, found): (Vec<_>, Vec<_>) = (first..=ended).map(after).unzip();
        // Of rounds that gave no pair, the last: what explains a pair may have changed.
        pairs.reverse();
        pairs.dedup_by_key(|pairs| pairs.len());
        pairs.reverse();
        (pairs, found.into_iter().last().flatten())
    }

    /// In words, if not both run the same risks.
    fn unlike(&self, PairedVariants { a, b, .. }: &PairedVariants<'_>) -> Option<String> {
        let of = |variant: &Variant| cell_risks(self.ended, &variant.name);
        let (of_a, of_b) = (of(a), of(b));
        let only = |name: &str, here: &Risks, there: &Risks| {
            let classes: Vec<String> =
                here.difference(there).map(|class| format!("{name} {} ({class})", class.words())).collect();
            (!classes.is_empty()).then(|| classes.join(", "))
        };
        let unlike = [only(&a.name, &of_a, &of_b), only(&b.name, &of_b, &of_a)];
        let text = unlike.into_iter().flatten().collect::<Vec<_>>().join(", and ");
        (!text.is_empty()).then_some(text)
    }
}

/// In what the work and the data of two are not the same; a parameter that only one names has its default on the other
/// side.
fn unlike_work_of(a: &PlannedWorkload, b: &PlannedWorkload) -> Vec<Difference> {
    let (params_of_a, params_of_b) = (a.all_params(), b.all_params());
    let names: BTreeSet<&String> = params_of_a.keys().chain(params_of_b.keys()).collect();
    let of = |workload: &PlannedWorkload, all: &BTreeMap<String, String>| -> BTreeMap<String, String> {
        let value = |name: &str| all.get(name).cloned().unwrap_or_else(|| "its default".to_owned());
        let params = names.iter().map(|name| (name.replace('-', "_"), value(name)));
        let dataset = workload.dataset.clone().unwrap_or_else(|| "its own".to_owned());
        let script = workload.script.as_ref().map_or("none".to_owned(), |script| script.path.display().to_string());
        let kept = [("seed", workload.seed.to_string()), ("dataset", dataset), ("script", script)];
        params.chain(kept.map(|(name, value)| (name.to_owned(), value))).collect()
    };
    unlike_work(&of(a, &params_of_a), &of(b, &params_of_b))
}
