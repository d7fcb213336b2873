//! How similar neighbours in a series are.

/// A stronger correlation of neighbouring seconds cannot be distinguished from a drift.
const STRONGEST: f64 = 0.9;

/// Lag-1 autocorrelation of the residuals of a series with `fitted` coefficients (1 for its mean, 2 for a line), from 0
/// to 0.9.
///
/// A short series of n shows less than there is: each coefficient hides (1 + 3ρ)/n of it (Kendall 1954; Marriott and
/// Pope 1954), and n − 1 products stand against n squares. For a mean that is (1 + 4ρ)/n in all (Shaman and Stine, "The
/// bias of autoregressive coefficient estimators", Journal of the American Statistical Association 83, 1988). That is
/// added back.
pub(crate) fn lag_1(residuals: &[f64], fitted: usize) -> f64 {
    let (n, fitted) = (residuals.len() as f64, fitted as f64);
    let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let corrected = (n * products / squares + fitted) / (n - 3.0 * fitted - 1.0);
    if corrected.is_finite() { corrected.clamp(0.0, STRONGEST) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::lag_1;

    #[test]
    fn what_a_short_series_hides_is_put_back() {
        // Squares add up to 14, products to 4: (14 · 4/14 + 1)/(14 − 4) with the mean taken out, …
        let residuals = [1.0, 1.0, 1.0, -1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0];
        let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
        assert_eq!(lag_1(&residuals, 1), (products + 1.0) / 10.0);
        assert_eq!(lag_1(&residuals, 2), (products + 2.0) / 7.0);
    }

    #[test]
    fn it_stays_between_nothing_and_nearly_all() {
        let swings = [1.0, -1.0].repeat(20);
        let drift: Vec<f64> = (-20..=20).map(f64::from).collect();
        assert_eq!(lag_1(&swings, 1), 0.0);
        assert_eq!(lag_1(&drift, 1), 0.9);
        assert_eq!((lag_1(&[0.0; 20], 1), lag_1(&[], 1)), (0.0, 0.0));
    }
}
