//! Means of a window and their intervals by batch means.
//!
//! A second of a server resembles the one before it, and an interval that assumes independent seconds is too narrow.
//! Means of batches of consecutive seconds depend on each other far less (Schmeiser, "Batch size effects in the
//! analysis of simulation output", Operations Research 30, 1982), but a short window has room for only a few short
//! batches. Their remaining correlation is corrected for, as if the seconds were a first-order autoregression.

use crate::autocorrelation::lag_1;
use crate::distribution::t_two_sided;
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_model::{Estimate, Refusal};

/// Fewer seconds have too few batches for an interval.
const FEWEST: usize = 10;
/// Fewer degrees of freedom only widen the interval: t is 6 there already.
const LEAST_DEGREES: f64 = 1.5;

/// What rounding leaves of a number that should be 0, as a share.
const ROUNDING: f64 = 1e-12;

/// One second of a window: what was counted, and what it is divided by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    pub numerator: f64,
    /// Not negative. It may differ from piece to piece; the last second of a window is often a part of one.
    pub denominator: f64,
}

/// Σ numerators ÷ Σ denominators over the seconds of a window, which are consecutive, with its interval: transactions
/// per second, the mean of a latency, CPU time per query. `effective_n` counts seconds.
///
/// The interval is that of the mean of the linearised residuals (Cochran, "Sampling Techniques", 1977, chapter 6) and
/// needs 10 seconds. If nothing counted is negative, it does not reach below 0. If everything is 0, there is no upper
/// end, since what is rare may not have come yet.
///
/// # Errors
/// The denominators add up to nothing, or a number is not finite.
pub fn ratio(pieces: &[Piece]) -> Result<Estimate, Refusal> {
    let sum = |of: fn(&Piece) -> f64| pieces.iter().map(of).sum::<f64>();
    let (above, below) = (sum(|piece| piece.numerator), sum(|piece| piece.denominator));
    if !(above.is_finite() && below.is_finite()) {
        return Err(Refusal("a count is not finite; a window with finite counts can be measured".to_owned()));
    }
    let value = above / below;
    if below <= 0.0 || !value.is_finite() {
        return Err(Refusal(
            "nothing was counted; a window in which something is completed can be measured".to_owned(),
        ));
    }
    let seconds = pieces.len();
    if pieces.iter().all(|piece| piece.numerator == 0.0) {
        let missing = format!("nothing was counted in {seconds} s: a longer window can show how rare it is");
        let zero = Estimate::bare(0.0, seconds as f64, "mean".to_owned(), missing);
        return Ok(Estimate { low: Some(0.0), ..zero });
    }
    let mean_denominator = below / seconds as f64;
    let residual = |piece: &Piece| (piece.numerator - value * piece.denominator) / mean_denominator;
    let rounded = |residual: f64| if residual.abs() < ROUNDING * value.abs() { 0.0 } else { residual };
    let residuals: Vec<f64> = pieces.iter().map(|piece| rounded(residual(piece))).collect();
    let Some(uncertainty) = uncertainty(&residuals) else {
        return Ok(Estimate::bare(value, seconds as f64, "mean".to_owned(), too_few(seconds)));
    };
    let margin = uncertainty.t() * uncertainty.standard_error;
    // A calculated value may be −1e-17 instead of 0.
    let negative = |piece: &Piece| piece.numerator < -ROUNDING * above.abs().max(1.0);
    let low = if pieces.iter().any(negative) { value - margin } else { (value - margin).max(0.0) };
    let found = Estimate::new(value, (low, value + margin), CONFIDENCE, uncertainty.effective_n, uncertainty.method(1));
    Ok(found.with_degrees(uncertainty.degrees))
}

/// Why this many seconds have no interval.
pub(crate) fn too_few(seconds: usize) -> String {
    format!("{seconds} s are too few for an interval; {FEWEST} s are enough")
}

/// How far the mean of a series can be trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Uncertainty {
    pub standard_error: f64,
    /// Degrees of freedom of its t distribution, which need not be whole.
    pub degrees: f64,
    /// The number of independent members that would carry as much information; at most the length of the series.
    pub effective_n: f64,
    batches: usize,
    length: usize,
}

impl Uncertainty {
    /// Standard errors in half the width of an interval.
    pub fn t(&self) -> f64 {
        t_two_sided(CONFIDENCE, self.degrees)
    }

