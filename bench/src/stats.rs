//! Medians and spreads of a handful of rounds. No means: one disturbed round must not decide.

/// How samples lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleSpread {
    pub min: f64,
    pub lower_quartile: f64,
    pub median: f64,
    pub upper_quartile: f64,
    pub max: f64,
}

impl SampleSpread {
    /// `None` without samples. Quartiles interpolate linearly between order statistics (Hyndman and Fan 1996, type 7).
    pub fn of(samples: &[f64]) -> Option<SampleSpread> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let at = |share: f64| {
            let place = share * last as f64;
            let below = place.floor() as usize;
            sorted[below] + (sorted[(below + 1).min(last)] - sorted[below]) * place.fract()
        };
        Some(SampleSpread {
            min: sorted[0],
            lower_quartile: at(0.25),
            median: at(0.5),
            upper_quartile: at(0.75),
            max: sorted[last],
        })
    }
}

/// Each sample over the other's of the same round: what disturbed both cancels out.
pub fn ratios(numerator: &[f64], denominator: &[f64]) -> Vec<f64> {
    numerator.iter().zip(denominator).map(|(a, b)| a / b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_interpolate() {
        assert_eq!(SampleSpread::of(&[]), None);
        let spread = SampleSpread::of(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        let expected = SampleSpread { min: 1.0, lower_quartile: 1.75, median: 2.5, upper_quartile: 3.25, max: 4.0 };
        assert_eq!(spread, expected);
        assert_eq!(SampleSpread::of(&[7.0]).unwrap().upper_quartile, 7.0);
    }

    #[test]
    fn ratios_are_pair_by_pair() {
        assert_eq!(ratios(&[1.0, 6.0], &[2.0, 3.0]), [0.5, 2.0]);
    }
}
