//! Differences between the sides of pairs that something else explains.
//!
//! What a neighbour takes of the machine during one side of a pair and not during the other changes their ratio, and it is
//! measured. A regression over all pairs of a plan says by how much; each ratio is then corrected with what the *other*
//! rounds say (CUPED, Deng, Xu, Kohavi & Walker 2013, with covariates of the same time, which the treatment cannot
//! influence; cross-fitting, Wager, Du, Taylor & Tibshirani 2016), so that nothing is explained by itself.

use crate::comparison::{FEWEST, Moments, log_ratios};
use crate::distribution::t_quantile;
use plimsoll_model::Refusal;

/// What is left of the squares when one more covariate is used, at most: a smaller gain may be chance.
const WORTH: f64 = 0.4;
/// Degrees of freedom that the pairs have beyond six for each covariate, at least.
const FREE: usize = 6;
/// Degrees of freedom that each covariate takes: one by its slope, one because it was chosen (`make coverage`).
const TAKEN: f64 = 2.0;
/// A covariate that differs between the sides as much as it would by chance in 1 of 100 plans may be an effect of the
/// treatment.
const INFLUENCED: f64 = 0.99;

/// A pair, and by how much other things were larger on its second side, each by its place.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedPair {
    pub round: u32,
    /// Both above 0.
    pub sides: (f64, f64),
    pub covariates: Vec<f64>,
}

/// What covariates explain.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The places of those that are used.
    pub used: Vec<usize>,
    /// The pairs of each comparison as they would be if both sides had met the same.
    pub comparisons: Vec<Vec<(f64, f64)>>,
    /// What is left of the spread of the pairs, a share.
    pub left: f64,
}

/// Corrects the pairs of the comparisons of a plan. `None` if no covariate explains enough, or if there are too few pairs
/// to know.
///
/// # Errors
/// With a side that is not above 0.
pub fn explain(comparisons: &[Vec<ObservedPair>]) -> Result<Option<Explanation>, Refusal> {
    let fit = Fit::new(comparisons)?;
    let (mut used, mut ratios) = (Vec::new(), fit.ratios());
    while let Some((place, better)) = fit.best_beside(&used) {
        if fit.squares(&better) > WORTH * fit.squares(&ratios) {
            break;
        }
        used.push(place);
        ratios = better;
    }
    if used.is_empty() {
        return Ok(None);
    }
    used.sort_unstable();
    let ratios = fit.stretched(&ratios, used.len());
    let left = (fit.squares(&ratios) / fit.squares(&fit.ratios())).sqrt();
    let mut ratios = ratios.into_iter();
    let mut corrected = |pair: &ObservedPair| Some((pair.sides.0, pair.sides.0 * ratios.next()?.exp()));
    let comparisons = comparisons.iter().map(|pairs| pairs.iter().filter_map(&mut corrected).collect()).collect();
    Ok(Some(Explanation { used, comparisons, left }))
}

/// One pair of the fit.
struct Point<'a> {
    comparison: usize,
    round: u32,
    ratio: f64,
    covariates: &'a [f64],
}

/// All pairs of all comparisons.
struct Fit<'a> {
    points: Vec<Point<'a>>,
    comparisons: usize,
    /// The places of covariates that may be used.
    eligible: Vec<usize>,
}

