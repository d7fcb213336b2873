//! What the rounds of two variants measured.

use crate::labels::counted_label;
use crate::quantity::{Quantity, deciding};
use crate::trial::EndedTrial;
use plimsoll_model::LoadPoint;
use plimsoll_model::Metric;
use plimsoll_model::comparison::Design;
use plimsoll_model::lab::TrialOutcome;
use plimsoll_plan::lab::Variant;
use plimsoll_plan::lab::pairs::common_points;
use plimsoll_stats::sides::{Sides, middle};
use std::collections::BTreeMap;

/// What trials came to, by label and round.
#[derive(Default)]
pub struct Outcomes<'a>(BTreeMap<(&'a str, u32), Vec<(LoadPoint, &'a TrialOutcome)>>);

impl<'a> Outcomes<'a> {
    pub fn insert(&mut self, label: &'a str, point: LoadPoint, round: u32, outcome: &'a TrialOutcome) {
        self.0.entry((label, round)).or_default().push((point, outcome));
    }

    fn has(&self, label: &str) -> bool {
        self.0.keys().any(|(of, _)| *of == label)
    }

    pub fn get(&self, label: &str, point: LoadPoint, round: u32) -> Option<&'a TrialOutcome> {
        let of_round = self.0.get(&(label, round))?;
        of_round.iter().find(|(of, _)| *of == point).map(|(_, outcome)| *outcome)
    }
}

impl<'a> FromIterator<&'a EndedTrial> for Outcomes<'a> {
    fn from_iter<I: IntoIterator<Item = &'a EndedTrial>>(ended: I) -> Outcomes<'a> {
        let mut outcomes = Outcomes::default();
        for EndedTrial { trial, outcome } in ended {
            outcomes.insert(&trial.label, trial.point, trial.round, outcome);
        }
        outcomes
    }
}

/// Two variants, at the load points that both have.
pub struct PairedVariants<'a> {
    pub a: &'a Variant,
    pub b: &'a Variant,
    /// What the trials of a and of b that count are called.
    labels: [String; 2],
    pub points: Vec<LoadPoint>,
    outcomes: &'a Outcomes<'a>,
    rounds: u32,
}

impl<'a> PairedVariants<'a> {
    pub fn new(a: &'a Variant, b: &'a Variant, outcomes: &'a Outcomes<'a>, rounds: u32) -> PairedVariants<'a> {
        let labels = [a, b].map(|side| counted_label(&side.name, |label| outcomes.has(label)));
        PairedVariants { a, b, labels, points: common_points(a, b), outcomes, rounds }
    }

    /// Whether they took turns on a running server until something was carried over.
    pub fn is_restarted(&self) -> bool {
        self.labels[0] != self.a.name
    }

    fn label(&self, side: &Variant) -> &str {
        &self.labels[usize::from(side.name == self.b.name)]
    }

    /// What decides between them.
    pub fn deciding(&self) -> Metric {
        let mut all = Vec::new();
        for round in 1..=self.rounds {
            for point in &self.points {
                all.extend(self.labels.iter().filter_map(|of| self.outcomes.get(of, *point, round)));
            }
        }
        deciding(&self.points, all.into_iter())
    }

    /// As many rounds as both sides have taken part in.
    pub fn ended_rounds(&self) -> u32 {
        let has = |label: &str, round| self.points.iter().any(|at| self.outcomes.get(label, *at, round).is_some());
        (1..=self.rounds).rev().find(|round| self.labels.iter().all(|label| has(label, *round))).unwrap_or(0)
    }

    pub fn outcome(&self, side: &Variant, point: LoadPoint, round: u32) -> Option<&'a TrialOutcome> {
        self.outcomes.get(self.label(side), point, round)
    }

    /// One metric of both over some load points together.
    pub fn sides(&self, design: Design, points: &[LoadPoint], metric: Metric) -> Sides {
        Sides::new(design, &self.values(self.a, points, metric), &self.values(self.b, points, metric))
    }

    /// By round, the geometric mean over the load points; none if one of these has no value.
    pub fn values(&self, of: &'a Variant, points: &[LoadPoint], metric: Metric) -> Vec<Option<f64>> {
        self.values_called(self.label(of), points, metric)
    }

    /// The same of the trials with this label.
    pub(crate) fn values_called(&self, label: &str, points: &[LoadPoint], metric: Metric) -> Vec<Option<f64>> {
        let of_round = |round| {
            let at = |point: &LoadPoint| Quantity::Of(metric).value(self.outcomes.get(label, *point, round)?);
            let values: Option<Vec<f64>> = points.iter().map(at).collect();
            values.map(|values| middle(&values))
        };
        (1..=self.rounds).map(of_round).collect()
    }
}
