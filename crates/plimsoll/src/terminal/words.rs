//! Loads, trials and measurements in lines of plain text.

use plimsoll_model::io::Probe;
use plimsoll_model::lab::{TrialOutcome, TrialStatus, VerificationVerdict};
use plimsoll_model::metric::Statistic;
use plimsoll_model::number::{decimals_for, short};
use plimsoll_model::samples::{Interval, Phase};
use plimsoll_model::summary::Point;
use plimsoll_model::{LoadPoint, Metric, ProbeMetric};
use plimsoll_plan::lab::TrialPlan;
use plimsoll_report::interval::Measured;

/// The name of a trial for people.
pub fn title(trial: &TrialPlan) -> String {
    format!("{}  {}  round {}", trial.label, trial.point, trial.round)
}

/// The outcome of a trial, in a line.
pub fn result(outcome: &TrialOutcome) -> String {
    let why = outcome.why.as_deref().unwrap_or("the reason is not known");
    let mut line = match (outcome.status, &outcome.point) {
        (TrialStatus::Done, Some(point)) => measured(point),
        (TrialStatus::Done, None) => "done".to_owned(),
        (TrialStatus::Failed, _) => format!("failed: {why}"),
        (TrialStatus::Interrupted, _) => "interrupted".to_owned(),
    };
    if let Some(recovery) = &outcome.recovery {
        line += &format!("  recovered in {:.1} s", recovery.seconds);
        if !recovery.broken.is_empty() {
            line += &format!("  damaged: {}", recovery.broken.join("; "));
        }
    }
    let missed =
        outcome.verifications.iter().filter(|verification| verification.verdict != VerificationVerdict::InEffect);
    let missed: Vec<&str> = missed.map(|verification| verification.name.as_str()).collect();
    if !missed.is_empty() {
        line += &format!("  not in effect: {}", missed.join(", "));
    }
    line
}

/// What a trial measured, without confidence intervals: those of a lab are over its rounds.
fn measured(point: &Point) -> String {
    let told = |value: Option<f64>| value.map_or("-".to_owned(), short);
    let throughput = match point.nopm {
        Some(nopm) => format!("{} NOPM", short(nopm)),
        None => format!("{} transactions/s", told(point.transactions_per_second)),
    };
    format!("{throughput}  p99 {} ms", told(point.latency_ms.p99))
}

/// One second of a run, or as many as the user wants in a line.
pub fn interval(point: LoadPoint, interval: &Interval) -> String {
    let per_second = |count: u64| if interval.seconds > 0.0 { count as f64 / interval.seconds } else { 0.0 };
    let shown = |ms: Option<f64>| ms.map_or("-".to_owned(), |ms| format!("{ms:.2}"));
    let at = (interval.t_ns as f64 / 1e9 + interval.seconds).round();
    let mut line = format!(
        "[{at:>4.0}s] connections: {}  tps: {:.1}  qps: {:.1}  p50/p95/p99 ms: {}/{}/{}",
        point.connections,
        per_second(interval.transactions),
        per_second(interval.queries),
        shown(interval.latency_ms.p50),
        shown(interval.latency_ms.p95),
        shown(interval.latency_ms.p99),
    );
    let errors = interval.error_count();
    for (name, count) in [("errors", errors), ("reconnects", interval.reconnects), ("dropped", interval.counts.dropped)]
    {
        if count > 0 {
            line += &format!("  {name}: {count}");
        }
    }
    if interval.phase == Phase::WarmUp {
        line += "  (warm-up)";
    }
    line
}

/// A finished load point; the table at the end says why an interval is missing.
pub fn point(point: &Point) -> String {
    let (metric, unit) = match point.nopm {
        Some(_) => (Metric::Nopm, "NOPM"),
        None => (Metric::TransactionsPerSecond, "transactions/s"),
    };
    let throughput = Measured::of(point, metric);
    let throughput = throughput.label_in(unit, throughput.value.map_or(0, decimals_for));
    let p95 = Measured::of(point, Metric::Latency(Statistic::P95)).label_in("ms", 2);
    format!("        connections: {:>4}  {throughput}  p95 {p95}", point.load.connections)
}

/// One second of a storage measurement.
pub fn io_interval(interval: &Interval) -> String {
    let at = (interval.t_ns as f64 / 1e9 + interval.seconds).round();
    let per_second = if interval.seconds > 0.0 { interval.transactions as f64 / interval.seconds } else { 0.0 };
    let p99 = interval.latency_ms.p99.map_or("-".to_owned(), |ms| format!("{ms:.2} ms"));
    let warmup = if interval.phase == Phase::WarmUp { " (warm-up)" } else { "" };
    format!("{at:.0} s  {per_second:.0} IOPS  p99 {p99}{warmup}")
}

/// A finished storage measurement: its rate, and the latency of each kind of operation.
pub fn probe(probe: &Probe) -> String {
    let mut line = format!("{:<22} {}", probe.id, probe.name);
    if probe.iops.is_some() {
        line += &format!("  {}", Measured::of_probe(probe, ProbeMetric::Iops).label_in("/s", 0));
    }
    for kind in probe.latency_us.keys() {
        let p99 = Measured::of_probe(probe, ProbeMetric::Latency(*kind, Statistic::P99)).label_in("µs", 0);
        line += &format!("  {kind} p99 {p99}");
    }
    if let Some(why) = &probe.error {
        line += &format!("  failed: {why}");
    }
    line
}
