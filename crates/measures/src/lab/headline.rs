//! The answer of a lab in one sentence.

use super::words::{quantity, rate_with_interval};
use super::{crashes, tune};
use plimsoll_model::Estimate;
use plimsoll_model::Metric;
use plimsoll_model::comparison::{Row, Verdict};
use plimsoll_model::lab::{Cell, LabSummary, Ladder, LadderStep, LoadLine, RungVerdict, VariantComparison};
use plimsoll_model::number::{counted, percent, short, signed_percent, signed_range};
use plimsoll_report::lab::{storage, whole};
use plimsoll_schedule::{EndedTrial, Quantity};
use std::collections::BTreeMap;

/// What all trials say together.
pub fn headline(summary: &LabSummary, ended: &[EndedTrial]) -> String {
    let mut found: Vec<String> = summary.ladders.iter().map(ladder).collect();
    found.extend(summary.load_lines.iter().map(load_line));
    found.extend(summary.tune.as_ref().map(tune::sentence));
    found.extend(crashes::sentences(&summary.crashes));
    // Beside what faults cost, what variants bring is the second question, which has a table and a figure.
    if summary.crashes.is_empty() {
        found.extend(summary.comparisons.iter().map(|of| comparison(summary, of)));
    }
    if found.is_empty() {
        found.extend(best(&summary.cells));
        found.extend(evaluations(ended));
    }
    let text = match (summary.trials.done, ended.first()) {
        (0, Some(first)) => nothing(ended.len(), first),
        _ if found.is_empty() => "Nothing was measured".to_owned(),
        _ => found.join(". "),
    };
    whole(summary, text)
}

fn nothing(trials: usize, first: &EndedTrial) -> String {
    let why = first.outcome.why.as_deref().unwrap_or("no reason is recorded");
    match trials {
        1 => format!("Nothing was measured: the trial failed: {why}"),
        _ => format!("Nothing was measured: all {trials} trials failed, the first because {why}"),
    }
}

/// `On base pool-6g, redo-2g are kept: together +38.0 % throughput (+31.0 % to +45.0 %)`.
fn ladder(ladder: &Ladder) -> String {
    let Ladder { variant, steps, gain, .. } = ladder;
    let kept: Vec<&str> =
        steps.iter().filter(|step| step.verdict == RungVerdict::Kept).map(|step| step.rung.as_str()).collect();
    let what = quantity(Quantity::Of(ladder.metric));
    let amount = gain.as_ref().map(|gain| format!("{} {what}{}", signed_percent(gain.value), interval(gain)));
    let text = match (kept.as_slice(), amount) {
        ([], _) => {
            let floor = ladder.floor.as_ref().map(|floor| format!(", floor {}", percent(floor.value)));
            format!("On {variant} none of {} is kept{}", counted(steps.len() as f64, "rung"), floor.unwrap_or_default())
        }
        ([only], Some(amount)) => format!("On {variant} {only} is kept: {amount}"),
        ([only], None) => format!("On {variant} {only} is kept"),
        (all, Some(amount)) => format!("On {variant} {} are kept: together {amount}", all.join(", ")),
        (all, None) => format!("On {variant} {} are kept", all.join(", ")),
    };
    text + &risks(steps)
}

/// What the kept rungs cost, where the plan allows it.
fn risks(steps: &[LadderStep]) -> String {
    let kept = steps.iter().filter(|step| step.verdict == RungVerdict::Kept);
    let words: Vec<String> = kept
        .flat_map(|step| step.risks.iter().map(move |class| format!("{} {} ({class})", step.rung, class.words())))
        .collect();
    if words.is_empty() { String::new() } else { format!(", but {}", words.join(", ")) }
}

/// `With p99 < 20ms base carries 1,240 transactions per second (1,190 – 1,300) at 64 connections`.
fn load_line(line: &LoadLine) -> String {
    let LoadLine { variant, objective, .. } = line;
    let at = counted(line.connections as f64, "connection");
    match &line.rate {
        Some(rate) => {
            format!("With {objective} {variant} carries {} at {at}{}", carried(rate), busy(line))
        }
        None => {
            let why = line.why_not.as_deref().unwrap_or("no reason is recorded");
            format!("No load line found for {variant} with {objective} at {at}: {why}")
        }
    }
}

/// `1,240 transactions per second (1,190 – 1,300)`; of a line that was not enclosed, only what is known: `at least 1,190
/// transactions per second`.
fn carried(rate: &Estimate) -> String {
    const UNIT: &str = "transactions per second";
    match (rate.low, rate.high) {
        (Some(low), None) => format!("at least {} {UNIT}", short(low)),
        (None, Some(high)) => format!("at most {} {UNIT}", short(high)),
        _ => rate_with_interval(rate, UNIT),
    }
}

/// What is to be known of a line that was looked for on a busy machine.
fn busy(line: &LoadLine) -> String {
    let busy = line.tried.iter().filter(|tried| tried.disturbed).count();
    let trials = counted(line.tried.len() as f64, "trial");
    match (busy, line.noisy_host) {
        (0, _) => String::new(),
        (_, true) => format!(", on a machine that was busy with other work in {busy} of {trials}: it may carry more"),
        (_, false) => format!("; {busy} of {trials} left out, since the machine was busy with other work"),
    }
}

