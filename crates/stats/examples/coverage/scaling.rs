//! Knees, scalability fits and percent deltas of sweeps.

use crate::noise::{autoregression, generator, normal};
use crate::table::{Row, Wanted};
use fastrand::Rng;
use plimsoll_model::estimate::{CONFIDENCE, Estimate};
use plimsoll_model::scaling::{Saturation, ScalingSample};
use plimsoll_stats::batch_means::{self, Piece};
use plimsoll_stats::knee;
use plimsoll_stats::saturation::saturation;
use plimsoll_stats::scaling::deltas;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Standard deviation of a round as a share of its mean, as whole runs of a server differ.
const BETWEEN_ROUNDS: f64 = 0.05;
/// The same of single runs.
const BETWEEN_RUNS: f64 = 0.03;
/// Standard deviation of a second within a run, and how neighbouring seconds correlate.
const BETWEEN_SECONDS: f64 = 0.13;
const CORRELATION: f64 = 0.6;
/// Standard deviation of a load point of a scalability fit.
const AROUND_FIT: f64 = 0.03;

type Curve = Vec<(f64, f64)>;

/// What the interval of a load point comes from.
#[derive(Clone, Copy)]
enum Measured {
    Rounds(usize),
    /// One window of so many seconds.
    Window(usize),
    /// One window of so many seconds of a run that differs from others, of which its interval knows nothing.
    Run(usize),
}

const WINDOW: Measured = Measured::Window(60);
const ROUNDS_AND_WINDOW: [Measured; 4] = [Measured::Rounds(5), Measured::Rounds(8), Measured::Rounds(20), WINDOW];

impl Measured {
    /// Rounds, or batches of a window.
    fn n(self) -> usize {
        match self {
            Measured::Rounds(rounds) => rounds,
            Measured::Window(seconds) | Measured::Run(seconds) => (1.25 * seconds as f64).sqrt() as usize,
        }
    }

    fn name(self) -> String {
        match self {
            Measured::Rounds(rounds) => format!("{rounds} rounds that differ by 5 %"),
            Measured::Window(seconds) => format!("one window of {seconds} s, lag-1 autocorrelation {CORRELATION}"),
            Measured::Run(seconds) => format!("one window of {seconds} s each, runs that differ by 3 %"),
        }
    }

    /// A sweep over the loads of a curve.
    fn sweep(self, curve: &[(f64, f64)], row: u64, simulation: usize) -> Vec<ScalingSample> {
        let rng = &mut generator(row, simulation);
        let sample = |&(load, mean): &(f64, f64)| ScalingSample { load, throughput: self.throughput(mean, rng) };
        curve.iter().map(sample).collect()
    }

    fn throughput(self, mean: f64, rng: &mut Rng) -> Estimate {
        match self {
            Measured::Rounds(rounds) => {
                let values: Vec<f64> = (0..rounds).map(|_| mean * (1.0 + BETWEEN_ROUNDS * normal(rng))).collect();
                mean_of_rounds(&values)
            }
            Measured::Run(seconds) => {
                let run = mean * (1.0 + BETWEEN_RUNS * normal(rng));
                Measured::Window(seconds).throughput(run, rng)
            }
            Measured::Window(seconds) => {
                let noise = autoregression(rng, seconds, CORRELATION);
                let piece = |noise: &f64| Piece { numerator: mean * (1.0 + BETWEEN_SECONDS * noise), denominator: 1.0 };
                let pieces: Vec<Piece> = noise.iter().map(piece).collect();
                batch_means::ratio(&pieces).unwrap_or_else(|refusal| bare(mean, refusal.0))
            }
        }
    }
}

pub fn rows(simulations: usize) -> Vec<Row> {
    [knees(simulations), fits(simulations), poor_fits(simulations), changes(simulations)].concat()
}

fn knees(simulations: usize) -> Vec<Row> {
    let curves = [
        ("sharp knee", curve(&[100.0, 195.0, 380.0, 720.0, 1000.0, 930.0, 850.0, 780.0, 700.0])),
        ("flat top", curve(&[105.0, 200.0, 370.0, 560.0, 660.0, 690.0, 700.0, 700.0, 695.0])),
        ("retrograde", law(9, 100.0, 0.02, 0.002)),
        ("still growing", law(9, 100.0, 0.03, 0.0)),
    ];
    let measured = [&ROUNDS_AND_WINDOW[..], &[Measured::Window(10)]].concat();
    let situations = curves.iter().flat_map(|curve| measured.iter().map(move |&measured| (curve, measured)));
    let row = |(number, ((name, curve), measured)): (usize, (&(&str, Curve), Measured))| {
        let truth = knee(&single_runs(curve)).map_or(f64::NAN, |knee| knee.load.value);
        let found = (0..simulations).map(|simulation| {
            let samples = measured.sweep(curve, 300 + number as u64, simulation);
            knee(&samples).map(|knee| knee.load).ok()
        });
        let situation = format!("{name}, {}", measured.name());
        counted("knee", situation, measured.n(), truth, Wanted::AT_LEAST, found)
    };
    situations.enumerate().map(row).collect()
}

