//! `latency.hlog`: an HdrHistogram interval log, readable by every tool that knows the format
//! (<https://github.com/HdrHistogram/HdrHistogram>, log format 1.3, compressed V2 histograms, values in nanoseconds).
//!
//! One line per second and tag; tags are `txn.<name>.<service|response>` or `stmt.<name>`.

use crate::bounds::{LONGEST_TRIAL_NS, MOST_TAGS};
use crate::lines::{LineFile, Lines};
use crate::{RecordError, Result};
use base64::Engine;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{
    IntervalLogIterator, IntervalLogWriterBuilder, IntervalLogWriterError, LogEntry, Tag,
};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializeError, V2DeflateSerializer};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Appends histograms to a log.
pub(crate) struct LatencyLog {
    lines: LineFile,
    path: PathBuf,
    serializer: V2DeflateSerializer,
    line: Vec<u8>,
}

impl LatencyLog {
    /// `base` is the wall-clock time of the trial's start; the log's own times count from it.
    pub(crate) fn create(path: PathBuf, base: Timestamp) -> Result<LatencyLog> {
        let seconds = base.as_millisecond() as f64 / 1e3;
        let head = format!(
            "#[plimsoll.latency version 1: nanoseconds]\n#[Histogram log format version 1.3]\n\
             #[StartTime: {seconds:.3} (seconds since epoch), {base}]\n\
             #[BaseTime: {seconds:.3} (seconds since epoch)]\n\
             \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
        );
        let lines = LineFile::create(path.clone(), &head)?;
        Ok(LatencyLog { lines, path, serializer: V2DeflateSerializer::new(), line: Vec::new() })
    }

    /// Appends one line. `start_ns` counts from the trial's start; the log keeps milliseconds.
    pub(crate) fn append(&mut self, tag: &str, start_ns: u64, length_ns: u64, values: &Histogram<u64>) -> Result<()> {
        let tag = Tag::new(tag).ok_or_else(|| RecordError::BadTag { tag: tag.to_owned() })?;
        self.line.clear();
        let (start, length) = (Duration::from_nanos(start_ns), Duration::from_nanos(length_ns));
        IntervalLogWriterBuilder::new()
            .begin_log_with(&mut self.line, &mut self.serializer)
            .map_err(IntervalLogWriterError::<V2DeflateSerializeError>::IoError)
            .and_then(|mut writer| writer.write_histogram(values, start, length, Some(tag)))
            .map_err(|e| RecordError::Write { path: self.path.clone(), source: io::Error::other(e.to_string()) })?;
        self.lines.append(&self.line)
    }
}

impl fmt::Debug for LatencyLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LatencyLog").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Adds up the histograms of a log by tag, over the lines that start in `window` (nanoseconds since the trial's
/// start, compared to the millisecond that the log keeps). One histogram per tag is in memory at a time.
pub(crate) fn merge(path: &Path, window: Range<u64>) -> Result<BTreeMap<String, Histogram<u64>>> {
    let mut merged: BTreeMap<String, Histogram<u64>> = BTreeMap::new();
    each(
        path,
        window,
        |_| true,
        |tag, _, values| {
            let is_full = merged.len() == MOST_TAGS;
            match merged.get_mut(tag) {
                Some(sum) => sum.add(&values).map_err(|e| e.to_string())?,
                None if is_full => return Err(format!("more than {MOST_TAGS} tags")),
                None => drop(merged.insert(tag.to_owned(), values)),
            }
            Ok(())
        },
    )?;
    Ok(merged)
}

/// Reads a log from its beginning to its end, a line at a time: tells tag, start (nanoseconds since the trial's start,
/// whole milliseconds) and values of each line that starts in `window` and whose tag is `wanted`; `told` may say what is
/// wrong with them.
pub(crate) fn each(
    path: &Path,
    window: Range<u64>,
    wanted: impl Fn(&str) -> bool,
    mut told: impl FnMut(&str, u64, Histogram<u64>) -> std::result::Result<(), String>,
) -> Result<()> {
    let Some(mut lines) = Lines::open(path)? else { return Ok(()) };
    let window = to_ms(window.start)..to_ms(window.end);
    let mut decoder = Decoder::default();
    while let Some(line) = lines.next()? {
        if let Err(found) = one_line(line, &window, &wanted, &mut told, &mut decoder) {
            return Err(lines.malformed(found));
        }
    }
    Ok(())
}

