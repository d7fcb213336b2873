//! `latency.hlog`: an HdrHistogram interval log, readable by every tool that knows the format
//! (<https://github.com/HdrHistogram/HdrHistogram>, log format 1.3, compressed V2 histograms, values in nanoseconds).
//!
//! One line per second and tag; tags are `txn.<name>.<service|response>` or `stmt.<name>`.

use crate::lines::{LineFile, whole_lines};
use crate::{RecordError, Result, file};
use base64::Engine;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{
    IntervalLogHistogram, IntervalLogIterator, IntervalLogWriterBuilder, IntervalLogWriterError, LogEntry, Tag,
};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializeError, V2DeflateSerializer};
use jiff::Timestamp;
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
            match merged.get_mut(tag) {
                Some(sum) => sum.add(&values).map_err(|e| e.to_string())?,
                None => drop(merged.insert(tag.to_owned(), values)),
            }
            Ok(())
        },
    )?;
    Ok(merged)
}

/// Reads a log from its beginning to its end: tells tag, start (nanoseconds since the trial's start, whole
/// milliseconds) and values of each line that starts in `window` and whose tag is `wanted`; `told` may say what is
/// wrong with them.
pub(crate) fn each(
    path: &Path,
    window: Range<u64>,
    wanted: impl Fn(&str) -> bool,
    mut told: impl FnMut(&str, u64, Histogram<u64>) -> std::result::Result<(), String>,
) -> Result<()> {
    let bytes = match file::read(path, file::LARGE) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(RecordError::read(path)(e)),
    };
    let bytes = whole_lines(&bytes);
    let malformed = |offset: usize, found: String| {
        let line = 1 + bytes[..offset].iter().filter(|&&b| b == b'\n').count();
        RecordError::Malformed { path: path.to_owned(), line, found }
    };
    let window = to_ms(window.start)..to_ms(window.end);
    let mut deserializer = Deserializer::new();
    for (start, end) in data_lines(bytes) {
        let mut entries = IntervalLogIterator::new(&bytes[start..end]);
        let Some(Ok(LogEntry::Interval(interval))) = entries.next() else {
            return Err(malformed(start, "no histogram".to_owned()));
        };
        let (tag, at_ms) = (interval.tag().map_or("", |tag| tag.as_str()), to_ms(ns(interval.start_timestamp())));
        if window.contains(&at_ms) && wanted(tag) {
            decode(&interval, &mut deserializer)
                .and_then(|values| told(tag, at_ms * 1_000_000, values))
                .map_err(|found| malformed(start, found))?;
        }
    }
    Ok(())
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn to_ms(ns: u64) -> u64 {
    ns.saturating_add(500_000) / 1_000_000
}

/// Where the lines begin and end that are neither comments nor the legend.
fn data_lines(bytes: &[u8]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut start = 0;
    bytes
        .split_inclusive(|&b| b == b'\n')
        .map(move |line| {
            let from = start;
            start += line.len();
            (from, start)
        })
        .filter(|&(from, _)| !matches!(bytes[from], b'#' | b'"' | b'\n'))
}

fn decode(
    interval: &IntervalLogHistogram<'_>,
    deserializer: &mut Deserializer,
) -> std::result::Result<Histogram<u64>, String> {
    let bytes =
        base64::engine::general_purpose::STANDARD.decode(interval.encoded_histogram()).map_err(|e| e.to_string())?;
    deserializer.deserialize(&mut bytes.as_slice()).map_err(|e| e.to_string())
}
