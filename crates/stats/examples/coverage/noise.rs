//! Seeded noise like that of throughput.

use fastrand::Rng;

/// A separate generator for each simulation, so that a row does not depend on the rows before it.
pub fn generator(row: u64, simulation: usize) -> Rng {
    Rng::with_seed(row.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ simulation as u64)
}

/// A standard normal value (Box and Muller 1958).
pub fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.f64()).cos()
}

/// `length` values of a stationary first-order autoregression with mean 0 and standard deviation 1 whose neighbours
/// correlate by `correlation`.
pub fn autoregression(rng: &mut Rng, length: usize, correlation: f64) -> Vec<f64> {
    let fresh = (1.0 - correlation * correlation).sqrt();
    let first = normal(rng);
    let next = |last: &f64| Some(correlation * last + fresh * normal(rng));
    std::iter::successors(Some(first), next).take(length).collect()
}
