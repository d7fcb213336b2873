//! Numbers that do not repeat until all of them were used: a permutation of the 32-bit integers, walked by index.
//!
//! The published construction of J. Preshing, *How to Generate a Sequence of Unique Random Integers* (2012): squaring
//! modulo a prime p with p mod 4 = 3 maps x and p - x to the same residue, so reflecting the upper half gives a
//! permutation of 0..p; the five integers from p to 2^32 - 1 map to themselves. Two passes with an offset and an xor
//! between them hide the structure.

/// The largest prime below 2^32 that is 3 modulo 4.
const PRIME: u32 = 4_294_967_291;

fn permute(x: u32) -> u32 {
    if x >= PRIME {
        return x;
    }
    let residue = (u64::from(x) * u64::from(x) % u64::from(PRIME)) as u32;
    if x <= PRIME / 2 { residue } else { PRIME - residue }
}

/// A sequence of all 32-bit integers in an order that the seed decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unique {
    start: u32,
    offset: u32,
}

impl Unique {
    pub fn new(seed: u64) -> Unique {
        let (low, high) = (seed as u32, (seed >> 32) as u32);
        let start = permute(permute(low).wrapping_add(0x682f_0161) ^ high);
        let offset = permute(permute(start ^ high).wrapping_add(0x4679_0905));
        Unique { start, offset }
    }

    /// The number at `index`. Indexes that are equal modulo 2^32 give the same number, all others differ.
    pub fn at(&self, index: u64) -> u32 {
        let position = self.start.wrapping_add(index as u32);
        permute(permute(position).wrapping_add(self.offset) ^ 0x5bf0_3635)
    }

    /// The number at `index`, moved into the range of a signed column, as `oltp_insert` uses it for its ids.
    pub fn signed_at(&self, index: u64) -> i64 {
        i64::from(self.at(index)) - 2_147_483_648
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_modulus_allows_the_reflection() {
        assert_eq!(PRIME % 4, 3);
        let prime = u64::from(PRIME);
        assert!((2..=65_536).all(|divisor| prime % divisor != 0));
    }

    #[test]
    fn golden_values_pin_the_sequence() {
        let drawn = |seed| [0, 1, 2, u64::from(u32::MAX)].map(|index| Unique::new(seed).at(index));
        assert_eq!(drawn(1), [3845105398, 1991991803, 3382392143, 562211852]);
        assert_eq!(drawn(1 << 32), [1785211914, 4022350118, 2737979093, 3742371761]);
    }

    #[test]
    fn a_million_numbers_differ_wherever_the_walk_begins() {
        let unique = Unique::new(7);
        for first in [0, u64::from(u32::MAX) - 500_000] {
            let seen: HashSet<u32> = (first..first + 1_000_000).map(|index| unique.at(index)).collect();
            assert_eq!(seen.len(), 1_000_000);
        }
    }

    #[test]
    fn numbers_spread_over_the_whole_range() {
        let unique = Unique::new(7);
        let mut sixteenths = [0u32; 16];
        (0..160_000).for_each(|index| sixteenths[(unique.at(index) >> 28) as usize] += 1);
        assert!(sixteenths.iter().all(|&count| (9_500..10_500).contains(&count)), "{sixteenths:?}");
    }

    #[test]
    fn signed_numbers_fit_the_id_column() {
        let unique = Unique::new(3);
        assert!((0..10_000).all(|index| i32::try_from(unique.signed_at(index)).is_ok()));
        assert_eq!(unique.signed_at(5), i64::from(unique.at(5)) - (1 << 31));
    }
}
