//! Has a window settled, and when does a warm-up end?

use crate::autocorrelation::lag_1;
use crate::batch_means::mean;
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_model::{Estimate, Refusal};

/// Share of its mean by which a window may drift and still be called steady.
pub const TOLERANCE: f64 = 0.05;

/// With fewer batches, no pair of slopes contains the truth in 95 % of all cases: Kendall's distribution is too coarse.
const BATCHES_LEAST: usize = 5;
const BATCHES_MOST: usize = 20;
/// Seconds; the remaining correlation of shorter batches would have to be guessed from too little.
const BATCH_LEAST: usize = 4;
/// Fewer seconds show no drift.
const SECONDS_LEAST: usize = BATCHES_LEAST * BATCH_LEAST;
/// This many seconds after a warm-up show that it is over; after 20 s a slow one often only seems to be.
const SETTLED_LEAST: usize = 30;
/// From this many seconds on, the warm-up is searched in batches of 5 s.
const MSER_5_FROM: usize = 100;
/// This few values are not judged alone: some that happen to be alike would look settled.
const MSER_LEAST: usize = 5;

/// Whether a window has settled.
#[derive(Clone, Debug, PartialEq)]
pub enum Steadiness {
    /// No drift larger than the tolerance shows; the ends of `change` say how large one could be and not show.
    Steady { change: Estimate },
    /// The interval of `change` does not contain 0, and `change` is larger than the tolerance.
    Drifting { change: Estimate },
    /// What is missing for a verdict.
    Unknown(Refusal),
}

/// Whether a warm-up is over, after the seconds seen so far; the texts are for whoever watches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WarmUpProgress {
    /// Not yet, and why.
    GoOn(String),
    /// It is over: the first `seconds` were warm-up, and those after them are settled.
    Ended { seconds: usize, why: String },
}

/// Whether a series of one value per second drifts by more than `tolerance`, a share of its mean, over its length.
///
/// A steady series is called drifting in at most 5 % of all cases.
pub fn steadiness(values: &[f64], tolerance: f64) -> Steadiness {
    match trend(values) {
        Err(refusal) => Steadiness::Unknown(refusal),
        Ok(change) if excludes_zero(&change) && change.value.abs() > tolerance => Steadiness::Drifting { change },
        Ok(change) => Steadiness::Steady { change },
    }
}

fn excludes_zero(change: &Estimate) -> bool {
    change.interval().is_some_and(|(low, high)| low > 0.0 || high < 0.0)
}

/// Change of a series of one value per second from the start to the end of its window, as a share of its mean.
///
/// The slope is the median of the slopes between any two batch means (Theil 1950), its interval lies between two of
/// those slopes, found from the exact distribution of Kendall's statistic (Sen 1968). The interval is then as much
/// wider as the autocorrelation of the seconds, taken for a first-order autoregression, makes a least squares slope
/// of the same batches less certain.
///
/// # Errors
/// With fewer than 20 s, and where the mean is 0 or not a number.
pub fn trend(values: &[f64]) -> Result<Estimate, Refusal> {
    let seconds = values.len();
    if seconds < SECONDS_LEAST {
        return Err(Refusal(format!("{seconds} s are too few to show a drift; {SECONDS_LEAST} s can")));
    }
    let level = mean(values).abs();
    if level == 0.0 || !level.is_finite() {
        return Err(Refusal(format!("a drift is a share of the mean, which is {level} here; it needs a mean above 0")));
    }
    let length = seconds.div_ceil(BATCHES_MOST).max(BATCH_LEAST);
    let batches: Vec<f64> = values[seconds % length..].chunks_exact(length).map(mean).collect();
    let slopes = pairwise_slopes(&batches);
    let slope = median(&slopes);
    let (low, high) = kendall_interval(&slopes, batches.len());
    let correlation = lag_1(&detrended(values), 2);
    let wider = widening(batches.len(), length, correlation);
    let share = seconds as f64 / length as f64 / level;
    Ok(Estimate::new(
        slope * share,
        ((slope + (low - slope) * wider) * share, (slope + (high - slope) * wider) * share),
        CONFIDENCE,
        seconds as f64 * (1.0 - correlation) / (1.0 + correlation),
        format!("{} batches of {length} s, Theil–Sen slope", batches.len()),
    ))
}

