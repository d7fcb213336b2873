//! Comparisons that are looked at after every round and stop as soon as they show something.
//!
//! An interval that is looked at again and again is wrong more often than it says: of 40 looks at 95 %, one or another
//! misses the truth in a third of all plans. [`Looks`] widens each of them so that *all* together hold with the confidence
//! that was asked for: repeated confidence intervals (Jennison & Turnbull 1989) with group-sequential boundaries whose
//! error is spent over the rounds as by O'Brien and Fleming (Lan & DeMets 1983). Early looks are strict; the last one is
//! hardly wider than the interval of a plan that looks once.

use crate::comparison::{FEWEST, Moments, around, log_ratios};
use crate::distribution::{normal_cdf, normal_quantile, t_quantile};
use plimsoll_model::number::counted;
use plimsoll_model::{Estimate, Refusal};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Distance of the points at which a density is known, in standard deviations of one round.
const STEP: f64 = 0.2;
/// Nothing is further from 0 than so many standard deviations.
const FAR: f64 = 8.5;
/// The share of the error that is spent. The boundaries are those of a normal walk, and Student's t with a spread that is
/// estimated anew at each look leaves them a little more often: in 5.4 of 100 plans, where 5 were meant (`make coverage`).
const SPENT: f64 = 0.9;
/// An end that may be left no more often than this says nothing.
const RAREST: f64 = 1e-11;

/// How confident the interval after each of some rounds has to be, so that all of them hold together.
#[derive(Clone, Debug, PartialEq)]
pub struct Looks {
    /// With which all hold together.
    confidence: f64,
    /// From [`FEWEST`] pairs on: how many standard errors an interval reaches to each side; infinite if it says nothing.
    reaches: Arc<[f64]>,
}

/// Most pairs, and the bits of the confidence.
type PlanKey = (usize, u64);

/// The reaches of plans that were asked for: each takes thousands of integrals, and reports and schedules ask for the same
/// ones again and again.
static KNOWN: Mutex<BTreeMap<PlanKey, Arc<[f64]>>> = Mutex::new(BTreeMap::new());
/// More than any lab has at once.
const MOST_KNOWN: usize = 64;

impl Looks {
    /// One look after each pair from the third to the last of `most`. All their intervals hold together with
    /// `confidence`, above 0 and below 1.
    pub fn new(most: usize, confidence: f64) -> Looks {
        let most = most.max(FEWEST);
        let key = (most, confidence.to_bits());
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reaches) = known().get(&key) {
            return Looks { confidence, reaches: reaches.clone() };
        }
        let reaches: Arc<[f64]> = Looks::reaches(most, confidence).into();
        let mut known = known();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(key, reaches.clone());
        Looks { confidence, reaches }
    }

    fn reaches(most: usize, confidence: f64) -> Vec<f64> {
        let mut walk = Walk::at_start();
        let mut reaches = Vec::new();
        for pairs in FEWEST..=most {
            let spent = spending(pairs as f64 / most as f64, SPENT * (1.0 - confidence));
            let boundary = walk.proceed(pairs, spent);
            // Student's t where it is left as rarely as the normal boundary.
            reaches.push(match normal_cdf(-boundary / (pairs as f64).sqrt()) {
                rare if rare < RAREST => f64::INFINITY,
                beyond => -t_quantile(beyond, (pairs - 1) as f64),
            });
        }
        reaches
    }

    /// b ÷ a − 1, as a share, from the interleaved rounds so far: the mean of the log ratios with Student's t interval, as
    /// [`crate::comparison::paired`] has it, at the confidence of this look. An early look may have a value without an
    /// interval.
    ///
    /// # Errors
    /// Without pairs, or with a value that is not above 0.
    pub fn paired(&self, pairs: &[(f64, f64)]) -> Result<Estimate, Refusal> {
        let ratios = log_ratios(pairs)?;
        let Some(moments) = Moments::of(&ratios) else {
            return Err(Refusal("no round has both sides".to_owned()));
        };
        let degrees = moments.n - 1.0;
        let counted = counted(moments.n, "pair");
        let value = moments.mean.exp_m1();
        let reach = self.reach(ratios.len());
        if reach.is_infinite() {
            let method = format!("{counted}, geometric mean");
            let missing = format!("{counted} are too few to stop at");
            return Ok(Estimate::bare(value, moments.n, method, missing));
        }
        let (low, high) = around(moments.mean, reach * moments.error());
        let method = format!("{counted}, t interval that holds however often it is looked at");
        let change = Estimate::new(value, (low.exp_m1(), high.exp_m1()), self.confidence, moments.n, method);
        Ok(change.with_degrees(degrees))
    }

    /// With which all intervals hold together.
    pub fn confidence(&self) -> f64 {
        self.confidence
    }

    /// Of the interval after so many pairs; beyond the last look as there.
    fn reach(&self, pairs: usize) -> f64 {
        let place = pairs.checked_sub(FEWEST).map(|place| place.min(self.reaches.len() - 1));
        place.map_or(f64::INFINITY, |place| self.reaches[place])
    }
}

/// How much of an `error` on both sides may be spent until a `share` of all rounds is done (Lan & DeMets 1983, the kind
/// that resembles O'Brien and Fleming's boundaries, on each side).
fn spending(share: f64, error: f64) -> f64 {
    4.0 * normal_cdf(normal_quantile(error / 4.0) / share.sqrt())
}

/// A sum of standard normal steps, one for each pair, that has not left its boundaries so far.
struct Walk {
    pairs: usize,
    /// Probability of having left.
    left: f64,
    /// Points and what each stands for of the probability, from the lowest on (Armitage, McPherson & Rowe 1969).
    inside: Vec<(f64, f64)>,
}

