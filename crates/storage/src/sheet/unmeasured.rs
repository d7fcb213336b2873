//! What the sheet cannot say because a probe failed or was not valid, where a reader would take silence for good news.

use super::evidence::{SheetEvidence, unsound};
use super::log_blocks::is_refused;
use super::{line, line_if_known, warning_if};
use plimsoll_model::io::{Probe, SheetLine};

const TOPIC: &str = "Not measured";
/// Probes without which an answer is missing, and which answer.
const NEEDED: [(&[u8], &str, &str); 5] = [
    (&[1, 2], "commits", "how many commits per second are possible"),
    (&[5], "flush", "whether a sync reaches the device"),
    (&[6], "page_reads", "how fast pages are read"),
    (&[7], "page_writes", "how fast pages are flushed"),
    (&[9], "files", "whether writes to one file wait for each other"),
];

pub fn lines(evidence: &SheetEvidence<'_>) -> Vec<SheetLine> {
    let whole = NEEDED.iter().filter_map(|(numbers, key, what)| failed(evidence, numbers, key, what));
    whole.chain(in_part(evidence)).chain(left_out(evidence)).collect()
}

/// If some measurements failed, the statements rest on the others.
fn in_part(evidence: &SheetEvidence<'_>) -> Option<SheetLine> {
    let failed: Vec<&Probe> =
        evidence.probes.iter().filter(|probe| probe.error.is_some() && !is_refused(probe)).collect();
    let ids: Vec<&str> = failed.iter().map(|probe| probe.id.as_str()).collect();
    let (some, all) = (failed.len(), evidence.probes.len());
    let statement = match some == all {
        true => "All measurements failed.".to_owned(),
        false => {
            format!("{some} of {all} measurements failed ({}): every statement rests on the others.", ids.join(", "))
        }
    };
    (some > 0).then(|| warning_if(true, line(TOPIC, "failed", statement, some, "measurements", &failed)))
}

/// A line if all measurements of the probes failed.
fn failed(evidence: &SheetEvidence<'_>, numbers: &[u8], key: &str, what: &str) -> Option<SheetLine> {
    let all: Vec<&Probe> = evidence.probes.iter().filter(|probe| numbers.contains(&probe.probe)).collect();
    if numbers.iter().any(|number| !evidence.of(*number).is_empty()) {
        return None;
    }
    let first = all.first()?;
    let why = first.error.clone().or_else(|| unsound(first));
    let why = why.unwrap_or_else(|| "no operation completed within the time given".to_owned());
    let statement = format!("It is not known {what}: {why}.");
    Some(warning_if(true, line_if_known(TOPIC, format!("not_measured_{key}"), statement, None, "", &all)))
}

/// The measurements that support no statement although they completed.
fn left_out(evidence: &SheetEvidence<'_>) -> Option<SheetLine> {
    let (probes, reasons): (Vec<&Probe>, Vec<String>) = evidence
        .probes
        .iter()
        .filter(|probe| probe.error.is_none())
        .filter_map(|probe| Some((probe, format!("{} ({})", probe.id, unsound(probe)?))))
        .unzip();
    let statement = format!("Left out of all statements: {}.", reasons.join(", "));
    let told = line(TOPIC, "left_out", statement, probes.len(), "measurements", &probes);
    (!probes.is_empty()).then(|| warning_if(true, told))
}