    /// `8 batches of 8 s, t interval`, where each member of the series is that many seconds.
    pub fn method(&self, seconds: usize) -> String {
        let (batches, short) = (self.batches, self.length / self.batches * seconds);
        let long = self.length.div_ceil(self.batches) * seconds;
        let lengths = if short == long { short.to_string() } else { format!("{short} or {long}") };
        format!("{batches} batches of {lengths} s, t interval")
    }
}

/// The uncertainty of the mean of consecutive `residuals`, whose sum is 0; `None` with fewer than 10.
///
/// There are √(5n/4) batches: 3 of 10 seconds, 5 of 20, 8 of 60, 20 of 320. More would be too short to be independent,
/// fewer would waste degrees of freedom. If the series is a first-order autoregression of its lag-1 correlation, the
/// spread of the batches shows too small a variance by a known factor. The variance is multiplied by it, and the
/// degrees of freedom are divided by it, since batches that depend on each other count as fewer. The number of batches
/// and the division are what simulations showed to hold; they are not derived. Batches that agree by chance, though
/// their seconds differ, are taken for no surer than independent seconds.
pub(crate) fn uncertainty(residuals: &[f64]) -> Option<Uncertainty> {
    let length = residuals.len();
    if length < FEWEST {
        return None;
    }
    let n = length as f64;
    let batches = (1.25 * n).sqrt() as usize;
    let k = batches as f64;
    let batch = |index: usize| residuals[index * length / batches..(index + 1) * length / batches].iter().sum::<f64>();
    let between = (0..batches).map(|index| batch(index).powi(2)).sum::<f64>() * k / (k - 1.0) / (n * n);
    let correlation = lag_1(residuals, 1);
    let whole = variance_of_mean(n, correlation);
    let inflation = (k - 1.0) * whole / (variance_of_mean(n / k, correlation) - whole);
    let independent = residuals.iter().map(|residual| residual * residual).sum::<f64>() / (n - 1.0);
    let agree = between <= ROUNDING * independent / n;
    let variance = if agree { independent / n } else { between * inflation };
    Some(Uncertainty {
        standard_error: variance.sqrt(),
        degrees: ((k - 1.0) / inflation).max(LEAST_DEGREES),
        effective_n: if variance > 0.0 { (independent / variance).clamp(1.0, n) } else { n },
        batches,
        length,
    })
}

/// Variance of the mean of `n` neighbours of a first-order autoregression with variance 1 (Priestley, "Spectral
/// Analysis and Time Series", 1981, chapter 5).
fn variance_of_mean(n: f64, correlation: f64) -> f64 {
    let rest = 1.0 - correlation;
    (1.0 + correlation) / rest / n - 2.0 * correlation * (1.0 - correlation.powf(n)) / (n * rest).powi(2)
}

