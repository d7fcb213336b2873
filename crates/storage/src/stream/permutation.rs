//! All numbers below a bound in random order, without storing them.

use plimsoll_load::seed::Rng;

const ROUNDS: usize = 4;

/// A Feistel network of four rounds over the smallest even number of bits that holds the bound; a result outside is
/// encrypted again until it falls inside (Black and Rogaway 2002, "Ciphers with Arbitrary Finite Domains": the
/// generalised Feistel cipher and cycle walking). At most four times on average.
#[derive(Clone, Debug)]
pub(super) struct Permutation {
    bound: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    pub fn new(bound: u64, seed: u64, stream: u64) -> Permutation {
        let bits = u64::BITS - bound.saturating_sub(1).leading_zeros();
        let mut rng = Rng::new(seed, stream, 0);
        Permutation { bound, half_bits: bits.div_ceil(2).max(1), keys: std::array::from_fn(|_| rng.next_u64()) }
    }

    /// The number at `place`; `None` from the bound on.
    pub fn at(&self, place: u64) -> Option<u64> {
        if place >= self.bound {
            return None;
        }
        let mut value = self.shuffled(place);
        while value >= self.bound {
            value = self.shuffled(value);
        }
        Some(value)
    }

    fn shuffled(&self, value: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in self.keys {
            let mixed = (right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (left, right) = (right, (left ^ (mixed >> 32) ^ mixed >> 17) & mask);
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_comes_once(bound in 0u64..5000, seed: u64) {
            let order = Permutation::new(bound, seed, 1);
            let mut seen: Vec<u64> = (0..bound).filter_map(|place| order.at(place)).collect();
            prop_assert_eq!(order.at(bound), None);
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..bound).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_order_depends_on_the_seed_and_is_not_sequential() {
        let order = |seed| (0..1000).filter_map(|n| Permutation::new(1000, seed, 1).at(n)).collect::<Vec<_>>();
        assert_ne!(order(1), order(2));
        let near = order(1).windows(2).filter(|pair| pair[0].abs_diff(pair[1]) <= 10).count();
        // Of 999 steps 2 % would be that short by chance.
        assert!(near < 80, "{near} of 999 steps lead to a neighbour");
    }
}
