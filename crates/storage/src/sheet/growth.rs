//! Files that grow, and files that come and go: probes 15 and 16.

use super::evidence::{SheetEvidence, has, latency, number};
use super::figures::{bytes, time};
use super::line;
use plimsoll_model::OpKind;
use plimsoll_model::io::{Probe, SheetLine};
use plimsoll_model::metric::Statistic;

const TOPIC: &str = "Growth";
/// In the order of a table's life.
const OPERATIONS: [OpKind; 4] = [OpKind::Create, OpKind::Rename, OpKind::Truncate, OpKind::Unlink];

pub fn lines(evidence: &SheetEvidence<'_>) -> Vec<SheetLine> {
    extension(evidence).into_iter().chain(metadata(evidence)).collect()
}

/// For the largest step that was tried both ways.
fn extension(evidence: &SheetEvidence<'_>) -> Option<SheetLine> {
    let of = |how: &str| -> Vec<&Probe> {
        evidence.of(15).into_iter().filter(|probe| has(probe, &[("how", how.into())])).collect()
    };
    let (allocated, written) = (of("fallocate"), of("zero-write"));
    let step = |probe: &Probe| number(probe, "step_bytes");
    let pairs = allocated.iter().flat_map(|a| written.iter().filter(|b| step(a) == step(b)).map(|b| (*a, *b)));
    let (allocate, write) = pairs.max_by(|a, b| step(a.0).total_cmp(&step(b.0)))?;
    let took = |probe: &Probe| {
        latency(probe, OpKind::Extend, Statistic::P50).zip(latency(probe, OpKind::Extend, Statistic::P99))
    };
    let ((a50, a99), (w50, w99)) = (took(allocate)?, took(write)?);
    let statement = format!(
        "A file grows by {} within {} if blocks are only allocated (99 % within {}), within {} if zeros are written \
         (99 % within {}): an insert that needs more space waits this long with innodb_extend_and_initialize=OFF and \
         ON.",
        bytes(step(allocate)),
        time(a50),
        time(a99),
        time(w50),
        time(w99)
    );
    Some(line(TOPIC, "extension", statement, w50, "us", &[allocate, write]))
}

/// For the largest file that was tried.
fn metadata(evidence: &SheetEvidence<'_>) -> Option<SheetLine> {
    let size = |probe: &Probe| number(probe, "file_bytes");
    let probe = evidence.of(16).into_iter().max_by(|a, b| size(a).total_cmp(&size(b)))?;
    let took =
        |kind: OpKind| Some((kind, latency(probe, kind, Statistic::P50)?, latency(probe, kind, Statistic::P99)?));
    let each: Vec<_> = OPERATIONS.into_iter().filter_map(took).collect();
    let (slowest, _, longest) = each.iter().max_by(|a, b| a.2.total_cmp(&b.2))?;
    let shown: Vec<String> = each.iter().map(|(kind, p50, _)| format!("{kind} {}", time(*p50))).collect();
    let statement = format!(
        "For a file of {}, made durable each time, {} (medians): DDL and TRUNCATE wait at least this long; {slowest} \
         is the slowest, 99 % within {}.",
        bytes(size(probe)),
        shown.join(", "),
        time(*longest)
    );
    Some(line(TOPIC, "metadata", statement, *longest, "us", &[probe]))
}
