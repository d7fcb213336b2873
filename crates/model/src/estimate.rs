//! A number with how far it can be trusted, and the refusal to give one.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Share of all cases in which an interval contains the true value, where nothing else is said.
pub const CONFIDENCE: f64 = 0.95;
/// An interval that reaches further than this share of the number says nothing of it.
pub const MOST_UNSTEADY: f64 = 0.3;

/// A number found from samples. `low` and `high` have the unit of `value`; an end that is not there is unbounded
/// or unknown, and then `missing` says what would be needed for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub value: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Share of all cases in which an interval made this way contains the true value, 0 to 1.
    pub confidence: f64,
    /// As many independent samples would tell as much as those that were used.
    pub effective_n: f64,
    /// Degrees of freedom of the t interval; `null` where it is none.
    #[serde(default)]
    pub degrees: Option<f64>,
    /// How value and interval were found: `8 batches of 7 s, t interval`.
    pub method: String,
    /// Why an end is not there, and what would give it: `3 s are too few; 5 s can`.
    pub missing: Option<String>,
}

impl Estimate {
    /// A value with both ends of its interval, the lower one first.
    pub fn new(value: f64, ends: (f64, f64), confidence: f64, effective_n: f64, method: String) -> Estimate {
        let (low, high) = (Some(ends.0), Some(ends.1));
        Estimate { value, low, high, confidence, effective_n, degrees: None, method, missing: None }
    }

    /// A value without an interval, for the reason that `missing` gives.
    pub fn bare(value: f64, effective_n: f64, method: String, missing: String) -> Estimate {
        let missing = Some(missing);
        Estimate { value, low: None, high: None, confidence: CONFIDENCE, effective_n, degrees: None, method, missing }
    }

    /// The same with the degrees of freedom of its t interval.
    pub fn with_degrees(self, degrees: f64) -> Estimate {
        Estimate { degrees: Some(degrees), ..self }
    }

    /// Both ends, if both are there.
    pub fn interval(&self) -> Option<(f64, f64)> {
        Some((self.low?, self.high?))
    }

    /// Whether the interval, known on both sides, reaches so far that the number says nothing.
    pub fn is_unsteady(&self) -> bool {
        let Some((low, high)) = self.interval().filter(|(low, high)| low.is_finite() && high.is_finite()) else {
            return false;
        };
        (self.value - low).max(high - self.value) > MOST_UNSTEADY * self.value.abs()
    }

    /// Half the width of the interval, in the unit of the value.
    pub fn half_width(&self) -> Option<f64> {
        self.interval().map(|(low, high)| (high - low) / 2.0)
    }

    /// The same in another unit: everything times `factor`, which is above 0.
    pub fn scaled(&self, factor: f64) -> Estimate {
        Estimate {
            value: self.value * factor,
            low: self.low.map(|low| low * factor),
            high: self.high.map(|high| high * factor),
            ..self.clone()
        }
    }
}

/// Why there is no estimate at all; it says what is missing: `2 load points have no knee; 3 can`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Refusal(pub String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}
