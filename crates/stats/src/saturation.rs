//! The Universal Scalability fit.
//!
//! X(N) = γN ÷ (1 + α(N − 1) + βN(N − 1)) with γ > 0, α ≥ 0, β ≥ 0 (Gunther, "Guerrilla Capacity Planning", 2007,
//! chapter 4).

mod least_squares;

use crate::distribution::{f_quantile, t_two_sided};
use crate::spread::{Spread, by_load};
use least_squares::{COUNT, Fit, curve, fit};
use plimsoll_model::estimate::{CONFIDENCE, Estimate, Refusal};
use plimsoll_model::scaling::{ModelPeak, Saturation, ScalingSample};

/// Fewer load points than this leave too few residuals to judge three parameters by.
const LEAST_POINTS: usize = 6;

/// Residuals up to this share never make a fit poor. Runs of one server differ by a few percent, which the interval of
/// a load point with one window does not include: taken at its word, it would reject every model.
const USUAL_NOISE: f64 = 0.05;

/// Probability below which noise alone does not explain residuals.
const UNLIKELY: f64 = 0.01;

/// β counts as 0 if coherency costs less than this share of the throughput at the largest load.
const NEGLIGIBLE: f64 = 1e-6;

/// Fits the Universal Scalability Law to a sweep by least squares of the *logarithms* of the throughput: its noise is
/// a share of it, so an unweighted fit would follow only the peak, and its intervals would be too narrow.
///
/// The scatter around the fit gives the intervals (delta method, Student's t with n − 3 degrees of freedom), cut at 0
/// where a parameter cannot be negative. Loads below 1 are left out, since the law counts whole users or processors.
///
/// # Errors
/// With fewer than six usable samples, or if they lie too close together for three parameters.
pub fn saturation(samples: &[ScalingSample]) -> Result<Saturation, Refusal> {
    let mut samples = by_load(samples);
    samples.retain(|sample| sample.load >= 1.0 && sample.throughput.value > 0.0);
    if samples.len() < LEAST_POINTS {
        let points = if samples.len() == 1 { "point" } else { "points" };
        return Err(Refusal(format!(
            "{} load {points} cannot show the Universal Scalability Law; {LEAST_POINTS} can",
            samples.len()
        )));
    }
    let points: Vec<(f64, f64)> = samples.iter().map(|sample| (sample.load, sample.throughput.value.ln())).collect();
    let fit = fit(&points)
        .ok_or_else(|| Refusal("the loads lie too close together for a Universal Scalability fit".to_owned()))?;
    let spreads: Option<Vec<Spread>> = samples.iter().map(|sample| Spread::of(&sample.throughput)).collect();
    let noise = spreads.as_deref().map(pooled);
    let furthest = points.last().map_or(1.0, |&(load, _)| load);
    let intervals = Intervals::new(&fit, points.len());
    Ok(Saturation {
        gamma: intervals.gamma(),
        alpha: intervals.share(1),
        beta: intervals.share(2),
        peak: intervals.peak(furthest),
        residual: fit.variance.sqrt(),
        noise: noise.map(|noise| noise.error),
        poor: poor(&fit, points.len(), noise),
    })
}

/// The noise of all points together.
fn pooled(spreads: &[Spread]) -> Spread {
    let variance = spreads.iter().map(|spread| spread.error.powi(2)).sum::<f64>() / spreads.len() as f64;
    Spread { error: variance.sqrt(), degrees: spreads.iter().map(|spread| spread.degrees).sum() }
}

/// Why the fit does not describe its points: by the F test of lack of fit if the noise is known (Draper and Smith,
/// "Applied Regression Analysis", 1998, chapter 2). An F test rather than a chi-squared one, because the noise of a few
/// rounds is itself known only roughly. [`USUAL_NOISE`] is always allowed.
fn poor(fit: &Fit, points: usize, noise: Option<Spread>) -> Option<String> {
    let residual = fit.variance.sqrt();
    let explained = |Spread { error, degrees }: Spread| {
        let most = error * f_quantile(1.0 - UNLIKELY, (points - COUNT) as f64, degrees).sqrt();
        (most, format!("the noise of {:.1} %", 100.0 * error))
    };
    let usual = format!("the {:.0} % by which runs of one server differ", 100.0 * USUAL_NOISE);
    let (most, cause) = noise.map(explained).filter(|&(most, _)| most > USUAL_NOISE).unwrap_or((USUAL_NOISE, usual));
    (residual > most).then(|| format!("residuals of {:.1} % exceed {cause}", 100.0 * residual))
}

