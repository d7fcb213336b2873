//! Loads, trials and measurements in lines of plain text.

use plimsoll_model::io::Probe;
use plimsoll_model::lab::{TrialOutcome, TrialStatus, VerificationVerdict};
use plimsoll_model::metric::Statistic;
use plimsoll_model::number::{decimals_for, short, tick};
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
    let times = point.response_ms.unwrap_or(point.latency_ms);
    let throughput = match point.nopm {
        Some(nopm) => format!("{} NOPM", short(nopm)),
        None => format!("{} transactions/s", told(point.transactions_per_second)),
    };
    format!("{throughput}  {}p99 {} ms", counted_from(point.response_ms.is_some()), told(times.p99))
}

/// At a set rate, times count from when a transaction was due.
fn counted_from(due: bool) -> &'static str {
    if due { "response " } else { "" }
}

/// What is added up over the seconds of one line.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineSums {
    intervals: u32,
    warming_up: u32,
    seconds: f64,
    transactions: u64,
    queries: u64,
    errors: u64,
    reconnects: u64,
    dropped: u64,
    /// Of the worst of its seconds, milliseconds: percentiles cannot be added up.
    worst_p99_ms: Option<f64>,
}

impl LineSums {
    pub fn add(&mut self, interval: &Interval) {
        self.intervals += 1;
        self.warming_up += u32::from(interval.phase == Phase::WarmUp);
        self.seconds += interval.seconds;
        self.transactions += interval.transactions;
        self.queries += interval.queries;
        self.errors += interval.error_count();
        self.reconnects += interval.reconnects;
        self.dropped += interval.counts.dropped;
        let p99 = interval.response_ms.unwrap_or(interval.latency_ms).p99;
        self.worst_p99_ms = [self.worst_p99_ms, p99].into_iter().flatten().reduce(f64::max);
    }

    /// Whether a line of `every` seconds is due; none ever is if that is 0.
    pub fn is_due(&self, every: u64) -> bool {
        every > 0 && self.seconds + 0.01 >= every as f64
    }
}

/// The seconds of a run that `sums` has, of which `interval` is the last.
pub fn interval(point: LoadPoint, interval: &Interval, sums: &LineSums) -> String {
    let per_second = |count: u64| if sums.seconds > 0.0 { count as f64 / sums.seconds } else { 0.0 };
    let shown = |ms: Option<f64>| ms.map_or("-".to_owned(), |ms| format!("{ms:.2}"));
    let at = (interval.t_ns as f64 / 1e9 + interval.seconds).round();
    let times = interval.response_ms.unwrap_or(interval.latency_ms);
    let of = counted_from(interval.response_ms.is_some());
    let times = match sums.intervals {
        0 | 1 => format!("{of}p50/p95/p99 ms: {}/{}/{}", shown(times.p50), shown(times.p95), shown(times.p99)),
        _ => format!("{of}p99 of a second up to {} ms", shown(sums.worst_p99_ms)),
    };
    let mut line = format!(
        "[{at:>4.0}s] connections: {}{}  tps: {:.1}  qps: {:.1}  {times}",
        point.connections,
        offered(point),
        per_second(sums.transactions),
        per_second(sums.queries),
    );
    for (name, count) in [("errors", sums.errors), ("reconnects", sums.reconnects), ("dropped", sums.dropped)] {
        if count > 0 {
            line += &format!("  {name}: {count}");
        }
    }
    line += match sums.warming_up {
        0 => "",
        all if all == sums.intervals => "  (warm-up)",
        _ => "  (partly warm-up)",
    };
    line
}

/// `  rate: 500`; nothing in a closed loop.
fn offered(point: LoadPoint) -> String {
    point.rate.map_or(String::new(), |rate| format!("  rate: {}", tick(rate)))
}

