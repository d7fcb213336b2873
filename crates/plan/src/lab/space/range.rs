//! The numbers that are worth trying.

use crate::quantity;
use serde::{Deserialize, Serialize};

/// Numbers from `low` to `high`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValueRange {
    pub low: f64,
    pub high: f64,
    /// Equal steps are equal factors.
    pub is_log: bool,
    /// Every value but the ends is a multiple of it; above 0.
    pub step: f64,
    /// Numbers of bytes, which are written with a suffix.
    pub is_size: bool,
}

impl ValueRange {
    /// The number at a share of the range, as it is written.
    pub fn number(&self, share: f64) -> f64 {
        let share = share.clamp(0.0, 1.0);
        let exact = match self.is_log {
            true => self.low * (self.high / self.low).powf(share),
            false => self.low + (self.high - self.low) * share,
        };
        let step = self.step.max(self.grain(exact));
        ((exact / step).round() * step).clamp(self.low, self.high)
    }

    /// Where a number is; `None` if it is outside.
    pub fn share(&self, number: f64) -> Option<f64> {
        if !(self.low..=self.high).contains(&number) || self.high <= self.low {
            return None;
        }
        Some(match self.is_log {
            true => (number / self.low).ln() / (self.high / self.low).ln(),
            false => (number - self.low) / (self.high - self.low),
        })
    }

    /// The share of the end that is nearest to a number outside.
    pub fn end_near(&self, number: f64) -> f64 {
        if number > self.high { 1.0 } else { 0.0 }
    }

    pub fn snapped(&self, share: f64) -> f64 {
        self.share(self.number(share)).unwrap_or(share)
    }

    pub fn text(&self, share: f64) -> String {
        let number = self.number(share) as u64;
        if self.is_size { quantity::shown_size(number) } else { number.to_string() }
    }

    /// On a logarithmic scale, a sixteenth of the power of two below: finer differences are nobody's.
    fn grain(&self, number: f64) -> f64 {
        if self.is_log && number >= 16.0 { number.log2().floor().exp2() / 16.0 } else { 1.0 }
    }
}
