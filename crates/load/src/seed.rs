//! Seeds by stream, never by thread: (seed, stream, number) decides everything that a transaction draws,
//! so the number of loops does not change what is sent.
//!
//! SplitMix64 (Steele, Lea, Flood 2014) spreads the three numbers over the state of xoshiro256++
//! (Blackman and Vigna 2019, <https://prng.di.unimi.it/xoshiro256plusplus.c>). Golden values pin both.

/// A xoshiro256++ generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: [u64; 4],
}

fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// The generator of transaction (or row) `number` of `stream` under `seed`.
    pub fn new(seed: u64, stream: u64, number: u64) -> Rng {
        let mut mix = seed;
        let mut key = splitmix64(&mut mix) ^ stream;
        key = splitmix64(&mut key) ^ number;
        Rng { state: std::array::from_fn(|_| splitmix64(&mut key)) }
    }

    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in [0, 1), 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in `low..=high` by widening multiplication; the bias is below 2^-64 times the range.
    #[inline]
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        debug_assert!(low <= high);
        let n = (high - low).wrapping_add(1);
        if n == 0 {
            return self.next_u64();
        }
        low + ((self.next_u64() as u128 * n as u128) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_matches_its_published_sequence() {
        let mut state = 1234567;
        let drawn: Vec<u64> = (0..3).map(|_| splitmix64(&mut state)).collect();
        assert_eq!(drawn, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }

    #[test]
    fn xoshiro256plusplus_matches_its_published_sequence() {
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let drawn: Vec<u64> = (0..4).map(|_| rng.next_u64()).collect();
        assert_eq!(drawn, [41943041, 58720359, 3588806011781223, 3591011842654386]);
    }

    #[test]
    fn golden_values_pin_what_a_seed_draws() {
        let mut rng = Rng::new(1, 2, 3);
        let drawn: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        assert_eq!(drawn, [3106975646374847983, 11478482440874270757, 406287236283531844]);
    }

    #[test]
    fn streams_and_numbers_differ() {
        let first = |seed, stream, number| Rng::new(seed, stream, number).next_u64();
        assert_ne!(first(1, 0, 1), first(1, 1, 0));
        assert_ne!(first(0, 1, 1), first(1, 0, 1));
        assert_ne!(first(1, 1, 1), first(1, 1, 2));
    }

    #[test]
    fn between_stays_inside_and_reaches_both_ends() {
        let mut rng = Rng::new(1, 1, 1);
        let drawn: Vec<u64> = (0..1000).map(|_| rng.between(3, 7)).collect();
        assert!(drawn.iter().all(|v| (3..=7).contains(v)));
        assert!(drawn.contains(&3) && drawn.contains(&7));
        assert_eq!(rng.between(9, 9), 9);
    }
}