/// What is asked of a fit, and its true value.
type Question = (&'static str, f64, fn(Saturation) -> Option<Estimate>);

fn fits(simulations: usize) -> Vec<Row> {
    // The second curve falls so little within its 128 connections that β may well be 0.
    let laws = [("peak inside", (100.0, 0.05, 5e-4)), ("peak hardly inside", (100.0, 0.1, 1e-4))];
    laws.iter().flat_map(|&(name, law)| fits_of(simulations, name, law)).collect()
}

fn fits_of(simulations: usize, name: &str, (gamma, alpha, beta): (f64, f64, f64)) -> Vec<Row> {
    let curve = law(8, gamma, alpha, beta);
    let peak = ((1.0 - alpha) / beta).sqrt();
    let questions: [Question; 5] = [
        ("scalability: γ", gamma, |fit| Some(fit.gamma)),
        ("scalability: α", alpha, |fit| Some(fit.alpha)),
        ("scalability: β", beta, |fit| Some(fit.beta)),
        ("scalability: N*", peak, |fit| Some(fit.peak?.load)),
        ("scalability: X(N*)", throughput(peak, gamma, alpha, beta), |fit| Some(fit.peak?.throughput)),
    ];
    let row = |(asked, truth, ask): Question| {
        let found = (0..simulations).map(|simulation| {
            let rng = &mut generator(320, simulation);
            let around = |&(load, mean): &(f64, f64)| (load, mean * (AROUND_FIT * normal(rng)).exp());
            let points: Curve = curve.iter().map(around).collect();
            saturation(&single_runs(&points)).ok().and_then(ask)
        });
        counted(asked, format!("{name}, one run a load, noise of 3 %"), 8, truth, Wanted::INTERVAL, found)
    };
    questions.into_iter().map(row).collect()
}

fn poor_fits(simulations: usize) -> Vec<Row> {
    let curve = law(8, 100.0, 0.05, 5e-4);
    let row = |measured: Measured| {
        let poor = |&simulation: &usize| {
            saturation(&measured.sweep(&curve, 330, simulation)).is_ok_and(|fit| fit.poor.is_some())
        };
        Row {
            estimator: "scalability: poor",
            situation: format!("a true curve, {}", measured.name()),
            n: measured.n(),
            share: (0..simulations).filter(poor).count() as f64 / simulations as f64,
            wanted: Wanted::FALSE_ALARMS,
            half_width: None,
        }
    };
    ROUNDS_AND_WINDOW.into_iter().chain([Measured::Run(320)]).map(row).collect()
}

fn changes(simulations: usize) -> Vec<Row> {
    let curve = law(4, 100.0, 0.05, 5e-4);
    let truth = curve[3].1 / curve[0].1 - 1.0;
    let row = |measured: Measured| {
        let found = (0..simulations)
            .map(|simulation| deltas(&measured.sweep(&curve, 340, simulation)).pop().map(|delta| delta.change));
        let situation = format!("8 CPUs against 1, {}", measured.name());
        counted("delta by CPUs", situation, measured.n(), truth, Wanted::INTERVAL, found)
    };
    ROUNDS_AND_WINDOW.map(row).to_vec()
}

/// How many of the intervals contain the truth; an open end is taken as unlimited. No estimate is a miss.
fn counted(
    estimator: &'static str,
    situation: String,
    n: usize,
    truth: f64,
    wanted: Wanted,
    found: impl Iterator<Item = Option<Estimate>>,
) -> Row {
    let ends: Vec<(f64, f64)> = found
        .map(|estimate| {
            estimate.map_or((f64::NAN, f64::NAN), |estimate| {
                (estimate.low.unwrap_or(f64::NEG_INFINITY), estimate.high.unwrap_or(f64::INFINITY))
            })
        })
        .collect();
    let covered = ends.iter().filter(|(low, high)| (low..=high).contains(&&truth)).count();
    let mut widths: Vec<f64> = ends.iter().map(|(low, high)| (high - low) / 2.0 / truth).collect();
    widths.sort_by(f64::total_cmp);
    let half_width = widths.get(widths.len() / 2).copied().filter(|width| width.is_finite());
    Row { estimator, situation, n, share: covered as f64 / ends.len() as f64, wanted, half_width }
}

fn mean_of_rounds(values: &[f64]) -> Estimate {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let t = StudentsT::new(0.0, 1.0, n - 1.0).map_or(f64::NAN, |t| t.inverse_cdf(0.5 + CONFIDENCE / 2.0));
    let half = t * (variance / n).sqrt();
    Estimate::new(mean, (mean - half, mean + half), CONFIDENCE, n, String::new())
}

fn bare(value: f64, why: String) -> Estimate {
    Estimate::bare(value, 1.0, String::new(), why)
}

/// A sweep of one run a load, without intervals.
fn single_runs(curve: &[(f64, f64)]) -> Vec<ScalingSample> {
    let sample = |&(load, mean): &(f64, f64)| ScalingSample { load, throughput: bare(mean, "one run".to_owned()) };
    curve.iter().map(sample).collect()
}

/// Throughputs at loads of 1, 2, 4 and so on.
fn curve(throughputs: &[f64]) -> Curve {
    throughputs.iter().enumerate().map(|(at, &mean)| (2_f64.powi(at as i32), mean)).collect()
}

/// The Universal Scalability Law at so many loads.
fn law(points: usize, gamma: f64, alpha: f64, beta: f64) -> Curve {
    let loads = (0..points).map(|at| 2_f64.powi(at as i32));
    loads.map(|load| (load, throughput(load, gamma, alpha, beta))).collect()
}

fn throughput(load: f64, gamma: f64, alpha: f64, beta: f64) -> f64 {
    gamma * load / (1.0 + alpha * (load - 1.0) + beta * load * (load - 1.0))
}
