//! Hyperparameters drawn from their posterior, one after the other, by slice sampling (Neal 2003, "Slice Sampling", figures 3
//! and 5).

use super::kernel::{Hyperparameters, OfSetting, distances, drift_left};
use super::matrix::Factor;
use super::{Fit, Observation};
use fastrand::Rng;

/// What is believed before any trial, each of a logarithm.
struct Prior {
    mean: f64,
    deviation: f64,
}

impl Prior {
    fn log_density(&self, x: f64) -> f64 {
        -0.5 * ((x - self.mean) / self.deviation).powi(2)
    }
}

/// What settings do is a fifth or so of throughput; of ten settings some matter and most do not; an effect is much the same over
/// most of a range.
const SIZE: Prior = Prior { mean: -1.6, deviation: 0.7 };
const WEIGHT: Prior = Prior { mean: -1.4, deviation: 1.2 };
const LENGTH: Prior = Prior { mean: -0.2, deviation: 0.5 };
/// Of the noise, around what is known of it.
const NOISE_DEVIATION: f64 = 0.3;
/// Of the drift, against the noise: a third of it, or nothing, or as much.
const DRIFT: Prior = Prior { mean: -1.1, deviation: 1.0 };
/// Of an interval before it is narrowed, and how often that is done.
const WIDTH: f64 = 1.5;
const NARROWINGS: usize = 12;

/// Entries for each observation with those before it and itself, in the order in which a factor asks for them.
type Pairs = Vec<f64>;

pub(super) struct Chain<'a> {
    observations: &'a [Observation],
    /// Of each setting: squared distances, and what of the kernel its hyperparameters make of them.
    distances: Vec<Pairs>,
    shares: Vec<Pairs>,
    /// Of the drift, what is left of it.
    left: Pairs,
    noise: f64,
    at: Hyperparameters,
    rng: Rng,
}

impl Chain<'_> {
    pub fn new(observations: &[Observation], noise: f64, rng: Rng) -> Chain<'_> {
        let settings = observations[0].at.len();
        let mut of_settings: Vec<Pairs> = vec![Pairs::new(); settings];
        let mut left = Pairs::new();
        for (place, seen) in observations.iter().enumerate() {
            for before in &observations[..=place] {
                left.push(drift_left(seen.when - before.when));
                let apart = distances(&before.at, &seen.at);
                of_settings.iter_mut().zip(apart).for_each(|(pairs, squared)| pairs.push(squared));
            }
        }
        let noise = noise.ln();
        let setting = OfSetting { weight: WEIGHT.mean, length: LENGTH.mean };
        let at =
            Hyperparameters { size: SIZE.mean, noise, drift: noise + DRIFT.mean, settings: vec![setting; settings] };
        let mut chain =
            Chain { observations, shares: of_settings.clone(), distances: of_settings, left, noise, at, rng };
        (0..settings).for_each(|setting| chain.refresh(setting));
        chain
    }

    /// Draws each hyperparameter anew, given the others.
    pub fn sweep(&mut self) {
        let mut density = self.log_posterior();
        for place in 0..self.at.count() {
            density = self.draw(place, density);
        }
    }

    /// The process as the hyperparameters are now; `None` where the arithmetic cannot tell its trials apart.
    pub fn fit(&self) -> Option<Fit> {
        let factor = self.factor()?;
        let values = self.observations.iter().map(|seen| seen.value).collect();
        let weights = factor.solve_upper(factor.solve_lower(values));
        Some(Fit { of: self.at.clone(), factor, weights })
    }

    /// The density after it.
    fn draw(&mut self, place: usize, density: f64) -> f64 {
        let before = *self.at.nth(place);
        let level = density + self.rng.f64().max(f64::MIN_POSITIVE).ln();
        let mut low = before - WIDTH * self.rng.f64();
        let mut high = low + WIDTH;
        for _ in 0..NARROWINGS {
            let drawn = low + (high - low) * self.rng.f64();
            self.set(place, drawn);
            let density = self.log_posterior();
            if density >= level {
                return density;
            }
            if drawn < before { low = drawn } else { high = drawn }
        }
        self.set(place, before);
        density
    }

    fn set(&mut self, place: usize, value: f64) {
        *self.at.nth(place) = value;
        if let Some(setting) = Hyperparameters::setting_of(place) {
            self.refresh(setting);
        }
    }

    /// After the hyperparameters of a setting have changed.
    fn refresh(&mut self, setting: usize) {
        let of = self.at.settings[setting];
        let all = self.shares[setting].iter_mut().zip(&self.distances[setting]);
        all.for_each(|(share, squared)| *share = of.share(*squared));
    }

    fn log_posterior(&self) -> f64 {
        let Some(factor) = self.factor() else { return f64::NEG_INFINITY };
        let values = self.observations.iter().map(|seen| seen.value).collect();
        let squares: f64 = factor.solve_lower(values).iter().map(|part| part * part).sum();
        -0.5 * squares - factor.half_log_determinant() + self.log_prior()
    }

    fn log_prior(&self) -> f64 {
        let Hyperparameters { size, noise, drift, settings } = &self.at;
        let of_settings = settings.iter().map(|of| WEIGHT.log_density(of.weight) + LENGTH.log_density(of.length));
        let of_noise = Prior { mean: self.noise, deviation: NOISE_DEVIATION };
        SIZE.log_density(*size)
            + of_noise.log_density(*noise)
            + DRIFT.log_density(drift - noise)
            + of_settings.sum::<f64>()
    }

    fn factor(&self) -> Option<Factor> {
        let mut together: Pairs = vec![1.0; self.observations.len() * (self.observations.len() + 1) / 2];
        for shares in &self.shares {
            together.iter_mut().zip(shares).for_each(|(product, share)| *product *= share);
        }
        let (drift, own) = (self.at.drift_variance(), self.at.noise_variance());
        Factor::of(self.observations.len(), |i, j| {
            let pair = i * (i + 1) / 2 + j;
            let noise = if i == j { own } else { 0.0 };
            self.at.of_product(together[pair]) + drift * self.left[pair] + noise
        })
    }
}

impl Hyperparameters {
    fn count(&self) -> usize {
        3 + 2 * self.settings.len()
    }

    /// The setting that a hyperparameter is of, if it is of one.
    fn setting_of(place: usize) -> Option<usize> {
        place.checked_sub(3).map(|place| place / 2)
    }

    fn nth(&mut self, place: usize) -> &mut f64 {
        match place {
            0 => &mut self.size,
            1 => &mut self.noise,
            2 => &mut self.drift,
            place => {
                let of = &mut self.settings[(place - 3) / 2];
                if place % 2 == 1 { &mut of.weight } else { &mut of.length }
            }
        }
    }
}