/// Estimates with intervals from a fit.
struct Intervals<'a> {
    fit: &'a Fit,
    /// Half width of an interval in standard errors.
    t: f64,
    degrees: f64,
    points: usize,
}

impl Intervals<'_> {
    fn new(fit: &Fit, points: usize) -> Intervals<'_> {
        let degrees = (points - COUNT) as f64;
        Intervals { fit, t: t_two_sided(CONFIDENCE, degrees), degrees, points }
    }

    fn estimate(&self, value: f64, ends: (f64, f64), how: &str) -> Estimate {
        let method = format!("least squares of log throughput over {} load points, {how}", self.points);
        Estimate::new(value, ends, CONFIDENCE, self.points as f64, method).with_degrees(self.degrees)
    }

    fn gamma(&self) -> Estimate {
        self.positive(self.fit.parameters[0], [1.0, 0.0, 0.0])
    }

    /// A quantity by its logarithm and the gradient of that in the parameters.
    fn positive(&self, logarithm: f64, gradient: [f64; COUNT]) -> Estimate {
        let reach = self.t * self.fit.variance_along(gradient).sqrt();
        let ends = ((logarithm - reach).exp(), (logarithm + reach).exp());
        self.estimate(logarithm.exp(), ends, "t interval of the logarithm")
    }

    /// α or β.
    fn share(&self, which: usize) -> Estimate {
        let value = self.fit.parameters[which];
        let reach = self.t * self.fit.covariance[which][which].sqrt();
        self.estimate(value, ((value - reach).max(0.0), value + reach), "t interval")
    }

    /// N* = √((1 − α) ÷ β) and X(N*), if that lies above a load of 1. At a maximum the throughput does not change with
    /// the load, so that its gradient is the one at a fixed load.
    fn peak(&self, furthest: f64) -> Option<ModelPeak> {
        let [_, alpha, beta] = self.fit.parameters;
        let coherency = -beta * curve(&self.fit.parameters, furthest).1[2];
        let load = ((1.0 - alpha) / beta).sqrt();
        let exists = coherency > NEGLIGIBLE && load >= 1.0;
        exists.then(|| {
            let (logarithm, gradient) = curve(&self.fit.parameters, load);
            ModelPeak { load: self.peak_load(load), throughput: self.positive(logarithm, gradient) }
        })
    }

    /// The squares N² for which 1 − α − N²β may be 0 (Fieller, "Some problems in interval estimation", Journal of the
    /// Royal Statistical Society B 16, 1954). Unlike the delta method this has no upper end where β may be 0.
    fn peak_load(&self, value: f64) -> Estimate {
        let [_, alpha, beta] = self.fit.parameters;
        let [[_, _, _], [_, alpha_variance, covariance], [_, _, beta_variance]] = self.fit.covariance;
        let t_squared = self.t * self.t;
        let square = beta * beta - t_squared * beta_variance;
        let middle = (1.0 - alpha) * beta + t_squared * covariance;
        let constant = (1.0 - alpha).powi(2) - t_squared * alpha_variance;
        let sum = middle + (middle * middle - square * constant).max(0.0).sqrt();
        let low = (constant > 0.0).then(|| (constant / sum).sqrt());
        let high = (square > 0.0).then(|| (sum / square).sqrt());
        let missing = match (low, high) {
            (_, None) => Some("the fall beyond the peak may be noise; larger loads can tell"),
            (None, _) => Some("the rise before the peak may be noise; smaller loads can tell"),
            _ => None,
        };
        let missing = missing.map(str::to_owned);
        Estimate { low, high, missing, ..self.estimate(value, (value, value), "Fieller interval") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOADS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

    fn law(gamma: f64, alpha: f64, beta: f64) -> impl Fn(f64) -> f64 {
        move |load| gamma * load / (1.0 + alpha * (load - 1.0) + beta * load * (load - 1.0))
    }

    /// Points on a curve, every other one higher by `off` as a share and the rest lower; intervals of 8 rounds.
    fn sweep(curve: impl Fn(f64) -> f64, off: f64, half_width: Option<f64>) -> Vec<ScalingSample> {
        let sample = |(at, &load): (usize, &f64)| {
            let rate = curve(load) * if at % 2 == 0 { 1.0 + off } else { 1.0 - off };
            let bare = Estimate::bare(rate, 1.0, String::new(), "one run".to_owned());
            let throughput = half_width.map_or(bare, |half| {
                Estimate::new(rate, (rate * (1.0 - half), rate * (1.0 + half)), CONFIDENCE, 8.0, String::new())
            });
            ScalingSample { load, throughput }
        };
        LOADS.iter().enumerate().map(sample).collect()
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-8 * expected.abs() + 1e-12, "{found} where {expected} belongs");
    }

    #[test]
    fn exact_points_give_the_exact_law_and_its_peak() {
        let fit = saturation(&sweep(law(100.0, 0.05, 5e-4), 0.0, None)).unwrap();
        near(fit.gamma.value, 100.0);
        near(fit.alpha.value, 0.05);
        near(fit.beta.value, 5e-4);
        near(fit.residual, 0.0);
        near(fit.at(20.0), law(100.0, 0.05, 5e-4)(20.0));
        let peak = fit.peak.unwrap();
        near(peak.load.value, 1900_f64.sqrt());
        near(peak.throughput.value, law(100.0, 0.05, 5e-4)(1900_f64.sqrt()));
        assert_eq!((fit.poor, fit.noise), (None, None));
    }

    #[test]
    fn without_coherency_there_is_no_peak() {
        let amdahl = saturation(&sweep(law(100.0, 0.05, 0.0), 0.0, None)).unwrap();
        near(amdahl.alpha.value, 0.05);
        assert!(amdahl.peak.is_none() && amdahl.beta.value.abs() < 1e-12, "{amdahl:?}");
        let linear = saturation(&sweep(law(100.0, 0.0, 0.0), 0.0, None)).unwrap();
        near(linear.gamma.value, 100.0);
        assert!(linear.peak.is_none(), "{linear:?}");
    }

    #[test]
    fn growth_faster_than_the_load_is_fitted_without_contention() {
        let fit = saturation(&sweep(|load| load.powf(1.2), 0.0, None)).unwrap();
        assert_eq!((fit.alpha.value, fit.beta.value, fit.alpha.low, fit.beta.low), (0.0, 0.0, Some(0.0), Some(0.0)));
        assert!(fit.poor.is_some());
    }

    #[test]
    fn a_fit_is_poor_where_its_residuals_exceed_the_noise() {
        let curve = || law(100.0, 0.05, 5e-4);
        let poor = |off, half_width| saturation(&sweep(curve(), off, half_width)).unwrap().poor;
        assert_eq!(poor(0.1, Some(0.2)), None);
        let text = poor(0.1, Some(0.08)).unwrap();
        assert!(text.starts_with("residuals of 1") && text.ends_with(" % exceed the noise of 3.4 %"), "{text}");
        for half_width in [None, Some(0.0), Some(0.02)] {
            assert_eq!(poor(0.03, half_width), None, "runs of one server may differ so much");
            assert!(poor(0.06, half_width).unwrap().ends_with(" % exceed the 5 % by which runs of one server differ"));
        }
    }

    #[test]
    fn too_few_loads_are_refused() {
        let samples = sweep(law(100.0, 0.05, 5e-4), 0.0, None);
        let refused = |samples: &[ScalingSample]| saturation(samples).unwrap_err().0;
        assert_eq!(refused(&samples[..5]), "5 load points cannot show the Universal Scalability Law; 6 can");
        assert_eq!(refused(&[]), "0 load points cannot show the Universal Scalability Law; 6 can");
        let same = vec![samples[3].clone(); 8];
        assert_eq!(refused(&same), "the loads lie too close together for a Universal Scalability fit");
        let two = [vec![samples[3].clone(); 4], vec![samples[5].clone(); 4]].concat();
        assert_eq!(refused(&two), "the loads lie too close together for a Universal Scalability fit");
    }

    #[test]
    fn wild_points_give_finite_numbers() {
        let constant = saturation(&sweep(|_| 500.0, 0.0, None)).unwrap();
        assert!(constant.residual.is_finite() && constant.gamma.value > 0.0, "{constant:?}");
        let falling = saturation(&sweep(|load| 1e9 / load.powi(3), 0.3, Some(0.5))).unwrap();
        let numbers = [&falling.gamma, &falling.alpha, &falling.beta].map(|estimate| estimate.interval().unwrap());
        assert!(numbers.iter().all(|(low, high)| low.is_finite() && high.is_finite()), "{falling:?}");
        assert!(falling.poor.is_some() && falling.peak.is_none(), "{falling:?}");
    }
}
