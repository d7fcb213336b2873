//! Latency histograms as bytes: HdrHistogram's format V2 (<https://github.com/HdrHistogram/HdrHistogram>), which keeps
//! every count. What is read may be anybody's, so nothing larger than the largest of ours is ever made.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

/// The longest value and the most digits of a histogram of ours, nanoseconds.
const HIGHEST_NS: u64 = plimsoll_stats::latency::HIGHEST_NS;
const MOST_DIGITS: u64 = 3;
/// Counts of a histogram from 1 ns to [`HIGHEST_NS`] with [`MOST_DIGITS`]: 1,024 for each doubling, and as many more.
const MOST_COUNTS: usize = 33 * 1024;
/// What is before the counts, bytes: cookie, length, offset, digits, lowest, highest and a ratio.
const HEAD: usize = 40;
/// A count takes so many bytes at most.
const LONGEST_COUNT: usize = 9;

/// Bytes that none of ours exceeds.
pub const MOST_BYTES: usize = HEAD + MOST_COUNTS * LONGEST_COUNT;

/// What a histogram begins with that is not compressed.
const COOKIE: u64 = 0x1c84_9313;

/// Reads a histogram of nanoseconds that is not compressed.
///
/// # Errors
/// What is wrong with it, in words.
pub fn read(plain: &[u8], deserializer: &mut Deserializer) -> Result<Histogram<u64>, String> {
    BinCounts::of(plain)?;
    deserializer.deserialize(&mut &*plain).map_err(|error| error.to_string())
}

/// What a histogram of nanoseconds counted, read where it lies: most have few bins with something in them, and room for
/// many thousands.
#[derive(Clone, Copy, Debug)]
pub struct BinCounts<'p> {
    bins: Bins,
    encoded: &'p [u8],
}

impl<'p> BinCounts<'p> {
    /// Of a histogram that is not compressed, after a look through all of it.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn of(plain: &'p [u8]) -> Result<BinCounts<'p>, String> {
        let too_many = || "a histogram with more counts than any of ours".to_owned();
        if plain.len() > MOST_BYTES {
            return Err(too_many());
        }
        let short = || "a histogram that ends in its head".to_owned();
        let (head, counts) = plain.split_at_checked(HEAD).ok_or_else(short)?;
        let number = |from: usize, to: usize| head[from..to].iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
        // An offset and a ratio of values are of histograms that count in other units than they are recorded in.
        if (number(0, 4), number(8, 12), number(32, 40)) != (COOKIE, 0, 1f64.to_bits()) {
            return Err("a histogram of another format than ours".to_owned());
        }
        let bins = Bins::of(number(16, 24), number(24, 32), number(12, 16))?;
        let length = usize::try_from(number(4, 8)).ok();
        let encoded =
            length.and_then(|length| counts.get(..length)).ok_or("a histogram that is shorter than it says")?;
        let (mut rest, mut place) = (encoded, 0u64);
        while !rest.is_empty() {
            let number = varint(&mut rest).ok_or("a histogram that ends in a count")?;
            place = place.saturating_add(step(number));
            if place > bins.len {
                return Err(too_many());
            }
        }
        Ok(BinCounts { bins, encoded })
    }

    /// The bins that are not empty: the highest value that each stands for, nanoseconds, rising, and how often it was
    /// counted.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + use<'p> {
        let (bins, mut rest, mut place) = (self.bins, self.encoded, 0);
        std::iter::from_fn(move || {
            loop {
                let number = varint(&mut rest)?;
                place += step(number);
                if number & 1 == 0 && number > 0 {
                    return Some((bins.highest_ns(place - 1), number >> 1));
                }
            }
        })
    }

    /// Counts all of it once more in `sum`.
    pub fn add_to(&self, sum: &mut Histogram<u64>) {
        self.iter().for_each(|(ns, count)| sum.saturating_record_n(ns, count));
    }
}

/// How many bins an encoded number stands for: odd ones are gaps, even ones counts (zig-zag encoding).
fn step(number: u64) -> u64 {
    if number & 1 == 1 { (number >> 1).saturating_add(1) } else { 1 }
}

/// Where the bins of a histogram lie: those of one unit come first, then half as many for each doubling.
#[derive(Clone, Copy, Debug)]
struct Bins {
    /// Powers of two: of a unit, nanoseconds, and of the bins of a doubling.
    unit: u32,
    of_doubling: u32,
    len: u64,
}

impl Bins {
    fn of(lowest: u64, highest: u64, digits: u64) -> Result<Bins, String> {
        let is_ours = lowest > 0 && highest <= HIGHEST_NS && lowest <= highest / 2 && digits <= MOST_DIGITS;
        if !is_ours {
            return Err(format!(
                "a histogram from {lowest} to {highest} with {digits} digits; ours end at {HIGHEST_NS} ns and have {MOST_DIGITS}"
            ));
        }
        let unit = lowest.ilog2();
        // Single units up to two times ten to the power of the digits tell values as exactly as was asked.
        let of_doubling = (2 * 10u64.pow(digits as u32)).next_power_of_two().ilog2() - 1;
        let (mut end, mut doublings) = (2u64 << (of_doubling + unit), 1u64);
        while end <= highest {
            (end, doublings) = (end << 1, doublings + 1);
        }
        Ok(Bins { unit, of_doubling, len: (doublings + 1) << of_doubling })
    }

