//! How throughput grows with load: the peak, the knee, and the Universal Scalability fit.

use crate::estimate::Estimate;
use crate::metric::Metric;
use serde::{Deserialize, Serialize};

/// Throughput at one load: so many connections, or so many CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalingSample {
    pub load: f64,
    pub throughput: Estimate,
}

/// What a sweep tells. What could not be told is `null`, and `refusals` say why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// What throughput is counted in: transactions per second or new orders per minute.
    pub metric: Metric,
    pub knee: Option<Knee>,
    pub saturation: Option<Saturation>,
    pub refusals: Vec<String>,
}

/// Where throughput stops growing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// The least load that brings 95 % of the highest mean that was observed. Its interval holds every load that may.
    pub load: Estimate,
    /// Throughput there.
    pub throughput: f64,
    pub peak_load: f64,
    /// The highest mean that was observed.
    pub peak: Estimate,
    /// True if the sweep does not enclose the knee: its first point reaches it already, or its last one is the highest
    /// and more load might give more.
    pub open_ended: bool,
}

/// The Universal Scalability Law X(N) = γN / (1 + α(N − 1) + βN(N − 1)), fitted (Gunther, "Guerrilla Capacity
/// Planning", 2007, chapter 4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saturation {
    /// Throughput of a load of one.
    pub gamma: Estimate,
    /// Contention.
    pub alpha: Estimate,
    /// Coherency.
    pub beta: Estimate,
    /// The model's own maximum; `null` where it has none above a load of 1 (as with β = 0).
    pub peak: Option<ModelPeak>,
    /// What the points differ from the curve by, as a share: the root of the sum of squared residuals over n − 3.
    pub residual: f64,
    /// What noise alone would make of that; `null` where not all points have intervals.
    pub noise: Option<f64>,
    /// Why the model does not describe these points; `null` where it does.
    pub poor: Option<String>,
}

/// Where the fitted curve has its maximum, which no point has to have seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelPeak {
    pub load: Estimate,
    pub throughput: Estimate,
}

impl Saturation {
    /// The model's throughput at a load.
    pub fn at(&self, load: f64) -> f64 {
        let (gamma, alpha, beta) = (self.gamma.value, self.alpha.value, self.beta.value);
        gamma * load / (1.0 + alpha * (load - 1.0) + beta * load * (load - 1.0))
    }
}

/// What more CPUs (or connections) brought against the fewest, as a share: 0.5 is half as much again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delta {
    pub load: f64,
    pub change: Estimate,
}
