//! What is left to chance, drawn from the plan's seed alone: the same plan always runs in the same order.

use plimsoll_load::seed::Rng;

/// The stream of the seeds of loads. Those of orders are hashes of names, which do not begin with zeros.
const LOADS: u64 = 1;

/// Seed of the load in a round: the same for all variants and sides of it.
pub fn seed(plan: u64, round: u32) -> u64 {
    Rng::new(plan, LOADS, round.into()).next_u64()
}

/// `items` in an order drawn for a round at one of the load points, by its place (Fisher and Yates; Durstenfeld 1964).
/// `name` separates the draws of one part of a schedule from those of another.
pub fn order<T>(mut items: Vec<T>, plan: u64, name: &str, round: u32, point: usize) -> Vec<T> {
    let number = u64::from(round) << 32 | point as u64;
    let mut rng = Rng::new(plan, fnv1a(name), number);
    for last in (1..items.len()).rev() {
        items.swap(last, rng.between(0, last as u64) as usize);
    }
    items
}

/// The 64-bit hash of Fowler, Noll and Vo (FNV-1a, RFC 9923).
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
