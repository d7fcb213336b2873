//! What a number of rounds would show, judging by rounds that were measured.

use crate::comparison::{FEWEST, Moments, detectable, log_ratios, pairs_needed};
use crate::distribution::chi_squared_quantile;
use plimsoll_model::number::counted;
use plimsoll_model::{Estimate, Refusal};

/// With which the true spread of pairs is between the ends; beyond each of them it lies in 1 of 10 cases.
const CONFIDENCE: f64 = 0.8;

/// By how much the two sides of a pair differ by chance: the standard deviation of the log ratios, pooled over comparisons.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairSpread {
    deviation: f64,
    degrees: f64,
}

impl PairSpread {
    /// From the pairs of some comparisons, each with an effect of its own; a side is above 0.
    ///
    /// # Errors
    /// Unless a comparison has two pairs at least, or with a value that is not above 0.
    pub fn pooled(comparisons: &[Vec<(f64, f64)>]) -> Result<PairSpread, Refusal> {
        let (mut squares, mut degrees) = (0.0, 0.0);
        for pairs in comparisons {
            let Some(moments) = Moments::of(&log_ratios(pairs)?) else { continue };
            squares += moments.deviation.powi(2) * (moments.n - 1.0);
            degrees += moments.n - 1.0;
        }
        match degrees > 0.0 {
            true => Ok(PairSpread { deviation: (squares / degrees).sqrt(), degrees }),
            false => Err(Refusal("no comparison has two complete rounds, so chance cannot be told".to_owned())),
        }
    }

    /// The standard deviation, which is roughly a share, with its chi-squared interval.
    pub fn estimate(&self) -> Estimate {
        self.with_ends(self.deviation, |deviation| deviation)
    }

    /// The smallest change, a share, that so many rounds detect in 4 of 5 cases by an interval of this confidence; `None` with
    /// too few for an interval.
    pub fn detectable(&self, rounds: usize, confidence: f64) -> Option<Estimate> {
        let of = |deviation| detectable(deviation, rounds, confidence).unwrap_or(f64::NAN);
        (rounds >= FEWEST).then(|| self.with_ends(of(self.deviation), of))
    }

    /// How many rounds detect a change of `effect`, a share, in 4 of 5 cases by an interval of this confidence.
    pub fn rounds_needed(&self, effect: f64, confidence: f64) -> Estimate {
        let of = |deviation| pairs_needed(deviation, effect, confidence) as f64;
        self.with_ends(of(self.deviation), of)
    }

    /// What follows from the deviation, and from the ends of its interval.
    fn with_ends(&self, value: f64, of: impl Fn(f64) -> f64) -> Estimate {
        let end = |p: f64| of(self.deviation * (self.degrees / chi_squared_quantile(p, self.degrees)).sqrt());
        let (low, high) = (end(0.5 + CONFIDENCE / 2.0), end(0.5 - CONFIDENCE / 2.0));
        let method = format!("{} of freedom, chi-squared interval", counted(self.degrees, "degree"));
        Estimate::new(value, (low, high), CONFIDENCE, self.degrees + 1.0, method).with_degrees(self.degrees)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Log ratios around an effect.
    fn pairs(effect: f64, ratios: &[f64]) -> Vec<(f64, f64)> {
        ratios.iter().map(|ratio| (100.0, 100.0 * (effect + ratio).exp())).collect()
    }

    #[test]
    fn effects_of_their_own_are_no_chance() {
        let spread = PairSpread::pooled(&[pairs(0.5, &[-0.1, 0.1]), pairs(-0.2, &[-0.1, 0.0, 0.1])]).expect("pairs");
        // Squares of 0.02 and 0.02 over 1 + 2 degrees; chi-squared quantiles of 3 degrees: 0.584 and 6.251.
        let found = spread.estimate();
        assert!((found.value - (0.04_f64 / 3.0).sqrt()).abs() < 1e-9, "{found:?}");
        let (low, high) = found.interval().expect("an interval");
        assert!((low - (0.04_f64 / 6.251).sqrt()).abs() < 1e-4, "{found:?}");
        assert!((high - (0.04_f64 / 0.584).sqrt()).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn more_rounds_show_less_and_as_many_as_are_needed_are_enough() {
        let spread = PairSpread::pooled(&[pairs(0.0, &[-0.05, 0.05, 0.02, -0.02])]).expect("pairs");
        let shown = |rounds| spread.detectable(rounds, 0.95).expect("enough rounds").value;
        assert!(shown(3) > shown(10) && shown(10) > shown(100));
        assert_eq!(spread.detectable(2, 0.95), None);
        let needed = spread.rounds_needed(0.02, 0.95);
        assert!(shown(needed.value as usize) <= 0.02 && shown(needed.value as usize - 1) > 0.02, "{needed:?}");
        let (low, high) = needed.interval().expect("an interval");
        assert!(low < needed.value && needed.value < high, "{needed:?}");
        assert!(spread.rounds_needed(0.02, 0.995).value > 1.5 * needed.value, "of ten comparisons together");
    }

    #[test]
    fn single_rounds_and_failed_ones_say_nothing() {
        for comparisons in [vec![], vec![pairs(0.1, &[0.0])], vec![vec![(1.0, 0.0), (1.0, 1.0)]]] {
            assert!(PairSpread::pooled(&comparisons).is_err(), "{comparisons:?}");
        }
    }
}
