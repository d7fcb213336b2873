//! Whether the storage treats what is written to it as special: probe 20.

use super::evidence::{Evidence, has, iops, word};
use super::figures::{rate, short, times};
use super::{line, warning_if};
use plimsoll_model::io::{Probe, SheetLine};
use serde_json::json;

const TOPIC: &str = "Content";
/// Smaller gains are noise.
const SPECIAL: f64 = 1.2;

pub fn lines(evidence: &Evidence<'_>) -> Vec<SheetLine> {
    special(evidence).into_iter().collect()
}

fn special(evidence: &Evidence<'_>) -> Option<SheetLine> {
    let random = evidence.find(20, &[("content", json!("random"))])?;
    let others: Vec<&Probe> =
        evidence.of(20).into_iter().filter(|probe| !has(probe, &[("content", json!("random"))])).collect();
    let fastest = others.iter().copied().max_by(|a, b| iops(a).total_cmp(&iops(b)))?;
    let gain = iops(fastest) / iops(random);
    let name = |probe: &Probe| word(probe, "content").replace('-', " ");
    let special = gain >= SPECIAL;
    let statement = match special {
        true => format!(
            "The storage compresses, deduplicates or skips: {} writes of {} per second, {} what it takes of random bytes ({}). \
             Benchmarks that write zeros flatter it.",
            rate(fastest),
            name(fastest),
            times(gain),
            short(iops(random))
        ),
        false => format!(
            "What is written makes no difference: {} writes of random bytes per second, {} of {}.",
            rate(random),
            rate(fastest),
            name(fastest)
        ),
    };
    let probes: Vec<&Probe> = std::iter::once(random).chain(others).collect();
    Some(warning_if(special, line(TOPIC, "content_matters", statement, (special, ""), &probes)))
}
