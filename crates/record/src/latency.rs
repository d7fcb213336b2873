//! `latency.hlog`: an HdrHistogram interval log, readable by every tool that knows the format
//! (<https://github.com/HdrHistogram/HdrHistogram>, log format 1.3, compressed V2 histograms, values in nanoseconds).
//!
//! One line per second and tag; tags are `txn.<name>.<service|response>` or `stmt.<name>`.

use crate::bounds::{LONGEST_TRIAL_NS, MOST_TAGS};
use crate::lines::{LineFile, Lines};
use crate::{RecordError, Result};
use base64::Engine;
use flate2::{Decompress, FlushDecompress, Status};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{
    IntervalLogIterator, IntervalLogWriterBuilder, IntervalLogWriterError, LogEntry, Tag,
};
use hdrhistogram::serialization::{V2DeflateSerializeError, V2DeflateSerializer};
use jiff::Timestamp;
use plimsoll_load::histogram::{self, BinCounts};
use plimsoll_stats::latency::new_histogram;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
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
            if merged.len() == MOST_TAGS && !merged.contains_key(tag) {
                return Err(format!("more than {MOST_TAGS} tags"));
            }
            values.add_to(merged.entry(tag.to_owned()).or_insert_with(new_histogram));
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
    mut told: impl FnMut(&str, u64, BinCounts<'_>) -> std::result::Result<(), String>,
) -> Result<()> {
    let Some(mut lines) = Lines::open(path)? else { return Ok(()) };
    let window = to_ms(window.start)..to_ms(window.end);
    let mut decoder = Decoder::new();
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
    told: &mut impl FnMut(&str, u64, BinCounts<'_>) -> std::result::Result<(), String>,
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
        return Err(format!("it starts {} s after its trial, which is impossibly late", start_ns / 1_000_000_000));
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

/// Reads histograms, whatever they claim to be: nothing larger than the largest of ours is ever unpacked.
struct Decoder {
    packed: Vec<u8>,
    plain: Vec<u8>,
    inflate: Decompress,
}

impl Decoder {
    fn new() -> Decoder {
        let plain = Vec::with_capacity(histogram::MOST_BYTES + 1);
        Decoder { packed: Vec::new(), plain, inflate: Decompress::new(true) }
    }

    /// From the compressed form, in Base64.
    fn decode(&mut self, text: &str) -> std::result::Result<BinCounts<'_>, String> {
        self.packed.clear();
        self.plain.clear();
        base64::engine::general_purpose::STANDARD.decode_vec(text, &mut self.packed).map_err(|e| e.to_string())?;
        // Cookie and length of the compressed form; what follows says itself where it ends.
        let packed = self.packed.get(8..).ok_or("a histogram that ends in its head")?;
        self.inflate.reset(true);
        match self.inflate.decompress_vec(packed, &mut self.plain, FlushDecompress::Finish) {
            Ok(Status::StreamEnd) => {}
            // It has more than there is room for, of which the counts will tell.
            Ok(_) if self.plain.len() > histogram::MOST_BYTES => {}
            Ok(_) => return Err("a histogram that cannot be inflated: it is cut short".to_owned()),
            Err(e) => return Err(format!("a histogram that cannot be inflated: {e}")),
        }
        BinCounts::of(&self.plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use std::io::Write;

    #[test]
    fn what_is_small_only_while_it_is_packed_is_never_unpacked_as_a_whole() {
        let mut packed = vec![0; 8];
        ZlibEncoder::new(&mut packed, Compression::best()).write_all(&vec![0; 1 << 20]).unwrap();
        assert!(packed.len() < 2_000);
        let mut decoder = Decoder::new();
        let refused = decoder.decode(&base64::engine::general_purpose::STANDARD.encode(packed)).unwrap_err();
        assert!(refused.contains("more counts") && decoder.plain.capacity() < 1 << 20, "{refused}");
    }
}
