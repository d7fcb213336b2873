//! The knee of a sweep: the load from which on more load hardly brings more throughput.

use crate::spread::{REMEDY, Spread, TAIL, by_load, merged};
use plimsoll_model::estimate::{CONFIDENCE, Estimate, Refusal};
use plimsoll_model::scaling::{Knee, ScalingSample};

/// Share of the highest throughput that counts as having reached it.
pub const REACHED: f64 = 0.95;

/// Fewer load points than this have no knee.
const LEAST_POINTS: usize = 3;

/// The knee of a sweep: the smallest load that reaches [`REACHED`] of the highest mean that was observed. Samples come
/// in any order, several of one load count as their mean; between two loads throughput is assumed linear over
/// log2(load), since sweeps double.
///
/// The interval holds every load whose throughput may be [`REACHED`] of the peak: it begins where the upper bound of
/// the ratio to the peak first gets there, and ends where the lower bound does. An end is open (`None`, with the reason
/// in `missing`) where the sweep does not enclose it or noise hides it.
///
/// # Errors
/// With fewer than three different loads, or if none brought any throughput.
pub fn knee(samples: &[ScalingSample]) -> Result<Knee, Refusal> {
    let samples = merged(&by_load(samples));
    if samples.len() < LEAST_POINTS {
        let have = if samples.len() == 1 { "point has" } else { "points have" };
        return Err(Refusal(format!("{} load {have} no knee; {LEAST_POINTS} can", samples.len())));
    }
    let means: Curve = samples.iter().map(|sample| (sample.load, sample.throughput.value)).collect();
    let highest = means.iter().map(|&(_, mean)| mean).fold(0.0, f64::max);
    if highest == 0.0 {
        return Err(Refusal(format!(
            "none of {} load points brought any throughput; a knee needs some",
            samples.len()
        )));
    }
    let peak = means.iter().position(|&(_, mean)| mean == highest).unwrap_or(0);
    let (first, last) = (0, means.len() - 1);
    let wanted = REACHED * highest;
    let load = crossing(&means, wanted).unwrap_or(means[peak].0);
    Ok(Knee {
        load: with_interval(load, &samples, peak),
        throughput: wanted.max(means[first].1),
        peak_load: means[peak].0,
        peak: samples[peak].throughput.clone(),
        open_ended: means[first].1 >= wanted || peak == last,
    })
}

/// Pairs of load and throughput, or of load and its ratio to the peak; smallest load first.
type Curve = Vec<(f64, f64)>;

/// The smallest load at which a curve, linear over log2(load) between its points, reaches `wanted`.
fn crossing(curve: &[(f64, f64)], wanted: f64) -> Option<f64> {
    let at = curve.iter().position(|&(_, height)| height >= wanted)?;
    let (high, above) = curve[at];
    let Some(&(low, below)) = at.checked_sub(1).and_then(|before| curve.get(before)) else { return Some(high) };
    let share = (wanted - below) / (above - below);
    Some((low.log2() + share * (high.log2() - low.log2())).exp2())
}

fn with_interval(load: f64, samples: &[ScalingSample], peak: usize) -> Estimate {
    let effective_n = samples.iter().map(|sample| sample.throughput.effective_n).fold(f64::INFINITY, f64::min);
    let spreads: Vec<Spread> = samples.iter().filter_map(spread).collect();
    if spreads.len() < samples.len() {
        let without = match spreads.len() {
            0 => "the load points have no intervals".to_owned(),
            some => format!("{} of {} load points have no interval", samples.len() - some, samples.len()),
        };
        let method = "interpolated over log2(load)".to_owned();
        return Estimate::bare(load, effective_n, method, format!("{without}: {REMEDY}"));
    }
    let bounds = Bounds::new(samples, &spreads, peak);
    let last = samples.len() - 1;
    let low = crossing(&bounds.upper, REACHED).filter(|&low| low > samples[0].load);
    let enclosed = (bounds.last_contender < last).then(|| samples[bounds.last_contender].load);
    let high = crossing(&bounds.lower, REACHED).or(enclosed).filter(|_| peak < last);
    let reasons = [
        low.is_none().then_some("the smallest load may already be at the knee; smaller ones can tell"),
        high.is_none().then_some("the largest load may bring most; larger ones, or more or longer rounds, can tell"),
    ];
    let reasons: Vec<&str> = reasons.into_iter().flatten().collect();
    Estimate {
        value: load,
        low,
        high,
        confidence: CONFIDENCE,
        effective_n,
        degrees: None,
        method: "interpolated over log2(load), Welch t intervals of the ratios to the peak".to_owned(),
        missing: (!reasons.is_empty()).then(|| reasons.join("; ")),
    }
}

