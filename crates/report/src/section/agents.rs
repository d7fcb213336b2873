//! Who made the load: the agents of a fleet, what each carried, and how well its clock was known.

use crate::document::{Block, Section};
use crate::found::span;
use crate::subject::Recorded;
use crate::table::{Column, Mark, Table};
use plimsoll_model::number::{column, counted};
use plimsoll_model::summary::AgentPoint;
use std::collections::BTreeMap;

const REMARK: &str = "\
Over all load points: transactions are those of the measured windows; busy loops, lag and the share of the ceiling \
(`plimsoll calibrate` on that machine) are the highest of a load point, the CPUs of others on its machine likewise. On a \
machine that also has the server, it is one of those others. The clock of an agent was known to so much when it started, at \
worst; drift is how far it then moved away until the last answer.";

/// One agent over several load points.
#[derive(Debug, Default)]
struct Seen<'a> {
    machine: &'a str,
    loops: usize,
    transactions: u64,
    busy: Option<f64>,
    of_ceiling: Option<f64>,
    lag_ms: f64,
    foreign: Option<f64>,
    bound_us: f64,
    drift_us: Option<f64>,
    points: usize,
    /// Why it was lost, each time.
    lost: Vec<&'a str>,
}

impl<'a> Seen<'a> {
    fn add(&mut self, point: &'a AgentPoint) {
        let most = |known: Option<f64>, next: Option<f64>| known.into_iter().chain(next).max_by(f64::total_cmp);
        (self.machine, self.loops) = (&point.machine, point.loops);
        self.transactions = self.transactions.saturating_add(point.transactions);
        self.busy = most(self.busy, point.loops_busy);
        self.of_ceiling = most(self.of_ceiling, point.of_ceiling);
        self.lag_ms = self.lag_ms.max(point.lag_ms);
        self.foreign = most(self.foreign, point.foreign_cpus);
        self.bound_us = self.bound_us.max(point.clock_bound_us);
        self.drift_us = most(self.drift_us, point.clock_drift_us.map(f64::abs));
        self.points += 1;
        self.lost.extend(point.lost.as_deref());
    }

    fn end(&self) -> String {
        match (self.lost.as_slice(), self.points) {
            ([], _) => "to the end".to_owned(),
            ([why], 1) => format!("lost: {why}"),
            ([why, ..], points) => {
                format!("lost in {} of {}: {why}", self.lost.len(), counted(points as f64, "load point"))
            }
        }
    }
}

/// `None` if the load was made where it was followed.
pub fn section(recorded: &Recorded) -> Option<Section> {
    let mut agents: BTreeMap<&str, Seen<'_>> = BTreeMap::new();
    let points = recorded.trials.iter().filter_map(|trial| trial.point.as_ref());
    for agent in points.flat_map(|point| &point.agents) {
        agents.entry(&agent.agent).or_default().add(agent);
    }
    if agents.is_empty() {
        return None;
    }
    let lost = agents.values().filter(|agent| !agent.lost.is_empty()).count();
    let found = match lost {
        0 => format!("{}, none lost", counted(agents.len() as f64, "agent")),
        lost => format!("{}, {lost} lost", counted(agents.len() as f64, "agent")),
    };
    let blocks = vec![Block::table("agents", table(&agents), [REMARK.to_owned()])];
    let bounds = span(agents.values().map(|agent| agent.bound_us));
    let found = bounds.map_or(found.clone(), |bounds| format!("{found}; clocks known to {bounds} µs"));
    Some(Section::of("agents", "Load agents", blocks)?.found(found))
}

fn table(agents: &BTreeMap<&str, Seen<'_>>) -> Table {
    let all: u64 = agents.values().map(|agent| agent.transactions).sum();
    let share = |agent: &Seen<'_>| (all > 0).then(|| 100.0 * agent.transactions as f64 / all as f64);
    let numbers = |name: &str, unit: &str, decimals: usize, pick: &dyn Fn(&Seen<'_>) -> Option<f64>| {
        let values: Vec<Option<f64>> = agents.values().map(pick).collect();
        Column::numbers(name, unit, column(&values, decimals))
    };
    let columns = vec![
        Column::words("agent", agents.keys().map(|name| (*name).to_owned()).collect()),
        Column::words("machine", agents.values().map(|agent| agent.machine.to_owned()).collect()),
        numbers("loops", "", 0, &|agent| Some(agent.loops as f64)),
        numbers("transactions", "", 0, &|agent| Some(agent.transactions as f64)),
        numbers("of all", "%", 1, &share),
        numbers("busy loops", "%", 0, &|agent| agent.busy.map(|busy| 100.0 * busy)),
        numbers("of its ceiling", "%", 0, &|agent| agent.of_ceiling.map(|share| 100.0 * share)),
        numbers("lag", "ms", 1, &|agent| Some(agent.lag_ms)),
        numbers("CPUs of others", "", 1, &|agent| agent.foreign),
        numbers("clock known to", "µs", 0, &|agent| Some(agent.bound_us)),
        numbers("drift", "µs", 0, &|agent| agent.drift_us),
        Column::words("took part", agents.values().map(Seen::end).collect()),
    ];
    let marks = agents.values().map(|agent| (!agent.lost.is_empty()).then_some(Mark::Broken)).collect();
    Table { columns, marks }
}
