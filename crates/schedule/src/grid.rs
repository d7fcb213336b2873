//! All variants at all load points in all rounds.

use crate::draw;
use crate::stage::{Stage, UnplacedTrial};
use plimsoll_model::LoadPoint;
use plimsoll_model::lab::TrialOutcome;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Order, Variant};

/// A list of trials that does not depend on their outcomes.
pub struct Grid {
    variants: Vec<Variant>,
    turns: Vec<Place>,
    ended: usize,
}

/// A trial of a grid, with its variant by its place among all.
#[derive(Clone, Copy, Debug)]
struct Place {
    variant: usize,
    point: LoadPoint,
    round: u32,
}

impl Grid {
    pub fn new(plan: &LabPlan, variants: &[&Variant]) -> Grid {
        let turns = match plan.trials.order {
            Order::Interleaved => interleaved(plan, variants),
            Order::Sequential => sequential(plan, variants),
        };
        Grid { variants: variants.iter().map(|variant| (*variant).clone()).collect(), turns, ended: 0 }
    }
}

impl Stage for Grid {
    fn next(&self) -> Option<UnplacedTrial> {
        let Place { variant, point, round } = *self.turns.get(self.ended)?;
        let variant = self.variants.get(variant)?.clone();
        Some(UnplacedTrial { label: variant.name.clone(), variant, point, round })
    }

    fn tell(&mut self, _: &TrialOutcome) {
        self.ended += 1;
    }

    fn about(&self) -> usize {
        self.turns.len()
    }
}

/// Round by round and point by point, all variants in an order drawn anew each time: those to be compared are
/// neighbours in time, and none is always first.
fn interleaved(plan: &LabPlan, variants: &[&Variant]) -> Vec<Place> {
    let points = points(variants);
    let mut turns = Vec::new();
    for round in 1..=plan.trials.rounds {
        for (place, point) in points.iter().enumerate() {
            let there = |variant: &usize| variants[*variant].load.points.contains(point);
            let drawn = draw::order((0..variants.len()).filter(there).collect(), plan.seed, "", round, place);
            turns.extend(drawn.into_iter().map(|variant| Place { variant, point: *point, round }));
        }
    }
    turns
}

fn sequential(plan: &LabPlan, variants: &[&Variant]) -> Vec<Place> {
    let mut turns = Vec::new();
    for (place, variant) in variants.iter().enumerate() {
        for round in 1..=plan.trials.rounds {
            turns.extend(variant.load.points.iter().map(|point| Place { variant: place, point: *point, round }));
        }
    }
    turns
}

/// The load points of any variant, each once, in the order of the plan.
pub fn points(variants: &[&Variant]) -> Vec<LoadPoint> {
    let mut points = Vec::new();
    for point in variants.iter().flat_map(|variant| &variant.load.points) {
        if !points.contains(point) {
            points.push(*point);
        }
    }
    points
}
