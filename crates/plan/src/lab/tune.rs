//! `[tune]`: what a search for better settings may take, and what it looks for.

pub mod arms;

use super::space::SearchSpace;
use super::space::build::AskedSettings;
use super::{Objective, PlannedWorkload};
use plimsoll_model::Metric;
use serde::{Deserialize, Serialize};

/// Rates that a configuration is tried at, about, where it is to carry more within a limit.
const ABOUT_RATES: f64 = 6.0;

/// What a search is for, and within what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuneRules {
    /// For all of it, with what confirms what was found, seconds of trials.
    pub seconds: f64,
    /// What a look at the server took before, of the time that was asked for.
    #[serde(default)]
    pub looked_seconds: f64,
    pub objective: TuneObjective,
    /// A trial that misses it counts as one that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Objective>,
    /// How long a server may take to come back after a kill, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_seconds: Option<f64>,
    /// A smaller gain, as a share, is none.
    pub decide: f64,
    pub settings: AskedSettings,
    pub sampler: TuneSampler,
    /// Whether data that the buffer pool holds as a whole are what is meant.
    #[serde(default)]
    pub in_memory: bool,
    /// Configurations that are tried in any case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<TuneArm>,
    /// What may be tried; known once the server and its machine are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<SearchSpace>,
}

/// What is to become better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TuneObjective {
    /// New orders per minute where the workload has them, else transactions per second.
    Nopm,
    P99,
    /// CPU time of the server for each transaction.
    Cost,
    /// The highest rate of arrivals at which what has to be kept is kept.
    LoadLine,
}

impl TuneObjective {
    pub const ALL: [TuneObjective; 4] =
        [TuneObjective::Nopm, TuneObjective::P99, TuneObjective::Cost, TuneObjective::LoadLine];

    pub fn name(self) -> &'static str {
        match self {
            TuneObjective::Nopm => "nopm",
            TuneObjective::P99 => "p99",
            TuneObjective::Cost => "cost",
            TuneObjective::LoadLine => "load-line",
        }
    }

    /// The metric that decides, if the outcomes of trials do not.
    pub fn metric(self) -> Option<Metric> {
        match self {
            TuneObjective::Nopm => None,
            TuneObjective::P99 => Some(Metric::P99),
            TuneObjective::Cost => Some(Metric::ServerCpuUsPerTransaction),
            // Of the trial at the highest rate that was kept.
            TuneObjective::LoadLine => Some(Metric::TransactionsPerSecond),
        }
    }
}

impl TuneRules {
    /// The limit within which a configuration is to carry more, where that is the objective: it takes several trials then.
    pub fn line_within(&self) -> Option<&Objective> {
        self.keep.as_ref().filter(|_| self.objective == TuneObjective::LoadLine)
    }

    /// About how many trials a configuration takes.
    pub fn trials_each(&self) -> f64 {
        if self.line_within().is_some() { ABOUT_RATES } else { 1.0 }
    }
}

/// How configurations are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TuneSampler {
    /// By what the trials before have taught.
    Learning,
    /// Drawn: what a search has to beat.
    Random,
}

/// A configuration that is tried in any case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TuneArm {
    pub name: String,
    /// Values by the names of variables.
    pub settings: Vec<(String, String)>,
}

/// Nearly the same load: one that is a fifth off, and what it is called; none of a workload without shares to shift.
pub fn other_mix(workload: &PlannedWorkload) -> Option<(String, PlannedWorkload)> {
    let key = |name: &str| workload.params.keys().find(|key| key.replace('-', "_") == name).cloned();
    let text = |name: &str| key(name).and_then(|key| workload.params.get(&key).cloned());
    let changed = |name: &str, value: String| {
        let mut other = workload.clone();
        other.params.insert(key(name).unwrap_or_else(|| name.to_owned()), value);
        other
    };
    if workload.script.is_some() {
        return None;
    }
    match workload.kind.as_str() {
        "tpcc" => {
            let of_profile = if text("profile").as_deref() == Some("sysbench") { "10/10/1/1/1" } else { "45/43/4/4/4" };
            let mix = text("mix").unwrap_or_else(|| of_profile.to_owned());
            let shares: Vec<f64> = mix.split('/').map(str::parse).collect::<Result<_, _>>().ok()?;
            let [orders, payments, status, deliveries, stock] = shares[..] else { return None };
            let fewer = (0.8 * orders).round();
            let shares = [fewer, payments, status, deliveries, stock + orders - fewer].map(|share| share.to_string());
            Some((
                "with a fifth of the new orders replaced by stock levels".to_owned(),
                changed("mix", shares.join("/")),
            ))
        }
        "oltp_read_write" | "oltp_read_only" => {
            let reads: f64 = text("point_selects").map_or(Ok(10.0), |text| text.parse()).ok()?;
            let more = (1.2 * reads).round();
            let name = "with a fifth more reads by primary key".to_owned();
            (more > reads).then(|| (name, changed("point_selects", more.to_string())))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other(kind: &str, params: &[(&str, &str)]) -> Option<PlannedWorkload> {
        let params = params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let workload = PlannedWorkload { kind: kind.to_owned(), params, seed: 1, dataset: None, script: None };
        other_mix(&workload).map(|(_, other)| other)
    }

    #[test]
    fn another_mix_is_a_fifth_off() {
        let shifted = |params: &[(&str, &str)]| other("tpcc", params).unwrap().params["mix"].clone();
        assert_eq!(shifted(&[]), "36/43/4/4/13");
        assert_eq!(shifted(&[("profile", "sysbench")]), "8/10/1/1/3");
        assert_eq!(shifted(&[("mix", "100/0/0/0/0")]), "80/0/0/0/20");
        assert_eq!(other("oltp_read_write", &[]).unwrap().params["point_selects"], "12");
        assert_eq!(other("oltp_read_only", &[("point-selects", "20")]).unwrap().params["point-selects"], "24");
        assert_eq!((other("oltp_insert", &[]), other("oltp_read_write", &[("point_selects", "0")])), (None, None));
    }
}
