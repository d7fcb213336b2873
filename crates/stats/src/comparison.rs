//! Two sides compared over rounds.
//!
//! Everything is computed on logarithms and reported as a share: a disturbance changes throughput by a factor, and the
//! log ratio treats b ÷ a and a ÷ b alike. If rounds are interleaved, each is compared with its neighbour in time, so
//! that slow drifts cancel ([`paired`]); recordings of different machines have no such neighbours ([`unpaired`]).

use crate::batch_means::mean;
use crate::distribution::{chi_squared_quantile, normal_quantile, t_quantile, t_two_sided};
use fastrand::Rng;
use plimsoll_model::comparison::Verdict;
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_model::number::counted;
use plimsoll_model::{Estimate, Refusal};

/// Fewest pairs, or rounds of each side, that have an interval: one difference has no spread, and the spread of two
/// is known only to a factor of 30.
pub(crate) const FEWEST: usize = 3;
/// Fewest rounds of one side whose noise floor has an interval.
const FEWEST_FOR_FLOOR: usize = 4;
/// From this many pairs on, their own distribution is known well enough to replace Student's.
const BOOTSTRAP_FROM: usize = 20;
/// One less than a round number, so that the usual quantiles are whole ranks.
const RESAMPLES: usize = 9_999;
/// Constant: equal rounds give equal intervals.
const SEED: u64 = 1993;
/// Probability with which a test detects an existing effect.
const POWER: f64 = 0.8;
/// From this many pairs on, Student's t is as good as normal.
const MANY: f64 = 1e6;

/// b ÷ a − 1, as a share, from interleaved rounds: `(a, b)` are of one round.
///
/// The mean of the log ratios with Student's t interval (Student 1908), from 20 pairs on with the studentised bootstrap
/// (Efron & Tibshirani 1993, section 12.5). One or two pairs give a value without an interval. The order of the pairs
/// does not matter. Where a always runs before b, a drifting machine leaves neighbouring ratios a little negatively
/// correlated, and the interval is somewhat wider than it has to be; an order drawn anew for each round avoids that.
///
/// `confidence` is above 0 and below 1.
///
/// # Errors
/// Without pairs, or with a value that is not above 0.
pub fn paired(pairs: &[(f64, f64)], confidence: f64) -> Result<Estimate, Refusal> {
    let ratios = log_ratios(pairs)?;
    let Some(moments) = Moments::of(&ratios) else {
        return Err(Refusal(format!("no round has both sides; {FEWEST} can be compared")));
    };
    let pairs = counted(ratios.len() as f64, "pair");
    if ratios.len() < FEWEST {
        let missing = format!("{pairs} cannot have an interval; {FEWEST} can");
        return Ok(Estimate::bare(moments.mean.exp_m1(), moments.n, format!("{pairs}, geometric mean"), missing));
    }
    let bootstrapped = if ratios.len() < BOOTSTRAP_FROM { None } else { bootstrap(&ratios, &moments, confidence) };
    let change = |(low, high): (f64, f64), name: &str| {
        let ends = (low.exp_m1(), high.exp_m1());
        Estimate::new(moments.mean.exp_m1(), ends, confidence, moments.n, format!("{pairs}, {name}"))
    };
    let degrees = moments.n - 1.0;
    Ok(match bootstrapped {
        Some(ends) => change(ends, "studentised bootstrap"),
        None => {
            let half_width = t_two_sided(confidence, degrees) * moments.error();
            change(around(moments.mean, half_width), "t interval").with_degrees(degrees)
        }
    })
}

