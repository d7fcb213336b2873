//! All variants at all load points in all rounds.

use super::{Stage, Turn, draw};
use plimsoll_model::lab::TrialOutcome;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Order, Variant};
use plimsoll_plan::points::LoadPoint;

/// A list of trials that does not depend on what comes of them.
pub(super) struct Grid {
    turns: Vec<Turn>,
    ended: usize,
}

impl Grid {
    pub fn new(plan: &LabPlan, variants: &[&Variant]) -> Grid {
        let turns = match plan.procedure.order {
            Order::Interleaved => interleaved(plan, variants),
            Order::Sequential => sequential(plan, variants),
        };
        Grid { turns, ended: 0 }
    }
}

impl Stage for Grid {
    fn next(&self) -> Option<Turn> {
        self.turns.get(self.ended).cloned()
    }

    fn tell(&mut self, _: &TrialOutcome) {
        self.ended += 1;
    }

    fn about(&self) -> usize {
        self.turns.len()
    }
}

/// Round by round and point by point all variants, in an order drawn anew each time: those to be compared are
/// neighbours in time, and none is always the first.
fn interleaved(plan: &LabPlan, variants: &[&Variant]) -> Vec<Turn> {
    let points = points(variants);
    let mut turns = Vec::new();
    for round in 1..=plan.procedure.rounds {
        for (place, point) in points.iter().enumerate() {
            let there = variants.iter().filter(|variant| variant.load.points.contains(point)).collect();
            let drawn = draw::order(there, plan.seed, "", round, place);
            turns.extend(drawn.into_iter().map(|variant| turn(variant, *point, round)));
        }
    }
    turns
}

fn sequential(plan: &LabPlan, variants: &[&Variant]) -> Vec<Turn> {
    let rounds = || 1..=plan.procedure.rounds;
    let of_round =
        |variant: &Variant, round| variant.load.points.iter().map(|p| turn(variant, *p, round)).collect::<Vec<_>>();
    variants.iter().flat_map(|variant| rounds().flat_map(|round| of_round(variant, round))).collect()
}

fn turn(variant: &Variant, point: LoadPoint, round: u32) -> Turn {
    Turn { label: variant.name.clone(), variant: variant.clone(), point, round }
}

/// The load points of any variant, each once, in the order of the plan.
pub(super) fn points(variants: &[&Variant]) -> Vec<LoadPoint> {
    let mut points = Vec::new();
    for point in variants.iter().flat_map(|variant| &variant.load.points) {
        if !points.contains(point) {
            points.push(*point);
        }
    }
    points
}
