//! What a search for better settings found.

use crate::durability::Risks;
use crate::estimate::{CONFIDENCE, Estimate};
use crate::metric::Metric;
use crate::number::counted;
use serde::{Deserialize, Serialize};

/// A search, of one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuneSummary {
    pub variant: String,
    pub metric: Metric,
    /// The limit within which more was to be carried, if that was the objective: `p99 < 20ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_within: Option<String>,
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
    /// The best against today's configuration when it was measured again, as a share.
    pub confirmed: Option<Estimate>,
    /// Rounds of that, and in how many of them the best failed or missed what has to hold.
    #[serde(default)]
    pub confirming: usize,
    #[serde(default)]
    pub missed: usize,
    /// Today's configuration itself misses what has to hold.
    #[serde(default)]
    pub misses_today: bool,
    /// Confirmed on the data of the search, under another load: they are a dataset of the plan's.
    #[serde(default)]
    pub is_same_data: bool,
    /// The settings of the best that differ from today's.
    pub found: Vec<FoundSetting>,
    /// Those that are kept, together against today's configuration; none if all are.
    pub kept: Option<Estimate>,
    /// The best against today's configuration under other loads, as far as there was time.
    #[serde(default)]
    pub elsewhere: Vec<TuneElsewhere>,
    /// The two settings of which one matters most to what the other brings, as far as the search tells.
    #[serde(default)]
    pub interaction: Option<SettingInteraction>,
}

/// Another load than the one that was searched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuneElsewhere {
    /// `at 8 connections`.
    pub load: String,
    /// The best against today's configuration, as a share.
    pub change: Option<Estimate>,
}

/// What two settings bring together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingInteraction {
    pub a: String,
    pub b: String,
    /// Values of each, from the lowest to the highest.
    pub values_of_a: Vec<String>,
    pub values_of_b: Vec<String>,
    /// What is believed to be brought against today's configuration, as a share: for each value of `a` one for each of `b`; none
    /// where that would exceed a limit.
    pub gains: Vec<Vec<Option<f64>>>,
    /// By how much, as a share, both together are believed to bring more than each for itself would lead one to expect, at most.
    pub most: f64,
}

impl TuneSummary {
    /// What is kept against today's configuration, or all that was found if nothing was dropped.
    pub fn shown_gain(&self) -> Option<&Estimate> {
        self.kept.as_ref().or(self.confirmed.as_ref())
    }

    /// What was tried beside today's configuration, and by how much it was better: the best first.
    pub fn best(&self) -> impl Iterator<Item = (&TriedSettings, f64)> {
        let others = self.tried.iter().filter(|tried| !tried.changed.is_empty());
        let mut gains: Vec<_> = others.filter_map(|tried| Some((tried, tried.gain?))).collect();
        gains.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        gains.into_iter()
    }

    /// How much was tried: `38 trials`, or configurations where each of them takes several.
    pub fn tried_in_words(&self) -> String {
        counted(self.tried.len() as f64, if self.line_within.is_some() { "configuration" } else { "trial" })
    }

    /// On what the best was measured again.
    pub fn on_what(&self) -> &'static str {
        if self.is_same_data { "under another load" } else { "on other data" }
    }

    /// The settings of the best without those that were dropped.
    pub fn kept_settings(&self) -> Vec<&FoundSetting> {
        self.found.iter().filter(|setting| setting.is_kept).collect()
    }

    /// What the settings of the best bring, each for itself, put together; none unless each was measured. The interval is as wide
    /// as those of the settings together, so that nothing is assumed of how they interact.
    pub fn sum_of_worths(&self) -> Option<Estimate> {
        let worths: Vec<&Estimate> = self.found.iter().map(|setting| setting.worth.as_ref()).collect::<Option<_>>()?;
        let ends: Vec<(f64, f64)> = worths.iter().map(|worth| worth.interval()).collect::<Option<_>>()?;
        if worths.len() < 2 {
            return None;
        }
        let sum = |values: &mut dyn Iterator<Item = f64>| values.map(f64::ln_1p).sum::<f64>().exp_m1();
        let value = sum(&mut worths.iter().map(|worth| worth.value));
        let low = sum(&mut ends.iter().map(|(low, _)| *low));
        let high = sum(&mut ends.iter().map(|(_, high)| *high));
        let pairs = worths.iter().map(|worth| worth.effective_n).fold(f64::INFINITY, f64::min);
        Some(Estimate::new(value, (low, high), CONFIDENCE, pairs, "sum of intervals".to_owned()))
    }

    /// Whether that is, within the intervals, what the best as a whole was confirmed to bring.
    pub fn adds_up(&self) -> Option<bool> {
        let (low, high) = self.sum_of_worths()?.interval()?;
        let (least, most) = self.confirmed.as_ref()?.interval()?;
        Some(low <= most && least <= high)
    }
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
    /// Its default, if it is not set; none if that is not known.
    pub today: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingLeftOut {
    pub name: String,
    pub why: String,
}

/// Settings that are not tried, by the reason: each reason once, in the order in which it first occurs.
pub fn by_reason(left_out: &[SettingLeftOut]) -> Vec<(&str, Vec<&str>)> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for SettingLeftOut { name, why } in left_out {
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    reasons
}

/// A configuration that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriedSettings {
    /// `today`, `arm/NAME` or its number.
    pub label: String,
    /// What differs from today's configuration.
    pub changed: Vec<(String, String)>,
    /// Against the mean of today's configuration, as a share that is above 0 if it is better; none if it failed, or missed what
    /// has to hold.
    pub gain: Option<f64>,
    /// Why it failed.
    pub why: Option<String>,
}

/// A setting of the best configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundSetting {
    pub name: String,
    pub value: String,
    /// Its default, if it is not set; none if that is not known.
    pub today: Option<String>,
    /// What it brings to the best configuration, as a share; none if that was not measured.
    pub worth: Option<Estimate>,
    pub is_kept: bool,
    /// What its value costs in safety.
    #[serde(default)]
    pub costs: Risks,
}
