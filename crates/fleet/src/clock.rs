//! What time it is on another machine, and how far that may be wrong.
//!
//! A question and its answer bound an offset: it was asked no later than it was answered, and no earlier than it was sent
//! (Cristian, "Probabilistic clock synchronization", Distributed Computing 3, 1989). The shortest of several exchanges
//! bounds it best. All clocks are monotonic ones that begin anywhere; what a machine believes the date to be never counts.

use crate::link::Letter;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Exchanges from which the shortest is taken.
pub const EXCHANGES: usize = 21;
/// An offset that may be wrong by more than this, nanoseconds, is not good enough for a start in common.
pub const WORST_NS: u64 = 5_000_000;

/// One exchange: when it was asked and answered here, and what time it was there in between. Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockExchange {
    pub asked_ns: u64,
    pub theirs_ns: u64,
    pub answered_ns: u64,
}

/// How far another clock is ahead, and how far that may be wrong, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offset {
    pub ahead_ns: i64,
    pub bound_ns: u64,
}

impl ClockExchange {
    /// That of an answer, if this is one, with our own clock beginning at `epoch`.
    ///
    /// # Errors
    /// It says no time.
    pub fn of(letter: &Letter, epoch: Instant) -> Result<Option<ClockExchange>, String> {
        let Some((asked, answered)) = letter.times else { return Ok(None) };
        let text = std::str::from_utf8(&letter.body).map_err(|error| error.to_string())?;
        let theirs_ns = text.parse().map_err(|_| "a time that is no number".to_owned())?;
        let ns = |at: Instant| at.saturating_duration_since(epoch).as_nanos() as u64;
        Ok(Some(ClockExchange { asked_ns: ns(asked), theirs_ns, answered_ns: ns(answered) }))
    }

    /// What it says of the other clock: half its round trip is how far it may be wrong.
    pub fn offset(&self) -> Offset {
        let middle = i128::from(self.asked_ns) + i128::from(self.answered_ns);
        let ahead = i128::from(self.theirs_ns) - middle / 2;
        Offset {
            ahead_ns: i64::try_from(ahead).unwrap_or(if ahead < 0 { i64::MIN } else { i64::MAX }),
            bound_ns: self.answered_ns.saturating_sub(self.asked_ns).div_ceil(2),
        }
    }
}

/// The best that these exchanges say.
pub fn best(exchanges: impl IntoIterator<Item = ClockExchange>) -> Option<Offset> {
    exchanges.into_iter().map(|exchange| exchange.offset()).min_by_key(|offset| offset.bound_ns)
}

impl Offset {
    /// A time of ours on the other clock.
    pub fn theirs(&self, ours_ns: u64) -> u64 {
        ours_ns.saturating_add_signed(self.ahead_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_truth_lies_within_the_bound(
            ahead in -3_000_000_000i64..3_000_000_000,
            trips in prop::collection::vec((0u64..50_000_000, 0u64..50_000_000), 1..EXCHANGES)
        ) {
            let base = 10_000_000_000u64;
            let exchange = |(there, back): (u64, u64)| ClockExchange {
                asked_ns: base,
                theirs_ns: (base + there).saturating_add_signed(ahead),
                answered_ns: base + there + back,
            };
            let shortest = trips.iter().map(|(there, back)| there + back).min().unwrap();
            let found = best(trips.into_iter().map(exchange)).unwrap();
            prop_assert!(found.ahead_ns.abs_diff(ahead) <= found.bound_ns);
            prop_assert_eq!(found.bound_ns, shortest.div_ceil(2));
        }
    }

    #[test]
    fn clocks_that_no_machine_has_are_no_panic() {
        let exchange = ClockExchange { asked_ns: u64::MAX, theirs_ns: 0, answered_ns: u64::MAX };
        assert_eq!(exchange.offset(), Offset { ahead_ns: i64::MIN, bound_ns: 0 });
        assert_eq!(exchange.offset().theirs(5), 0);
        assert_eq!(ClockExchange { asked_ns: 9, theirs_ns: u64::MAX, answered_ns: 1 }.offset().bound_ns, 0);
        assert_eq!(best([]), None);
    }
}
