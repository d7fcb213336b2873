//! Each variant of a grid against the first that does the same work.

use super::cell_risks;
use plimsoll_model::LoadPoint;
use plimsoll_model::Metric;
use plimsoll_model::comparison::{Design, Difference, Row, unlike_work};
use plimsoll_model::durability::Risks;
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_model::lab::{TrialOutcome, VariantComparison};
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Order, PlannedWorkload, Variant};
use plimsoll_schedule::grid::points;
use plimsoll_schedule::quantity::deciding;
use plimsoll_schedule::{EndedTrial, Quantity, seeks_line};
use plimsoll_stats::comparison::each_of;
use plimsoll_stats::sides::{self, Sides, middle};
use std::collections::{BTreeMap, BTreeSet};

/// Variants of a grid against those that they are [paired](pairs) with, where these share a load point. The intervals of
/// what decides hold together with 95 % over all comparisons, those of one metric over all comparisons and load points
/// (Šidák 1967).
pub(super) fn comparisons(plan: &LabPlan, ended: &[EndedTrial]) -> Vec<VariantComparison> {
    let pairs = compared(plan);
    let among = pairs.len();
    pairs.into_iter().filter_map(|(a, b)| Pairing::new(plan, ended, a, b, among)?.comparison()).collect()
}

/// How many comparisons of variants a plan makes.
pub fn comparisons_of(plan: &LabPlan) -> usize {
    compared(plan).len()
}

/// The variants of a grid, paired.
fn compared(plan: &LabPlan) -> Vec<(&Variant, &Variant)> {
    let measured: Vec<&Variant> = plan.variants.iter().filter(|variant| !seeks_line(plan, variant)).collect();
    pairs(&measured)
}

/// Each variant after the one that it is compared with: the first with the same work on the same data; of those whose
/// names begin with the same group (`8g/fsync`) if there are several. One whose work no other does is compared with the
/// first of all, if that has a workload of the same kind.
pub(super) fn pairs<'a>(variants: &[&'a Variant]) -> Vec<(&'a Variant, &'a Variant)> {
    let first_of_several = |is_alike: &dyn Fn(&Variant) -> bool| {
        let mut alike = variants.iter().copied().filter(|other| is_alike(other));
        alike.next().filter(|_| alike.next().is_some())
    };
    let against = |variant: &Variant| {
        let same_work = |other: &Variant| other.workload == variant.workload;
        let of_group =
            first_of_several(&|other| same_work(other) && group(other).is_some_and(|of| Some(of) == group(variant)));
        of_group.or_else(|| first_of_several(&same_work)).or(variants.first().copied())
    };
    let pair = |variant: &&'a Variant| Some((against(variant)?, *variant));
    let is_pair = |(a, b): &(&Variant, &Variant)| a.name != b.name && a.workload.kind == b.workload.kind;
    variants.iter().filter_map(pair).filter(is_pair).collect()
}

/// `8g` of `8g/fsync`.
fn group(variant: &Variant) -> Option<&str> {
    variant.name.split_once('/').map(|(group, _)| group)
}

/// Two variants and what their trials came to.
struct Pairing<'a> {
    a: &'a Variant,
    b: &'a Variant,
    ended: &'a [EndedTrial],
    /// Load points that both have.
    points: Vec<LoadPoint>,
    rounds: u32,
    design: Design,
    deciding: Metric,
    /// How many comparisons there are.
    among: usize,
}

