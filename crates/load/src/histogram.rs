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

/// Reads a histogram of nanoseconds that is not compressed.
///
/// # Errors
/// What is wrong with it, in words.
pub fn read(plain: &[u8], deserializer: &mut Deserializer) -> Result<Histogram<u64>, String> {
    if plain.len() > MOST_BYTES {
        return Err("a histogram with more counts than any of ours".to_owned());
    }
    is_ours(plain)?;
    deserializer.deserialize(&mut &*plain).map_err(|error| error.to_string())
}

/// Looks at the head of a histogram, and that its counts and the gaps between them stay within its range.
fn is_ours(plain: &[u8]) -> Result<(), String> {
    let short = || "a histogram that ends in its head".to_owned();
    let (head, counts) = plain.split_at_checked(HEAD).ok_or_else(short)?;
    let number = |from: usize, to: usize| head[from..to].iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
    let (length, digits, lowest, highest) = (number(4, 8), number(12, 16), number(16, 24), number(24, 32));
    if lowest == 0 || highest > HIGHEST_NS || digits > MOST_DIGITS {
        return Err(format!(
            "a histogram from {lowest} to {highest} with {digits} digits; ours end at {HIGHEST_NS} ns and have {MOST_DIGITS}"
        ));
    }
    let counts = usize::try_from(length).ok().and_then(|length| counts.get(..length));
    let mut rest = counts.ok_or("a histogram that is shorter than it says")?;
    let mut place = 0u64;
    while !rest.is_empty() {
        let number = varint(&mut rest).ok_or("a histogram that ends in a count")?;
        // Odd numbers are gaps, even ones counts (zig-zag encoding).
        place = place.saturating_add(if number & 1 == 1 { (number >> 1).saturating_add(1) } else { 1 });
        if place > MOST_COUNTS as u64 {
            return Err("a histogram with more counts than any of ours".to_owned());
        }
    }
    Ok(())
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
        assert_eq!(is_ours(&ours), Ok(()));
        assert_eq!(is_ours(&plain(1, HIGHEST_NS, 3, &[1, HIGHEST_NS])), Ok(()), "the largest that may be");
        let refused = |bytes: &[u8], why: &str| {
            let found = is_ours(bytes).unwrap_err();
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
        let mut gap = ours.clone();
        gap[4..8].copy_from_slice(&9u32.to_be_bytes());
        gap.truncate(HEAD);
        gap.extend([0xff; 9]);
        refused(&gap, "more counts");
    }
}