/// b ÷ a − 1, as a share, of two groups of rounds that are not paired.
///
/// The difference of the mean logarithms with Welch's interval (Welch 1947), which lets the sides spread differently.
/// It assumes that the rounds of a side are independent of each other, which [`paired`] does not: on machines that
/// drift from run to run (lag-1 correlation 0.6, more than half of the variance) it covers only three of four cases.
/// Fewer than three rounds on a side give a value without an interval.
///
/// `confidence` is above 0 and below 1.
///
/// # Errors
/// With a side without rounds, or with a value that is not above 0.
pub fn unpaired(a: &[f64], b: &[f64], confidence: f64) -> Result<Estimate, Refusal> {
    let (of_a, of_b) = (logarithms(a.iter().copied(), " of a")?, logarithms(b.iter().copied(), " of b")?);
    let (Some(before), Some(after)) = (Moments::of(&of_a), Moments::of(&of_b)) else {
        let empty = if a.is_empty() { "a" } else { "b" };
        return Err(Refusal(format!("{empty} has no rounds; {FEWEST} can be compared")));
    };
    let difference = after.mean - before.mean;
    let n = before.n + after.n;
    let rounds = format!("{} of a and {} of b", counted(a.len() as f64, "round"), b.len());
    if a.len().min(b.len()) < FEWEST {
        let missing = format!("{rounds} cannot have an interval; {FEWEST} of each can");
        return Ok(Estimate::bare(difference.exp_m1(), n, format!("unpaired, {rounds}, geometric means"), missing));
    }
    let degrees = welch_degrees(&before, &after);
    let half_width = match degrees {
        Some(degrees) => t_two_sided(confidence, degrees) * before.error().hypot(after.error()),
        None => 0.0,
    };
    let (low, high) = around(difference, half_width);
    let method = format!("unpaired, {rounds}, Welch interval");
    let change = Estimate::new(difference.exp_m1(), (low.exp_m1(), high.exp_m1()), confidence, n, method);
    Ok(Estimate { degrees, ..change })
}

/// What the interval of a change says; `equivalence` is the share that counts as no difference.
///
/// A difference that is certain but smaller than `equivalence` is `Higher` or `Lower`: the reader sees its size and can
/// decide whether it matters. Equivalence is judged by the same interval, although a 90 % interval would be enough for
/// a test at 5 % (Schuirmann 1987), so that a row has one interval that shows its verdict.
pub fn verdict(change: &Estimate, equivalence: f64) -> Verdict {
    match change.interval() {
        Some((low, _)) if low > 0.0 => Verdict::Higher,
        Some((_, high)) if high < 0.0 => Verdict::Lower,
        Some((low, high)) if -equivalence <= low && high <= equivalence => Verdict::Equivalent,
        _ => Verdict::Unclear,
    }
}

/// The relative difference, as a share, that two rounds of one side show by chance in 19 of 20 cases; `rounds` in
/// their order.
///
/// Neighbouring rounds are compared, as [`paired`] compares them: their log ratio has mean 0, and its variance is the
/// mean of its squares, which a slow drift hardly changes (von Neumann 1941). The interval is the chi-squared one, with
/// the number of independent ratios that tell as much about a variance as these do (Bayley & Hammersley 1946). Both
/// assume normal logarithms. Two or three rounds give a value without an interval.
///
/// # Errors
/// With fewer than two rounds, or with a value that is not above 0.
pub fn noise_floor(rounds: &[f64]) -> Result<Estimate, Refusal> {
    let logarithms = logarithms(rounds.iter().copied(), "")?;
    let ratios: Vec<f64> = logarithms.windows(2).map(|two| two[1] - two[0]).collect();
    let rounds = counted(rounds.len() as f64, "round");
    if ratios.is_empty() {
        return Err(Refusal(format!("{rounds} cannot differ by chance; {FEWEST_FOR_FLOOR} can show by how much")));
    }
    let variance = ratios.iter().map(|ratio| ratio * ratio).sum::<f64>() / ratios.len() as f64;
    let effective_n = independent(&ratios);
    let floor = |variance: f64| (normal_quantile(0.5 + CONFIDENCE / 2.0) * variance.sqrt()).exp_m1();
    let method = format!("{rounds}, neighbours compared");
    if logarithms.len() < FEWEST_FOR_FLOOR {
        let missing = format!("{rounds} cannot have an interval; {FEWEST_FOR_FLOOR} can");
        return Ok(Estimate::bare(floor(variance), effective_n, method, missing));
    }
    let end = |p: f64| floor(variance * effective_n / chi_squared_quantile(p, effective_n));
    let interval = (end(0.5 + CONFIDENCE / 2.0), end(0.5 - CONFIDENCE / 2.0));
    let method = format!("{method}, chi-squared interval");
    Ok(Estimate::new(floor(variance), interval, CONFIDENCE, effective_n, method))
}

