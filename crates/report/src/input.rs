//! What a report is made of. Whoever fills it in may be handed anything by a server: no field needs to be clean.

use crate::format::{counted, number};
use crate::interval::Measured;
use crate::sweep::Unit;
use plimsoll_model::samples::{HostSample, Interval};
use plimsoll_model::summary::{Point, Summary};

#[derive(Clone, Debug)]
pub struct Report {
    /// Names the experiment, for the page's head: `quickstart`, or a plan's title.
    pub title: String,
    pub summary: Summary,
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

impl Report {
    /// What the summary alone tells, and what limited the load. The rest is left empty.
    pub fn of(title: &str, summary: Summary) -> Report {
        Report {
            title: title.to_owned(),
            limit: Limit::of(&summary.points),
            host_facts: Vec::new(),
            settings: Vec::new(),
            timeline: Vec::new(),
            how_to_repeat: String::new(),
            generated: String::new(),
            summary,
        }
    }
}

/// Above this share of its time a CPU counts as busy.
const BUSY: f64 = 0.9;

/// What stopped throughput from growing, with the evidence for it as a sentence or two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The load generator's own threads were busy: the server may carry more.
    ClientCpu(String),
    HostCpu(String),
    NotDetermined(String),
}

impl Limit {
    /// What kept throughput from growing, as far as the CPU shares at the peak tell.
    pub fn of(points: &[Point]) -> Limit {
        let unit = Unit::of(points);
        let rate = |point: &&Point| unit.throughput(point).unwrap_or(0.0);
        let Some(peak) = points.iter().max_by(|a, b| rate(a).total_cmp(&rate(b))) else {
            return Limit::NotDetermined("Nothing was measured.".to_owned());
        };
        let client = Measured::of(peak, "client.cpu_fraction", peak.client.cpu_fraction);
        let host = Measured::of(peak, "host.busy", peak.host.map(|host| host.busy));
        let shares = [
            busy("the load generator's loop was on a CPU", "the time", &client),
            busy("the host's CPUs were busy", "theirs", &host),
        ];
        let shares: Vec<String> = shares.into_iter().flatten().collect();
        let known = if shares.is_empty() { "no CPU shares are known".to_owned() } else { shares.join(", and ") };
        let connections = counted(peak.connections as f64, "connection");
        let place = if points.len() > 1 { format!("the peak, {connections}") } else { connections };
        let evidence = format!("At {place}, {known}.");
        let is_busy = |measured: Measured| measured.value.is_some_and(|share| share > BUSY);
        match (is_busy(client), is_busy(host)) {
            (true, _) => Limit::ClientCpu(evidence),
            (false, true) => Limit::HostCpu(evidence),
            (false, false) => Limit::NotDetermined(evidence),
        }
    }

    pub fn evidence(&self) -> &str {
        match self {
            Limit::ClientCpu(text) | Limit::HostCpu(text) | Limit::NotDetermined(text) => text,
        }
    }
}

/// `the host's CPUs were busy 98.9 % of theirs (95 % interval 98.3 – 99.5)`, if that is known.
fn busy(what: &str, of: &str, share: &Measured) -> Option<String> {
    let percents = share.scaled(100.0);
    Some(format!("{what} {} % of {of} ({})", number(percents.value?, 1), percents.told_in_full(1)))
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