impl<'a> Pairing<'a> {
    fn new(
        plan: &LabPlan,
        ended: &'a [EndedTrial],
        a: &'a Variant,
        b: &'a Variant,
        among: usize,
    ) -> Option<Pairing<'a>> {
        let mut points = points(&[a]);
        points.retain(|point| b.load.points.contains(point));
        let both = |label: &str| label == a.name || label == b.name;
        let outcomes = ended.iter().filter(|ended| both(&ended.trial.label)).map(|ended| &ended.outcome);
        let deciding = deciding(&points, outcomes);
        let design = match plan.trials.order {
            Order::Interleaved => Design::Paired,
            Order::Sequential => Design::Unpaired,
        };
        let rounds = plan.trials.rounds;
        (!points.is_empty()).then_some(Pairing { a, b, ended, points, rounds, design, deciding, among })
    }

    fn comparison(&self) -> Option<VariantComparison> {
        let of_first = self.values(&self.a.name, &self.points, self.deciding);
        let floor = sides::floor(&of_first);
        let equivalence = sides::equivalence(floor.as_ref());
        let all = self.row(&self.points, self.deciding, each_of(self.among, CONFIDENCE), equivalence)?;
        let confidence = each_of(self.among * self.points.len(), CONFIDENCE);
        let each = Metric::COMPARED.into_iter().flat_map(|metric| self.points.iter().map(move |point| (metric, point)));
        // One load point is all of them together.
        let each = each.filter(|(metric, _)| self.points.len() > 1 || *metric != self.deciding);
        let rows = each.filter_map(|(metric, point)| self.row(&[*point], metric, confidence, equivalence));
        Some(VariantComparison {
            a: self.a.name.clone(),
            b: self.b.name.clone(),
            design: self.design,
            equivalence,
            rows: std::iter::once(all).chain(rows).collect(),
            floor,
            unlike: self.unlike(),
            unlike_work: self.unlike_work(),
        })
    }

    /// One metric over some load points together; none if no round has it.
    fn row(&self, points: &[LoadPoint], metric: Metric, confidence: f64, equivalence: f64) -> Option<Row> {
        let (a, b) = (self.values(&self.a.name, points, metric), self.values(&self.b.name, points, metric));
        let only = if let [only] = points { Some(*only) } else { None };
        Sides::new(self.design, &a, &b).row(only, metric, confidence, equivalence).ok()
    }

    /// By round, the geometric mean over the load points; none if one of these has no value.
    fn values(&self, label: &str, points: &[LoadPoint], metric: Metric) -> Vec<Option<f64>> {
        let of_round = |round| {
            let at = |point| Quantity::Of(metric).value(self.outcome(label, point, round)?);
            let values: Option<Vec<f64>> = points.iter().map(at).collect();
            values.map(|values| middle(&values))
        };
        (1..=self.rounds).map(of_round).collect()
    }

    fn outcome(&self, label: &str, point: &LoadPoint, round: u32) -> Option<&'a TrialOutcome> {
        let is_wanted = |ended: &&EndedTrial| {
            ended.trial.label == label && ended.trial.point == *point && ended.trial.round == round
        };
        self.ended.iter().find(is_wanted).map(|ended| &ended.outcome)
    }

    /// In what the work and the data of the two are not the same; a parameter that only one names has its default on the
    /// other side.
    fn unlike_work(&self) -> Vec<Difference> {
        let (a, b) = (&self.a.workload, &self.b.workload);
        let names: BTreeSet<&String> = a.params.keys().chain(b.params.keys()).collect();
        let of = |workload: &PlannedWorkload| -> BTreeMap<String, String> {
            let value = |name: &str| workload.params.get(name).cloned().unwrap_or_else(|| "its default".to_owned());
            let params = names.iter().map(|name| (name.replace('-', "_"), value(name)));
            let dataset = workload.dataset.clone().unwrap_or_else(|| "its own".to_owned());
            params.chain([("seed".to_owned(), workload.seed.to_string()), ("dataset".to_owned(), dataset)]).collect()
        };
        unlike_work(&of(a), &of(b))
    }

    /// In words, if not both run the same risks.
    fn unlike(&self) -> Option<String> {
        let of = |variant: &Variant| cell_risks(self.ended, &variant.name);
        let (of_a, of_b) = (of(self.a), of(self.b));
        let only = |name: &str, here: &Risks, there: &Risks| {
            let classes: Vec<String> =
                here.difference(there).map(|class| format!("{name} {} ({class})", class.words())).collect();
            (!classes.is_empty()).then(|| classes.join(", "))
        };
        let unlike = [only(&self.a.name, &of_a, &of_b), only(&self.b.name, &of_b, &of_a)];
        let text = unlike.into_iter().flatten().collect::<Vec<_>>().join(", and ");
        (!text.is_empty()).then_some(text)
    }
}