    /// The highest value of a bin, nanoseconds.
    fn highest_ns(&self, place: u64) -> u64 {
        let doublings = (place >> self.of_doubling).saturating_sub(1);
        let within = place - (doublings << self.of_doubling);
        ((within + 1) << (u64::from(self.unit) + doublings)) - 1
    }
}

/// A number of seven bits a byte, the lowest first; the ninth byte has eight.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for at in 0..LONGEST_COUNT {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        if at + 1 == LONGEST_COUNT {
            return Some(number | u64::from(*byte) << 56);
        }
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// A histogram of a tally as text: format V2 in Base64, nothing for an empty one. Only the range of ours is read, so
/// that whatever was read can be added to whatever was counted here.
pub mod text {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
    use plimsoll_stats::latency::new_histogram;
    use serde::{Deserialize, Serializer, de, ser};
    use std::borrow::Cow;

    /// # Errors
    /// If `values` are more than the format can hold.
    pub fn serialize<S: Serializer>(values: &Histogram<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        let mut plain = Vec::new();
        if !values.is_empty() {
            V2Serializer::new().serialize(values, &mut plain).map_err(ser::Error::custom)?;
        }
        serializer.serialize_str(&STANDARD.encode(plain))
    }

    /// # Errors
    /// If it is no histogram, or not of our range.
    pub fn deserialize<'de, D: de::Deserializer<'de>>(deserializer: D) -> Result<Histogram<u64>, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        if text.is_empty() {
            return Ok(new_histogram());
        }
        let plain = STANDARD.decode(&*text).map_err(de::Error::custom)?;
        let values = super::read(&plain, &mut Deserializer::new()).map_err(de::Error::custom)?;
        let (ours, range) = (new_histogram(), |of: &Histogram<u64>| (of.low(), of.high(), of.sigfig()));
        match range(&values) == range(&ours) {
            true => Ok(values),
            false => {
                Err(de::Error::custom(format!("a histogram of {:?}; ours are {:?}", range(&values), range(&ours))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Serializer, V2Serializer};

    fn plain(lowest: u64, highest: u64, digits: u8, values: &[u64]) -> Vec<u8> {
        let mut values_of = Histogram::<u64>::new_with_bounds(lowest, highest, digits).unwrap();
        values.iter().for_each(|&value| values_of.record(value).unwrap());
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&values_of, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn histograms_of_ours_pass_and_whatever_claims_more_is_refused_by_its_head() {
        let ours = plain(1_000, HIGHEST_NS, 3, &[1_000, 5_000_000, HIGHEST_NS]);
        assert!(BinCounts::of(&ours).is_ok());
        assert!(BinCounts::of(&plain(1, HIGHEST_NS, 3, &[1, HIGHEST_NS])).is_ok(), "the largest that may be");
        let refused = |bytes: &[u8], why: &str| {
            let found = BinCounts::of(bytes).unwrap_err();
            assert!(found.contains(why), "{found}");
        };
        refused(&plain(1, u64::MAX, 3, &[7]), "ours end at");
        refused(&plain(1_000, HIGHEST_NS, 5, &[7_000]), "5 digits");
        refused(&ours[..39], "ends in its head");
        refused(&ours[..ours.len() - 1], "shorter than it says");
        let changed = |at: usize, bytes: &[u8]| {
            let mut changed = ours.clone();
            changed[at..at + bytes.len()].copy_from_slice(bytes);
            changed
        };
        refused(&changed(4, &[0xff; 4]), "shorter than it says");
        refused(&changed(16, &[0; 8]), "from 0");
        refused(&changed(0, &[1]), "another format");
        refused(&changed(11, &[1]), "another format");
        let mut gap = ours.clone();
        gap[4..8].copy_from_slice(&9u32.to_be_bytes());
        gap.truncate(HEAD);
        gap.extend([0xff; 9]);
        refused(&gap, "more counts");
    }

    #[test]
    fn bins_are_told_as_the_library_tells_them() {
        let mut random = crate::seed::Rng::new(7, 1, 1);
        for (lowest, highest, digits) in
            [(1, HIGHEST_NS, 3), (1_000, HIGHEST_NS, 3), (77, 9_999, 0), (3, 1 << 30, 2), (9, 40, 1)]
        {
            let values: Vec<u64> = (0..400).map(|_| random.between(lowest, highest)).collect();
            let near = (0..300).map(|at| (lowest + at).min(highest));
            let values: Vec<u64> = values.into_iter().chain(near).chain([0, lowest, highest]).collect();
            let bytes = plain(lowest, highest, digits, &values);
            let whole = read(&bytes, &mut Deserializer::new()).unwrap();
            let of_library: Vec<(u64, u64)> =
                whole.iter_recorded().map(|at| (at.value_iterated_to(), at.count_at_value())).collect();
            let counts = BinCounts::of(&bytes).unwrap();
            assert_eq!(counts.iter().collect::<Vec<_>>(), of_library, "{lowest} to {highest}, {digits} digits");
            assert_eq!(counts.bins.len as usize, whole.distinct_values(), "{lowest} to {highest}, {digits} digits");
        }
        let mut sum = plimsoll_stats::latency::new_histogram();
        BinCounts::of(&plain(1_000, HIGHEST_NS, 3, &[5_000_000, 5_000_000])).unwrap().add_to(&mut sum);
        assert_eq!((sum.len(), sum.min().abs_diff(5_000_000) < 5_000), (2, true));
    }
}
