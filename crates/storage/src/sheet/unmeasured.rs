//! What the sheet cannot say because a probe failed, where a reader would take silence for good news.

use super::evidence::Evidence;
use super::{line, warning_if};
use plimsoll_model::io::{Probe, SheetLine};
use serde_json::Value;

const TOPIC: &str = "Not measured";
/// Probes without which an answer is missing, and which one.
const NEEDED: [(&[u8], &str, &str); 5] = [
    (&[1, 2], "commits", "how many durable commits per second are possible"),
    (&[5], "flush", "whether a sync reaches the device"),
    (&[6], "page_reads", "how fast pages are read"),
    (&[7], "page_writes", "how fast pages are flushed"),
    (&[9], "files", "whether writes to one file wait for each other"),
];

pub fn lines(evidence: &Evidence<'_>) -> Vec<SheetLine> {
    NEEDED.iter().filter_map(|needed| failed(evidence, needed)).collect()
}

/// A line where all measurements of the probes failed.
fn failed(evidence: &Evidence<'_>, (numbers, key, what): &(&[u8], &str, &str)) -> Option<SheetLine> {
    let all: Vec<&Probe> = evidence.probes.iter().filter(|probe| numbers.contains(&probe.probe)).collect();
    if numbers.iter().any(|number| !evidence.of(*number).is_empty()) {
        return None;
    }
    let first = all.first()?;
    let why = first.error.as_deref().unwrap_or("nothing was done in the time that was given");
    let statement = format!("It is not known {what}: {why}.");
    Some(warning_if(true, line(TOPIC, format!("not_measured_{key}"), statement, (Value::Null, ""), &all)))
}
