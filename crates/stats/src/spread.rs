//! Samples of throughput by load, and how far each can be trusted.

use crate::batch_means::mean;
use crate::distribution::{t_quantile, t_two_sided};
use plimsoll_model::estimate::{CONFIDENCE, Estimate};
use plimsoll_model::scaling::ScalingSample;

/// Probability that a true value lies beyond one end of its interval.
pub(crate) const TAIL: f64 = (1.0 - CONFIDENCE) / 2.0;
/// What gives a load point an interval.
pub(crate) const REMEDY: &str = "measure 10 s or longer, or several rounds";

/// The usable samples, smallest load first: loads above 0, and throughputs of 0 or above.
pub(crate) fn by_load(samples: &[ScalingSample]) -> Vec<&ScalingSample> {
    let usable = |load: f64, throughput: f64| load > 0.0 && throughput >= 0.0 && (load + throughput).is_finite();
    let mut samples: Vec<&ScalingSample> =
        samples.iter().filter(|sample| usable(sample.load, sample.throughput.value)).collect();
    samples.sort_by(|a, b| a.load.total_cmp(&b.load));
    samples
}

/// One sample of each load, of samples in order of load.
pub(crate) fn merged(samples: &[&ScalingSample]) -> Vec<ScalingSample> {
    samples.chunk_by(|a, b| a.load == b.load).map(together).collect()
}

/// The mean of samples of one load, assumed independent; without an interval if one of them has none.
fn together(same: &[&ScalingSample]) -> ScalingSample {
    if let [only] = same {
        return (*only).clone();
    }
    let count = same.len() as f64;
    let value = mean(&same.iter().map(|sample| sample.throughput.value).collect::<Vec<f64>>());
    let effective_n = same.iter().map(|sample| sample.throughput.effective_n).sum();
    let method = format!("mean of {count} measurements");
    let spreads: Option<Vec<Spread>> = same.iter().map(|sample| Spread::absolute(&sample.throughput)).collect();
    let throughput = match spreads.and_then(|spreads| spreads.into_iter().reduce(Spread::and)) {
        Some(Spread { error, degrees }) => {
            let margin = error / count * t_two_sided(CONFIDENCE, degrees);
            let ends = ((value - margin).max(0.0), value + margin);
            Estimate::new(value, ends, CONFIDENCE, effective_n, format!("{method}, t interval")).with_degrees(degrees)
        }
        None => Estimate::bare(value, effective_n, method, format!("not all of them have an interval: {REMEDY}")),
    };
    ScalingSample { load: same[0].load, throughput }
}

/// The least degrees of freedom that are assumed for the interval of an estimate without them, those of 5 rounds. Its
/// effective n may be smaller; too few degrees would make a small error of a wide interval.
const LEAST_DEGREES: f64 = 4.0;

/// How far the logarithm of a mean can be trusted, unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// Standard error of the logarithm, which is that of the mean relative to it.
    pub error: f64,
    /// Degrees of freedom that the error was found with.
    pub degrees: f64,
}

impl Spread {
    /// The spread of what is known exactly.
    pub const NONE: Spread = Spread { error: 0.0, degrees: LEAST_DEGREES };

    /// What the interval of a mean above 0 says; `None` without an interval.
    pub fn of(mean: &Estimate) -> Option<Spread> {
        let Spread { error, degrees } = Spread::absolute(mean)?;
        Some(Spread { error: error / mean.value, degrees })
    }

    /// The same of the mean itself, in its unit. Its interval is taken as a t interval, with `effective_n` − 1 degrees
    /// of freedom where it does not say. Its upper half counts, since the lower one may be cut at 0.
    pub fn absolute(mean: &Estimate) -> Option<Spread> {
        let (_, high) = mean.interval()?;
        let degrees = mean.degrees.unwrap_or((mean.effective_n - 1.0).max(LEAST_DEGREES));
        Some(Spread { error: (high - mean.value) / t_two_sided(mean.confidence, degrees), degrees })
    }

    /// The spread of the sum or difference of two, with the degrees of freedom of Welch (1947).
    pub fn and(self, other: Spread) -> Spread {
        let (own, others) = (self.error.powi(2), other.error.powi(2));
        let variance = own + others;
        let degrees = match variance > 0.0 {
            true => variance.powi(2) / (own.powi(2) / self.degrees + others.powi(2) / other.degrees),
            false => self.degrees + other.degrees,
        };
        Spread { error: variance.sqrt(), degrees }
    }

    /// How far from the estimate, in logarithms, the true value lies on one side with a probability of only `tail`.
    pub fn reach(self, tail: f64) -> f64 {
        self.error * t_quantile(1.0 - tail, self.degrees)
    }
}
