//! Where a series changes its level.

use crate::autocorrelation::lag_1;
use crate::batch_means::mean;
use crate::distribution::t_p_value;
use std::ops::Range;

/// A level holds for at least this many values.
const LEVEL_LEAST: usize = 5;
/// Longer series are cut into batches, since the search takes time with up to the cube of their
/// number: the square for each split, and each may cut off one level only.
const VALUES_MOST: usize = 1_000;
/// Changes that chance makes more often than this do not count.
const P_MOST: f64 = 0.001;

/// Where a series changes from one level to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value of the new level.
    pub at: usize,
    /// Mean since the change before this one, in the unit of the values.
    pub before: f64,
    /// Mean up to the next change.
    pub after: f64,
    /// Roughly the probability that chance alone makes two such levels somewhere in the series: Welch's t test with
    /// standard errors for autocorrelated values, times the number of places searched (Bonferroni); at most 0.001.
    pub p_value: f64,
}

/// All changes of level that chance does not explain and that are larger than `minimum`, a share of the level before,
/// in the order of time.
///
/// Candidates are found by E-divisive (Matteson and James 2014): where the energy distance between the values before
/// and after is greatest, then again on both sides. They are judged by a t test rather than by permutation, as Hunter
/// does (Fleming et al. 2023), so that the same values always give the same answer.
///
/// Levels of fewer than 5 values are not seen. Of more than 1,000 values, means of batches are searched, and `at` is a
/// multiple of their length. A series with a value that is not finite has no changes.
pub fn change_points(values: &[f64], minimum: f64) -> Vec<ChangePoint> {
    if !values.iter().all(|value| value.is_finite()) {
        return Vec::new();
    }
    let length = values.len().div_ceil(VALUES_MOST).max(1);
    let means: Vec<f64> = values.chunks(length).map(mean).collect();
    let mut points = proven(&means, candidates(&means, 0..means.len()), minimum);
    points.iter_mut().for_each(|point| point.at *= length);
    points
}

/// Where a range changes its level, in the order of time. Its best split is judged last, between the changes next to
/// it, since levels within its sides would hide it.
fn candidates(values: &[f64], range: Range<usize>) -> Vec<usize> {
    let Some(at) = best_split(&values[range.clone()]) else { return Vec::new() };
    let at = range.start + at;
    let mut found = candidates(values, range.start..at);
    let later = candidates(values, at..range.end);
    let start = found.last().copied().unwrap_or(range.start);
    let end = later.first().copied().unwrap_or(range.end);
    if p_value(&values[start..at], &values[at..end], values.len()) <= P_MOST {
        found.push(at);
    }
    found.extend(later);
    found
}

/// Where the energy statistic of the values before and after is greatest:
///
/// Q = nm/(n + m) · (2/(nm) Σ|xᵢ − yⱼ| − Σ|xᵢ − xₖ| ÷ C(n, 2) − Σ|yⱼ − yₖ| ÷ C(m, 2))
fn best_split(values: &[f64]) -> Option<usize> {
    let count = values.len();
    // Sums of the distances between any two values of ..at, and of at..
    let (mut left, mut right) = (vec![0.0; count + 1], vec![0.0; count]);
    for (last, value) in values.iter().enumerate() {
        let mut added = 0.0;
        for at in (0..last).rev() {
            added += (value - values[at]).abs();
            right[at] += added;
        }
        left[last + 1] = left[last] + added;
    }
    let pairs = |count: usize| (count * (count - 1) / 2) as f64;
    let statistic = |at: usize| {
        let product = (at * (count - at)) as f64;
        let between = 2.0 * (left[count] - left[at] - right[at]) / product;
        product / count as f64 * (between - left[at] / pairs(at) - right[at] / pairs(count - at))
    };
    let splits = (LEVEL_LEAST..=count.saturating_sub(LEVEL_LEAST)).map(|at| (at, statistic(at)));
    let best = splits.filter(|(_, statistic)| *statistic > 0.0).max_by(|(_, a), (_, b)| a.total_cmp(b));
    best.map(|(at, _)| at)
}

/// The candidates that hold up between their neighbours: the least certain one that does not is dropped, until all do.
fn proven(values: &[f64], mut candidates: Vec<usize>, minimum: f64) -> Vec<ChangePoint> {
    loop {
        let points: Vec<ChangePoint> = (0..candidates.len()).map(|index| point(values, &candidates, index)).collect();
        let stands = |point: &ChangePoint| {
            point.p_value <= P_MOST && (point.after - point.before).abs() > minimum * point.before.abs()
        };
        let failed = points.iter().enumerate().filter(|(_, point)| !stands(point));
        let Some((weakest, _)) = failed.max_by(|(_, a), (_, b)| a.p_value.total_cmp(&b.p_value)) else {
            return points;
        };
        candidates.remove(weakest);
    }
}

