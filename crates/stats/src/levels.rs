//! Where a series of independent values, such as the results of nightly runs, changes its level.
//!
//! The seconds of one window resemble their neighbours: theirs are in [`change_points`](mod@crate::change_points).

use crate::batch_means::mean;
use fastrand::Rng;

/// A level holds for at least this many values.
pub const SHORTEST: usize = 3;
/// So that the same values always give the same answer.
const SEED: u64 = 30;
/// Permutations for each that may be as extreme as the series itself.
const PER_RARE: f64 = 20.0;
const PERMUTATIONS_MOST: f64 = 100_000.0;

/// Where a series changes from one level to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Index of the first value of the new level.
    pub at: usize,
    /// Mean since the change before this one, in the unit of the values.
    pub before: f64,
    /// Mean up to the next change.
    pub after: f64,
    /// The share of permutations that have so clear a change somewhere, an estimate.
    pub p_value: f64,
}

/// All changes of level that chance makes in at most `rare` of all series, and that are larger than `minimum`, a share
/// of the level before, in the order of time.
///
/// A change is where two means fit the values best by least squares, which is the likeliest place if noise is normal
/// (Hinkley, "Inference about the change-point in a sequence of random variables", Biometrika 57, 1970); then the same on
/// both sides. It counts if few permutations of the values fit as well, as in E-divisive (Matteson and James 2014),
/// which needs no assumption but that values without a change could come in any order. Levels of fewer than [`SHORTEST`]
/// values are not seen. A series with a value that is not finite has no changes.
pub fn levels(values: &[f64], minimum: f64, rare: f64) -> Vec<Level> {
    if !values.iter().all(|value| value.is_finite()) {
        return Vec::new();
    }
    let mut rng = Rng::with_seed(SEED);
    let mut found = Vec::new();
    search(values, 0, rare, &mut rng, &mut found);
    loop {
        let levels: Vec<Level> = (0..found.len()).map(|index| level(values, &found, index)).collect();
        let small = |level: &Level| (level.after - level.before).abs() <= minimum * level.before.abs();
        // Without it the levels beside it are one, which may make another change small.
        let Some(smallest) = levels.iter().position(small) else { return levels };
        found.remove(smallest);
    }
}

/// So many values can show a change, if it is in the middle and far beyond the noise: of fewer, too large a share of all
/// orders looks as clear, either way round.
pub fn fewest(rare: f64) -> usize {
    // In how many ways half of them can be chosen.
    let orders = |values: usize| (1..=values / 2).map(|k| (values - values / 2 + k) as f64 / k as f64).product::<f64>();
    (2 * SHORTEST..).find(|values| 2.0 <= rare * orders(*values)).unwrap_or(usize::MAX)
}

/// Finds the changes of a part of the series that begins at `start`.
fn search(values: &[f64], start: usize, rare: f64, rng: &mut Rng, found: &mut Vec<(usize, f64)>) {
    let Some((fit, at)) = best_split(values) else { return };
    let Some(p_value) = p_value(values, fit, rare, rng) else { return };
    search(&values[..at], start, rare, rng, found);
    found.push((start + at, p_value));
    search(&values[at..], start + at, rare, rng, found);
}

/// How much two means explain, and where the second begins; none in a series that is too short, or that has one value.
fn best_split(values: &[f64]) -> Option<(f64, usize)> {
    let count = values.len();
    let level = mean(values);
    let mut sum = 0.0;
    let mut best: Option<(f64, usize)> = None;
    for at in 1..=count.saturating_sub(SHORTEST) {
        // From the mean, so that no digits are lost.
        sum += values[at - 1] - level;
        let fit = sum * sum * count as f64 / (at * (count - at)) as f64;
        if at >= SHORTEST && fit > best.map_or(0.0, |(most, _)| most) {
            best = Some((fit, at));
        }
    }
    best
}