fn comparison(summary: &LabSummary, comparison: &VariantComparison) -> String {
    let VariantComparison { a, b, .. } = comparison;
    let Some(row) = comparison.rows.first() else { return format!("No round has both {a} and {b}") };
    let found = match (row.verdict, row.change.interval()) {
        (Verdict::Higher | Verdict::Lower, Some(_)) => changed(a, b, row),
        (Verdict::Equivalent, Some(ends)) => {
            format!(
                "No difference larger than {} between {a} and {b} ({}): {}",
                percent(comparison.equivalence),
                signed_range(ends),
                a_and_b(row)
            )
        }
        _ if comparison.stopping.is_some() => unclear(a, b, row, None),
        _ => unclear(a, b, row, rounds(summary, comparison)),
    };
    let stopping = comparison.stopping.as_ref().map(|of| format!(", {}", of.in_words()));
    let known = comparison.floor.as_ref().filter(|_| row.change.missing.is_none());
    let floor = known.map(|floor| format!(", floor {}", percent(floor.value)));
    let unlike = comparison.unlike.as_ref().map(|unlike| format!(", but they are not equally safe: {unlike}"));
    let remarks = [stopping, floor, Some(comparison.other_work()), unlike];
    found + &remarks.into_iter().flatten().collect::<String>()
}

/// The rounds that both have; none where nobody counted them.
fn rounds(summary: &LabSummary, of: &VariantComparison) -> Option<usize> {
    let of_both = summary.cells.iter().filter(|cell| cell.variant == of.a || cell.variant == of.b);
    of_both.map(|cell| cell.rounds).min()
}

/// `Against base fast is 12.0 % faster (+10.1 % to +13.9 %): 1,120 against 1,000 transactions per second at 8 …`.
fn changed(a: &str, b: &str, row: &Row) -> String {
    let by = percent(row.change.value.abs());
    let difference = match (row.metric.more_is_better(), row.change.value < 0.0) {
        (true, true) => format!("is {by} slower"),
        (true, false) => format!("is {by} faster"),
        (false, true) => format!("takes {by} less time"),
        (false, false) => format!("takes {by} longer"),
    };
    format!("Against {a} {b} {difference}{}: {}", interval(&row.change), b_against_a(row))
}

/// `1,120 against 1,000 transactions per second at 8 connections`, in a sentence about b.
fn b_against_a(row: &Row) -> String {
    format!("{} against {}", short(row.b), measured(row.a, row))
}

/// `1,000 and 1,120 transactions per second at 8 connections`, in a sentence about a and b in this order.
fn a_and_b(row: &Row) -> String {
    format!("{} and {}", short(row.a), measured(row.b, row))
}

/// `1,000 transactions per second at 8 connections`.
fn measured(value: f64, row: &Row) -> String {
    let at = row.load.map_or("over all load points".to_owned(), |load| format!("at {load}"));
    format!("{} {} {at}", short(value), row.metric.unit())
}

fn unclear(a: &str, b: &str, row: &Row, rounds: Option<usize>) -> String {
    let change = signed_percent(row.change.value);
    match (&row.change.missing, row.detectable.zip(rounds)) {
        (Some(missing), _) => {
            format!("No verdict on {b} against {a} ({change} so far, {}): {missing}", b_against_a(row))
        }
        (None, shown) => {
            let beyond = |(share, rounds)| {
                format!("; {} show only changes beyond {}", counted(rounds as f64, "round"), percent(share))
            };
            let shown = shown.map(beyond).unwrap_or_default();
            let (both, interval) = (a_and_b(row), interval(&row.change));
            format!("No difference shown between {a} and {b}: {both}; {change} for {b} may be chance{interval}{shown}")
        }
    }
}

/// ` (+31.0 % to +45.0 %)`; nothing without an interval.
fn interval(change: &Estimate) -> String {
    change.interval().map(|ends| format!(" ({})", signed_range(ends))).unwrap_or_default()
}

/// What the last evaluation of each variant's storage found.
fn evaluations(ended: &[EndedTrial]) -> Option<String> {
    let answer = |of: &EndedTrial| Some((of.trial.variant.name.clone(), of.outcome.storage.clone()?));
    let last: BTreeMap<String, String> = ended.iter().filter_map(answer).collect();
    storage::told(last)
}

/// Of a single variant, its load point with the highest throughput.
fn best(cells: &[Cell]) -> Option<String> {
    let throughput = |cell: &Cell| {
        let orders = cell.nopm.clone().map(|nopm| (Metric::Nopm, nopm));
        orders.or(cell.transactions_per_second.clone().map(|rate| (Metric::TransactionsPerSecond, rate)))
    };
    let measured = cells.iter().filter_map(|cell| Some((cell, throughput(cell)?)));
    let (cell, (metric, found)) = measured.max_by(|(_, a), (_, b)| a.1.value.total_cmp(&b.1.value))?;
    let (does, at) = (rate_with_interval(&found, metric.unit()), cell.load.connections_in_words());
    Some(format!("At {at} {} does {does}", cell.variant))
}
