//! Numbers in the sentences that a summary holds.

use plimsoll_model::Estimate;
use plimsoll_model::Metric;
use plimsoll_model::number::{short, signed_percent, signed_range};
use plimsoll_report::interval::Measured;
use plimsoll_schedule::Quantity;

/// What stands behind `2.1 % more …` and `2.1 % less …`.
pub fn quantity(of: Quantity) -> &'static str {
    match of {
        Quantity::Of(Metric::TransactionsPerSecond) => "throughput",
        Quantity::Of(Metric::Nopm) => "new orders",
        Quantity::Of(Metric::P99) => "time at the 99th percentile",
        Quantity::Of(Metric::ServerCpuUsPerTransaction) => "server CPU per transaction",
        Quantity::Of(metric) => metric.unit(),
        Quantity::Answered => "transactions answered",
        Quantity::RecoverySeconds => "recovery time",
    }
}

/// `+3.1 % (95 % interval +1.0 % to +5.2 %)`.
pub fn change(change: &Estimate) -> String {
    match change.interval() {
        Some(interval) => {
            format!("{} ({} interval {})", signed_percent(change.value), confidence(change), signed_range(interval))
        }
        None => format!("{} (no interval)", signed_percent(change.value)),
    }
}

/// `95 %`, `98.3 %`.
fn confidence(change: &Estimate) -> String {
    format!("{} %", format!("{:.1}", 100.0 * change.confidence).trim_end_matches(".0"))
}

/// `1,240 transactions per second (1,190 – 1,300)`, or what is known of the interval: `an unknown number of transactions
/// per second (too unsteady to say; more rounds would tell)`.
pub fn rate_with_interval(estimate: &Estimate, unit: &str) -> String {
    if let Some(unsteady) = Measured::from(estimate).unsteady() {
        return format!("an unknown number of {unit} ({unsteady})");
    }
    let ends = match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => format!("({} – {})", short(low), short(high)),
        (Some(low), None) => format!("(at least {})", short(low)),
        (None, Some(high)) => format!("(at most {})", short(high)),
        (None, None) => "(no interval)".to_owned(),
    };
    format!("{} {unit} {ends}", short(estimate.value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_its_interval_says_nothing_of_is_not_told() {
        let of = |low, high| Estimate::new(2158.0, (low, high), 0.95, 3.0, "geometric mean of 3 rounds".to_owned());
        assert_eq!(rate_with_interval(&of(2000.0, 2300.0), "transactions"), "2,158 transactions (2,000 – 2,300)");
        assert_eq!(
            rate_with_interval(&of(0.0, 13_264.0), "transactions"),
            "an unknown number of transactions (too unsteady to say; more rounds would tell)"
        );
    }
}
