//! Latency histograms: how they are created, and what is shown of them.

use hdrhistogram::Histogram;
use plimsoll_model::summary::LatencyMs;

/// The range of every latency histogram, nanoseconds: 1 µs to 1 h.
pub const LOWEST_NS: u64 = 1_000;
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

/// An empty latency histogram: nanoseconds from 1 µs to 1 h with 3 significant digits. It never resizes; the recorder
/// counts what is out of range.
pub fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, 3).expect("the bounds are constant and valid")
}

/// How many values lie at the two ends of the range, where those beyond it are counted too: of 1 µs or less, and of 1 h
/// or more.
pub fn at_the_ends(values: &Histogram<u64>) -> (u64, u64) {
    (values.count_at(LOWEST_NS), values.count_at(HIGHEST_NS))
}

/// What is shown of a histogram of nanoseconds, in milliseconds; all `None` if it is empty.
pub fn latency_ms(values: &Histogram<u64>) -> LatencyMs {
    if values.is_empty() {
        return LatencyMs::default();
    }
    let ms = |ns: f64| Some(ns / 1e6);
    let max = values.max();
    // A percentile is the upper end of its bucket, which must not stand above the maximum.
    let at = |quantile: f64| ms(values.value_at_quantile(quantile).min(max) as f64);
    LatencyMs {
        min: ms(values.min() as f64),
        mean: ms(values.mean()),
        p50: at(0.50),
        p90: at(0.90),
        p95: at(0.95),
        p99: at(0.99),
        p999: at(0.999),
        max: ms(max as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: Option<f64>, expected: f64) {
        let found = found.expect("a value");
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} where {expected} belongs");
    }

    #[test]
    fn no_samples_show_nothing() {
        assert_eq!(latency_ms(&new_histogram()), LatencyMs::default());
    }

    #[test]
    fn a_thousand_values_show_their_ranks_to_three_digits() {
        let mut values = new_histogram();
        for ms in 1..=1000 {
            values.record(ms * 1_000_000).unwrap();
        }
        let shown = latency_ms(&values);
        close(shown.min, 1.0);
        close(shown.mean, 500.5);
        close(shown.p50, 500.0);
        close(shown.p90, 900.0);
        close(shown.p95, 950.0);
        close(shown.p99, 990.0);
        close(shown.p999, 999.0);
        close(shown.max, 1000.0);
    }

    #[test]
    fn no_percentile_stands_above_the_maximum() {
        for ns in [1, 999, 1_000, 123_457, 59_999_999_999, HIGHEST_NS] {
            let mut values = new_histogram();
            values.record(ns).unwrap();
            let shown = latency_ms(&values);
            assert!(shown.p999 <= shown.max && shown.p50 <= shown.p999, "{ns}: {shown:?}");
        }
    }

    #[test]
    fn the_range_is_covered_without_resizing() {
        let mut values = new_histogram();
        assert!(values.record(HIGHEST_NS).is_ok());
        assert!(values.record(2 * HIGHEST_NS).is_err());
    }
}
