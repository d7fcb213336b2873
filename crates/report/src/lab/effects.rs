//! How variants differ: in throughput, in what their hosts did, in what more CPUs bring.

use super::more_cpus;
use super::places::{self, Group};
use super::tables;
use crate::comparison::verdict;
use crate::document::{Block, Figure, Item, Section};
use crate::figure::{cpu_split, looks};
use crate::found::{span, tallied};
use crate::section::left_out;
use crate::subject::{Recorded, Trial};
use plimsoll_model::comparison::{Design, unlike_in_words};
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_model::lab::{LabSummary, VariantComparison};
use plimsoll_model::number::percent;
use plimsoll_model::summary::HostShares;

/// Each variant against the one that it is compared with, and what the cost of a transaction shows about it.
pub fn comparisons(recorded: &Recorded, summary: &LabSummary) -> Option<Section> {
    let mut blocks: Vec<Block> =
        summary.comparisons.iter().enumerate().flat_map(|(place, of)| compared(place, of)).collect();
    let items: Vec<Item> = recorded
        .corroboration
        .iter()
        .map(|of| Item {
            text: format!("{} against {}: {}", of.b, of.a, of.sentence),
            small: Some(format!("at {}", of.load)),
            warning: !of.corroborated,
        })
        .collect();
    if !items.is_empty() {
        blocks.push(Block::subheading("What the cost of a transaction shows"));
        blocks.push(Block::List(items));
    }
    Some(Section::of("comparisons", "Comparisons", blocks)?.found(found(summary)))
}

/// `2 slower, 1 faster, 1 unclear`: of the variants, by the first row of each comparison.
fn found(summary: &LabSummary) -> String {
    let verdicts = summary.comparisons.iter().filter_map(|of| Some(verdict(of.rows.first()?)));
    tallied(verdicts).iter().map(|(verdict, count)| format!("{count} {verdict}")).collect::<Vec<_>>().join(", ")
}

fn compared(place: usize, comparison: &VariantComparison) -> Vec<Block> {
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
        remarks.push("For each metric, all intervals hold together in 95 % of cases.".to_owned());
    }
    remarks.extend(comparison.stopping.as_ref().map(|of| format!("It was {}.", of.in_words())));
    let carried = comparison.stopping.as_ref().and_then(|of| of.switchback.as_ref());
    remarks.extend(carried.map(|of| format!("The {}.", of.in_words())));
    remarks.extend(comparison.explained.as_ref().map(|of| format!("Without what others took: {}.", of.in_words())));
    let work = unlike_in_words(&comparison.unlike_work);
    remarks.extend((!work.is_empty()).then(|| format!("Not the same work: {work}.")));
    remarks.extend(comparison.unlike.as_ref().map(|unlike| format!("Not equally safe: {unlike}.")));
    let name = format!("{b} against {a}");
    let looks = comparison.stopping.as_ref().and_then(|of| looks::draw(&format!("looks-{}", place + 1), &name, of));
    let table = Block::table(&format!("comparison-{}", place + 1), tables::comparison(comparison), remarks);
    [Block::subheading(format!("{name}, {design}")), table].into_iter().chain(looks.map(Block::Figure)).collect()
}

/// What the CPUs of the host did under each variant, and what more of them bring.
pub fn cpu(recorded: &Recorded, summary: &LabSummary) -> Option<Section> {
    let bars = |groups: Vec<Group<'_>>| -> Vec<(String, Option<HostShares>)> {
        groups.into_iter().map(|group| (group.label, shares(&group.trials))).collect()
    };
    let (shown, all) = (bars(places::shown(recorded, summary)), bars(places::all(recorded)));
    let caption = "Where the host’s CPU time went, all processes together; the rest was idle.";
    let caption = [caption.to_owned()].into_iter().chain(left_out(shown.len(), all.len())).collect::<Vec<_>>();
    let split = cpu_split::draw("cpu", &shown, &caption.join(" "));
    let split = split.map(|figure| Figure { table: cpu_split::table(&all), ..figure });
    let blocks = split.into_iter().chain(more_cpus::figure(recorded, summary)).map(Block::Figure).collect();
    let busy = span(all.iter().filter_map(|(_, host)| Some(100.0 * host.as_ref()?.busy)));
    Some(Section::of("cpu", "Host CPU", blocks)?.found(busy.map_or(String::new(), |busy| format!("{busy} % busy"))))
}

/// The mean over the trials that have these shares.
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
