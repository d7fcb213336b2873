//! Quantiles of the distributions that intervals are made from.

use statrs::distribution::{ChiSquared, ContinuousCDF, FisherSnedecor, Normal, StudentsT};

/// The value that Student's t stays within, on both sides of 0, with probability `confidence`.
pub(crate) fn t_two_sided(confidence: f64, degrees: f64) -> f64 {
    t_quantile(0.5 + confidence / 2.0, degrees)
}

/// Quantile of Student's t distribution; `degrees` of freedom need not be whole.
pub(crate) fn t_quantile(p: f64, degrees: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees).map_or(f64::NAN, |t| t.inverse_cdf(p))
}

/// Probability that Student's t is further from 0 than `t`.
pub(crate) fn t_p_value(t: f64, degrees: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees).map_or(f64::NAN, |distribution| 2.0 * distribution.cdf(-t.abs()))
}

/// Probability that a standard normal value is below `x`.
pub(crate) fn normal_cdf(x: f64) -> f64 {
    Normal::standard().cdf(x)
}

/// Quantile of the standard normal distribution.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}

/// Quantile of the chi-squared distribution; `degrees` of freedom need not be whole.
pub(crate) fn chi_squared_quantile(p: f64, degrees: f64) -> f64 {
    ChiSquared::new(degrees).map_or(f64::NAN, |distribution| distribution.inverse_cdf(p))
}

/// Quantile of Fisher's F distribution: of the ratio of two variances with these degrees of freedom.
pub(crate) fn f_quantile(p: f64, above: f64, below: f64) -> f64 {
    FisherSnedecor::new(above, below).map_or(f64::NAN, |distribution| distribution.inverse_cdf(p))
}
