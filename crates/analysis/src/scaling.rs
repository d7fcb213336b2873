//! What the load points of each variant of a lab tell together.

use plimsoll_model::Metric;
use plimsoll_model::lab::{Cell, LabSummary};
use plimsoll_model::scaling::{Scaling, ScalingSample};
use plimsoll_report::subject::Subject;
use plimsoll_stats::scaling::scaling;

/// With fewer load points a fit would follow each of them.
const LEAST_LOADS: usize = 4;

/// Knee and fit of each variant that ran with enough different numbers of connections; nothing of a run, whose summary
/// has its own, and nothing where rates were set: what is carried then is what was offered.
pub(super) fn of(subject: &Subject) -> Vec<(String, Scaling)> {
    let Subject::Lab(summary) = subject else { return Vec::new() };
    let mut variants: Vec<&str> = summary.cells.iter().map(|cell| cell.variant.as_str()).collect();
    variants.sort_unstable();
    variants.dedup();
    variants.into_iter().filter_map(|variant| Some((variant.to_owned(), of_variant(summary, variant)?))).collect()
}

fn of_variant(summary: &LabSummary, variant: &str) -> Option<Scaling> {
    let cells: Vec<&Cell> = summary.cells.iter().filter(|cell| cell.variant == variant).collect();
    let orders = cells.iter().any(|cell| cell.nopm.is_some());
    let sample = |cell: &&Cell| {
        let throughput = if orders { &cell.nopm } else { &cell.transactions_per_second };
        Some(ScalingSample { load: cell.load.connections as f64, throughput: throughput.clone()? })
    };
    let samples: Vec<ScalingSample> = cells.iter().filter_map(sample).collect();
    let mut loads: Vec<usize> = cells.iter().map(|cell| cell.load.connections).collect();
    loads.sort_unstable();
    loads.dedup();
    let is_swept = loads.len() >= LEAST_LOADS && cells.iter().all(|cell| cell.load.rate.is_none());
    is_swept.then(|| scaling(if orders { Metric::Nopm } else { Metric::TransactionsPerSecond }, &samples))
}