impl Fit<'_> {
    fn new(comparisons: &[Vec<ObservedPair>]) -> Result<Fit<'_>, Refusal> {
        let mut points = Vec::new();
        for (comparison, pairs) in comparisons.iter().enumerate() {
            let sides: Vec<(f64, f64)> = pairs.iter().map(|pair| pair.sides).collect();
            points.extend(pairs.iter().zip(log_ratios(&sides)?).map(|(pair, ratio)| Point {
                comparison,
                round: pair.round,
                ratio,
                covariates: &pair.covariates,
            }));
        }
        let all = points.iter().map(|point| point.covariates.len()).min().unwrap_or(0);
        let eligible = (0..all).filter(|place| comparisons.iter().all(|pairs| is_exogenous(pairs, *place))).collect();
        Ok(Fit { points, comparisons: comparisons.len(), eligible })
    }

    fn ratios(&self) -> Vec<f64> {
        self.points.iter().map(|point| point.ratio).collect()
    }

    /// The squares of ratios around the mean of their comparison.
    fn squares(&self, ratios: &[f64]) -> f64 {
        let residuals = self.centred(|place| Some(ratios[place]));
        residuals.iter().flatten().map(|residual| residual * residual).sum()
    }

    /// Ratios that spread as much more around the mean of their comparison as the degrees of freedom tell that a fit of so
    /// many covariates has taken: intervals are then as wide as without it.
    fn stretched(&self, ratios: &[f64], covariates: usize) -> Vec<f64> {
        let free = self.free() as f64;
        let factor = (free / (free - TAKEN * covariates as f64)).sqrt();
        let residuals = self.centred(|place| Some(ratios[place]));
        ratios.iter().zip(residuals).map(|(ratio, residual)| ratio + (factor - 1.0) * residual.unwrap_or(0.0)).collect()
    }

    /// Degrees of freedom of all comparisons together.
    fn free(&self) -> usize {
        self.points.len().saturating_sub(self.comparisons)
    }

    /// The covariate that leaves least if it is used beside some others, and the ratios that it leaves.
    fn best_beside(&self, used: &[usize]) -> Option<(usize, Vec<f64>)> {
        if self.free() < FREE * (used.len() + 2) {
            return None;
        }
        let others = self.eligible.iter().filter(|place| !used.contains(place));
        let with = others.filter_map(|place| {
            let all: Vec<usize> = used.iter().copied().chain([*place]).collect();
            Some((*place, self.corrected(&all)?))
        });
        with.min_by(|(_, one), (_, other)| self.squares(one).total_cmp(&self.squares(other)))
    }

    /// Each ratio without what these covariates do to it in all other rounds; `None` if these cannot tell them apart.
    fn corrected(&self, used: &[usize]) -> Option<Vec<f64>> {
        let of_point = |point: &Point<'_>| {
            let slopes = self.slopes(used, point.round)?;
            let explained: f64 = slopes.iter().zip(used).map(|(slope, place)| slope * point.covariates[*place]).sum();
            Some(point.ratio - explained)
        };
        self.points.iter().map(of_point).collect()
    }

    /// By how much a ratio changes with each of these covariates, in all rounds but one.
    fn slopes(&self, used: &[usize], without: u32) -> Option<Vec<f64>> {
        let kept = |place: usize| self.points.get(place).filter(|point| point.round != without);
        let ratios = self.centred(|place| Some(kept(place)?.ratio));
        let covariates: Vec<Vec<Option<f64>>> =
            used.iter().map(|of| self.centred(|place| kept(place)?.covariates.get(*of).copied())).collect();
        let product = |a: &[Option<f64>], b: &[Option<f64>]| -> f64 {
            a.iter().zip(b).filter_map(|(a, b)| Some((*a)? * (*b)?)).sum()
        };
        let normal = covariates
            .iter()
            .map(|row| covariates.iter().map(|column| product(row, column)).chain([product(row, &ratios)]).collect());
        solved(normal.collect())
    }

    /// Values by place, less the mean of their comparison; what has no value has none.
    fn centred(&self, value: impl Fn(usize) -> Option<f64>) -> Vec<Option<f64>> {
        let mut sums = vec![(0.0, 0.0); self.comparisons];
        for (place, point) in self.points.iter().enumerate() {
            let Some(value) = value(place) else { continue };
            let (sum, n) = &mut sums[point.comparison];
            (*sum, *n) = (*sum + value, *n + 1.0);
        }
        let less = |(place, point): (usize, &Point<'_>)| {
            let (sum, n) = sums[point.comparison];
            Some(value(place)? - sum / n)
        };
        self.points.iter().enumerate().map(less).collect()
    }
}

