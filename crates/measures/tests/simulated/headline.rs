//! Every shape of the headline of a comparison: each number stands with its own side.

use plimsoll_measures::lab::headline;
use plimsoll_model::Estimate;
use plimsoll_model::LoadPoint;
use plimsoll_model::Metric;
use plimsoll_model::comparison::{Design, Row, Verdict};
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_model::lab::{LabSummary, SCHEMA_VERSION, TrialCounts, VariantComparison};

const METRICS: [Metric; 4] =
    [Metric::TransactionsPerSecond, Metric::Nopm, Metric::P99, Metric::ServerCpuUsPerTransaction];
const VERDICTS: [Verdict; 4] = [Verdict::Higher, Verdict::Lower, Verdict::Equivalent, Verdict::Unclear];

fn row((a, b): (f64, f64), metric: Metric, verdict: Verdict, has_interval: bool) -> Row {
    let change = b / a - 1.0;
    let estimate = match has_interval {
        true => Estimate::new(change, (change - 0.1, change + 0.1), CONFIDENCE, 3.0, String::new()),
        false => Estimate::bare(change, 1.0, String::new(), "1 pair cannot have an interval; 3 can".to_owned()),
    };
    Row {
        load: Some(LoadPoint::closed(8)),
        metric,
        a,
        b,
        change: estimate,
        verdict,
        detectable: Some(0.3),
        pairs_needed: None,
    }
}

fn told(row: Row) -> String {
    let comparison = VariantComparison {
        a: "small".to_owned(),
        b: "large".to_owned(),
        design: Design::Paired,
        equivalence: 0.1,
        rows: vec![row],
        floor: None,
        unlike: None,
        unlike_work: Vec::new(),
        stopping: None,
        explained: None,
    };
    let summary = LabSummary {
        schema_version: SCHEMA_VERSION,
        name: "sides".to_owned(),
        title: None,
        source: None,
        preset: None,
        recording: None,
        headline: String::new(),
        trials: TrialCounts { done: 6, failed: 0, disturbed: 0 },
        restores: Vec::new(),
        cells: Vec::new(),
        comparisons: vec![comparison],
        ladders: Vec::new(),
        load_lines: Vec::new(),
        crashes: Vec::new(),
        tune: None,
        caveats: Vec::new(),
        interrupted: false,
    };
    headline(&summary, &[])
}

/// The numbers of a sentence about two sides stand in the order in which it has the sides, whichever it begins with.
pub(super) fn says_each_side_its_own(text: &str, (a, b): (&str, &str), row: &Row) {
    let [of_a, of_b] = [row.a, row.b].map(plimsoll_model::number::short);
    let (sides, numbers) = match text.contains("between ") {
        true => (format!("between {a} and {b}"), format!(": {of_a} and {of_b} ")),
        false if text.starts_with("Against ") => (format!("Against {a} {b} "), format!(": {of_b} against {of_a} ")),
        false => (format!("on {b} against {a}"), format!(", {of_b} against {of_a} ")),
    };
    assert!(text.contains(&sides) && text.contains(&numbers), "{text}");
}

#[test]
fn each_number_stands_with_its_own_side() {
    for (small, large) in [(1331.0, 1664.0), (1664.0, 1331.0)] {
        for (metric, verdict) in METRICS.into_iter().flat_map(|metric| VERDICTS.map(|verdict| (metric, verdict))) {
            for has_interval in [true, false] {
                let row = row((small, large), metric, verdict, has_interval);
                let text = told(row.clone());
                says_each_side_its_own(&text, ("small", "large"), &row);
                if text.contains("may be chance") {
                    let change = if large > small { "+25.0 % for large" } else { "−20.0 % for large" };
                    assert!(text.contains(change), "{text}");
                }
            }
        }
    }
}