/// Tells of one line, if it is of an interval. What is wrong with it is the error.
fn one_line(
    line: &[u8],
    window: &Range<u64>,
    wanted: &impl Fn(&str) -> bool,
    told: &mut impl FnMut(&str, u64, Histogram<u64>) -> std::result::Result<(), String>,
    decoder: &mut Decoder,
) -> std::result::Result<(), String> {
    if matches!(line[0], b'#' | b'"' | b'\n') {
        return Ok(());
    }
    let Some(Ok(LogEntry::Interval(interval))) = IntervalLogIterator::new(line).next() else {
        return Err("no histogram".to_owned());
    };
    let (tag, start_ns) = (interval.tag().map_or("", |tag| tag.as_str()), ns(interval.start_timestamp()));
    if start_ns > LONGEST_TRIAL_NS {
        return Err(format!("it starts {} s after its trial, which is later than can be", start_ns / 1_000_000_000));
    }
    match window.contains(&to_ms(start_ns)) && wanted(tag) {
        true => told(tag, to_ms(start_ns) * 1_000_000, decoder.decode(interval.encoded_histogram())?),
        false => Ok(()),
    }
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn to_ms(ns: u64) -> u64 {
    ns.saturating_add(500_000) / 1_000_000
}

/// Reads histograms, whatever they claim to be: ours have the range from 1 µs to 1 h in nanoseconds to 3 digits, and
/// nothing larger than the largest of that kind is ever made.
#[derive(Default)]
struct Decoder {
    deserializer: Deserializer,
    plain: Vec<u8>,
}

/// The longest value and the most digits of a histogram of ours, nanoseconds.
const HIGHEST_NS: u64 = 3_600_000_000_000;
const MOST_DIGITS: u32 = 3;
/// Counts of a histogram from 1 ns to [`HIGHEST_NS`] with [`MOST_DIGITS`]: 1,024 for each doubling, and as many more.
const MOST_COUNTS: usize = 33 * 1024;
/// What is before the counts, bytes: cookie, length, offset, digits, lowest, highest and a ratio.
const HEAD: usize = 40;
/// A count takes so many bytes at most.
const LONGEST_COUNT: usize = 9;

impl Decoder {
    /// From the compressed form, in Base64.
    fn decode(&mut self, text: &str) -> std::result::Result<Histogram<u64>, String> {
        let packed = base64::engine::general_purpose::STANDARD.decode(text).map_err(|e| e.to_string())?;
        // Cookie and length of the compressed form; what follows says itself where it ends.
        let packed = packed.get(8..).ok_or("a histogram that ends in its head")?;
        let most = HEAD + MOST_COUNTS * LONGEST_COUNT;
        self.plain.clear();
        let inflated = ZlibDecoder::new(packed).take(most as u64 + 1).read_to_end(&mut self.plain);
        inflated.map_err(|e| format!("a histogram that cannot be inflated: {e}"))?;
        if self.plain.len() > most {
            return Err("a histogram with more counts than any of ours".to_owned());
        }
        is_ours(&self.plain)?;
        self.deserializer.deserialize(&mut self.plain.as_slice()).map_err(|e| e.to_string())
    }
}

/// Looks at the head of a histogram, and that its counts and the gaps between them stay within its range.
fn is_ours(plain: &[u8]) -> std::result::Result<(), String> {
    let short = || "a histogram that ends in its head".to_owned();
    let (head, counts) = plain.split_at_checked(HEAD).ok_or_else(short)?;
    let number = |from: usize, to: usize| head[from..to].iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
    let (length, digits, lowest, highest) = (number(4, 8), number(12, 16), number(16, 24), number(24, 32));
    if lowest == 0 || highest > HIGHEST_NS || digits > u64::from(MOST_DIGITS) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    use std::io::Write;

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

    #[test]
    fn what_is_small_only_while_it_is_packed_is_never_unpacked_as_a_whole() {
        let mut packed = vec![0; 8];
        ZlibEncoder::new(&mut packed, Compression::best()).write_all(&vec![0; 1 << 20]).unwrap();
        assert!(packed.len() < 2_000);
        let mut decoder = Decoder::default();
        let refused = decoder.decode(&base64::engine::general_purpose::STANDARD.encode(packed)).unwrap_err();
        assert!(refused.contains("more counts") && decoder.plain.capacity() < 1 << 20, "{refused}");
    }
}