/// Whether the sides of a comparison met as much of a covariate, but for chance.
fn is_exogenous(pairs: &[ObservedPair], place: usize) -> bool {
    let values: Vec<f64> = pairs.iter().map(|pair| pair.covariates[place]).collect();
    if !values.iter().all(|value| value.is_finite()) {
        return false;
    }
    match Moments::of(&values) {
        Some(moments) if values.len() >= FEWEST => {
            moments.mean.abs() <= t_quantile(0.5 + INFLUENCED / 2.0, moments.n - 1.0) * moments.error()
        }
        _ => true,
    }
}

/// The solution of linear equations, each with its right side at its end (Gauss, with pivots); `None` if there are many.
fn solved(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = rows.len();
    for column in 0..n {
        let pivot = (column..n).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()))?;
        rows.swap(column, pivot);
        let pivot = rows[column].clone();
        if pivot[column].abs() < f64::MIN_POSITIVE {
            return None;
        }
        for place in (0..n).filter(|place| *place != column) {
            let factor = rows[place][column] / pivot[column];
            rows[place].iter_mut().zip(&pivot).for_each(|(value, above)| *value -= factor * above);
        }
    }
    Some((0..n).map(|place| rows[place][n] / rows[place][place]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs whose log ratio is an effect, what a covariate does and a little of its own.
    fn pairs(effect: f64, slope: f64) -> Vec<ObservedPair> {
        let covariates = [0.9, -0.8, 0.1, -0.7, 0.6, 0.0, -0.2, 0.3];
        let own = [0.01, 0.02, -0.02, -0.01, -0.01, 0.01, 0.02, -0.02];
        let of = |(round, (covariate, own)): (u32, (f64, f64))| ObservedPair {
            round,
            sides: (100.0, 100.0 * (effect + slope * covariate + own).exp()),
            covariates: vec![own * own, covariate],
        };
        (1..).zip(covariates.into_iter().zip(own)).map(of).collect()
    }

    fn mean(pairs: &[(f64, f64)]) -> f64 {
        let ratios = log_ratios(pairs).expect("values above 0");
        ratios.iter().sum::<f64>() / ratios.len() as f64
    }

    #[test]
    fn what_a_covariate_does_is_taken_away_and_the_effect_stays() {
        let found = explain(&[pairs(0.1, -0.5), pairs(-0.3, -0.5)]).expect("sides above 0").expect("it explains");
        assert_eq!(found.used, [1]);
        assert!(found.left < 0.1, "{found:?}");
        let means: Vec<f64> = found.comparisons.iter().map(|pairs| mean(pairs)).collect();
        assert!((means[0] - 0.1).abs() < 0.01 && (means[1] + 0.3).abs() < 0.01, "{means:?}");
    }

    #[test]
    fn a_covariate_without_an_effect_is_not_used() {
        assert_eq!(explain(&[pairs(0.1, 0.0)]), Ok(None));
    }

    #[test]
    fn a_covariate_that_the_treatment_moves_is_not_used() {
        let mut moved = pairs(0.1, -0.5);
        moved.iter_mut().for_each(|pair| pair.covariates[1] += 2.0);
        assert_eq!(explain(&[moved, pairs(-0.3, -0.5)]), Ok(None));
    }

    #[test]
    fn few_pairs_and_unknown_covariates_explain_nothing() {
        assert_eq!(explain(&[pairs(0.1, -0.5)[..4].to_vec()]), Ok(None));
        assert_eq!(explain(&[]), Ok(None));
        let mut unknown = pairs(0.1, -0.5);
        unknown[3].covariates[1] = f64::NAN;
        assert_eq!(explain(&[unknown]), Ok(None));
        let mut none = pairs(0.1, -0.5);
        none[3].covariates.clear();
        assert_eq!(explain(&[none]), Ok(None));
        let mut zero = pairs(0.1, -0.5);
        zero[0].sides.1 = 0.0;
        assert!(explain(&[zero]).is_err());
    }

    #[test]
    fn equations_are_solved_also_with_a_zero_on_the_diagonal() {
        let rows = vec![vec![0.0, 2.0, 4.0], vec![3.0, 1.0, 5.0]];
        assert_eq!(solved(rows), Some(vec![1.0, 2.0]));
        assert_eq!(solved(vec![vec![1.0, 2.0, 3.0], vec![2.0, 4.0, 6.0]]), None);
    }
}