/// A load that brought nothing has a ratio of 0, whatever its interval.
fn spread(sample: &ScalingSample) -> Option<Spread> {
    let nothing = sample.throughput.value == 0.0;
    if nothing { Some(Spread::NONE) } else { Spread::of(&sample.throughput) }
}

/// What noise leaves open of each load's true throughput as a ratio to the true peak.
///
/// The true peak need not be at the load that was observed highest. Every load within noise of that one contends, and
/// the highest of several is too high by chance: the upper bounds, which are against the observed peak, share their
/// probability among the contenders (Bonferroni). The lower bound is the lowest against any contender, which needs no
/// such care since one of them is the true peak (Hsu, "Constrained simultaneous confidence intervals for multiple
/// comparisons with the best", Annals of Statistics 12, 1984).
struct Bounds {
    upper: Curve,
    lower: Curve,
    /// Index of the largest load that may be the true peak, which the knee cannot lie beyond.
    last_contender: usize,
}

impl Bounds {
    fn new(samples: &[ScalingSample], spreads: &[Spread], peak: usize) -> Bounds {
        let mean = |at: usize| samples[at].throughput.value;
        let log_ratio = |at: usize, to: usize| (mean(at) / mean(to)).ln();
        let reach = |at: usize, to: usize, tail: f64| spreads[at].and(spreads[to]).reach(tail);
        let contends = |&at: &usize| at == peak || log_ratio(at, peak) + reach(at, peak, TAIL) >= 0.0;
        let contenders: Vec<usize> = (0..samples.len()).filter(contends).collect();
        let shared = TAIL / contenders.len() as f64;
        let upper = |at: usize| if at == peak { 0.0 } else { log_ratio(at, peak) + reach(at, peak, shared) };
        let lower = |at: usize| {
            let others = contenders.iter().filter(|&&other| other != at);
            others.map(|&other| log_ratio(at, other) - reach(at, other, TAIL)).fold(0.0, f64::min)
        };
        let curve = |bound: &dyn Fn(usize) -> f64| {
            samples.iter().enumerate().map(|(at, sample)| (sample.load, bound(at).min(0.0).exp())).collect()
        };
        let last_contender = contenders.last().copied().unwrap_or(peak);
        Bounds { upper: curve(&upper), lower: curve(&lower), last_contender }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare((load, rate): (f64, f64)) -> ScalingSample {
        let throughput = Estimate::bare(rate, 1.0, String::new(), "one run".to_owned());
        ScalingSample { load, throughput }
    }

    /// A mean of 8 rounds whose interval reaches `share` of it to both sides.
    fn measured((load, rate): (f64, f64), share: f64) -> ScalingSample {
        let ends = (rate * (1.0 - share), rate * (1.0 + share));
        ScalingSample { load, throughput: Estimate::new(rate, ends, CONFIDENCE, 8.0, String::new()) }
    }

    fn of(points: &[(f64, f64)]) -> Result<Knee, Refusal> {
        knee(&points.iter().copied().map(bare).collect::<Vec<_>>())
    }

    fn with_intervals(points: &[(f64, f64)], share: f64) -> Knee {
        knee(&points.iter().map(|&point| measured(point, share)).collect::<Vec<_>>()).unwrap()
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} where {expected} belongs");
    }

    const BENT: [(f64, f64); 5] = [(1.0, 300.0), (2.0, 550.0), (4.0, 800.0), (8.0, 1000.0), (16.0, 800.0)];

    #[test]
    fn the_knee_is_interpolated_over_the_logarithm_of_the_load() {
        // 950 lies three quarters of the way from 800 to 1000, so at 2^(2 + 0.75) connections.
        let found = of(&[(1.0, 300.0), (2.0, 550.0), (4.0, 800.0), (8.0, 1000.0), (16.0, 990.0)]).unwrap();
        near(found.load.value, 6.727171322029716);
        near(found.throughput, 950.0);
        assert_eq!((found.peak_load, found.peak.value), (8.0, 1000.0));
        assert!(!found.open_ended);
    }

    #[test]
    fn a_point_exactly_at_the_threshold_is_the_knee() {
        let found = of(&[(1.0, 500.0), (2.0, 950.0), (4.0, 1000.0), (8.0, 900.0)]).unwrap();
        near(found.load.value, 2.0);
        assert!(!found.open_ended);
    }

    #[test]
    fn order_of_the_points_does_not_matter() {
        let sorted = [(1.0, 100.0), (2.0, 180.0), (4.0, 200.0), (8.0, 150.0)];
        let mut turned = sorted;
        turned.reverse();
        assert_eq!(of(&sorted), of(&turned));
    }