/// A finished load point; the table at the end says why an interval is missing.
pub fn point(point: &Point) -> String {
    let (metric, unit) = match point.nopm {
        Some(_) => (Metric::Nopm, "NOPM"),
        None => (Metric::TransactionsPerSecond, "transactions/s"),
    };
    let throughput = Measured::of(point, metric);
    let throughput = throughput.label_in(unit, throughput.value.map_or(0, decimals_for));
    let p95 = Measured::of(point, Metric::Time(Statistic::P95)).label_in("ms", 2);
    let of = counted_from(point.response_ms.is_some());
    format!("        connections: {:>4}{}  {throughput}  {of}p95 {p95}", point.load.connections, offered(point.load))
}

/// One second of a storage measurement.
pub fn io_interval(interval: &Interval) -> String {
    let at = (interval.t_ns as f64 / 1e9 + interval.seconds).round();
    let per_second = if interval.seconds > 0.0 { interval.transactions as f64 / interval.seconds } else { 0.0 };
    let p99 = interval.response_ms.unwrap_or(interval.latency_ms).p99;
    let p99 = p99.map_or("-".to_owned(), |ms| format!("{ms:.2} ms"));
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
        let is_due = probe.response_us.contains_key(kind);
        let metric = if is_due { ProbeMetric::Response } else { ProbeMetric::Latency };
        let p99 = Measured::of_probe(probe, metric(*kind, Statistic::P99)).label_in("µs", 0);
        line += &format!("  {kind} {}p99 {p99}", counted_from(is_due));
    }
    if let Some(why) = &probe.error {
        line += &format!("  failed: {why}");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::summary::LatencyMs;

    fn at(ms: f64) -> LatencyMs {
        LatencyMs { p50: Some(ms), p95: Some(ms), p99: Some(ms), ..LatencyMs::default() }
    }

    fn offered(rate: f64) -> LoadPoint {
        LoadPoint { connections: 4, rate: Some(rate) }
    }

    /// A second in which transactions waited for their turn.
    fn second(number: u64, errors: u64) -> Interval {
        let empty = Interval::empty(number * 1_000_000_000, Phase::Measure, 1.0);
        let errors = [(1213, errors)].into();
        Interval { transactions: 100, errors, latency_ms: at(5.0), response_ms: Some(at(4000.0)), ..empty }
    }

    #[test]
    fn at_a_set_rate_times_count_from_when_transactions_were_due() {
        let mut sums = LineSums::default();
        sums.add(&second(0, 0));
        let line = interval(offered(500.0), &second(0, 0), &sums);
        assert!(line.contains("rate: 500  tps: 100.0"), "{line}");
        assert!(line.ends_with("response p50/p95/p99 ms: 4000.00/4000.00/4000.00"), "{line}");
        let of = |rate: f64| Point {
            load: offered(rate),
            latency_ms: at(5.0),
            response_ms: Some(at(4000.0)),
            ..Point::default()
        };
        assert!(measured(&of(100.0)).ends_with("response p99 4,000 ms"), "{}", measured(&of(100.0)));
        assert!(point(&of(100.0)).contains("response p95 4,000"), "{}", point(&of(100.0)));
        assert_ne!(point(&of(100.0)), point(&of(200.0)), "the rate tells them apart");
    }

    #[test]
    fn a_closed_loop_has_latencies_alone() {
        let point = LoadPoint::closed(4);
        let closed = Interval { response_ms: None, ..second(0, 0) };
        let mut sums = LineSums::default();
        sums.add(&closed);
        let line = interval(point, &closed, &sums);
        assert!(line.contains("connections: 4  tps") && line.ends_with("  p50/p95/p99 ms: 5.00/5.00/5.00"), "{line}");
    }

    #[test]
    fn a_line_adds_up_all_of_its_seconds() {
        let mut sums = LineSums::default();
        let seconds: Vec<Interval> = (0..10).map(|number| second(number, number + 1)).collect();
        for second in &seconds {
            assert!(!sums.is_due(10));
            sums.add(second);
        }
        assert!(sums.is_due(10) && !sums.is_due(0));
        let line = interval(offered(500.0), &seconds[9], &sums);
        assert!(line.contains("tps: 100.0") && line.contains("errors: 55"), "{line}");
        assert!(line.contains("response p99 of a second up to 4000.00 ms"), "{line}");
    }
}