/// Slopes between any two values, per step, in ascending order.
fn pairwise_slopes(values: &[f64]) -> Vec<f64> {
    let from = |i: usize| (i + 1..values.len()).map(move |j| (values[j] - values[i]) / (j - i) as f64);
    let mut slopes: Vec<f64> = (0..values.len()).flat_map(from).collect();
    slopes.sort_by(f64::total_cmp);
    slopes
}

/// The interval of the slope of `n` values, at least 5: as many of the `sorted` slopes are left out on both sides as
/// Kendall's statistic allows, and a part of the next, since n values allow few confidences exactly. Its tails fall
/// about exponentially, hence the logarithms.
fn kendall_interval(sorted: &[f64], n: usize) -> (f64, f64) {
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let tails = inversion_tails(n);
    let inner = tails.partition_point(|probability| *probability <= tail);
    let part = (tail / tails[inner - 1]).ln() / (tails[inner] / tails[inner - 1]).ln();
    let between = |outer: f64, inner: f64| outer + (inner - outer) * part;
    let last = sorted.len() - 1;
    (between(sorted[inner - 1], sorted[inner]), between(sorted[last + 1 - inner], sorted[last - inner]))
}

/// Probabilities that a random order of `n` values has at most 0, 1, 2 … inversions (Kendall 1938).
fn inversion_tails(n: usize) -> Vec<f64> {
    let mut probabilities = vec![1.0];
    for places in 2..=n {
        let mut longer = vec![0.0; probabilities.len() + places - 1];
        for (inversions, probability) in probabilities.iter().enumerate() {
            for more in 0..places {
                longer[inversions + more] += probability / places as f64;
            }
        }
        probabilities = longer;
    }
    let sum = |total: &mut f64, probability: f64| {
        *total += probability;
        Some(*total)
    };
    probabilities.into_iter().scan(0.0, sum).collect()
}

/// How much less certain a least squares slope through `n` means of `length` values is than its residuals say, where
/// the values are a first-order autoregression with this `correlation`: √(its variance ÷ the variance's expected
/// estimate).
fn widening(n: usize, length: usize, correlation: f64) -> f64 {
    let together = batch_correlations(n, length, correlation);
    let centre = (n as f64 - 1.0) / 2.0;
    let (mut mean, mut slope) = (0.0, 0.0);
    for i in 0..n {
        for j in 0..n {
            mean += together[i.abs_diff(j)];
            slope += (i as f64 - centre) * (j as f64 - centre) * together[i.abs_diff(j)];
        }
    }
    let count = n as f64;
    mean /= count;
    slope /= count * (count * count - 1.0) / 12.0;
    (slope * (count - 2.0) / (count - mean - slope)).sqrt()
}

/// Correlations of means of `length` values of a first-order autoregression that are 0, 1 … n − 1 batches apart.
fn batch_correlations(n: usize, length: usize, correlation: f64) -> Vec<f64> {
    let fresh = 1.0 - correlation;
    let across = (1.0 - correlation.powi(length as i32)) / fresh;
    let variance = (length as f64 * (1.0 + correlation) - 2.0 * correlation * across) / fresh;
    let apart = |batches: usize| correlation.powi(((batches - 1) * length + 1) as i32) * across * across / variance;
    std::iter::once(1.0).chain((1..n).map(apart)).collect()
}