    #[test]
    fn a_sweep_that_does_not_enclose_its_knee_is_open_ended() {
        let growing = of(&[(1.0, 100.0), (2.0, 200.0), (4.0, 400.0)]).unwrap();
        assert!(growing.open_ended);
        near(growing.load.value, 3.732131966147648);
        let flat = of(&[(1.0, 100.0), (2.0, 101.0), (4.0, 99.0)]).unwrap();
        assert!(flat.open_ended);
        assert_eq!((flat.load.value, flat.throughput, flat.peak_load), (1.0, 100.0, 2.0));
    }

    #[test]
    fn equal_loads_are_one_load_point() {
        let points = [(1.0, 100.0), (2.0, 200.0), (4.0, 400.0), (8.0, 500.0), (8.0, 520.0)];
        let found = with_intervals(&points, 0.02);
        assert_eq!((found.peak_load, found.peak.value, found.open_ended), (8.0, 510.0, true));
        assert_eq!(found.load.high, None);
        assert_eq!(of(&points[2..]).unwrap_err().0, "2 load points have no knee; 3 can");
    }

    #[test]
    fn a_load_that_brings_nothing_encloses_the_knee() {
        let points = [(1.0, 100.0), (2.0, 180.0), (4.0, 200.0), (8.0, 0.0)];
        let found = of(&points).unwrap();
        assert_eq!((found.peak_load, found.open_ended), (4.0, false));
        let (low, high) = with_intervals(&points, 0.02).load.interval().unwrap();
        assert!(2.0 < low && low < found.load.value && found.load.value < high && high <= 4.0, "{low} {high}");
    }

    #[test]
    fn too_little_or_nothing_has_no_knee() {
        let refused = |points: &[(f64, f64)]| of(points).unwrap_err().0;
        assert_eq!(refused(&[]), "0 load points have no knee; 3 can");
        assert_eq!(refused(&[(1.0, 100.0), (2.0, 200.0)]), "2 load points have no knee; 3 can");
        assert_eq!(
            refused(&[(1.0, 0.0), (2.0, 0.0), (4.0, 0.0)]),
            "none of 3 load points brought any throughput; a knee needs some"
        );
        let broken = [(1.0, f64::INFINITY), (2.0, f64::NAN), (0.0, 1.0), (4.0, 120.0)];
        assert_eq!(refused(&broken), "1 load point has no knee; 3 can");
    }

    #[test]
    fn an_interval_encloses_the_knee_and_shrinks_with_the_noise() {
        let wide = with_intervals(&BENT, 0.04).load;
        let narrow = with_intervals(&BENT, 0.01).load;
        let (low, high) = wide.interval().unwrap();
        let (lower, upper) = narrow.interval().unwrap();
        assert!(4.0 < low && low < lower && lower < narrow.value, "{wide:?} {narrow:?}");
        assert!(narrow.value < upper && upper < high && high < 8.0, "{wide:?} {narrow:?}");
        let (same, exact) = with_intervals(&BENT, 0.0).load.interval().unwrap();
        near(same, narrow.value);
        near(exact, narrow.value);
    }

    #[test]
    fn noise_that_hides_the_peak_moves_the_upper_end_to_the_last_load_that_may_be_it() {
        let twins = [(1.0, 500.0), (2.0, 900.0), (4.0, 1000.0), (8.0, 999.0), (16.0, 500.0)];
        assert!(with_intervals(&twins, 0.01).load.high.unwrap() < 4.0);
        assert_eq!(with_intervals(&twins, 0.1).load.high, Some(8.0));
    }

    #[test]
    fn an_end_that_the_sweep_does_not_enclose_is_open_and_says_what_would_close_it() {
        let growing = with_intervals(&[(1.0, 100.0), (2.0, 200.0), (4.0, 400.0)], 0.02).load;
        assert!(growing.low.is_some() && growing.high.is_none());
        assert!(growing.missing.unwrap().starts_with("the largest load may bring most; larger ones"));
        let falling = with_intervals(&[(1.0, 400.0), (2.0, 300.0), (4.0, 200.0)], 0.02).load;
        assert_eq!((falling.low, falling.high), (None, Some(1.0)));
        assert!(falling.missing.unwrap().starts_with("the smallest load may already be at the knee"));
    }

    #[test]
    fn without_intervals_of_all_points_there_is_none() {
        let mut samples: Vec<ScalingSample> = BENT.iter().map(|&point| measured(point, 0.02)).collect();
        samples[1] = bare(BENT[1]);
        let found = knee(&samples).unwrap().load;
        assert_eq!((found.low, found.high), (None, None));
        assert_eq!(
            found.missing.unwrap(),
            "1 of 5 load points have no interval: measure 10 s or longer, or several rounds"
        );
    }
}
