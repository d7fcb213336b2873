//! What settings do to throughput, learned from few noisy trials: a Gaussian process whose hyperparameters are drawn from
//! their posterior, not chosen.
//!
//! The logarithm of what a trial measured is a constant, plus what settings do, plus a slow drift of the machine, plus noise.
//! What settings do has the kernel Π (1 + wⱼ κⱼ) − 1 over the settings j: the effect of each and of all their interactions,
//! where a setting that does nothing has a weight near 0 (functional analysis of variance: Stitson et al. 1999; Durrande,
//! Ginsbourger, Roustant & Carraro 2013). κ falls exponentially (Matérn's with ν = 1/2), rough enough for the steps that servers
//! have: of three that were tried on surfaces with a known optimum it found most. Weights, lengths, and the sizes of drift and
//! noise are drawn by slice sampling (Neal 2003), so that what few trials cannot tell stays open (Snoek, Larochelle & Adams 2012).

mod kernel;
mod matrix;
mod sampling;

use crate::distribution::normal_cdf;
use fastrand::Rng;
pub use kernel::Position;
use kernel::{Distances, Hyperparameters, distances};
use sampling::Chain;

/// Draws of the hyperparameters that a belief is averaged over.
const DRAWS: usize = 8;
/// Sweeps over all hyperparameters before the first draw, and between two.
const BURN_IN: usize = 10;
const BETWEEN: usize = 2;

/// A trial: where it was, when, and what it measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// One for each setting, always in the same order.
    pub at: Vec<Position>,
    /// In trials, from any beginning.
    pub when: f64,
    /// On the scale of logarithms, so that 0.1 is about a tenth.
    pub value: f64,
}

/// What is believed of a place where nothing may have been measured, without noise and drift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Belief {
    pub mean: f64,
    /// Standard deviation; above 0.
    pub deviation: f64,
}

impl Belief {
    /// The probability that it is more than this.
    pub fn exceeds(self, value: f64) -> f64 {
        normal_cdf((self.mean - value) / self.deviation)
    }
}

/// What trials have taught.
#[derive(Clone, Debug)]
pub struct Surrogate {
    observations: Vec<Observation>,
    fits: Vec<Fit>,
}

/// The process under one draw of its hyperparameters.
#[derive(Clone, Debug)]
struct Fit {
    of: Hyperparameters,
    factor: matrix::Factor,
    /// The inverse of the covariance times the values.
    weights: Vec<f64>,
}

impl Surrogate {
    /// Learns from `observations`. `noise` is by how much two equal trials differ, as the standard deviation of one, as far as
    /// it is known; above 0. Equal arguments give equal beliefs. `None` without observations, or if one is not a finite number.
    pub fn learn(observations: Vec<Observation>, noise: f64, seed: u64) -> Option<Surrogate> {
        let settings = observations.first()?.at.len();
        if observations.iter().any(|seen| !seen.value.is_finite() || seen.at.len() != settings) {
            return None;
        }
        let mut chain = Chain::new(&observations, noise, Rng::with_seed(seed));
        (0..BURN_IN).for_each(|_| chain.sweep());
        let fits: Vec<Fit> = (0..DRAWS)
            .filter_map(|_| {
                (0..BETWEEN).for_each(|_| chain.sweep());
                chain.fit()
            })
            .collect();
        (!fits.is_empty()).then_some(Surrogate { observations, fits })
    }

    pub fn belief(&self, at: &[Position]) -> Belief {
        pooled(self.beliefs(at))
    }

    /// What is believed of the difference between two places, the first less the second.
    pub fn difference(&self, first: &[Position], second: &[Position]) -> Belief {
        let near = |at| self.observations.iter().map(|seen| distances(&seen.at, at)).collect::<Vec<Distances>>();
        let (of_first, of_second, apart) = (near(first), near(second), distances(first, second));
        pooled(self.fits.iter().map(|fit| {
            let pairs = of_first.iter().zip(&of_second);
            let differences: Vec<f64> =
                pairs.map(|(first, second)| fit.of.covariance(first) - fit.of.covariance(second)).collect();
            let own = 2.0 * (fit.of.variance() - fit.of.covariance(&apart));
            fit.belief(differences, own)
        }))
    }

    /// By how much a place is expected to exceed `above`, where less counts as 0 (Jones, Schonlau & Welch 1998).
    pub fn expected_gain(&self, at: &[Position], above: f64) -> f64 {
        let gains = self.beliefs(at).map(|Belief { mean, deviation }| {
            let z = (mean - above) / deviation;
            let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
            (mean - above) * normal_cdf(z) + deviation * density
        });
        gains.sum::<f64>() / self.fits.len() as f64
    }

    /// Of each draw.
    fn beliefs(&self, at: &[Position]) -> impl Iterator<Item = Belief> {
        let near: Vec<Distances> = self.observations.iter().map(|seen| distances(&seen.at, at)).collect();
        self.fits.iter().map(move |fit| {
            let covariances = near.iter().map(|distances| fit.of.covariance(distances)).collect();
            fit.belief(covariances, fit.of.variance())
        })
    }
}

impl Fit {
    /// Of what has these covariances with what was observed, and this variance of its own.
    fn belief(&self, covariances: Vec<f64>, own: f64) -> Belief {
        let mean = covariances.iter().zip(&self.weights).map(|(covariance, weight)| covariance * weight).sum();
        let known: f64 = self.factor.solve_lower(covariances).iter().map(|part| part * part).sum();
        Belief { mean, deviation: (own - known).max(f64::EPSILON).sqrt() }
    }
}

/// What several draws believe together.
fn pooled(beliefs: impl Iterator<Item = Belief>) -> Belief {
    let each: Vec<Belief> = beliefs.collect();
    let n = each.len() as f64;
    let mean = each.iter().map(|belief| belief.mean).sum::<f64>() / n;
    let spread = each.iter().map(|belief| belief.deviation.powi(2) + (belief.mean - mean).powi(2)).sum::<f64>() / n;
    Belief { mean, deviation: spread.sqrt() }
}

#[cfg(test)]
mod tests;