/// Standard deviation of the log ratios of pairs, which is roughly a share; `None` with fewer than two, or if a value
/// is not above 0.
pub fn spread(pairs: &[(f64, f64)]) -> Option<f64> {
    let ratios: Vec<f64> = pairs.iter().map(|(a, b)| b.ln() - a.ln()).collect();
    Moments::of(&ratios).map(|moments| moments.deviation).filter(|deviation| ratios.len() > 1 && deviation.is_finite())
}

/// The smallest change, as a share, that this many pairs with this spread detect in 4 of 5 cases, by a two-sided interval of
/// this confidence; `None` with too few pairs for an interval.
///
/// At 95 %, (t₀.₉₇₅ + t₀.₈) s ÷ √n on the log scale, which asks for at most one pair fewer than the noncentral t distribution.
pub fn detectable(spread: f64, pairs: usize, confidence: f64) -> Option<f64> {
    (pairs >= FEWEST).then(|| shown(spread, pairs as f64, confidence).exp_m1())
}

/// How many pairs with this spread detect a change of `effect`, a share of either sign, in 4 of 5 cases, by a two-sided
/// interval of this confidence; `usize::MAX` if no number does, for an effect of 0. The inverse of [`detectable`].
pub fn pairs_needed(spread: f64, effect: f64, confidence: f64) -> usize {
    let wanted = effect.ln_1p().abs();
    // The normal distribution asks for two or three pairs fewer than Student's t, so the search starts there.
    let normal = normal_quantile(0.5 + confidence / 2.0) + normal_quantile(POWER);
    match (normal * spread / wanted).powi(2).ceil() {
        least if least.is_nan() => usize::MAX,
        least if least > MANY => least as usize,
        least => {
            let mut pairs = FEWEST.max(least as usize)..;
            pairs.find(|&pairs| shown(spread, pairs as f64, confidence) <= wanted).unwrap_or(usize::MAX)
        }
    }
}

/// The confidence that each of `comparisons` intervals needs so that all hold together with `confidence` (Šidák 1967).
///
/// Intervals that share a baseline hold together at least as often. Verdicts that are read from these intervals are
/// wrong about any difference at all in at most 1 − `confidence` of all cases.
pub fn each_of(comparisons: usize, confidence: f64) -> f64 {
    confidence.powf(1.0 / comparisons.max(1) as f64)
}

/// The logarithm of b ÷ a of each pair.
pub(crate) fn log_ratios(pairs: &[(f64, f64)]) -> Result<Vec<f64>, Refusal> {
    let a = logarithms(pairs.iter().map(|pair| pair.0), " of a")?;
    let b = logarithms(pairs.iter().map(|pair| pair.1), " of b")?;
    Ok(a.iter().zip(&b).map(|(a, b)| b - a).collect())
}

/// Size, mean and standard deviation (of n − 1) of some logarithms.
pub(crate) struct Moments {
    pub n: f64,
    pub mean: f64,
    pub deviation: f64,
}

impl Moments {
    /// `None` without values; a single one has the deviation 0.
    pub fn of(values: &[f64]) -> Option<Moments> {
        if values.is_empty() {
            return None;
        }
        let n = values.len() as f64;
        let mean = mean(values);
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        Some(Moments { n, mean, deviation: (squares / (n - 1.0).max(1.0)).sqrt() })
    }

    /// Standard error of the mean.
    pub fn error(&self) -> f64 {
        self.deviation / self.n.sqrt()
    }
}

/// The logarithms of one side's rounds, refused if a round has none; `whose` names the side in the refusal.
fn logarithms(rounds: impl Iterator<Item = f64>, whose: &str) -> Result<Vec<f64>, Refusal> {
    let logarithm = |(index, value): (usize, f64)| match value.ln() {
        logarithm if logarithm.is_finite() => Ok(logarithm),
        _ => Err(Refusal(format!("round {}{whose} has {value}; it needs a value above 0", index + 1))),
    };
    rounds.enumerate().map(logarithm).collect()
}

