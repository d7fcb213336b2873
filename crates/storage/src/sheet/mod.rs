//! What a DBA reads: sentences with their numbers, each naming the probes that it rests on.
//!
//! One file per topic, each a function from the [`SheetEvidence`] to the lines that it supports. A probe that is missing or
//! failed gives no line, unless silence would mislead; `unmeasured` covers those.

mod cache;
mod commits;
mod content;
mod cpu;
mod doublewrite;
mod durability;
mod evidence;
mod figures;
mod files;
mod flush_method;
mod growth;
mod interference;
mod log_blocks;
mod matrix;
mod reads;
#[cfg(test)]
mod tests;
mod unmeasured;
mod writes;

pub use durability::is_remote;
use evidence::{SheetEvidence, is_sound};
pub use log_blocks::is_refused;
use plimsoll_model::Scalar;
use plimsoll_model::io::{DeviceFacts, Probe, SheetLine};

/// All lines that the probes support, in reading order. What the device says about itself accompanies what was measured
/// on it; if nothing could be measured, only that is said.
pub fn sheet(device: &DeviceFacts, probes: &[Probe]) -> Vec<SheetLine> {
    const TOPICS: [fn(&SheetEvidence<'_>) -> Vec<SheetLine>; 15] = [
        commits::lines,
        durability::lines,
        reads::lines,
        writes::lines,
        doublewrite::lines,
        flush_method::lines,
        files::lines,
        cache::lines,
        interference::lines,
        log_blocks::lines,
        growth::lines,
        content::lines,
        cpu::lines,
        matrix::lines,
        unmeasured::lines,
    ];
    let evidence = SheetEvidence { device, probes };
    if !probes.iter().any(is_sound) {
        return unmeasured::lines(&evidence);
    }
    TOPICS.iter().flat_map(|lines| lines(&evidence)).collect()
}

/// A line of the sheet that rests on `probes`; `value` is the number or word with its unit.
fn line(
    topic: &str,
    key: impl Into<String>,
    statement: String,
    value: impl Into<Scalar>,
    unit: &str,
    probes: &[&Probe],
) -> SheetLine {
    line_if_known(topic, key, statement, Some(value.into()), unit, probes)
}

/// The same with a value that need not be known.
fn line_if_known(
    topic: &str,
    key: impl Into<String>,
    statement: String,
    value: Option<Scalar>,
    unit: &str,
    probes: &[&Probe],
) -> SheetLine {
    let mut ids: Vec<String> = Vec::new();
    for probe in probes {
        if !ids.contains(&probe.id) {
            ids.push(probe.id.clone());
        }
    }
    SheetLine {
        key: key.into(),
        topic: topic.to_owned(),
        statement,
        value,
        unit: unit.to_owned(),
        probes: ids,
        warning: false,
    }
}

/// The same as a warning, if `condition` holds.
fn warning_if(condition: bool, line: SheetLine) -> SheetLine {
    SheetLine { warning: condition, ..line }
}
