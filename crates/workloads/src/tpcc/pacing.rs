//! Keying and think times of terminals (clause 5.2.5).
//!
//! A terminal draws its next transaction, keys it in, sends it, reads the answer and thinks. A pause is therefore the
//! think time of what was done and the keying time of what comes next.

use super::statements::TransactionKind;
use plimsoll_load::seed::Rng;

/// A think time is cut at so many times its mean (clause 5.2.5.4).
const CUT: f64 = 10.0;
/// A new terminal joins at a random moment of a cycle, so that terminals do not all begin at once. A random moment
/// falls into a pause in proportion to its length; the mix of this many draws represents that.
const DRAWS: usize = 8;

/// Keying time and mean think time, seconds (clauses 5.2.5.2 and 5.2.5.4).
const fn seconds(kind: TransactionKind) -> (f64, f64) {
    match kind {
        TransactionKind::NewOrder => (18.0, 12.0),
        TransactionKind::Payment => (3.0, 12.0),
        TransactionKind::OrderStatus => (2.0, 10.0),
        TransactionKind::Delivery | TransactionKind::StockLevel => (2.0, 5.0),
        // Nobody enters these.
        TransactionKind::DeferredDelivery | TransactionKind::Purge => (0.0, 0.0),
    }
}

/// Pauses of terminals.
#[derive(Clone, Copy, Debug)]
pub struct Pauses {
    /// Every pause is multiplied by this; 1 but in tests.
    pub scale: f64,
}

impl Pauses {
    /// Nanoseconds between the answer to `done` and the sending of `next`.
    pub fn between(&self, done: TransactionKind, next: TransactionKind, rng: &mut Rng) -> u64 {
        self.ns(seconds(next).0 + think(done, rng))
    }

    /// What is left of the pause before `next` when the run begins; `previous` draws what came before it.
    pub fn first(
        &self,
        next: TransactionKind,
        mut previous: impl FnMut(&mut Rng) -> TransactionKind,
        rng: &mut Rng,
    ) -> u64 {
        let mut pauses = [0.0; DRAWS];
        for pause in &mut pauses {
            let done = previous(rng);
            *pause = seconds(next).0 + think(done, rng);
        }
        // A moment is the likelier inside a pause the longer that is, and anywhere in it.
        let mut place = rng.unit() * pauses.iter().sum::<f64>();
        for pause in pauses {
            if place < pause {
                return self.ns(place);
            }
            place -= pause;
        }
        0
    }

    fn ns(&self, seconds: f64) -> u64 {
        (seconds * self.scale * 1e9) as u64
    }
}

/// A think time: negative exponential, cut.
fn think(done: TransactionKind, rng: &mut Rng) -> f64 {
    let mean = seconds(done).1;
    (-(1.0 - rng.unit()).ln()).min(CUT) * mean
}

#[cfg(test)]
mod tests {
    use super::super::input::Inputs;
    use super::super::parameters::TpccParameters;
    use super::super::random::Constants;
    use super::*;

    const CYCLES: u64 = 200_000;

    fn inputs() -> Inputs {
        Inputs::new(&TpccParameters::default(), &Constants::of_run(1, 2))
    }

    #[test]
    fn the_mean_cycle_is_that_of_the_mix() {
        let (inputs, pauses) = (inputs(), Pauses { scale: 1.0 });
        let mut rng = Rng::new(1, 2, 3);
        let mut done = inputs.kind(&mut rng);
        let mut total = 0.0;
        for _ in 0..CYCLES {
            let next = inputs.kind(&mut rng);
            total += pauses.between(done, next, &mut rng) as f64 / 1e9;
            done = next;
        }
        // 0.45 × 30 + 0.43 × 15 + 0.04 × (12 + 7 + 7); the mean of so many has a standard deviation of 0.03.
        let mean = total / CYCLES as f64;
        assert!((20.85..21.13).contains(&mean), "{mean}");
    }

    #[test]
    fn thinking_is_exponential_and_cut() {
        let mut rng = Rng::new(4, 5, 6);
        let drawn: Vec<f64> = (0..CYCLES).map(|_| think(TransactionKind::Payment, &mut rng)).collect();
        assert!(drawn.iter().all(|seconds| (0.0..=120.0).contains(seconds)));
        // Above the mean lies 1/e of an exponential distribution, above its triple 1/e³.
        let above = |limit: f64| drawn.iter().filter(|seconds| **seconds > limit).count() as f64 / CYCLES as f64;
        assert!((above(12.0) - (-1f64).exp()).abs() < 0.006 && (above(36.0) - (-3f64).exp()).abs() < 0.003);
    }

    #[test]
    fn terminals_join_as_if_they_had_always_been_there() {
        let (inputs, pauses) = (inputs(), Pauses { scale: 1.0 });
        let terminals = 50_000;
        // Of a process that is stationary one in 20.99 terminals sends in each second.
        let mut begun = [0u64; 10];
        for terminal in 0..terminals {
            let mut rng = Rng::new(1, terminal, 0);
            let next = inputs.kind(&mut rng);
            let first = pauses.first(next, |rng| inputs.kind(rng), &mut rng) as f64 / 1e9;
            if first < 10.0 {
                begun[first as usize] += 1;
            }
        }
        let expected = terminals as f64 / 20.99;
        assert!(begun.iter().all(|count| (*count as f64 / expected - 1.0).abs() < 0.35), "{begun:?}");
    }

    #[test]
    fn a_time_scale_shortens_every_pause() {
        let pause = |scale| {
            Pauses { scale }.between(TransactionKind::Payment, TransactionKind::NewOrder, &mut Rng::new(1, 1, 1))
        };
        assert!((pause(0.01) as f64 / pause(1.0) as f64 - 0.01).abs() < 1e-6);
        assert!(pause(1.0) >= 18_000_000_000);
        assert_eq!(pause(0.0), 0);
    }
}