/// A candidate with the levels between those next to it.
fn point(values: &[f64], candidates: &[usize], index: usize) -> ChangePoint {
    let at = candidates[index];
    let start = if index == 0 { 0 } else { candidates[index - 1] };
    let end = candidates.get(index + 1).copied().unwrap_or(values.len());
    let (before, after) = (&values[start..at], &values[at..end]);
    ChangePoint { at, before: mean(before), after: mean(after), p_value: p_value(before, after, values.len()) }
}

/// Probability that two means differ so much by chance at one of `places`: Welch's t test (Welch 1947), in which n
/// values of a first-order autoregression count as n (1 − ρ)/(1 + ρ) for their mean and as n (1 − ρ²)/(1 + ρ²) for
/// their variance (Bayley and Hammersley 1946).
fn p_value(before: &[f64], after: &[f64], places: usize) -> f64 {
    let (level_before, level_after) = (mean(before), mean(after));
    let off = |values: &[f64], level: f64| values.iter().map(|value| value - level).collect::<Vec<f64>>();
    let residuals = [off(before, level_before), off(after, level_after)];
    let correlation = lag_1(&residuals.concat(), residuals.len());
    let squared = correlation * correlation;
    let (mut variance, mut uncertainty) = (0.0, 0.0);
    for residuals in residuals {
        let count = residuals.len() as f64;
        let independent = count * (1.0 - correlation) / (1.0 + correlation) - 1.0;
        let degrees = count * (1.0 - squared) / (1.0 + squared) - 1.0;
        if independent <= 0.0 {
            return 1.0;
        }
        let of_mean = residuals.iter().map(|off| off * off).sum::<f64>() / count / independent;
        variance += of_mean;
        uncertainty += of_mean * of_mean / degrees;
    }
    let t = (level_before - level_after) / variance.sqrt();
    if t.is_nan() {
        return 1.0;
    }
    if t.is_infinite() {
        return 0.0;
    }
    (t_p_value(t, variance * variance / uncertainty) * places as f64).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels held for so many values each, around which the values alternate by 1.
    fn levels(levels: &[(f64, usize)]) -> Vec<f64> {
        let held = levels.iter().flat_map(|&(level, values)| std::iter::repeat_n(level, values));
        held.enumerate().map(|(index, level)| if index % 2 == 0 { level + 1.0 } else { level - 1.0 }).collect()
    }

    fn places(values: &[f64], minimum: f64) -> Vec<usize> {
        change_points(values, minimum).iter().map(|point| point.at).collect()
    }

    #[test]
    fn a_series_without_a_change_has_none() {
        for values in [vec![], vec![3.0], vec![0.0; 50], vec![0.1; 50], levels(&[(100.0, 50)]), vec![f64::NAN; 50]] {
            assert_eq!(change_points(&values, 0.0), [], "{values:?}");
        }
    }

    #[test]
    fn a_clean_step_is_certain() {
        let values = [vec![100.0; 10], vec![80.0; 10]].concat();
        assert_eq!(change_points(&values, 0.05), [ChangePoint { at: 10, before: 100.0, after: 80.0, p_value: 0.0 }]);
    }

    #[test]
    fn each_level_is_found_and_a_level_between_two_equal_ones_too() {
        assert_eq!(places(&levels(&[(100.0, 20), (50.0, 20), (100.0, 20)]), 0.05), [20, 40]);
        assert_eq!(places(&levels(&[(100.0, 20), (90.0, 10), (120.0, 30), (60.0, 8)]), 0.05), [20, 30, 60]);
    }

    #[test]
    fn small_changes_are_left_out_and_their_levels_joined() {
        let values = levels(&[(100.0, 20), (104.0, 20), (60.0, 20)]);
        assert_eq!(places(&values, 0.01), [20, 40]);
        let [point] = change_points(&values, 0.05)[..] else { panic!("one change is larger than 5 %") };
        assert_eq!((point.at, point.before, point.after), (40, 102.0, 60.0));
    }

    #[test]
    fn fewer_than_five_values_are_no_level() {
        assert!(places(&[vec![100.0; 20], vec![0.0; 4]].concat(), 0.05).is_empty());
        assert_eq!(places(&[vec![100.0; 20], vec![0.0; 5]].concat(), 0.05), [20]);
    }

    #[test]
    fn long_series_are_searched_in_batches() {
        assert_eq!(places(&levels(&[(100.0, 2_700), (80.0, 5_301)]), 0.05), [2_700]);
    }
}
