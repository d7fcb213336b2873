//! Which two settings interact, as far as the search tells.

use super::tried::Learned;
use plimsoll_plan::lab::space::{Dimension, Levels, SearchSpace, SettingLevel};

/// Numbers that are looked at of a range where pairs are compared, and where a pair is shown.
const COMPARED: usize = 4;
const SHOWN: usize = 7;
/// More words than these are not looked at.
const MOST_WORDS: usize = 7;

/// What two settings are believed to bring together, where the others are those of the winner.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundInteraction {
    /// Their places in the space.
    pub a: usize,
    pub b: usize,
    pub levels_of_a: Vec<SettingLevel>,
    pub levels_of_b: Vec<SettingLevel>,
    /// Against today's configuration, as logarithms: for each level of `a` one for each of `b`; none beyond a limit of the space.
    pub gains: Vec<Vec<Option<f64>>>,
    /// By how much a cell differs at most from what rows and columns would lead one to expect.
    pub most: f64,
}

/// Around a winner, what was learned of a space.
pub struct WinnerPlace<'a> {
    pub space: &'a SearchSpace,
    pub learned: &'a Learned<'a>,
    pub winner: &'a Levels,
}

impl WinnerPlace<'_> {
    /// Of the pairs of these settings, by their places, the one that hangs together most; none of fewer than two.
    pub fn strongest(&self, places: &[usize]) -> Option<FoundInteraction> {
        let pairs = places.iter().enumerate().flat_map(|(at, a)| places[at + 1..].iter().map(|b| (*a, *b)));
        let compared = pairs.map(|(a, b)| self.between(a, b, COMPARED));
        let strongest = compared.max_by(|one, other| one.most.total_cmp(&other.most))?;
        Some(self.between(strongest.a, strongest.b, SHOWN))
    }

    fn between(&self, a: usize, b: usize, steps: usize) -> FoundInteraction {
        let WinnerPlace { space, learned, winner } = self;
        let today = space.today();
        let (of_a, of_b) = (levels(&space.dimensions[a], steps), levels(&space.dimensions[b], steps));
        let gain = |level_a: SettingLevel, level_b: SettingLevel| {
            let mut both = Levels::clone(winner);
            (both[a], both[b]) = (level_a, level_b);
            let both = space.tidy(both);
            space.exceeded(&both).is_none().then(|| learned.lead(&both, &today).mean)
        };
        let gains: Vec<Vec<Option<f64>>> =
            of_a.iter().map(|level_a| of_b.iter().map(|level_b| gain(*level_a, *level_b)).collect()).collect();
        FoundInteraction { a, b, most: departure(&gains), levels_of_a: of_a, levels_of_b: of_b, gains }
    }
}

/// Levels over all that a setting may be, in the order of their numbers.
fn levels(dimension: &Dimension, steps: usize) -> Vec<SettingLevel> {
    let words = (0..dimension.words.len().min(MOST_WORDS)).map(SettingLevel::Word);
    let numbers = (0..steps).map(|step| step as f64 / (steps - 1) as f64).map(SettingLevel::At);
    let numbers = numbers.filter(|_| dimension.range.is_some()).map(|level| dimension.snapped(level));
    let mut all: Vec<SettingLevel> = words.chain(numbers).collect();
    let number = |level: &SettingLevel| dimension.number(*level).unwrap_or(f64::NEG_INFINITY);
    all.sort_by(|one, other| number(one).total_cmp(&number(other)));
    all.dedup();
    all
}

/// By how much a cell differs at most from the sum of its row's and its column's effects.
fn departure(gains: &[Vec<Option<f64>>]) -> f64 {
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let all = mean(gains.iter().flatten().copied().flatten().collect());
    let rows: Vec<f64> = gains.iter().map(|row| mean(row.iter().copied().flatten().collect())).collect();
    let columns = gains.first().map_or(0, Vec::len);
    let columns: Vec<f64> =
        (0..columns).map(|at| mean(gains.iter().filter_map(|row| row.get(at).copied().flatten()).collect())).collect();
    let cells = gains.iter().zip(&rows).flat_map(|(row, of_row)| {
        row.iter().zip(&columns).filter_map(move |(cell, of_column)| Some((*cell)? - of_row - of_column + all))
    });
    cells.map(f64::abs).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::departure;

    #[test]
    fn what_adds_up_does_not_hang_together() {
        let sums = vec![vec![Some(0.0), Some(0.1)], vec![Some(0.2), Some(0.3)]];
        assert!(departure(&sums) < 1e-12);
        let only_both = vec![vec![Some(0.0), Some(0.0)], vec![Some(0.0), Some(0.4)]];
        assert!((departure(&only_both) - 0.1).abs() < 1e-12);
        assert_eq!(departure(&[vec![None, None]]), 0.0);
    }
}
