//! The share of independent cases in which something happened.

use plimsoll_model::Estimate;
use statrs::distribution::{Beta, ContinuousCDF};

const CONFIDENCE: f64 = 0.95;

/// The share, with the exact interval of Clopper and Pearson (Biometrika 26, 1934): two-sided, but where it happened never
/// or always the whole error is at the one end that is open, as in the rule of three. `None` without any case.
pub fn share(happened: usize, cases: usize) -> Option<Estimate> {
    if cases == 0 || happened > cases {
        return None;
    }
    let (yes, all) = (happened as f64, cases as f64);
    let is_at_an_end = happened == 0 || happened == cases;
    let tail = if is_at_an_end { 1.0 - CONFIDENCE } else { (1.0 - CONFIDENCE) / 2.0 };
    // With whole numbers from 1 up both shapes are positive, and the distribution exists.
    let quantile = |a: f64, b: f64, p: f64| Beta::new(a, b).map(|beta| beta.inverse_cdf(p)).ok();
    let low = if happened == 0 { Some(0.0) } else { quantile(yes, all - yes + 1.0, tail) };
    let high = if happened == cases { Some(1.0) } else { quantile(yes + 1.0, all - yes, 1.0 - tail) };
    Some(Estimate {
        value: yes / all,
        low,
        high,
        confidence: CONFIDENCE,
        effective_n: all,
        degrees: None,
        method: "Clopper–Pearson interval".to_owned(),
        missing: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_r() {
        // binom.test(7, 20)$conf.int; and 1 - 0.05^(1/20), as binom.test(0, 20, alternative = "less").
        let ends = |happened, cases| share(happened, cases).unwrap().interval().unwrap();
        let (low, high) = ends(7, 20);
        assert!((low - 0.153_909).abs() < 1e-5 && (high - 0.592_189).abs() < 1e-5, "{low} {high}");
        let (low, high) = ends(0, 20);
        assert!(low == 0.0 && (high - (1.0 - 0.05_f64.powf(1.0 / 20.0))).abs() < 1e-9, "{high}");
        let (low, high) = ends(20, 20);
        assert!((low - 0.05_f64.powf(1.0 / 20.0)).abs() < 1e-9 && high == 1.0, "{low}");
        assert_eq!(share(0, 0), None);
    }
}