/// What is left of the values beside their least squares line.
fn detrended(values: &[f64]) -> Vec<f64> {
    let (middle, level) = ((values.len() as f64 - 1.0) / 2.0, mean(values));
    let time = |index: usize| index as f64 - middle;
    let squares: f64 = (0..values.len()).map(|index| time(index).powi(2)).sum();
    let slope = values.iter().enumerate().map(|(index, value)| time(index) * value).sum::<f64>() / squares;
    values.iter().enumerate().map(|(index, value)| value - level - slope * time(index)).collect()
}

/// How many values at the start of a series of one per second belong to its warm-up; `None` where it has not ended.
///
/// The cut is where the squared standard error of what remains is least: MSER (White 1997), on means of 5 s from 100 s
/// on (MSER-5: White, Cobb and Spratt 2000). A cut in the second half says that the warm-up goes on.
pub fn truncation(values: &[f64]) -> Option<usize> {
    let length = if values.len() < MSER_5_FROM { 1 } else { 5 };
    let means: Vec<f64> = values.chunks_exact(length).map(mean).collect();
    if means.len() < 2 * MSER_LEAST {
        return None;
    }
    let cut = least_error(&means);
    (2 * cut <= means.len()).then_some(cut * length)
}

/// The cut after which Σ (value − mean)² ÷ n² is least; the earliest of several.
fn least_error(values: &[f64]) -> usize {
    let (mut mean, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (cut, value) in values.iter().enumerate().rev() {
        let count = values.len() - cut;
        let off = value - mean;
        mean += off / count as f64;
        squares += off * (value - mean);
        let error = squares / (count * count) as f64;
        if count >= MSER_LEAST && error <= best.0 {
            best = (error, cut);
        }
    }
    best.1
}

/// Whether a warm-up is over after these values, one per second since the load began.
///
/// It is, if [`truncation`] finds a cut, 30 s or more follow it, and their [`trend`] is at most [`TOLERANCE`]: its
/// value, since the interval of so few seconds seldom excludes 0. Asked every second, it ends at the first second at
/// which this is so; a series that never settles never ends.
pub fn warm_up_end(values: &[f64]) -> WarmUpProgress {
    let Some(seconds) = truncation(values) else {
        return WarmUpProgress::GoOn(format!("{} s have not settled yet (MSER)", values.len()));
    };
    let rest = &values[seconds..];
    let found = format!("the first {seconds} s are warm-up (MSER); the {} s after them", rest.len());
    if rest.len() < SETTLED_LEAST {
        return WarmUpProgress::GoOn(format!("{found} are too few to tell whether it is over; {SETTLED_LEAST} s can"));
    }
    match trend(rest) {
        Err(Refusal(missing)) => WarmUpProgress::GoOn(missing),
        Ok(change) => {
            let (drift, bound) = (100.0 * change.value, 100.0 * TOLERANCE);
            if change.value.abs() > TOLERANCE {
                return WarmUpProgress::GoOn(format!("{found} drift by {drift:+.1} %, more than {bound:.0} %"));
            }
            WarmUpProgress::Ended { seconds, why: format!("{found} drift by {drift:+.1} %, less than {bound:.0} %") }
        }
    }
}

/// Of ascending values, at least one.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(seconds: usize, step: f64) -> Vec<f64> {
        (0..seconds).map(|second| 100.0 + step * second as f64).collect()
    }

    /// Seconds that differ, without drift and without autocorrelation.
    fn settled(seconds: usize) -> Vec<f64> {
        (0..seconds).map(|second| [99.0, 101.0, 101.0, 99.0][second % 4]).collect()
    }

    #[test]
    fn a_straight_line_drifts_by_its_slope_exactly() {
        let values = ramp(60, 1.0);
        let change = trend(&values).unwrap();
        let expected = 60.0 / 129.5;
        assert!((change.value - expected).abs() < 1e-12, "{change:?}");
        let (low, high) = change.interval().unwrap();
        assert!((low - expected).abs() < 1e-12 && (high - expected).abs() < 1e-12, "{change:?}");
        assert_eq!(change.method, "15 batches of 4 s, Theil–Sen slope");
        assert!(matches!(steadiness(&values, TOLERANCE), Steadiness::Drifting { change } if change.value == expected));
    }

    #[test]
    fn a_drift_below_the_tolerance_is_steady() {
        let values = ramp(60, 0.05);
        assert!(matches!(steadiness(&values, 0.05), Steadiness::Steady { .. }));
        assert!(matches!(steadiness(&values, 0.01), Steadiness::Drifting { .. }));
    }

    #[test]
    fn a_constant_series_does_not_drift_and_has_no_width() {
        let change = trend(&[0.1; 25]).unwrap();
        assert_eq!((change.value, change.interval()), (0.0, Some((0.0, 0.0))));
        assert_eq!(truncation(&[0.1; 25]), Some(0));
        assert_eq!(truncation(&[0.1; 200]), Some(0));
    }

    #[test]
    fn too_few_seconds_and_a_mean_of_zero_are_refused() {
        let too_few = Steadiness::Unknown(Refusal("19 s are too few to show a drift; 20 s can".to_owned()));
        assert_eq!(steadiness(&[1.0; 19], TOLERANCE), too_few);
        assert_eq!(trend(&[]).unwrap_err().0, "0 s are too few to show a drift; 20 s can");
        assert!(trend(&[0.0; 20]).unwrap_err().0.contains("which is 0 here"));
        assert!(trend(&[f64::NAN; 20]).is_err());
    }

    #[test]
    fn kendalls_distribution_is_that_of_small_tables() {
        let tails = inversion_tails(5);
        let orders: Vec<f64> = tails.iter().map(|tail| tail * 120.0).collect();
        let expected = [1.0, 5.0, 14.0, 29.0, 49.0, 71.0, 91.0, 106.0, 115.0, 119.0, 120.0];
        assert!(orders.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9), "{orders:?}");
    }

    #[test]
    fn independent_seconds_widen_nothing() {
        assert_eq!(widening(8, 5, 0.0), 1.0);
        assert!(widening(8, 5, 0.6) > widening(8, 10, 0.6));
    }

    #[test]
    fn a_warm_up_is_cut_where_it_ends() {
        let with_warm_up = |low: usize, seconds: usize| [vec![50.0; low], settled(seconds)].concat();
        assert_eq!(truncation(&with_warm_up(7, 40)), Some(7));
        assert_eq!(truncation(&with_warm_up(20, 200)), Some(20));
        assert_eq!(truncation(&with_warm_up(25, 20)), None);
        assert_eq!(truncation(&settled(9)), None);
    }

    #[test]
    fn a_warm_up_ends_as_soon_as_thirty_seconds_after_it_are_settled() {
        let values = [vec![50.0; 7], settled(60)].concat();
        let ended =
            |seconds: usize| matches!(warm_up_end(&values[..seconds]), WarmUpProgress::Ended { seconds: 7, .. });
        assert_eq!((1..values.len()).find(|&seconds| ended(seconds)), Some(37));
        let WarmUpProgress::Ended { why, .. } = warm_up_end(&values[..37]) else { panic!("it ended there") };
        assert!(why.starts_with("the first 7 s are warm-up (MSER); the 30 s after them drift by "), "{why}");
        let WarmUpProgress::GoOn(why) = warm_up_end(&values[..30]) else { panic!("too early") };
        assert!(why.ends_with("the 23 s after them are too few to tell whether it is over; 30 s can"), "{why}");
    }

    #[test]
    fn what_keeps_rising_never_ends_its_warm_up() {
        assert!((0..300).all(|seconds| matches!(warm_up_end(&ramp(seconds, 1.0)), WarmUpProgress::GoOn(_))));
        assert!(matches!(warm_up_end(&[0.0; 100]), WarmUpProgress::GoOn(_)));
    }
}
