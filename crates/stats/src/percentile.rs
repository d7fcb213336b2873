//! Percentiles of merged histograms, with intervals.

use crate::batch_means::{too_few, uncertainty};
use crate::distribution::normal_quantile;
use crate::latency::new_histogram;
use hdrhistogram::Histogram;
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_model::{Estimate, Refusal};

/// More clusters than this are merged in pairs: enough for 20 batches and more, few enough for hours.
const MOST_CLUSTERS: usize = 512;

/// Values and how often each was recorded, ascending.
type Counts = Vec<(u64, u64)>;

/// A window's values, second by second, in bounded memory: in a long window, a cluster is 2, 4, 8, … seconds.
#[derive(Clone, Debug)]
pub struct Clusters {
    whole: Histogram<u64>,
    clusters: Vec<Counts>,
    /// Seconds that were added.
    seconds: usize,
    /// Seconds of each cluster; the last may still have fewer.
    width: usize,
}

impl Default for Clusters {
    fn default() -> Clusters {
        Clusters { whole: new_histogram(), clusters: Vec::new(), seconds: 0, width: 1 }
    }
}

impl Clusters {
    /// Adds the values of the next second, in a histogram made by [`new_histogram`]. A second without values counts.
    pub fn add(&mut self, values: &Histogram<u64>) {
        let counts: Counts = values.iter_recorded().map(|at| (at.value_iterated_to(), at.count_at_value())).collect();
        for &(value, count) in &counts {
            self.whole.saturating_record_n(value, count);
        }
        match self.clusters.last_mut() {
            Some(last) if !self.seconds.is_multiple_of(self.width) => *last = merged(&[std::mem::take(last), counts]),
            _ => self.clusters.push(counts),
        }
        self.seconds += 1;
        if self.clusters.len() > MOST_CLUSTERS {
            self.clusters = self.clusters.chunks(2).map(merged).collect();
            self.width *= 2;
        }
    }

    /// The value that a share `quantile`, above 0 and below 1, of all values does not exceed, in the unit of the
    /// histograms; `effective_n` counts values.
    ///
    /// The interval is found after Woodruff ("Confidence intervals for medians and other position measures", Journal
    /// of the American Statistical Association 47, 1952): that of the share of values that do not exceed the
    /// percentile, as [`crate::batch_means`] finds it, read at both ends as percentiles of the merged values. Where
    /// the upper end passes the last value there is no `high`, nor a `low` where the lower one passes the first.
    ///
    /// # Errors
    /// No value was added.
    pub fn percentile(&self, quantile: f64) -> Result<Estimate, Refusal> {
        let n = self.whole.len() as f64;
        if self.whole.is_empty() {
            return Err(Refusal(
                "no value was recorded; a window in which something is completed has percentiles".to_owned(),
            ));
        }
        let value = self.at(quantile);
        let Some(uncertainty) = uncertainty(&self.residuals(value)) else {
            return Ok(Estimate::bare(value, n, "merged histograms".to_owned(), too_few(self.seconds)));
        };
        // Clusters that agree by chance do not say more than independent values would.
        let binomial = (quantile * (1.0 - quantile) / n).sqrt();
        let standard_error = uncertainty.standard_error.max(binomial);
        let margin = uncertainty.t() * standard_error;
        let (low, high) = (quantile - margin, quantile + margin);
        Ok(Estimate {
            value,
            low: (low > 0.0).then(|| self.at(low)),
            high: (high < 1.0).then(|| self.at(high)),
            confidence: CONFIDENCE,
            effective_n: n * (binomial / standard_error).powi(2),
            degrees: Some(uncertainty.degrees),
            method: format!("Woodruff, {}", uncertainty.method(self.width)),
            missing: (low <= 0.0 || high >= 1.0).then(|| self.unbounded(quantile, standard_error)),
        })
    }

    /// Why an end is missing: `812 values in 20 s do not bound the 99.9th percentile; about 4000 in 100 s do`.
    fn unbounded(&self, quantile: f64, standard_error: f64) -> String {
        let n = self.whole.len() as f64;
        // A longer window has more degrees of freedom as well, so that this is nearer to the normal distribution.
        let margin = normal_quantile(0.5 + CONFIDENCE / 2.0) * standard_error;
        let longer = (margin / quantile.min(1.0 - quantile)).powi(2).max(2.0);
        let percent = (quantile * 1e5).round() / 1e3;
        let (values, seconds) = (about(longer * n), about(longer * self.seconds as f64));
        let enough = format!("about {values} in {seconds} s do");
        format!("{n} values in {} s do not bound the {percent}th percentile; {enough}", self.seconds)
    }

    fn at(&self, quantile: f64) -> f64 {
        self.whole.value_at_quantile(quantile).min(self.whole.max()) as f64
    }

