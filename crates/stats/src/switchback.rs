//! Sides that take turns on one running server: whether what one leaves behind is still felt by the other.
//!
//! In each round either side has two blocks in a row. The first comes after a flip, the second after the side's own first,
//! so that only what lasts longer than a block reaches it: the second is what counts (Bojinov, Simchi-Levi & Zhao 2023, who
//! likewise use only blocks whose predecessors had the same side). Where the first blocks show another change than the
//! second, something is carried over, and how much of it is left after the second nobody has measured.

use crate::comparison::verdict;
use crate::sequential::Looks;
use plimsoll_model::comparison::Verdict;
use plimsoll_model::{Estimate, Refusal};

/// What is carried over and is less than this share does not matter.
const LEAST: f64 = 0.01;
/// A change is believed if what is carried over is at most this part of it.
const MOST: f64 = 0.5;

/// The two values of a round, of a and of b: in the blocks after a flip, and in those that count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwitchedPair {
    pub first: (f64, f64),
    pub second: (f64, f64),
}

/// What the rounds so far say of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switched {
    /// Not enough, or first and second blocks do not agree well enough to believe the second.
    Open,
    Decided,
    /// The blocks after a flip show another change.
    Lingers,
}

/// By how much the blocks after a flip show another change than those that count, as a share.
///
/// # Errors
/// Without rounds, or with a value that is not above 0.
pub fn carry_over(rounds: &[SwitchedPair], looks: &Looks) -> Result<Estimate, Refusal> {
    let ratio = |(a, b): (f64, f64)| b / a;
    let pairs: Vec<(f64, f64)> = rounds.iter().map(|round| (ratio(round.second), ratio(round.first))).collect();
    looks.paired(&pairs)
}

/// What can be said after these rounds, if a change within `decide`, a share, counts as none. It lingers if the whole
/// interval of what is carried over lies beyond 1 %; until that is at most half of the change, or within `decide`, nothing
/// is decided.
pub fn switched(rounds: &[SwitchedPair], looks: &Looks, decide: f64) -> Switched {
    let seconds: Vec<(f64, f64)> = rounds.iter().map(|round| round.second).collect();
    let (Ok(carried), Ok(change)) = (carry_over(rounds, looks), looks.paired(&seconds)) else { return Switched::Open };
    let beyond = |(low, high): (f64, f64)| low > LEAST || 1.0 + high < 1.0 / (1.0 + LEAST);
    if carried.interval().is_some_and(beyond) {
        return Switched::Lingers;
    }
    match verdict(&change, decide) {
        Verdict::Unclear => Switched::Open,
        Verdict::Equivalent if hides_none(&carried, decide) => Switched::Decided,
        Verdict::Higher | Verdict::Lower if hides_little(&carried, &change) => Switched::Decided,
        _ => Switched::Open,
    }
}

/// Whether no change larger than `decide`, a share, hides behind what is carried over.
pub fn hides_none(carried: &Estimate, decide: f64) -> bool {
    carried.value.ln_1p().abs() <= decide.ln_1p()
}

/// Whether what is carried over is at most half of the change, or does not matter.
pub fn hides_little(carried: &Estimate, change: &Estimate) -> bool {
    carried.value.ln_1p().abs() <= (MOST * change.value.ln_1p().abs()).max(LEAST.ln_1p())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::estimate::CONFIDENCE;

    /// Rounds whose first and second blocks show these changes, give or take a little.
    fn rounds(first: f64, second: f64) -> Vec<SwitchedPair> {
        let noise = |n: u32| 1.0 + 0.002 * f64::from(n * 7 % 5);
        let pair = |change: f64, n: u32| (100.0 * noise(n), 100.0 * noise(n + 3) * (1.0 + change));
        (0..12).map(|n| SwitchedPair { first: pair(first, n), second: pair(second, n + 1) }).collect()
    }

    fn found(first: f64, second: f64) -> Switched {
        switched(&rounds(first, second), &Looks::new(40, CONFIDENCE), 0.02)
    }

    #[test]
    fn blocks_that_agree_decide() {
        assert_eq!(found(0.1, 0.1), Switched::Decided);
        assert_eq!(found(-0.2, -0.2), Switched::Decided);
        assert_eq!(found(0.0, 0.0), Switched::Decided);
    }

    #[test]
    fn what_lasts_longer_than_a_block_is_found_in_either_direction() {
        for (first, second) in [(0.1, 0.2), (0.2, 0.1), (0.1, -0.05), (-0.3, -0.1), (0.05, 0.0)] {
            assert_eq!(found(first, second), Switched::Lingers, "{first} after a flip, {second} later");
            let carried = carry_over(&rounds(first, second), &Looks::new(40, CONFIDENCE)).unwrap();
            assert_eq!(carried.value > 0.0, first > second, "{first} {second}: {carried:?}");
        }
    }

    #[test]
    fn a_change_is_not_believed_while_much_of_it_may_be_carried_over() {
        let looks = Looks::new(12, CONFIDENCE);
        let wavering: Vec<SwitchedPair> = rounds(0.0, 0.04)
            .into_iter()
            .enumerate()
            .map(|(n, round)| {
                let wave = if n % 2 == 0 { 0.92 } else { 1.08 };
                SwitchedPair { first: (round.first.0, round.first.1 * wave), ..round }
            })
            .collect();
        let seconds: Vec<(f64, f64)> = wavering.iter().map(|round| round.second).collect();
        assert_eq!(verdict(&looks.paired(&seconds).unwrap(), 0.02), Verdict::Higher);
        assert_eq!(switched(&wavering, &looks, 0.02), Switched::Open);
    }

    #[test]
    fn nothing_is_known_without_rounds() {
        assert_eq!(switched(&[], &Looks::new(40, CONFIDENCE), 0.02), Switched::Open);
        let broken = SwitchedPair { first: (0.0, 1.0), second: (1.0, 1.0) };
        assert_eq!(switched(&[broken; 5], &Looks::new(40, CONFIDENCE), 0.02), Switched::Open);
    }
}
