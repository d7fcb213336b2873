//! Non-uniform random numbers (clause 2.1.6), their constants, last names (clause 4.3.2.3), and how hot each key is.

use plimsoll_load::seed::Rng;

/// Distinct last names, numbered from 0.
pub const NAMES: u64 = 1_000;
/// Customers of a district.
pub const CUSTOMERS: u64 = 3_000;
/// Items, which all warehouses of a table set share.
pub const ITEMS: u64 = 100_000;

/// Largest C of each kind, which is the clause's A.
const A_NAME: u64 = 255;
const A_CUSTOMER: u64 = 1_023;
const A_ITEM: u64 = 8_191;

/// Keep the constants apart from what rows and transactions draw: "C load" and "C run" in ASCII.
const LOAD_STREAM: u64 = 0x0043_206c_6f61_6400;
const RUN_STREAM: u64 = 0x0043_2072_756e_0000;

/// NURand(A, x, y) of clause 2.1.6: `((random(0, A) | random(x, y)) + C) % (y - x + 1) + x`. A is one below a power of 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NuRand {
    a: u64,
    low: u64,
    high: u64,
    c: u64,
}

impl NuRand {
    /// Numbers of last names, 0..=999.
    pub const fn last_names(c: u64) -> NuRand {
        NuRand { a: A_NAME, low: 0, high: NAMES - 1, c }
    }

    /// Ids of customers, 1..=3000.
    pub const fn customers(c: u64) -> NuRand {
        NuRand { a: A_CUSTOMER, low: 1, high: CUSTOMERS, c }
    }

    /// Ids of items, 1..=100000.
    pub const fn items(c: u64) -> NuRand {
        NuRand { a: A_ITEM, low: 1, high: ITEMS, c }
    }

    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        self.key(rng.between(0, self.a) | rng.between(self.low, self.high))
    }

    #[inline]
    fn key(&self, or: u64) -> u64 {
        (or + self.c) % (self.high - self.low + 1) + self.low
    }

    /// The number of the (A + 1) × (y - x + 1) equally likely pairs that give each key from `low` on: its exact
    /// probability. Those bits of the second number that A covers run through all subsets of the result's, so one sum
    /// over subsets for each value of the other bits counts every pair.
    pub fn pairs(&self) -> Vec<u64> {
        let block = self.a + 1;
        let mut counts = vec![0; (self.high - self.low + 1) as usize];
        for upper in (0..=self.high / block).map(|number| number * block) {
            // The pairs whose second number ends in `l`: the first can be any number with bits of `l`, and then the
            // rest of the result's bits are those of the first alone.
            let mut sums: Vec<u64> = (0..block)
                .map(|l| if (self.low..=self.high).contains(&(upper + l)) { 1 << l.count_ones() } else { 0 })
                .collect();
            for bit in (0..block.trailing_zeros()).map(|place| 1 << place) {
                (0..block as usize).filter(|v| v & bit != 0).for_each(|v| sums[v] += sums[v ^ bit]);
            }
            for (v, sum) in sums.into_iter().enumerate() {
                counts[(self.key(upper + v as u64) - self.low) as usize] += sum;
            }
        }
        counts
    }

    /// The class of every key by how often it is drawn.
    pub fn hotness(&self) -> Hotness {
        let pairs = self.pairs();
        let mut by_heat: Vec<usize> = (0..pairs.len()).collect();
        by_heat.sort_by_key(|key| std::cmp::Reverse(pairs[*key]));
        let mut classes = vec![HOTTEST.len() as u8; pairs.len()];
        let mut first = 0;
        for (class, percent) in HOTTEST.into_iter().enumerate() {
            let end = pairs.len() * percent / 100;
            by_heat[first..end].iter().for_each(|key| classes[*key] = class as u8);
            first = end;
        }
        Hotness { low: self.low, classes }
    }
}

/// The classes of keys: the hottest so many percent of them, less those of the class before. What is left is a class too.
pub const HOTTEST: [usize; 4] = [1, 10, 20, 50];

/// How hot each key is, so that a run can count how skewed its accesses were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hotness {
    low: u64,
    classes: Vec<u8>,
}

impl Hotness {
    /// The class of a key: an index into [`HOTTEST`], or one past its end. A key that NURand never gives is cold.
    #[inline]
    pub fn class(&self, key: u64) -> usize {
        let index = key.wrapping_sub(self.low) as usize;
        self.classes.get(index).map_or(HOTTEST.len(), |class| usize::from(*class))
    }
}

/// The constants C of the three distributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    pub last: u64,
    pub id: u64,
    pub item: u64,
}

impl Constants {
    /// Those of the load, of which rows use the last names' only.
    pub fn of_load(seed: u64) -> Constants {
        let mut rng = Rng::new(seed, LOAD_STREAM, 0);
        let last = rng.between(0, A_NAME);
        Constants { last, id: rng.between(0, A_CUSTOMER), item: rng.between(0, A_ITEM) }
    }