impl Walk {
    fn at_start() -> Walk {
        Walk { pairs: 0, left: 0.0, inside: vec![(0.0, 1.0)] }
    }

    /// Goes on to so many pairs; the boundary there by which the probability of having left is `spent`.
    fn proceed(&mut self, pairs: usize, spent: f64) -> f64 {
        let step = ((pairs - self.pairs) as f64).sqrt();
        let far = FAR * (pairs as f64).sqrt();
        let due = (spent - self.left).max(0.0) / 2.0;
        let (mut low, mut high) = (0.0, far);
        // As exact as the numbers are.
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if self.beyond(middle, step) > due { low = middle } else { high = middle }
        }
        self.left += 2.0 * self.beyond(high, step);
        self.inside = self.within(high, step);
        self.pairs = pairs;
        high
    }

    /// Probability that the next step ends above a boundary.
    fn beyond(&self, boundary: f64, step: f64) -> f64 {
        let near = self.from(boundary - FAR * step);
        near.iter().map(|(at, share)| share * normal_cdf((at - boundary) / step)).sum()
    }

    /// Where the next step may end within the boundaries, by Simpson's rule.
    fn within(&self, boundary: f64, step: f64) -> Vec<(f64, f64)> {
        let halves = (boundary / STEP).ceil().max(1.0) as usize;
        let width = boundary / halves as f64;
        let point = |place: usize| {
            let at = width * place as f64 - boundary;
            let weight = match place {
                0 => 1.0,
                last if last == 2 * halves => 1.0,
                odd if odd % 2 == 1 => 4.0,
                _ => 2.0,
            };
            (at, weight * width / 3.0 * self.density(at, step))
        };
        (0..=2 * halves).map(point).collect()
    }

    fn density(&self, at: f64, step: f64) -> f64 {
        let near = self.from(at - FAR * step).iter().take_while(|(from, _)| *from <= at + FAR * step);
        let sum: f64 = near.map(|(from, share)| share * (-0.5 * ((at - from) / step).powi(2)).exp()).sum();
        sum / (step * std::f64::consts::TAU.sqrt())
    }

    fn from(&self, lowest: f64) -> &[(f64, f64)] {
        &self.inside[self.inside.partition_point(|(at, _)| *at < lowest)..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::estimate::CONFIDENCE;

    /// The normal quantiles that five looks at equal distances may not exceed (`sfLDOF` of Anderson's gsDesign 3.6, 2.5 % on
    /// each side).
    #[test]
    fn five_looks_have_the_published_boundaries() {
        const PUBLISHED: [f64; 5] = [4.8769, 3.3569, 2.6803, 2.2898, 2.0310];
        let mut walk = Walk::at_start();
        for (place, published) in PUBLISHED.into_iter().enumerate() {
            let pairs = 4 * (place + 1);
            let boundary = walk.proceed(pairs, spending(pairs as f64 / 20.0, 0.05));
            let found = boundary / (pairs as f64).sqrt();
            assert!((found - published).abs() < 0.001, "look {}: {found} where {published} belongs", place + 1);
        }
    }

    #[test]
    fn what_is_spent_by_the_last_round_is_all() {
        for error in [0.05, 0.01, 0.001] {
            assert!((spending(1.0, error) - error).abs() < 1e-9);
        }
        let mut walk = Walk::at_start();
        for pairs in FEWEST..=300 {
            walk.proceed(pairs, spending(pairs as f64 / 300.0, 0.05));
        }
        let inside: f64 = walk.inside.iter().map(|(_, share)| share).sum();
        assert!((inside - 0.95).abs() < 1e-6 && (walk.left - 0.05).abs() < 1e-9, "{inside} and {}", walk.left);
    }

    #[test]
    fn early_looks_are_strict_and_the_last_is_nearly_that_of_one_look() {
        let looks = Looks::new(40, CONFIDENCE);
        assert!(looks.reaches.windows(2).all(|two| two[0] > two[1] || two[0].is_infinite()), "{:?}", looks.reaches);
        let pairs: Vec<(f64, f64)> = (0..40).map(|n| (100.0, 110.0 + f64::from(n % 3))).collect();
        let width = |of: &Estimate| of.interval().map(|(low, high)| high - low);
        let found = |count: usize| looks.paired(&pairs[..count]).unwrap();
        assert_eq!(found(3).interval(), None);
        assert_eq!(found(3).missing.as_deref(), Some("3 pairs are too few to stop at"));
        let once = crate::comparison::paired(&pairs, CONFIDENCE).unwrap();
        let wider = width(&found(40)).unwrap() / width(&once).unwrap();
        assert!((1.0..1.15).contains(&wider), "{wider}");
        assert!(width(&found(12)) > width(&found(24)) && width(&found(24)) > width(&found(40)));
        assert_eq!(found(40).confidence, CONFIDENCE);
    }

    #[test]
    fn odd_numbers_of_pairs_have_an_answer() {
        let looks = Looks::new(0, CONFIDENCE);
        assert_eq!(looks, Looks::new(FEWEST, CONFIDENCE));
        assert!(looks.paired(&[]).is_err());
        assert!(looks.paired(&[(1.0, 0.0)]).is_err());
        assert_eq!(looks.paired(&[(1.0, 1.1)]).unwrap().interval(), None);
        // More than it was made for: as at the last.
        assert!(looks.paired(&[(1.0, 1.1), (1.0, 1.2), (1.0, 1.15), (1.0, 1.1)]).unwrap().interval().is_some());
        let same = looks.paired(&[(1.0, 1.1); 3]).unwrap().interval().unwrap();
        assert!((same.0 - 0.1).abs() < 1e-12 && (same.1 - 0.1).abs() < 1e-12);
    }
}
