//! Whether the storage treats some content specially: probe 20.

use super::evidence::{MeasuredValue, SheetEvidence, has};
use super::figures::iops;
use super::figures::{rate, times};
use super::{line_if_known, warning_if};
use plimsoll_model::Scalar;
use plimsoll_model::io::{Probe, SheetLine};

const TOPIC: &str = "Content";
/// A smaller gain does not count.
const SPECIAL: f64 = 1.2;

pub fn lines(evidence: &SheetEvidence<'_>) -> Vec<SheetLine> {
    special(evidence).into_iter().collect()
}

fn special(evidence: &SheetEvidence<'_>) -> Option<SheetLine> {
    let random = evidence.find(20, &[("content", "random".into())])?;
    let others: Vec<&Probe> =
        evidence.of(20).into_iter().filter(|probe| !has(probe, &[("content", "random".into())])).collect();
    let fastest = others.iter().copied().max_by(|a, b| iops(a).total_cmp(&iops(b)))?;
    let gain = iops(fastest) / iops(random);
    let name = |probe: &Probe| probe.word("content").replace('-', " ");
    let special = evidence.differs(MeasuredValue::rate(random), MeasuredValue::rate(fastest), SPECIAL);
    let figures = format!("{} writes of random bytes per second, {} of {}", rate(random), rate(fastest), name(fastest));
    let statement = match special {
        Some(true) => format!(
            "The storage compresses, deduplicates or skips data, which gives {}: {figures}. Benchmarks that write \
             zeros flatter it.",
            times(gain)
        ),
        Some(false) => format!("What is written makes no difference: {figures}."),
        None => format!("Whether it matters what is written {}: {figures}.", evidence.untold()),
    };
    let probes: Vec<&Probe> = std::iter::once(random).chain(others).collect();
    Some(warning_if(
        special == Some(true),
        line_if_known(TOPIC, "content_matters", statement, special.map(Scalar::from), "", &probes),
    ))
}
