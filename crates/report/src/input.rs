//! What a report is made of. Whoever fills it in may be handed anything by a server: no field needs to be clean.

use plimsoll_model::samples::{HostSample, Interval};
use plimsoll_model::summary::Summary;
use plimsoll_stats::Knee;

#[derive(Clone, Debug)]
pub struct Report {
    /// Names the experiment, for the page's head: `quickstart`, or a plan's title.
    pub title: String,
    pub summary: Summary,
    pub knee: Option<Knee>,
    pub limit: Limit,
    /// The test environment in the order it is to be shown: what, and what it is.
    pub host_facts: Vec<(String, String)>,
    pub settings: Vec<SettingRow>,
    /// In the order of `summary.points`; a trial that was cut short may follow, trials without series may be empty.
    pub timeline: Vec<PointSeries>,
    /// A command line.
    pub how_to_repeat: String,
    /// When and by what, for the foot of the page: `2026-11-21 19:30 UTC by Plimsoll 0.1.0`.
    pub generated: String,
}

/// What stopped throughput from growing, with the evidence for it as a sentence or two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The load generator's own threads were busy: the server may carry more.
    ClientCpu(String),
    HostCpu(String),
    NotDetermined(String),
}

impl Limit {
    pub fn evidence(&self) -> &str {
        match self {
            Limit::ClientCpu(text) | Limit::HostCpu(text) | Limit::NotDetermined(text) => text,
        }
    }
}

/// One server setting as it was asked for and as the running server reported it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingRow {
    pub name: String,
    pub requested: Option<String>,
    pub effective: Option<String>,
    pub origin: String,
}

/// What was sampled second by second during one trial; `t_ns` counts from the trial's start.
#[derive(Clone, Debug, Default)]
pub struct PointSeries {
    /// Connections of the load point.
    pub connections: usize,
    pub intervals: Vec<Interval>,
    pub host: Vec<HostSample>,
}
