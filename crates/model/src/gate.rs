//! A gate in continuous integration: the limits that somebody set, and what was decided of each.

use crate::estimate::Estimate;
use crate::metric::Metric;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Passed,
    Failed,
    /// The interval reaches to both sides of the limit, or there is none.
    Undecided,
}

impl Decision {
    pub fn word(self) -> &'static str {
        match self {
            Decision::Passed => "passed",
            Decision::Failed => "failed",
            Decision::Undecided => "undecided",
        }
    }
}

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limited {
    /// In its own unit.
    Metric(Metric),
    /// Error answers and lost connections, those included after which a transaction was tried again and succeeded.
    Errors,
    /// Transactions that failed.
    Failed,
    /// The same as a share of those that were started.
    FailedShare,
}

/// Which side of a limit is the wrong one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    Above,
    Below,
}

/// A limit: the gate fails if what was measured lies beyond it.
#[derive(Clone, Debug, PartialEq)]
pub struct GateLimit {
    /// As it was typed: `p99 > 20ms`.
    pub text: String,
    pub of: Limited,
    pub beyond: Beyond,
    /// In the unit of what is limited.
    pub value: f64,
}

impl GateLimit {
    /// What an interval says, of which either end may be unknown.
    pub fn decide(&self, low: Option<f64>, high: Option<f64>) -> Decision {
        let (surely, perhaps) = match self.beyond {
            Beyond::Above => (low.is_some_and(|low| low > self.value), high.is_none_or(|high| high > self.value)),
            Beyond::Below => (high.is_some_and(|high| high < self.value), low.is_none_or(|low| low < self.value)),
        };
        match (surely, perhaps) {
            (true, _) => Decision::Failed,
            (false, false) => Decision::Passed,
            (false, true) => Decision::Undecided,
        }
    }
}

/// What was decided of a limit in one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateFinding {
    /// `p99 > 20ms`, `slower than base by more than 5 %`.
    pub limit: String,
    /// `16 connections`, of a lab with its variant; `null` where load points are judged together.
    pub at: Option<String>,
    pub decision: Decision,
    /// In the unit of what is limited; a change as a share. `null` if there are no samples.
    pub measured: Option<Estimate>,
    /// What the decision rests on, in words.
    pub why: String,
}

impl GateFinding {
    /// `p99 > 20ms at 16 connections`.
    pub fn title(&self) -> String {
        self.at.as_ref().map_or_else(|| self.limit.clone(), |at| format!("{} at {at}", self.limit))
    }

    /// `gate failed: p99 > 20ms at 16 connections: 25.3 ms at the 99th percentile (95 % interval 24.1 – 26.5)`.
    pub fn sentence(&self) -> String {
        format!("gate {}: {}: {}", self.decision.word(), self.title(), self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_interval_that_is_wholly_on_one_side_decides() {
        let decided = |beyond, low: f64, high: f64| {
            let limit = GateLimit { text: String::new(), of: Limited::Errors, beyond, value: 20.0 };
            limit.decide(Some(low), Some(high))
        };
        assert_eq!(decided(Beyond::Above, 20.1, 25.0), Decision::Failed);
        assert_eq!(decided(Beyond::Above, 19.9, 25.0), Decision::Undecided);
        assert_eq!(decided(Beyond::Above, 15.0, 20.0), Decision::Passed);
        assert_eq!(decided(Beyond::Below, 15.0, 19.9), Decision::Failed);
        assert_eq!(decided(Beyond::Below, 15.0, 20.1), Decision::Undecided);
        assert_eq!(decided(Beyond::Below, 20.0, 25.0), Decision::Passed);
    }

    #[test]
    fn an_end_that_is_not_known_may_lie_anywhere() {
        let limit = GateLimit { text: String::new(), of: Limited::Errors, beyond: Beyond::Above, value: 20.0 };
        assert_eq!(limit.decide(None, None), Decision::Undecided);
        assert_eq!(limit.decide(Some(21.0), None), Decision::Failed);
        assert_eq!(limit.decide(Some(19.0), None), Decision::Undecided);
        assert_eq!(limit.decide(None, Some(19.0)), Decision::Passed);
    }
}
