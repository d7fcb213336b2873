//! sysbench's histogram of latencies: 1024 buckets from 1 µs to 100 s whose widths grow by one factor. What is printed as a
//! percentile is the middle of a bucket, so that numbers agree with those of sysbench to the last digit.

use hdrhistogram::Histogram;
use std::fmt::Write;

const BUCKETS: usize = 1024;
/// Milliseconds.
const LEAST: f64 = 0.001;
const MOST: f64 = 100_000.0;
/// Stars of the longest bar.
const STARS: f64 = 40.0;

/// Counts by bucket.
#[derive(Clone, Debug)]
pub struct Lattice {
    counts: Vec<u64>,
    pub total: u64,
}

impl Default for Lattice {
    fn default() -> Lattice {
        Lattice { counts: vec![0; BUCKETS], total: 0 }
    }
}

fn factor() -> f64 {
    (MOST.ln() - LEAST.ln()) / (BUCKETS - 1) as f64
}

fn place(ms: f64) -> usize {
    let place = ((ms.max(LEAST).ln() - LEAST.ln()) / factor() + 0.5).floor();
    (place as usize).min(BUCKETS - 1)
}

fn middle(place: usize) -> f64 {
    (place as f64 * factor() + LEAST.ln()).exp()
}

impl Lattice {
    /// Adds values in nanoseconds.
    pub fn add(&mut self, values: &Histogram<u64>) {
        for value in values.iter_recorded() {
            let count = value.count_at_value();
            self.counts[place(value.value_iterated_to() as f64 / 1e6)] += count;
            self.total += count;
        }
    }

    /// A percentile in milliseconds; 0 if nothing was counted.
    pub fn percentile(&self, percentile: u64) -> f64 {
        let wanted = ((self.total as f64 * percentile as f64 / 100.0 + 0.5).floor() as u64).max(1);
        let mut seen = 0;
        let reached = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        reached.filter(|_| self.total > 0).map_or(0.0, middle)
    }

    /// The buckets that have anything, one in each line.
    pub fn text(&self) -> String {
        let mut text = "       value  ------------- distribution ------------- count\n".to_owned();
        let longest = self.counts.iter().copied().max().unwrap_or_default().max(1) as f64;
        for (place, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let stars = "*".repeat((*count as f64 * STARS / longest + 0.5) as usize);
            let _ = writeln!(text, "{:12.3} |{stars:<40} {count}", middle(place));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_that_sysbench_prints() {
        let mut values = Histogram::<u64>::new_with_bounds(1000, 3_600_000_000_000, 3).unwrap();
        values.record_n(193_720_000, 1).unwrap();
        let mut lattice = Lattice::default();
        lattice.add(&values);
        // sysbench 1.0.20 printed 193.38 of one event of 193.72 ms.
        assert_eq!(format!("{:.2}", lattice.percentile(95)), "193.38");
        assert_eq!(Lattice::default().percentile(95), 0.0);
        values.record_n(1_000_000, 99).unwrap();
        let mut lattice = Lattice::default();
        lattice.add(&values);
        assert!(lattice.percentile(95) < 1.01 && lattice.percentile(100) > 190.0);
    }

    #[test]
    fn the_longest_bar_has_forty_stars() {
        let mut values = Histogram::<u64>::new_with_bounds(1000, 3_600_000_000_000, 3).unwrap();
        values.record_n(1_000_000, 80).unwrap();
        values.record_n(2_000_000, 20).unwrap();
        let mut lattice = Lattice::default();
        lattice.add(&values);
        let text = lattice.text();
        let stars: Vec<usize> = text.lines().skip(1).map(|line| line.matches('*').count()).collect();
        assert_eq!(stars, [40, 10], "{text}");
    }
}