/// Of values, at least one.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(numerators: &[f64]) -> Vec<Piece> {
        numerators.iter().map(|&numerator| Piece { numerator, denominator: 1.0 }).collect()
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found} where {expected} belongs");
    }

    #[test]
    fn nothing_counted_is_refused() {
        for pieces in [vec![], vec![Piece { numerator: 0.0, denominator: 0.0 }; 20]] {
            assert!(ratio(&pieces).unwrap_err().0.starts_with("nothing was counted"));
        }
    }

    #[test]
    fn what_is_not_finite_is_refused() {
        for (numerator, denominator) in [(f64::NAN, 1.0), (1.0, f64::NAN), (f64::INFINITY, 1.0), (1.0, f64::INFINITY)] {
            let mut pieces = seconds(&[1.0; 20]);
            pieces[7] = Piece { numerator, denominator };
            assert!(ratio(&pieces).unwrap_err().0.starts_with("a count is not finite"));
        }
    }

    #[test]
    fn what_never_came_may_be_rare() {
        for length in [3, 20] {
            let never = ratio(&seconds(&vec![0.0; length])).unwrap();
            assert_eq!((never.value, never.low, never.high), (0.0, Some(0.0), None));
            let expected = format!("nothing was counted in {length} s: a longer window can show how rare it is");
            assert_eq!(never.missing, Some(expected));
        }
    }

    #[test]
    fn batches_that_agree_by_chance_are_no_surer_than_independent_seconds() {
        let alike = ratio(&seconds(&[4.0, 6.0, 6.0, 4.0].repeat(5))).unwrap();
        // Variance 20/19, of a mean of 20 seconds; t of 4 is 2.776.
        close(alike.half_width().unwrap(), 2.776_445_105 * (1.0_f64 / 19.0).sqrt());
        assert_eq!((alike.effective_n, alike.degrees), (20.0, Some(4.0)));
    }

    #[test]
    fn nine_seconds_have_a_mean_and_ten_an_interval() {
        let few = ratio(&seconds(&[1.0, 2.0, 6.0])).unwrap();
        assert_eq!((few.value, few.interval()), (3.0, None));
        assert_eq!(few.missing.as_deref(), Some("3 s are too few for an interval; 10 s are enough"));
        let ten = [5.0, 4.0, 7.0, 5.0, 3.0, 6.0, 5.0, 6.0, 4.0, 5.0];
        assert_eq!(ratio(&seconds(&ten[..9])).unwrap().interval(), None);
        let enough = ratio(&seconds(&ten)).unwrap();
        assert_eq!((enough.value, enough.method.as_str()), (5.0, "3 batches of 3 or 4 s, t interval"));
        let (low, high) = enough.interval().unwrap();
        assert!(low < 5.0 && high > 5.0 && enough.missing.is_none());
    }

    #[test]
    fn batches_follow_from_the_seconds() {
        for (length, batches) in [(10, 3), (20, 5), (60, 8), (64, 8), (320, 20), (3600, 67)] {
            let found = uncertainty(&vec![0.0; length]).unwrap();
            assert_eq!(found.batches, batches, "{length}");
        }
    }

    #[test]
    fn a_constant_has_no_width_and_each_second_counts() {
        for value in [0.1, 7.5] {
            let constant = ratio(&seconds(&[value; 20])).unwrap();
            assert_eq!(constant.interval(), Some((constant.value, constant.value)));
            close(constant.value, value);
            assert_eq!(constant.effective_n, 20.0);
        }
    }

    #[test]
    fn a_partial_last_second_of_the_same_rate_changes_nothing() {
        let mut pieces = seconds(&[40.0; 20]);
        pieces.push(Piece { numerator: 10.0, denominator: 0.25 });
        assert_eq!(ratio(&pieces).unwrap().interval(), Some((40.0, 40.0)));
    }

    #[test]
    fn uncorrelated_batches_are_the_textbooks() {
        // One batch of four ones, one of four minus ones, three of zeros; the alternation keeps the correlation at 0.
        let signs = [2.0, -1.0, 2.0, 1.0, -2.0, 1.0, -2.0, -1.0];
        let residuals: Vec<f64> = signs.into_iter().chain([3.0, -3.0].repeat(6)).collect();
        let found = uncertainty(&residuals).unwrap();
        // Batch means 1, -1, 0, 0, 0: their variance is 2/4, that of their mean a fifth of it.
        close(found.standard_error, 0.1_f64.sqrt());
        close(found.degrees, 4.0);
        // The sum of squares over 19, divided by 0.1, would be 67 seconds.
        close(found.effective_n, 20.0);
    }

    #[test]
    fn the_variance_of_a_mean_is_the_sum_of_its_covariances() {
        for correlation in [0.0, 0.4, 0.9] {
            let covariance = |i: i32, j: i32| f64::powi(correlation, (i - j).abs());
            let sum: f64 = (0..7).map(|i| (0..7).map(|j| covariance(i, j)).sum::<f64>()).sum();
            close(variance_of_mean(7.0, correlation), sum / 49.0);
        }
    }

    #[test]
    fn a_drift_is_worth_few_seconds_and_swings_never_more_than_there_are() {
        let drift: Vec<f64> = (0..60).map(f64::from).collect();
        assert!(ratio(&seconds(&drift)).unwrap().effective_n < 5.0);
        let swings = [10.0, 12.0, 9.0].repeat(20);
        assert_eq!(ratio(&seconds(&swings)).unwrap().effective_n, 60.0);
    }

    #[test]
    fn counts_do_not_reach_below_zero() {
        let mut rare = [0.0; 10];
        rare[4] = 3.0;
        rare[5] = -1e-17;
        let found = ratio(&seconds(&rare)).unwrap();
        assert_eq!(found.low, Some(0.0));
        assert!(found.high.unwrap() > found.value);
    }
}
