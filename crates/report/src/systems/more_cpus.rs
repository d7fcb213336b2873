//! What more CPUs bring on each system (Bourke's figure of percentages).

use super::System;
use crate::document::{Block, Finding, Section};
use crate::figure::delta::{self, Deltas};
use crate::lab::more_cpus::{MoreCpus, all};
use crate::subject::Subject;

/// Percent by system, a group for each comparison that any of them made; empty for what a system did not compare.
pub(super) fn section(systems: &[System<'_>]) -> Option<Section> {
    let (compared, rows) = compared(systems);
    let change = |more: &Option<MoreCpus>| more.as_ref().map(|more| more.change.clone()).unwrap_or_default();
    let deltas = Deltas {
        what: "What more CPUs bring".to_owned(),
        of: "throughput".to_owned(),
        systems: systems.iter().map(|system| system.name.clone()).collect(),
        workloads: compared,
        changes: rows.iter().map(|row| row.iter().map(change).collect()).collect(),
    };
    let caption = "The change of throughput when the server has more CPUs, on each system, in percent, with the \
                   intervals of its own rounds. Where there is no bar, it was not measured.";
    let figure = delta::draw("more-cpus", &deltas, caption);
    Section::of("more-cpus", "What more CPUs bring", figure.map(Block::Figure).into_iter().collect())
}

/// The same, a sentence for each comparison.
pub(super) fn findings(systems: &[System<'_>]) -> Vec<Finding> {
    let (compared, rows) = compared(systems);
    let told = |(compared, row): (String, Vec<Option<MoreCpus>>)| {
        let of = |(system, more): (&System<'_>, &Option<MoreCpus>)| {
            let told = more.as_ref().map_or("not measured", |more| more.told.as_str());
            format!("{} {told}", system.name)
        };
        let each: Vec<String> = systems.iter().zip(&row).map(of).collect();
        Finding::labelled(compared, format!("{}.", each.join("; ")))
    };
    compared.into_iter().zip(rows).map(told).collect()
}

/// Every comparison once, and what each system shows for it.
fn compared(systems: &[System<'_>]) -> (Vec<String>, Vec<Vec<Option<MoreCpus>>>) {
    let by_system: Vec<Vec<MoreCpus>> = systems.iter().map(of).collect();
    let mut compared: Vec<String> = Vec::new();
    for more in by_system.iter().flatten() {
        if !compared.contains(&more.compared) {
            compared.push(more.compared.clone());
        }
    }
    let of = |all: &Vec<MoreCpus>, compared: &String| all.iter().find(|more| more.compared == *compared).cloned();
    let rows = compared.iter().map(|name| by_system.iter().map(|all| of(all, name)).collect()).collect();
    (compared, rows)
}

fn of(system: &System<'_>) -> Vec<MoreCpus> {
    match &system.recorded.subject {
        Subject::Lab(summary) => all(system.recorded, summary),
        Subject::Run(_) | Subject::Storage(_) => Vec::new(),
    }
}
