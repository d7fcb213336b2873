//! What a source printed: numbers to be shown beside those that were measured, and what they were measured on.

use serde::{Deserialize, Serialize};

/// One statement of a source, which gives one of `value`, `values`, `range`, `ordering` and `text`; beside words, a plan
/// may set a `limit`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Printed {
    /// In a list of all that sources print: `NA1`. Several statements may share one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `Table 3-2`.
    pub place: Option<String>,
    /// What was measured, `nopm`; of what is not measured the name of the thing, `warehouses`, or nothing.
    pub metric: String,
    pub unit: Option<String>,
    pub variant: Option<String>,
    pub rung: Option<String>,
    pub workload: Option<String>,
    /// Name of a probe of a storage trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe: Option<String>,
    pub connections: Option<usize>,
    pub cpus: Option<usize>,
    pub value: Option<f64>,
    /// Several numbers in the order in which they are printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<f64>>,
    /// Both ends belong to it.
    pub range: Option<(f64, f64)>,
    /// Variants or rungs, the best first.
    pub ordering: Option<Vec<String>>,
    /// What no number tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The range that the plan judges the words by, where the source prints none. Both ends belong to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<(f64, f64)>,
    pub kind: PublishedKind,
    pub note: Option<String>,
}

impl Printed {
    /// The one number that it tells: its value, or the mean of several samples.
    pub fn number(&self) -> Option<f64> {
        let samples = self.values.as_ref().filter(|values| !values.is_empty());
        let mean = samples.map(|values| values.iter().sum::<f64>() / values.len() as f64);
        self.value.or(mean)
    }
}

/// How a source knows what it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PublishedKind {
    /// A measured result.
    #[default]
    Printed,
    /// Not printed, but it follows from what is.
    Derived,
    /// A result that is given as a rounded share, an order, or in words.
    Claim,
    /// The environment, configuration or procedure of its measurements.
    Setup,
    /// A rule of thumb.
    Advice,
    /// Printed, but of other times or other things.
    History,
}

impl PublishedKind {
    pub const ALL: [PublishedKind; 6] = [
        PublishedKind::Printed,
        PublishedKind::Derived,
        PublishedKind::Claim,
        PublishedKind::Setup,
        PublishedKind::Advice,
        PublishedKind::History,
    ];

    /// As plan files have it.
    pub fn name(self) -> &'static str {
        match self {
            PublishedKind::Printed => "printed",
            PublishedKind::Derived => "derived",
            PublishedKind::Claim => "claim",
            PublishedKind::Setup => "setup",
            PublishedKind::Advice => "advice",
            PublishedKind::History => "history",
        }
    }

    /// Whether it is something that can be measured again.
    pub fn is_result(self) -> bool {
        matches!(self, PublishedKind::Printed | PublishedKind::Derived | PublishedKind::Claim)
    }
}
