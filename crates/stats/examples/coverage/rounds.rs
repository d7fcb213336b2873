//! Comparisons over rounds: a machine that drifts from run to run, and runs that differ on their own.

use crate::noise::{autoregression, generator, normal};
use crate::table::{Row, Wanted};
use fastrand::Rng;
use plimsoll_model::Estimate;
use plimsoll_model::comparison::Verdict;
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_stats::comparison::{each_of, noise_floor, paired, pairs_needed, unpaired, verdict};

const ROUNDS: [usize; 3] = [5, 8, 20];
/// Standard deviation of the machine's drift, whose neighbouring runs correlate by [`CORRELATION`].
const DRIFT: f64 = 0.05;
const CORRELATION: f64 = 0.6;
/// Standard deviation of what is a run's own.
const OWN: f64 = 0.03;
/// The share of runs that something else on the machine slows down, and to which share of their throughput.
const SLOWED: f64 = 0.1;
const SLOWED_TO: f64 = 0.9;
/// Variants that are compared with one baseline.
const VARIANTS: usize = 5;
/// The share that counts as no difference.
const EQUIVALENCE: f64 = 0.02;

pub fn rows(simulations: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |row: &dyn Fn(Simulations) -> Row| {
        let number = 300 + rows.len() as u64;
        rows.push(row(Simulations { row: number, count: simulations }));
    };
    for rounds in ROUNDS {
        for machine in [Machine::DRIFTING, Machine::DISTURBED] {
            add(&|simulations| paired_change(simulations, rounds, machine, -0.15, Wanted::INTERVAL));
            add(&|simulations| paired_change(simulations, rounds, machine, 0.0, Wanted::INTERVAL));
            add(&|simulations| same_against_same(simulations, rounds, machine));
        }
        // What is left of the drift makes these intervals too wide.
        add(&|simulations| paired_change(simulations, rounds, Machine::IN_FIXED_ORDER, -0.15, Wanted::AT_LEAST));
        add(&|simulations| several_variants(simulations, rounds));
        add(&|simulations| unpaired_change(simulations, rounds));
        add(&|simulations| floor(simulations, rounds));
    }
    for effect in [0.12, -0.08, 0.04] {
        add(&|simulations| power(simulations, effect));
    }
    rows
}

fn paired_change(simulations: Simulations, rounds: usize, machine: Machine, truth: f64, wanted: Wanted) -> Row {
    let found = simulations.intervals(truth, 1.0 + truth, |rng| {
        let pairs = pairs(rng, rounds, machine, truth);
        paired(&pairs, CONFIDENCE).expect("throughput is above 0")
    });
    let situation = format!("a true change of {}, {}", percent(truth), machine.words);
    found.row("change, paired", situation, rounds, wanted)
}

fn same_against_same(simulations: Simulations, rounds: usize, machine: Machine) -> Row {
    let found = simulations.events(|rng| differs(&pairs(rng, rounds, machine, 0.0), CONFIDENCE));
    found.row("A/A verdict", machine.words.to_owned(), rounds, Wanted::FALSE_ALARMS)
}

fn several_variants(simulations: Simulations, rounds: usize) -> Row {
    let found = simulations.events(|rng| {
        let runs = interleaved(rng, rounds, 1 + VARIANTS, Machine::DRIFTING);
        (1..=VARIANTS).any(|variant| {
            let pairs: Vec<_> = runs.iter().map(|round| (round[0], round[variant])).collect();
            differs(&pairs, each_of(VARIANTS, CONFIDENCE))
        })
    });
    let situation = format!("{VARIANTS} equal variants against one baseline, {}", Machine::DRIFTING.words);
    found.row("A/A verdict, any of several", situation, rounds, Wanted::FALSE_ALARMS)
}

fn unpaired_change(simulations: Simulations, rounds: usize) -> Row {
    let truth = -0.15;
    let found = simulations.intervals(truth, 1.0 + truth, |rng| {
        let mut side = |level: f64, deviation: f64| -> Vec<f64> {
            (0..rounds).map(|_| level * (deviation * normal(rng)).exp()).collect()
        };
        let (a, b) = (side(1.0, 0.02), side(1.0 + truth, 0.06));
        unpaired(&a, &b, CONFIDENCE).expect("throughput is above 0")
    });
    let situation = format!("a true change of {}, independent rounds, sd 2 % and 6 %", percent(truth));
    found.row("change, unpaired", situation, rounds, Wanted::INTERVAL)
}

