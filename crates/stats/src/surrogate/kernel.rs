//! How alike two trials are.

/// What a setting is in a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Position {
    /// A number, as a share of its range.
    At(f64),
    /// One of its words, or a number that means something of its own; each as far from all others as a range is long.
    Named(usize),
}

/// Of each setting, squared; at most 1.
pub(super) type Distances = Vec<f64>;

pub(super) fn distances(a: &[Position], b: &[Position]) -> Distances {
    let squared = |(a, b): (&Position, &Position)| match (a, b) {
        (Position::At(a), Position::At(b)) => (a - b).powi(2).min(1.0),
        (a, b) => f64::from(a != b),
    };
    a.iter().zip(b).map(squared).collect()
}

/// Variance of the constant: throughput may be anything within a factor of two or so of what it is compared with.
const CONSTANT: f64 = 0.25;
/// Trials after which most of a drift is another one.
const MEMORY: f64 = 15.0;

/// The share of a drift that trials so far apart have in common.
pub(super) fn drift_left(apart: f64) -> f64 {
    (-apart.abs() / MEMORY).exp()
}

/// What the trials themselves have to tell. All are logarithms, so that they are above 0 wherever a chain goes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hyperparameters {
    /// Of standard deviations: what settings do, noise, drift.
    pub size: f64,
    pub noise: f64,
    pub drift: f64,
    pub settings: Vec<OfSetting>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OfSetting {
    /// How much of all that settings do this one does.
    pub weight: f64,
    /// The share of its range within which its effect is much the same.
    pub length: f64,
}

impl Hyperparameters {
    /// Between what settings do at two places.
    pub fn covariance(&self, distances: &[f64]) -> f64 {
        self.of_product(distances.iter().zip(&self.settings).map(|(squared, of)| of.share(*squared)).product())
    }

    /// The same, from the product of what each setting makes of its distance.
    pub fn of_product(&self, shares: f64) -> f64 {
        CONSTANT + (2.0 * self.size).exp() * (shares - 1.0)
    }

    /// Of what settings do at a place.
    pub fn variance(&self) -> f64 {
        self.of_product(self.settings.iter().map(|of| of.share(0.0)).product())
    }

    pub fn drift_variance(&self) -> f64 {
        (2.0 * self.drift).exp()
    }

    pub fn noise_variance(&self) -> f64 {
        (2.0 * self.noise).exp()
    }
}

impl OfSetting {
    /// 1 + w κ, with κ = exp(−r).
    pub fn share(&self, squared: f64) -> f64 {
        1.0 + (self.weight - squared.sqrt() * (-self.length).exp()).exp()
    }
}
