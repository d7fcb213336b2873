//! What more CPUs bring, if variants that were compared have different numbers of CPUs.

use super::answer::told;
use crate::document::Figure;
use crate::figure::delta::{self, Deltas};
use crate::interval::Measured;
use crate::subject::Recorded;
use plimsoll_model::lab::{LabSummary, VariantComparison};
use plimsoll_model::number::counted;

/// What changes with the additional CPUs of a variant, against the one that it is compared with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MoreCpus {
    /// `rows1m: 2cpu against 1cpu`
    pub compared: String,
    /// `2 CPUs against 1`
    pub cpus: String,
    /// The change of throughput over all load points together, a share.
    pub change: Measured,
    /// The change with its interval, and what a reader has to know before believing it.
    pub told: String,
}

/// Every comparison of variants whose servers have different numbers of CPUs, in the order of the plan.
pub(crate) fn all(recorded: &Recorded, summary: &LabSummary) -> Vec<MoreCpus> {
    let cpus = |variant: &str| recorded.trials.iter().find(|trial| trial.base == variant)?.cpus;
    let of = |of: &VariantComparison| {
        let (few, many) = cpus(&of.a).zip(cpus(&of.b)).filter(|(few, many)| few != many)?;
        let row = of.rows.first().filter(|row| row.metric.more_is_better())?;
        Some(MoreCpus {
            compared: compared(&of.a, &of.b),
            cpus: format!("{} against {few}", counted(many as f64, "CPU")),
            change: Measured::from(&row.change),
            told: told(&(of, row)),
        })
    };
    summary.comparisons.iter().filter_map(of).collect()
}

/// A group that both belong to is named once.
fn compared(a: &str, b: &str) -> String {
    match (a.split_once('/'), b.split_once('/')) {
        (Some((group, a)), Some((of_b, b))) if group == of_b => format!("{group}: {b} against {a}"),
        _ => format!("{b} against {a}"),
    }
}

/// The changes in percent, a group for each comparison; `None` if all variants have the same CPUs.
pub(super) fn figure(recorded: &Recorded, summary: &LabSummary) -> Option<Figure> {
    let all = all(recorded, summary);
    let mut cpus: Vec<String> = Vec::new();
    for more in &all {
        if !cpus.contains(&more.cpus) {
            cpus.push(more.cpus.clone());
        }
    }
    let change =
        |more: &MoreCpus, cpus: &String| if more.cpus == *cpus { more.change.clone() } else { Measured::default() };
    let deltas = Deltas {
        what: "What more CPUs bring".to_owned(),
        of: "throughput".to_owned(),
        workloads: all.iter().map(|more| more.compared.clone()).collect(),
        changes: all.iter().map(|more| cpus.iter().map(|cpus| change(more, cpus)).collect()).collect(),
        systems: cpus,
    };
    let caption =
        "The change of throughput when the server has more CPUs, in percent, with the intervals of the comparisons.";
    delta::draw("more-cpus", &deltas, caption)
}