    /// Those of a run on data of `load_seed`: as clause 2.1.6.1 wants it, the last names' constant differs from the
    /// load's by 65 to 119, but not by 96 or 112.
    pub fn of_run(load_seed: u64, run_seed: u64) -> Constants {
        let load = Constants::of_load(load_seed).last;
        let allowed: Vec<u64> = (0..=A_NAME).filter(|run| is_allowed(run.abs_diff(load))).collect();
        let mut rng = Rng::new(run_seed, RUN_STREAM, load_seed);
        let last = allowed[rng.between(0, allowed.len() as u64 - 1) as usize];
        Constants { last, id: rng.between(0, A_CUSTOMER), item: rng.between(0, A_ITEM) }
    }

    pub const fn last_names(&self) -> NuRand {
        NuRand::last_names(self.last)
    }

    pub const fn customers(&self) -> NuRand {
        NuRand::customers(self.id)
    }

    pub const fn items(&self) -> NuRand {
        NuRand::items(self.item)
    }
}

fn is_allowed(delta: u64) -> bool {
    (65..=119).contains(&delta) && delta != 96 && delta != 112
}

const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
/// Bytes of the longest last name.
pub const NAME_BYTES: usize = 15;

/// Appends the last name of this number, of which the last three digits count: a syllable for each.
#[inline]
pub fn append_last_name(number: u64, out: &mut Vec<u8>) {
    for digit in [number / 100 % 10, number / 10 % 10, number % 10] {
        out.extend_from_slice(SYLLABLES[digit as usize].as_bytes());
    }
}

/// A permutation of the customers of one district, so that each has one of the orders that are loaded (clause 4.3.3.1).
/// Any place can be asked for alone: it is a Feistel network over 12 bits, walked until it is back inside.
#[derive(Clone, Copy, Debug)]
pub struct CustomerPermutation {
    keys: [u64; 6],
}

impl CustomerPermutation {
    pub fn new(mut rng: Rng) -> CustomerPermutation {
        CustomerPermutation { keys: std::array::from_fn(|_| rng.next_u64()) }
    }

    /// The customer of order `place`, both in 1..=3000.
    #[inline]
    pub fn at(&self, place: u64) -> u64 {
        debug_assert!((1..=CUSTOMERS).contains(&place));
        let mut number = place - 1;
        loop {
            number = self.permute(number);
            if number < CUSTOMERS {
                return number + 1;
            }
        }
    }

