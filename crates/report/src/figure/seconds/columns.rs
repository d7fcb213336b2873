//! Samples merged into as many columns as the eye can tell apart.

use super::tracks::TrackSample;

/// Columns of equal length on the axis of time, whole seconds each.
pub(super) struct Columns {
    end: f64,
    seconds: f64,
}

/// What became of the samples in one column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Put {
    /// Weighted by the time that samples cover.
    pub mean: f64,
    pub least: f64,
    pub most: f64,
}

impl Columns {
    /// At most `most` columns from 0 to `end` seconds.
    pub fn new(end: f64, most: usize) -> Columns {
        Columns { end, seconds: (end / most as f64).ceil().max(1.0) }
    }

    /// Whether a column holds more than one second.
    pub fn puts_together(&self) -> bool {
        self.seconds > 1.0
    }

    pub fn count(&self) -> usize {
        ((self.end / self.seconds).ceil() as usize).max(1)
    }

    pub fn middle(&self, column: usize) -> f64 {
        let from = column as f64 * self.seconds;
        0.5 * (from + (from + self.seconds).min(self.end.max(from)))
    }

    /// The column that holds a time.
    pub fn of(&self, at: f64) -> usize {
        ((at / self.seconds) as usize).min(self.count() - 1)
    }

    pub fn middles(&self) -> Vec<f64> {
        (0..self.count()).map(|column| tenth(self.middle(column))).collect()
    }

    /// `None` in columns without a sample.
    pub fn put(&self, samples: &[TrackSample]) -> Vec<Option<Put>> {
        let mut put: Vec<Option<Put>> = vec![None; self.count()];
        let mut weights = vec![0.0; put.len()];
        for sample in samples {
            let column = self.of(sample.at);
            let weight: f64 = weights[column] + sample.seconds;
            put[column] = Some(match put[column] {
                None => Put { mean: sample.value, least: sample.value, most: sample.value },
                Some(before) => Put {
                    mean: before.mean + (sample.value - before.mean) * sample.seconds / weight,
                    least: before.least.min(sample.value),
                    most: before.most.max(sample.value),
                },
            });
            weights[column] = weight;
        }
        put
    }
}

/// Stretches without a gap, with the numbers of their columns: each of `starts` begins a new one. A single missing
/// column is jitter, not a gap.
pub(super) fn runs(put: &[Option<Put>], starts: &[usize]) -> Vec<Vec<(usize, Put)>> {
    let known: Vec<(usize, Put)> = put.iter().enumerate().filter_map(|(at, put)| Some((at, (*put)?))).collect();
    let is_parted = |a: usize, b: usize| starts.iter().any(|start| (a + 1..=b).contains(start));
    known.chunk_by(|a, b| b.0 - a.0 <= 2 && !is_parted(a.0, b.0)).map(<[_]>::to_vec).collect()
}

/// A time to a tenth of a second.
pub(super) fn tenth(seconds: f64) -> f64 {
    (10.0 * seconds).round() / 10.0
}

/// To four significant digits, which is more than a screen shows.
pub(super) fn rounded(value: f64) -> f64 {
    if !value.is_normal() {
        return 0.0;
    }
    let digits = (3.0 - value.abs().log10().floor()).clamp(0.0, 12.0);
    let factor = 10f64.powf(digits);
    (value * factor).round() / factor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_put_together_by_mean_least_and_most() {
        let sample = |at, value| TrackSample { at, seconds: 1.0, value };
        let samples: Vec<TrackSample> =
            (0..100).map(|second| sample(f64::from(second) + 0.5, f64::from(second % 10))).collect();
        let columns = Columns::new(100.0, 10);
        assert_eq!(columns.count(), 10);
        let put = columns.put(&samples);
        assert!(put.iter().flatten().all(|put| (put.mean - 4.5).abs() < 1e-9 && (put.least, put.most) == (0.0, 9.0)));
        assert!(!Columns::new(100.0, 200).puts_together());
    }

    #[test]
    fn a_gap_parts_a_line_and_jitter_does_not() {
        let put = Some(Put { mean: 1.0, least: 1.0, most: 1.0 });
        let lengths = |starts: &[usize]| -> Vec<usize> {
            runs(&[put, None, put, None, None, put], starts).iter().map(Vec::len).collect()
        };
        assert_eq!(lengths(&[]), [2, 1]);
        assert_eq!(lengths(&[2]), [1, 1, 1], "another trial begins");
    }

    #[test]
    fn four_digits_are_kept() {
        let kept = [0.0, 123_456.0, 12.345_67, -0.001_234_56, f64::NAN].map(rounded);
        assert_eq!(kept, [0.0, 123_456.0, 12.35, -0.001_235, 0.0]);
    }
}
