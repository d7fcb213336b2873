//! Differences that a neighbour explains.

use crate::noise::{autoregression, generator, normal};
use crate::table::{Row, Wanted};
use fastrand::Rng;
use plimsoll_model::Estimate;
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_stats::comparison::paired;
use plimsoll_stats::explained::{ObservedPair, explain};
use plimsoll_stats::sequential::Looks;

/// Rounds, and the standard deviation of a run without its neighbour.
const PLANS: [(usize, f64); 4] = [(13, 0.03), (16, 0.1), (20, 0.03), (40, 0.2)];
/// What a neighbour takes on average varies by so many times the rest.
const NEIGHBOUR: f64 = 3.0;
const CORRELATION: f64 = 0.6;
/// What else is measured and has no effect.
const IDLE: usize = 3;
const EFFECT: f64 = 0.05;

pub fn rows(simulations: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (rounds, deviation) in PLANS {
        for (neighbour, what) in [(NEIGHBOUR, "a neighbour that comes and goes"), (0.0, "no neighbour")] {
            let plan = Plan { rounds, deviation, neighbour };
            let row = 900 + rows.len() as u64;
            let found: Vec<_> = (0..simulations).map(|simulation| plan.run(&mut generator(row, simulation))).collect();
            let holds =
                |change: &Estimate| change.interval().is_some_and(|(low, high)| low <= EFFECT && EFFECT <= high);
            let share = |of: &dyn Fn(&Found) -> bool| {
                found.iter().filter(|found| of(found)).count() as f64 / found.len() as f64
            };
            let situation = format!("{what}, runs {:.0} %, {} covariates", 100.0 * deviation, IDLE + 1);
            let line = |estimator, share, wanted| Row {
                estimator,
                situation: situation.clone(),
                n: rounds,
                share,
                wanted,
                half_width: None,
            };
            rows.push(line("explained change", share(&|found| holds(&found.change)), Wanted::INTERVAL));
            let wrong = share(&|found| !found.looks_hold);
            rows.push(line("explained, rounds = auto, ever wrong", wrong, Wanted::FALSE_ALARMS));
            let mut left: Vec<f64> = found.iter().map(|found| found.left).collect();
            left.sort_unstable_by(f64::total_cmp);
            let wanted =
                if neighbour > 0.0 { Wanted { least: 0.0, most: 0.6 } } else { Wanted { least: 0.9, most: 1.0 } };
            rows.push(line("explained, spread left (median)", left[left.len() / 2], wanted));
        }
    }
    rows
}

/// A plan of two variants that differ by [`EFFECT`].
struct Plan {
    rounds: usize,
    deviation: f64,
    /// What it does, in deviations.
    neighbour: f64,
}

struct Found {
    change: Estimate,
    /// Whether the intervals after all rounds contain the truth.
    looks_hold: bool,
    left: f64,
}

impl Plan {
    fn run(&self, rng: &mut Rng) -> Found {
        let runs = 2 * self.rounds;
        let drift = autoregression(rng, runs, CORRELATION);
        let comes = autoregression(rng, runs, CORRELATION);
        let each = self.deviation / 2f64.sqrt();
        // What it takes is a share, at most all.
        let takes: Vec<f64> =
            comes.iter().map(|comes| if *comes > 0.0 { (comes / 2.0).min(1.0) } else { 0.0 }).collect();
        let idle: Vec<Vec<f64>> = (0..runs).map(|_| (0..IDLE).map(|_| normal(rng)).collect()).collect();
        let mut pairs = Vec::new();
        for round in 0..self.rounds {
            let swapped = usize::from(rng.bool());
            let places = [2 * round + swapped, 2 * round + 1 - swapped];
            let mut run = |place: usize| {
                let lost = 3.0 * self.neighbour * self.deviation * takes[place];
                (each * (drift[place] + normal(rng)) - lost).exp()
            };
            let (a, b) = (run(places[0]), (1.0 + EFFECT) * run(places[1]));
            let idle = (0..IDLE).map(|of| idle[places[1]][of] - idle[places[0]][of]);
            // It is measured not quite exactly.
            let taken = takes[places[1]] - takes[places[0]] + 0.03 * normal(rng);
            pairs.push(ObservedPair { round: round as u32, sides: (a, b), covariates: idle.chain([taken]).collect() });
        }
        let looks = Looks::new(self.rounds, CONFIDENCE);
        let misses = |rounds: usize| {
            let (seen, _) = explained(&pairs[..rounds]);
            let change = looks.paired(&seen).ok().and_then(|change| change.interval());
            change.is_some_and(|(low, high)| EFFECT < low || EFFECT > high)
        };
        let looks_hold = !(3..=self.rounds).any(misses);
        let (corrected, left) = explained(&pairs);
        let change = paired(&corrected, CONFIDENCE).expect("pairs above 0");
        Found { change, looks_hold, left }
    }
}

/// The pairs that are judged, and what is left of their spread.
fn explained(pairs: &[ObservedPair]) -> (Vec<(f64, f64)>, f64) {
    match explain(&[pairs.to_vec()]).expect("sides above 0") {
        Some(mut found) => (found.comparisons.remove(0), found.left),
        None => (pairs.iter().map(|pair| pair.sides).collect(), 1.0),
    }
}
