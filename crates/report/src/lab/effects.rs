//! What variants differ by: in throughput, in what their hosts did, in what more CPUs bring.

use super::places::{self, Group};
use super::tables;
use crate::comparison::percent;
use crate::document::{Block, Figure, Item, Section};
use crate::figure::cpu_split;
use crate::figure::delta::{self, Deltas};
use crate::format::load;
use crate::interval::Measured;
use crate::section::left_out;
use crate::subject::{Recorded, Trial};
use plimsoll_model::comparison::{Design, Row};
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_model::lab::{LabSummary, VariantComparison};
use plimsoll_model::summary::HostShares;

/// Each variant against the first, and what the costs of a transaction say to it.
pub fn comparisons(recorded: &Recorded, summary: &LabSummary) -> Option<Section> {
    let mut blocks: Vec<Block> = summary.comparisons.iter().enumerate().flat_map(compared).collect();
    let items: Vec<Item> = recorded
        .corroboration
        .iter()
        .map(|of| Item {
            text: format!("{} against {}: {}", of.b, of.a, of.sentence),
            small: Some(format!("at {}", load(of.connections, of.rate_offered))),
            warning: !of.corroborated,
        })
        .collect();
    if !items.is_empty() {
        blocks.push(Block::subheading("What the costs of a transaction say"));
        blocks.push(Block::List(items));
    }
    Section::of("comparisons", "Comparisons", blocks)
}

fn compared((place, comparison): (usize, &VariantComparison)) -> Vec<Block> {
    let VariantComparison { a, b, rows, equivalence, .. } = comparison;
    if rows.is_empty() {
        return Vec::new();
    }
    let design = match comparison.design {
        Design::Paired => "paired round by round",
        Design::Unpaired => "not paired",
    };
    let mut remarks = Vec::new();
    remarks.extend(
        comparison
            .floor
            .as_ref()
            .map(|floor| format!("Two rounds of {a} differ by up to {} in 19 of 20 cases.", percent(floor.value))),
    );
    remarks.push(format!("A change of up to {} counts as no difference.", percent(*equivalence)));
    if rows.iter().any(|row| row.change.confidence > CONFIDENCE) {
        remarks.push("The intervals of one metric hold all at once in 95 % of all cases.".to_owned());
    }
    remarks.extend(comparison.unlike.as_ref().map(|unlike| format!("Not equally safe: {unlike}.")));
    vec![
        Block::subheading(format!("{b} against {a}, {design}")),
        Block::table(&format!("comparison-{}", place + 1), tables::comparison(comparison), remarks),
    ]
}

/// What the CPUs of the host did under each variant, and what more of them bring.
pub fn cpu(recorded: &Recorded, summary: &LabSummary) -> Option<Section> {
    let bars = |groups: Vec<Group<'_>>| -> Vec<(String, Option<HostShares>)> {
        groups.into_iter().map(|group| (group.label, shares(&group.trials))).collect()
    };
    let (shown, all) = (bars(places::shown(recorded, summary)), bars(places::all(recorded)));
    let caption = "What the time of the host’s CPUs went to, all processes together; the rest was idle.";
    let caption = [caption.to_owned()].into_iter().chain(left_out(shown.len(), all.len())).collect::<Vec<_>>();
    let split = cpu_split::draw("cpu", &shown, &caption.join(" "));
    let split = split.map(|figure| Figure { table: cpu_split::table(&all), ..figure });
    let more = deltas(recorded, summary).and_then(|(deltas, caption)| delta::draw("more-cpus", &deltas, &caption));
    Section::of("cpu", "Host CPU", split.into_iter().chain(more).map(Block::Figure).collect())
}

/// The mean over the trials that have them.
fn shares(trials: &[&Trial]) -> Option<HostShares> {
    let known: Vec<HostShares> = trials.iter().filter_map(|trial| trial.point.as_ref()?.host).collect();
    let first = known.first()?;
    let mean = |of: fn(&HostShares) -> f64| known.iter().map(of).sum::<f64>() / known.len() as f64;
    Some(HostShares {
        cpus: first.cpus,
        busy: mean(|host| host.busy),
        user: mean(|host| host.user),
        system: mean(|host| host.system),
        iowait: mean(|host| host.iowait),
        steal: mean(|host| host.steal),
    })
}

/// What more CPUs bring, where variants have different numbers of them: each against the first.
fn deltas(recorded: &Recorded, summary: &LabSummary) -> Option<(Deltas, String)> {
    let cpus = |variant: &str| recorded.trials.iter().find(|trial| trial.base == variant)?.cpus;
    let differing = |of: &&VariantComparison| cpus(&of.a).zip(cpus(&of.b)).is_some_and(|(a, b)| a != b);
    let compared: Vec<&VariantComparison> = summary.comparisons.iter().filter(differing).collect();
    let first = compared.first()?;
    let of_points = |of: &VariantComparison| -> Vec<Row> {
        let rate = |row: &&Row| row.metric.more_is_better();
        of.rows.iter().filter(rate).cloned().collect()
    };
    let name = |row: &Row| row.connections.map_or("all load points".to_owned(), |n| load(n, row.rate_offered));
    let rows = of_points(first);
    let workloads: Vec<String> = rows.iter().map(name).collect();
    let change = |of: &VariantComparison, row: &Row| {
        let key = |row: &Row| (row.connections, row.rate_offered, row.metric);
        let found = of_points(of).into_iter().find(|other| key(other) == key(row));
        found.map(|found| Measured::from(&found.change)).unwrap_or_default()
    };
    let system = |of: &&VariantComparison| {
        let (few, many) = (cpus(&of.a).unwrap_or_default(), cpus(&of.b).unwrap_or_default());
        format!("{} ({many} against {few} CPUs)", of.b)
    };
    let deltas = Deltas {
        what: format!("throughput against {}", first.a),
        systems: compared.iter().map(system).collect(),
        changes: rows.iter().map(|row| compared.iter().map(|of| change(of, row)).collect()).collect(),
        workloads,
    };
    Some((deltas, "What the number of CPUs changes, in percent of the throughput of the first variant.".to_owned()))
}