/// The interval of the mean of `values`, whose moments are `moments`, by the studentised bootstrap (Efron & Tibshirani
/// 1993, section 12.5). `None` where it has no end: if the tails hold less than one resample, or so many values are
/// equal that resamples without any spread reach into the quantiles.
fn bootstrap(values: &[f64], moments: &Moments, confidence: f64) -> Option<(f64, f64)> {
    let rank = ((RESAMPLES + 1) as f64 * (1.0 - confidence) / 2.0).round() as usize;
    let lowest = rank.checked_sub(1)?;
    let centred: Vec<f64> = values.iter().map(|value| value - moments.mean).collect();
    let mut rng = Rng::with_seed(SEED);
    let mut replicates: Vec<f64> = (0..RESAMPLES).map(|_| studentised(&centred, &mut rng)).collect();
    let mut at = |index: usize| *replicates.select_nth_unstable_by(index, f64::total_cmp).1 * moments.error();
    let (low, high) = (moments.mean - at(RESAMPLES - 1 - lowest), moments.mean - at(lowest));
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

/// Mean over standard error of one resample of values whose mean is 0; infinite without spread.
fn studentised(centred: &[f64], rng: &mut Rng) -> f64 {
    let n = centred.len() as f64;
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in centred {
        let drawn = centred[rng.usize(..centred.len())];
        sum += drawn;
        squares += drawn * drawn;
    }
    let mean = sum / n;
    let variance = (squares - sum * mean) / (n - 1.0);
    // With equal values, rounding leaves a little.
    let rounding = 1e-12 * squares;
    if variance > rounding { mean / (variance / n).sqrt() } else { f64::INFINITY.copysign(mean) }
}

/// Degrees of freedom of the difference of two means (Welch 1947, Satterthwaite 1946); `None` if neither side spreads.
fn welch_degrees(a: &Moments, b: &Moments) -> Option<f64> {
    let (of_a, of_b) = (a.error().powi(2), b.error().powi(2));
    let degrees = (of_a + of_b).powi(2) / (of_a.powi(2) / (a.n - 1.0) + of_b.powi(2) / (b.n - 1.0));
    degrees.is_finite().then_some(degrees)
}

/// How many independent log ratios tell as much about their variance as these of neighbouring rounds do: n ratios whose
/// neighbours correlate by r as n² ÷ (n + 2 (n − 1) r²) (Bayley & Hammersley 1946). Each round is in two ratios, hence
/// r = −½ for rounds that are independent of each other, and up to 0 for rounds that drift.
fn independent(ratios: &[f64]) -> f64 {
    let n = ratios.len() as f64;
    let squares = ratios.iter().map(|ratio| ratio * ratio).sum::<f64>() / n;
    let products = ratios.windows(2).map(|two| two[0] * two[1]).sum::<f64>() / (n - 1.0).max(1.0);
    let correlation = if squares > 0.0 { (products / squares).clamp(-0.5, 0.0) } else { -0.5 };
    n * n / (n + 2.0 * (n - 1.0) * correlation * correlation)
}

/// The log ratio that this many pairs with this spread detect with [`POWER`].
fn shown(spread: f64, pairs: f64, confidence: f64) -> f64 {
    let degrees = pairs - 1.0;
    (t_two_sided(confidence, degrees) + t_quantile(POWER, degrees)) * spread / pairs.sqrt()
}

pub(crate) fn around(centre: f64, half_width: f64) -> (f64, f64) {
    (centre - half_width, centre + half_width)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hours of sleep gained under two drugs by ten patients (Student 1908), as logarithms of throughput.
    const SLEEP: [(f64, f64); 10] = [
        (0.7, 1.9),
        (-1.6, 0.8),
        (-0.2, 1.1),
        (-1.2, 0.1),
        (-0.1, -0.1),
        (3.4, 4.4),
        (3.7, 5.5),
        (0.8, 1.6),
        (0.0, 4.6),
        (2.0, 3.4),
    ];

    fn sleep() -> Vec<(f64, f64)> {
        SLEEP.iter().map(|(a, b)| (a.exp(), b.exp())).collect()
    }

    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} where {expected} belongs");
    }

    fn estimate(low: f64, high: f64) -> Estimate {
        Estimate::new((low + high) / 2.0, (low, high), CONFIDENCE, 5.0, String::new())
    }

    #[test]
    fn paired_finds_what_student_published() {
        let change = paired(&sleep(), CONFIDENCE).unwrap();
        let (low, high) = change.interval().unwrap();
        close(change.value.ln_1p(), 1.58, 1e-9);
        close(low.ln_1p(), 0.700_114, 1e-6);
        close(high.ln_1p(), 2.459_886, 1e-6);
        assert_eq!((change.effective_n, change.method.as_str()), (10.0, "10 pairs, t interval"));
    }

    #[test]
    fn unpaired_finds_what_is_known_of_the_same_data() {
        let (a, b): (Vec<f64>, Vec<f64>) = sleep().into_iter().unzip();
        let change = unpaired(&a, &b, CONFIDENCE).unwrap();
        let (low, high) = change.interval().unwrap();
        close(low.ln_1p(), -0.205_483, 1e-6);
        close(high.ln_1p(), 3.365_483, 1e-6);
        assert_eq!(change.method, "unpaired, 10 rounds of a and 10 of b, Welch interval");
    }

    #[test]
    fn sides_exchanged_are_the_reciprocal() {
        let there = paired(&sleep(), CONFIDENCE).unwrap();
        let exchanged: Vec<_> = sleep().into_iter().map(|(a, b)| (b, a)).collect();
        let back = paired(&exchanged, CONFIDENCE).unwrap();
        close((1.0 + there.low.unwrap()) * (1.0 + back.high.unwrap()), 1.0, 1e-12);
    }

    #[test]
    fn few_pairs_have_a_value_and_say_what_would_give_an_interval() {
        let change = paired(&[(100.0, 110.0), (100.0, 110.0)], CONFIDENCE).unwrap();
        close(change.value, 0.1, 1e-12);
        assert_eq!(change.interval(), None);
        assert_eq!(change.missing.as_deref(), Some("2 pairs cannot have an interval; 3 can"));
        let missing = paired(&[(100.0, 110.0)], CONFIDENCE).unwrap().missing;
        assert_eq!(missing.as_deref(), Some("1 pair cannot have an interval; 3 can"));
        let missing = unpaired(&[1.0, 2.0], &[1.0; 5], CONFIDENCE).unwrap().missing;
        assert_eq!(missing.as_deref(), Some("2 rounds of a and 5 of b cannot have an interval; 3 of each can"));
    }

    #[test]
    fn what_cannot_be_compared_is_refused_by_name() {
        let refusal = |found: Result<Estimate, Refusal>| found.unwrap_err().0;
        assert_eq!(refusal(paired(&[], CONFIDENCE)), "no round has both sides; 3 can be compared");
        let zero = [(1.0, 1.0), (1.0, 0.0)];
        assert_eq!(refusal(paired(&zero, CONFIDENCE)), "round 2 of b has 0; it needs a value above 0");
        assert_eq!(refusal(unpaired(&[1.0], &[], CONFIDENCE)), "b has no rounds; 3 can be compared");
        for value in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(unpaired(&[1.0, value], &[1.0], CONFIDENCE).is_err());
            assert!(noise_floor(&[1.0, 1.0, value]).is_err());
            assert_eq!(spread(&[(1.0, 1.0), (value, 1.0)]), None);
        }
        assert_eq!(refusal(noise_floor(&[1.0])), "1 round cannot differ by chance; 4 can show by how much");
    }

    #[test]
    fn without_spread_the_interval_is_the_value() {
        for pairs in [3, BOOTSTRAP_FROM] {
            let change = paired(&vec![(700.0, 770.0); pairs], CONFIDENCE).unwrap();
            let (low, high) = change.interval().unwrap();
            close(low, 0.1, 1e-12);
            close(high, 0.1, 1e-12);
        }
        assert_eq!(unpaired(&[5.0; 3], &[5.0; 4], CONFIDENCE).unwrap().interval(), Some((0.0, 0.0)));
        assert_eq!(noise_floor(&[5.0; 4]).unwrap().interval(), Some((0.0, 0.0)));
    }

    #[test]
    fn mostly_equal_pairs_fall_back_to_student() {
        let mut pairs = vec![(100.0, 100.0); 30];
        pairs[7] = (100.0, 103.0);
        let change = paired(&pairs, CONFIDENCE).unwrap();
        assert_eq!(change.method, "30 pairs, t interval");
        assert!(change.interval().is_some_and(|(low, high)| low < change.value && change.value < high));
    }

    #[test]
    fn the_bootstrap_repeats_itself_and_widens_with_confidence() {
        let pairs: Vec<_> = sleep().into_iter().cycle().take(BOOTSTRAP_FROM).collect();
        let change = paired(&pairs, CONFIDENCE).unwrap();
        assert_eq!(change.method, "20 pairs, studentised bootstrap");
        assert_eq!(paired(&pairs, CONFIDENCE).unwrap(), change);
        assert!(paired(&pairs, 0.99).unwrap().low < change.low);
        // Less than one resample lies beyond such an end.
        assert_eq!(paired(&pairs, 0.999_95).unwrap().method, "20 pairs, t interval");
    }

    #[test]
    fn a_verdict_needs_the_whole_interval() {
        let of = |low, high| verdict(&estimate(low, high), 0.02);
        assert_eq!(of(0.01, 0.05), Verdict::Higher);
        assert_eq!(of(0.001, 0.01), Verdict::Higher);
        assert_eq!(of(-0.05, -0.001), Verdict::Lower);
        assert_eq!(of(-0.02, 0.02), Verdict::Equivalent);
        assert_eq!(of(0.0, 0.0), Verdict::Equivalent);
        assert_eq!(of(-0.001, 0.03), Verdict::Unclear);
        let bare = Estimate::bare(0.5, 2.0, String::new(), String::new());
        assert_eq!(verdict(&bare, 0.02), Verdict::Unclear);
    }

    #[test]
    fn a_noise_floor_is_twice_the_deviation_of_neighbours() {
        // Log ratios of ±1 %, which tell as much as 3² ÷ (3 + 4 ÷ 4) independent ones.
        let one = 0.01f64.exp();
        let floor = noise_floor(&[1.0, one, 1.0, one]).unwrap();
        close(floor.value, (1.959_963_985f64 * 0.01).exp_m1(), 1e-9);
        close(floor.effective_n, 2.25, 1e-9);
        // Of a steady drift every ratio is news.
        let drift: Vec<f64> = (0..4).map(|round| (0.01 * f64::from(round)).exp()).collect();
        close(noise_floor(&drift).unwrap().effective_n, 3.0, 1e-9);
        let missing = noise_floor(&[1.0, one, 1.0]).unwrap().missing;
        assert_eq!(missing.as_deref(), Some("3 rounds cannot have an interval; 4 can"));
    }

    #[test]
    fn a_medium_effect_needs_34_pairs() {
        // Cohen (1988): half a standard deviation, 5 % two-sided, power 0.8.
        assert_eq!(pairs_needed(1.0, 0.5f64.exp_m1(), CONFIDENCE), 34);
        assert_eq!(pairs_needed(1.0, (-0.5f64).exp_m1(), CONFIDENCE), 34);
        assert_eq!(detectable(1.0, 2, CONFIDENCE), None);
        for pairs in [3, 5, 34, 10_000] {
            let effect = detectable(0.05, pairs, CONFIDENCE).unwrap();
            assert_eq!(pairs_needed(0.05, effect * (1.0 + 1e-9), CONFIDENCE), pairs);
        }
    }

    #[test]
    fn odd_wishes_have_an_answer() {
        assert_eq!(pairs_needed(0.0, 0.01, CONFIDENCE), FEWEST);
        assert_eq!(pairs_needed(0.05, -1.0, CONFIDENCE), FEWEST);
        close(pairs_needed(0.05, 1e-6, CONFIDENCE) as f64 / 19.622e9, 1.0, 1e-4);
        for (spread, effect) in [(0.05, 0.0), (0.0, 0.0), (0.05, -2.0), (f64::NAN, 0.01), (0.05, f64::NAN)] {
            assert_eq!(pairs_needed(spread, effect, CONFIDENCE), usize::MAX);
        }
    }

    #[test]
    fn several_comparisons_share_the_confidence() {
        close(each_of(5, 0.95).powi(5), 0.95, 1e-12);
        assert_eq!([each_of(0, 0.95), each_of(1, 0.95)], [0.95, 0.95]);
    }

    #[test]
    fn the_spread_is_that_of_the_log_ratios() {
        close(spread(&sleep()).unwrap(), 1.229_995, 1e-6);
        assert_eq!(spread(&[(1.0, 2.0)]), None);
    }
}
