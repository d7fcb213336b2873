//! What a search for better settings found.

use crate::estimate::Estimate;
use crate::metric::Metric;
use serde::{Deserialize, Serialize};

/// A search, of one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuneSummary {
    pub variant: String,
    pub metric: Metric,
    pub conclusion: TuneConclusion,
    /// A smaller gain, as a share, is none.
    pub decide: f64,
    /// Share by which two equal trials differ here by chance in 19 of 20 cases.
    pub floor: Option<Estimate>,
    /// What was searched.
    pub searched: Vec<SearchedSetting>,
    /// Settings that were not, and why.
    pub left_out: Vec<SettingLeftOut>,
    /// In the order in which they were tried.
    pub tried: Vec<TriedSettings>,
    /// By how much the best beats today's configuration, as far as the search alone tells: a share.
    pub believed: Option<f64>,
    /// The best against today's configuration on data that the search has not seen, as a share.
    pub confirmed: Option<Estimate>,
    /// The settings of the best that differ from today's.
    pub found: Vec<FoundSetting>,
    /// Those that are kept, together against today's configuration; none if all are, or if there was no time.
    pub kept: Option<Estimate>,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TuneConclusion {
    /// Trials are left.
    Open,
    /// Nothing was found that is believed to beat today's configuration by what counts as a gain.
    Nothing,
    Confirmed,
    /// What was believed to be best did not show it on other data.
    NotConfirmed,
}

/// A setting whose values were tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchedSetting {
    pub name: String,
    /// `128M to 6G`, `OFF, ON`.
    pub values: String,
    /// None if it is not set.
    pub today: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingLeftOut {
    pub name: String,
    pub why: String,
}

/// A configuration that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriedSettings {
    /// `today`, `arm/NAME` or its number.
    pub label: String,
    /// What differs from today's configuration.
    pub changed: Vec<(String, String)>,
    /// Against the mean of today's configuration, as a share that is above 0 if it is better; none if it came to no good end.
    pub gain: Option<f64>,
    /// Why it came to none.
    pub why: Option<String>,
}

/// A setting of the best configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundSetting {
    pub name: String,
    pub value: String,
    /// None if it is not set.
    pub today: Option<String>,
    /// What it brings to the best configuration, as a share; none if that was not measured.
    pub worth: Option<Estimate>,
    pub is_kept: bool,
}