/// The share of permutations that fit as well; none if it is more than `rare`.
fn p_value(values: &[f64], fit: f64, rare: f64, rng: &mut Rng) -> Option<f64> {
    // Sums in another order differ by rounding.
    let as_good = fit * (1.0 - 1e-9);
    let permutations = (PER_RARE / rare).clamp(1.0, PERMUTATIONS_MOST).ceil();
    let mut permuted = values.to_vec();
    // The series itself is one of them.
    let mut reached = 1.0;
    for _ in 0..permutations as usize {
        rng.shuffle(&mut permuted);
        if best_split(&permuted).is_some_and(|(fit, _)| fit >= as_good) {
            reached += 1.0;
        }
        if reached > rare * (permutations + 1.0) {
            return None;
        }
    }
    Some(reached / (permutations + 1.0))
}

/// A change with the levels between those next to it.
fn level(values: &[f64], found: &[(usize, f64)], index: usize) -> Level {
    let (at, p_value) = found[index];
    let start = if index == 0 { 0 } else { found[index - 1].0 };
    let end = found.get(index + 1).map_or(values.len(), |(next, _)| *next);
    Level { at, before: mean(&values[start..at]), after: mean(&values[at..end]), p_value }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels held for so many values each, around which the values alternate by 1.
    fn held(levels: &[(f64, usize)]) -> Vec<f64> {
        let held = levels.iter().flat_map(|&(level, values)| std::iter::repeat_n(level, values));
        held.enumerate().map(|(index, level)| if index % 2 == 0 { level + 1.0 } else { level - 1.0 }).collect()
    }

    fn places(values: &[f64], minimum: f64) -> Vec<usize> {
        levels(values, minimum, 0.02).iter().map(|level| level.at).collect()
    }

    #[test]
    fn a_series_without_a_change_has_none() {
        for values in [vec![], vec![3.0], vec![0.0; 50], vec![0.1; 50], held(&[(100.0, 50)]), vec![f64::NAN; 50]] {
            assert_eq!(levels(&values, 0.0, 0.02), [], "{values:?}");
        }
    }

    #[test]
    fn each_level_is_found_and_a_level_between_two_equal_ones_too() {
        assert_eq!(places(&held(&[(100.0, 20), (80.0, 10)]), 0.05), [20]);
        assert_eq!(places(&held(&[(100.0, 20), (50.0, 20), (100.0, 20)]), 0.05), [20, 40]);
    }

    #[test]
    fn small_changes_are_left_out_and_their_levels_joined() {
        let values = held(&[(100.0, 20), (104.0, 20), (60.0, 20)]);
        assert_eq!(places(&values, 0.01), [20, 40]);
        let [level] = levels(&values, 0.05, 0.02)[..] else { panic!("one change is larger than 5 %") };
        assert_eq!((level.at, level.before, level.after), (40, 102.0, 60.0));
    }

    #[test]
    fn the_last_three_values_may_be_a_level_and_two_are_none() {
        let after = |last: usize| [held(&[(100.0, 20)]), vec![50.0; last]].concat();
        assert_eq!(places(&after(3), 0.05), [20]);
        assert!(places(&after(2), 0.05).iter().all(|at| *at != 20));
    }

    #[test]
    fn as_many_values_as_are_needed_show_a_clear_change_and_one_less_does_not() {
        for rare in [0.02, 0.01, 0.002] {
            let needed = fewest(rare);
            let clear = |values: usize| held(&[(100.0, values / 2), (50.0, values - values / 2)]);
            assert!(!levels(&clear(needed + 1), 0.05, rare).is_empty(), "{needed} at {rare}");
            assert!(levels(&clear(needed - 1), 0.05, rare).is_empty(), "{needed} at {rare}");
        }
    }

    #[test]
    fn few_values_show_no_change() {
        // Of 6 values, 1 in 10 permutations is split as well.
        assert!(places(&[100.0, 101.0, 99.0, 50.0, 51.0, 49.0], 0.05).is_empty());
    }
}