    #[inline]
    fn permute(&self, number: u64) -> u64 {
        let (mut left, mut right) = (number >> 6, number & 63);
        for key in self.keys {
            // The upper bits of a product depend on all bits of its factors.
            (left, right) = (right, left ^ ((right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58));
        }
        left << 6 | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ChiSquared, ContinuousCDF};

    #[test]
    fn the_counted_pairs_are_those_of_the_definition() {
        for distribution in [NuRand::last_names(0), NuRand::last_names(123), NuRand::customers(259)] {
            let mut counted = vec![0; (distribution.high - distribution.low + 1) as usize];
            for first in 0..=distribution.a {
                for second in distribution.low..=distribution.high {
                    counted[(distribution.key(first | second) - distribution.low) as usize] += 1;
                }
            }
            assert_eq!(distribution.pairs(), counted);
        }
    }

    /// Shares of accesses that go to the hottest 1, 10, 20 and 50 % of the keys, percent to one decimal.
    fn shares(distribution: NuRand) -> [f64; 4] {
        let (pairs, hotness) = (distribution.pairs(), distribution.hotness());
        let mut of_class = [0; HOTTEST.len() + 1];
        for (key, count) in (distribution.low..).zip(&pairs) {
            of_class[hotness.class(key)] += count;
        }
        let total = ((distribution.a + 1) * pairs.len() as u64) as f64;
        assert_eq!(of_class.iter().sum::<u64>() as f64, total);
        std::array::from_fn(|class| {
            let share = of_class[..=class].iter().sum::<u64>() as f64 / total;
            (share * 1_000.0).round() / 10.0
        })
    }

    #[test]
    fn the_exact_skew_is_the_known_one_whatever_the_constant() {
        for c in [0, 77, 255] {
            assert_eq!(shares(NuRand::last_names(c)), [14.7, 54.2, 72.3, 92.6]);
            assert_eq!(shares(NuRand::customers(c * 4)), [22.2, 61.3, 79.0, 94.9]);
            assert_eq!(shares(NuRand::items(c * 32)), [30.5, 71.0, 84.4, 97.4]);
        }
    }

    /// Whether keys that `draw` gives are compatible with the exact probabilities at the level 0.001; keys are joined,
    /// the hottest first, until 20 draws are expected in each class.
    fn fits(distribution: NuRand, mut draw: impl FnMut(&mut Rng) -> u64) -> bool {
        const DRAWS: u64 = 1_000_000;
        let pairs = distribution.pairs();
        let per_pair = DRAWS as f64 / ((distribution.a + 1) * pairs.len() as u64) as f64;
        let (mut rng, mut observed) = (Rng::new(5, 6, 7), vec![0u64; pairs.len()]);
        (0..DRAWS).for_each(|_| observed[(draw(&mut rng) - distribution.low) as usize] += 1);
        let mut by_heat: Vec<usize> = (0..pairs.len()).collect();
        by_heat.sort_by_key(|key| std::cmp::Reverse(pairs[*key]));
        let (mut statistic, mut classes, mut class) = (0.0, 0, (0.0, 0.0));
        for key in by_heat {
            class = (class.0 + observed[key] as f64, class.1 + pairs[key] as f64 * per_pair);
            if class.1 >= 20.0 {
                statistic += (class.0 - class.1) * (class.0 - class.1) / class.1;
                (classes, class) = (classes + 1, (0.0, 0.0));
            }
        }
        statistic <= ChiSquared::new(f64::from(classes - 1)).expect("classes").inverse_cdf(0.999)
    }

    #[test]
    fn drawn_keys_follow_the_exact_probabilities() {
        for distribution in [NuRand::last_names(123), NuRand::customers(987), NuRand::items(4_321)] {
            assert!(fits(distribution, |rng| distribution.draw(rng)), "{distribution:?}");
        }
    }

    #[test]
    fn planted_errors_are_rejected() {
        let (names, customers, items) = (NuRand::last_names(123), NuRand::customers(987), NuRand::items(4_321));
        assert!(!fits(names, |rng| rng.between(0, 999)));
        assert!(!fits(customers, |rng| NuRand::customers(988).draw(rng)));
        assert!(!fits(items, |rng| NuRand { a: A_CUSTOMER, ..items }.draw(rng)));
        assert!(!fits(items, |rng| NuRand::items(rng.between(0, A_ITEM)).draw(rng)));
        // The classic off-by-one: the last number is never drawn.
        assert!(!fits(customers, |rng| NuRand { high: 2_999, ..customers }.draw(rng)));
    }

    #[test]
    fn constants_of_a_run_keep_their_distance_and_reach_all_that_is_allowed() {
        let mut deltas = std::collections::BTreeSet::new();
        for seed in 0..2_000 {
            let (load, run) = (Constants::of_load(seed), Constants::of_run(seed, seed ^ 1));
            assert!(load.last <= 255 && load.id <= 1_023 && load.item <= 8_191);
            assert!(run.last <= 255 && run.id <= 1_023 && run.item <= 8_191);
            deltas.insert(run.last.abs_diff(load.last));
        }
        let allowed: Vec<u64> = (65..=119).filter(|delta| *delta != 96 && *delta != 112).collect();
        assert!(deltas.into_iter().eq(allowed));
        assert_eq!(Constants::of_run(1, 2), Constants::of_run(1, 2));
        assert_ne!(Constants::of_run(1, 2), Constants::of_run(1, 3));
        // Every constant of the load leaves a choice.
        assert!((0..=255u64).all(|load| (0..=255).filter(|run| is_allowed(load.abs_diff(*run))).count() >= 50));
    }

    fn last_name(number: u64) -> String {
        let mut out = Vec::new();
        append_last_name(number, &mut out);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn last_names_are_made_of_three_syllables() {
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!((last_name(0).as_str(), last_name(999).as_str()), ("BARBARBAR", "EINGEINGEING"));
        let names: std::collections::HashSet<String> = (0..NAMES).map(last_name).collect();
        assert_eq!((names.len(), names.iter().map(String::len).max()), (1_000, Some(NAME_BYTES)));
    }

    #[test]
    fn each_customer_stands_at_one_place_and_each_place_is_like_another() {
        let mut sums = vec![0u64; CUSTOMERS as usize];
        for district in 0..200 {
            let permutation = CustomerPermutation::new(Rng::new(1, 2, district));
            let places: Vec<u64> = (1..=CUSTOMERS).map(|place| permutation.at(place)).collect();
            places.iter().zip(&mut sums).for_each(|(customer, sum)| *sum += customer);
            let mut sorted = places.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(1..=CUSTOMERS));
            let ascents = places.windows(2).filter(|pair| pair[0] < pair[1]).count();
            // 1499.5 are expected with a standard deviation of 15.8.
            assert!((1_400..1_600).contains(&ascents), "{ascents}");
        }
        // The mean of 200 uniform places: 1500.5 with a standard deviation of 61.
        assert!(sums.iter().all(|sum| (1_200 * 200..1_800 * 200).contains(sum)));
    }
}