    /// How far the number of values above `value` is from its share in each cluster, per mean number of values.
    fn residuals(&self, value: f64) -> Vec<f64> {
        let above = |cluster: &Counts| total(&cluster[cluster.partition_point(|&(at, _)| at as f64 <= value)..]);
        let exceeding: f64 = self.clusters.iter().map(above).sum();
        let n = self.whole.len() as f64;
        // Products of whole numbers, so that clusters that are alike leave 0 and no rounding error.
        let off = |cluster: &Counts| above(cluster) * n - exceeding * total(cluster);
        let scale = n * n / self.clusters.len() as f64;
        self.clusters.iter().map(|cluster| off(cluster) / scale).collect()
    }
}

fn total(counts: &[(u64, u64)]) -> f64 {
    counts.iter().map(|&(_, count)| count as f64).sum()
}

fn merged(clusters: &[Counts]) -> Counts {
    let mut all = clusters.concat();
    all.sort_unstable();
    all.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0 };
        same
    });
    all
}

/// Rounded up to one digit.
fn about(number: f64) -> f64 {
    let unit = 10_f64.powf(number.log10().floor());
    (number / unit).ceil() * unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::latency_ms;

    /// Each second with its values, milliseconds.
    fn clusters(seconds: &[Vec<u64>]) -> Clusters {
        let mut clusters = Clusters::default();
        for second in seconds {
            clusters.add(&histogram(second));
        }
        clusters
    }

    fn histogram(values: &[u64]) -> Histogram<u64> {
        let mut histogram = new_histogram();
        for ms in values {
            histogram.record(ms * 1_000_000).unwrap();
        }
        histogram
    }

    fn close(found: Option<f64>, expected_ms: f64) {
        let found = found.expect("an end") / 1e6;
        assert!((found / expected_ms - 1.0).abs() < 1e-3, "{found} where {expected_ms} belongs");
    }

    #[test]
    fn no_values_are_refused_even_in_many_seconds() {
        assert!(Clusters::default().percentile(0.5).is_err());
        assert!(clusters(&vec![vec![]; 20]).percentile(0.5).is_err());
    }

    #[test]
    fn a_few_seconds_have_a_percentile_without_an_interval() {
        let found = clusters(&[vec![1, 2], vec![3], vec![]]).percentile(0.5).unwrap();
        close(Some(found.value), 2.0);
        assert_eq!((found.interval(), found.effective_n), (None, 3.0));
        assert_eq!(found.missing.as_deref(), Some("3 s are too few for an interval; 10 s are enough"));
    }

    #[test]
    fn the_value_is_what_a_summary_shows() {
        let seconds: Vec<Vec<u64>> = (0..20).map(|second| (1..50).map(|ms| ms * ms + second).collect()).collect();
        let shown = latency_ms(&histogram(&seconds.concat()));
        for (quantile, expected) in [(0.5, shown.p50), (0.9, shown.p90), (0.99, shown.p99), (0.999, shown.p999)] {
            assert_eq!(Some(clusters(&seconds).percentile(quantile).unwrap().value / 1e6), expected);
        }
    }

    #[test]
    fn seconds_that_are_alike_tell_as_much_as_independent_values() {
        // 320 times 1 to 100 ms: the binomial standard error of the median's share is 0.5 / √32,000, t of 19 is 2.093.
        let alike = clusters(&vec![(1..=100).collect(); 320]);
        let found = alike.percentile(0.5).unwrap();
        assert_eq!((found.effective_n, found.missing), (32_000.0, None));
        close(Some(found.value), 50.0);
        close(found.low, 50.0);
        close(found.high, 51.0);
        assert_eq!(found.method, "Woodruff, 20 batches of 16 s, t interval");
        close(alike.percentile(0.99).unwrap().high, 100.0);
    }

    #[test]
    fn one_value_over_and_over_has_no_width() {
        let found = clusters(&vec![vec![7; 10]; 20]).percentile(0.9).unwrap();
        assert_eq!(found.interval(), Some((found.value, found.value)));
    }

    #[test]
    fn an_end_beyond_the_last_value_is_missing() {
        let found = clusters(&vec![(1..=41).collect(); 20]).percentile(0.999).unwrap();
        assert!(found.low.is_some() && found.high.is_none());
        // 1.96² · 999 = 3838.
        let expected = "820 values in 20 s do not bound the 99.9th percentile; about 4000 in 100 s do";
        assert_eq!(found.missing.as_deref(), Some(expected));
    }

    #[test]
    fn an_hour_costs_no_more_than_minutes() {
        let second = histogram(&(1..=100).collect::<Vec<_>>());
        let mut hour = Clusters::default();
        (0..3601).for_each(|_| hour.add(&second));
        assert_eq!((hour.width, hour.clusters.len()), (8, 451));
        assert!(hour.clusters.iter().all(|cluster| cluster.len() == 100));
        assert_eq!(hour.clusters.iter().map(|cluster| total(cluster)).sum::<f64>(), 360_100.0);
        assert_eq!(total(&hour.clusters[450]), 100.0);
        let found = hour.percentile(0.95).unwrap();
        close(Some(found.value), 95.0);
        assert_eq!(found.method, "Woodruff, 23 batches of 152 or 160 s, t interval");
    }
}