fn floor(simulations: Simulations, rounds: usize) -> Row {
    // Neighbouring rounds of one side are one run apart in a quarter of all cases, two in half of them, or three.
    let correlation = CORRELATION * (1.0 + CORRELATION).powi(2) / 4.0;
    let variance = 2.0 * (DRIFT.powi(2) * (1.0 - correlation) + OWN.powi(2));
    let truth = (1.959964 * variance.sqrt()).exp_m1();
    let found = simulations.intervals(truth, truth, |rng| {
        let runs = interleaved(rng, rounds, 2, Machine::DRIFTING);
        let one_side: Vec<f64> = runs.iter().map(|round| round[0]).collect();
        noise_floor(&one_side).expect("throughput is above 0")
    });
    found.row("A/A noise floor", Machine::DRIFTING.words.to_owned(), rounds, Wanted::INTERVAL)
}

fn power(simulations: Simulations, effect: f64) -> Row {
    let spread = (2.0 * (DRIFT.powi(2) * (1.0 - CORRELATION) + OWN.powi(2))).sqrt();
    let needed = pairs_needed(spread, effect, CONFIDENCE);
    let found = simulations.events(|rng| differs(&pairs(rng, needed, Machine::DRIFTING, effect), CONFIDENCE));
    let situation = format!("a true change of {}, as many pairs as it needs", percent(effect));
    found.row("change is found", situation, needed, Wanted::POWER)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share).replace('-', "−")
}

fn differs(pairs: &[(f64, f64)], confidence: f64) -> bool {
    let change = paired(pairs, confidence).expect("throughput is above 0");
    matches!(verdict(&change, EQUIVALENCE), Verdict::Higher | Verdict::Lower)
}

/// What happens to runs beside what is measured.
#[derive(Clone, Copy)]
struct Machine {
    words: &'static str,
    /// Are some runs slowed down?
    disturbed: bool,
    /// Do the sides follow each other in the same order in every round?
    in_fixed_order: bool,
}

impl Machine {
    const DRIFTING: Machine =
        Machine { words: "drift 5 % (lag-1 0.6), runs 3 %", disturbed: false, in_fixed_order: false };
    const DISTURBED: Machine = Machine {
        words: "drift 5 % (lag-1 0.6), runs 3 %, one in ten 10 % slower",
        disturbed: true,
        in_fixed_order: false,
    };
    const IN_FIXED_ORDER: Machine =
        Machine { words: "drift 5 % (lag-1 0.6), runs 3 %, a always first", disturbed: false, in_fixed_order: true };
}

/// Throughput by round and side: round after round, in each of them side after side in an order that is drawn anew.
fn interleaved(rng: &mut Rng, rounds: usize, sides: usize, machine: Machine) -> Vec<Vec<f64>> {
    let mut drift = autoregression(rng, rounds * sides, CORRELATION);
    let mut round = |drift: &mut [f64]| {
        if !machine.in_fixed_order {
            rng.shuffle(drift);
        }
        drift.iter().map(|drift| run(rng, *drift, machine)).collect()
    };
    drift.chunks_mut(sides).map(&mut round).collect()
}

/// Throughput of one run of a machine that has drifted by so many standard deviations.
fn run(rng: &mut Rng, drift: f64, machine: Machine) -> f64 {
    let level = if machine.disturbed && rng.f64() < SLOWED { SLOWED_TO } else { 1.0 };
    level * (DRIFT * drift + OWN * normal(rng)).exp()
}

fn pairs(rng: &mut Rng, rounds: usize, machine: Machine, change: f64) -> Vec<(f64, f64)> {
    let runs = interleaved(rng, rounds, 2, machine);
    runs.iter().map(|round| (round[0], (1.0 + change) * round[1])).collect()
}

/// The seeded simulations of one row.
#[derive(Clone, Copy)]
struct Simulations {
    row: u64,
    count: usize,
}

/// In what share of them it was so, and how wide the intervals were.
struct Found {
    share: f64,
    half_width: Option<f64>,
}

impl Simulations {
    fn events(self, happens: impl Fn(&mut Rng) -> bool) -> Found {
        let happened = (0..self.count).filter(|&simulation| happens(&mut generator(self.row, simulation))).count();
        Found { share: happened as f64 / self.count as f64, half_width: None }
    }

    /// How many intervals contain the `truth`, and how wide they are relative to `unit`.
    fn intervals(self, truth: f64, unit: f64, estimate: impl Fn(&mut Rng) -> Estimate) -> Found {
        let estimate = |simulation| estimate(&mut generator(self.row, simulation));
        let ends: Vec<(f64, f64)> = (0..self.count).filter_map(|simulation| estimate(simulation).interval()).collect();
        let covered = ends.iter().filter(|(low, high)| (*low..=*high).contains(&truth)).count();
        let mut widths: Vec<f64> = ends.iter().map(|(low, high)| (high - low) / 2.0 / unit).collect();
        widths.sort_by(f64::total_cmp);
        Found { share: covered as f64 / self.count as f64, half_width: widths.get(widths.len() / 2).copied() }
    }
}

impl Found {
    fn row(self, estimator: &'static str, situation: String, n: usize, wanted: Wanted) -> Row {
        Row { estimator, situation, n, share: self.share, wanted, half_width: self.half_width }
    }
}
