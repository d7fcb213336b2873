//! Searches for the load line of simulated servers.

use crate::noise::{autoregression, generator};
use crate::table::{Row, Wanted};
use fastrand::Rng;
use plimsoll_stats::search::{Search, SearchOutcome, SearchSpec};

/// Trials after one was kept and one was missed, after which a search is looked at.
const LOOKS: [usize; 3] = [5, 8, 20];
/// Relative noise of a trial's p99, or of its error share.
const NOISE: f64 = 0.15;

/// What is searched for, and how it depends on the rate relative to the true line.
#[derive(Clone, Copy)]
enum Server {
    /// p99 of a queue, service time ÷ (1 − utilisation), with its limit where the utilisation is this.
    Queue(f64),
    /// Errors, whose share grows with this power of the rate, limited to 1 %.
    Failing(i32),
}

#[derive(Clone, Copy)]
struct Situation {
    server: Server,
    correlation: f64,
    /// Share of trials that something spoils, whatever the rate.
    spoilt: f64,
}

/// Coverage and relative half widths at one look.
#[derive(Default)]
struct Seen {
    covered: usize,
    half_widths: Vec<f64>,
}

impl Seen {
    fn look(&mut self, search: &Search, line: f64) {
        let Ok(estimate) = search.estimate() else { return };
        let above = estimate.low.is_none_or(|low| low <= line);
        let below = estimate.high.is_none_or(|high| line <= high);
        self.covered += usize::from(above && below);
        self.half_widths.push(estimate.half_width().map_or(f64::INFINITY, |half| half / line));
    }

    fn row(mut self, situation: String, n: usize, simulations: usize) -> Row {
        self.half_widths.sort_by(f64::total_cmp);
        Row {
            estimator: "load line",
            situation,
            n,
            share: self.covered as f64 / simulations as f64,
            wanted: Wanted::AT_LEAST,
            half_width: self.half_widths.get(self.half_widths.len() / 2).copied(),
        }
    }
}

pub fn rows(simulations: usize) -> Vec<Row> {
    let situation = |server, correlation| Situation { server, correlation, spoilt: 0.0 };
    let fixed = [
        situation(Server::Queue(0.5), 0.2),
        situation(Server::Queue(0.5), 0.6),
        situation(Server::Queue(0.9), 0.2),
        situation(Server::Queue(0.9), 0.6),
        Situation { server: Server::Queue(0.7), correlation: 0.6, spoilt: 0.05 },
        situation(Server::Failing(3), 0.6),
    ];
    let looked_at = |(situation, row)| at_looks(situation, row, simulations);
    let mut rows: Vec<Row> = fixed.into_iter().zip(500..).flat_map(looked_at).collect();
    rows.push(until_settled(situation(Server::Queue(0.7), 0.6), simulations));
    rows
}

/// Searches that go on for a fixed number of trials.
fn at_looks(situation: Situation, row: u64, simulations: usize) -> Vec<Row> {
    let mut seen = LOOKS.map(|_| Seen::default());
    for simulation in 0..simulations {
        let mut trials = Trials::new(situation, generator(row, simulation));
        let mut search = Search::new(spec(0.0, usize::MAX)).expect("a range");
        let mut told = Vec::new();
        let mut enclosed_after = None;
        while let Some(rate) = search.next() {
            let outcome = trials.run(rate);
            search.tell(rate, outcome);
            told.push(outcome);
            if told.contains(&SearchOutcome::Kept) && told.contains(&SearchOutcome::Missed) {
                let after = told.len() - *enclosed_after.get_or_insert(told.len());
                let Some(look) = LOOKS.iter().position(|look| *look == after) else { continue };
                seen[look].look(&search, trials.line);
                if look == LOOKS.len() - 1 {
                    break;
                }
            }
        }
    }
    let rows = LOOKS.into_iter().zip(seen);
    rows.map(|(n, seen)| seen.row(situation.to_string(), n, simulations)).collect()
}

/// Searches that stop when they are sure enough, which is when those that are wrongly sure stop too.
fn until_settled(situation: Situation, simulations: usize) -> Row {
    const MOST: usize = 40;
    const TOLERANCE: f64 = 0.2;
    let mut seen = Seen::default();
    for simulation in 0..simulations {
        let mut trials = Trials::new(situation, generator(599, simulation));
        let mut search = Search::new(spec(TOLERANCE, MOST)).expect("a range");
        while let Some(rate) = search.next() {
            search.tell(rate, trials.run(rate));
        }
        seen.look(&search, trials.line);
    }
    seen.row(format!("{situation}, until ± 10 % or n"), MOST, simulations)
}

fn spec(tolerance: f64, trials: usize) -> SearchSpec {
    SearchSpec { lowest: 500.0, highest: 4_000.0, start: Some(1_000.0), tolerance, trials }
}

/// The trials of one search.
struct Trials {
    situation: Situation,
    /// The rate at which half of the trials keep the objective.
    line: f64,
    noise: std::vec::IntoIter<f64>,
    rng: Rng,
}

impl Trials {
    fn new(situation: Situation, mut rng: Rng) -> Trials {
        let line = 1_000.0 * 2f64.powf(rng.f64());
        let noise = autoregression(&mut rng, 100, situation.correlation).into_iter();
        Trials { situation, line, noise, rng }
    }

    fn run(&mut self, rate: f64) -> SearchOutcome {
        let noise = (NOISE * self.noise.next().unwrap_or(0.0)).exp();
        let load = rate / self.line;
        let spoilt = self.rng.f64() < self.situation.spoilt;
        // Relative to the limit.
        let reached = match self.situation.server {
            Server::Queue(utilisation) if load * utilisation < 1.0 => {
                noise * (1.0 - utilisation) / (1.0 - load * utilisation)
            }
            Server::Queue(_) => f64::INFINITY,
            Server::Failing(power) => noise * load.powi(power),
        };
        if reached < 1.0 && !spoilt { SearchOutcome::Kept } else { SearchOutcome::Missed }
    }
}

impl std::fmt::Display for Situation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.server {
            Server::Queue(utilisation) => {
                write!(f, "p99 of a queue, limit at {:.0} % utilisation", 100.0 * utilisation)?
            }
            Server::Failing(power) => write!(f, "error share growing with rate^{power}")?,
        }
        write!(f, ", noise {:.0} %, correlation of trials {}", 100.0 * NOISE, self.correlation)?;
        if self.spoilt > 0.0 { write!(f, ", {:.0} % spoilt", 100.0 * self.spoilt) } else { Ok(()) }
    }
}
