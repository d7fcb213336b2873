//! The smallest block that is rewritten in place without a read around it: probe 17.

use super::evidence::{MeasuredValue, SheetEvidence, latency, number};
use super::figures::iops;
use super::figures::{bytes, time};
use super::{line, line_if_known, warning_if};
use plimsoll_model::io::{Probe, SheetLine};
use plimsoll_model::metric::Statistic;
use plimsoll_model::{OpKind, Scalar};

const TOPIC: &str = "Log blocks";
const NUMBER: u8 = 17;
/// What takes this many times as long is clearly slower.
const PENALTY: f64 = 1.25;
const VARIABLE: &str = "MySQL; its default is 8192";
/// The largest value of innodb_log_write_ahead_size: a page.
const PAGE: f64 = 16384.0;

pub fn lines(evidence: &SheetEvidence<'_>) -> Vec<SheetLine> {
    write_ahead(evidence).into_iter().chain(misaligned(evidence)).collect()
}

fn aligned<'a>(evidence: &SheetEvidence<'a>) -> Vec<&'a Probe> {
    let mut blocks: Vec<&Probe> = evidence
        .of(NUMBER)
        .into_iter()
        .filter(|p| number(p, "misaligned") == 0.0 && number(p, "block") <= PAGE)
        .collect();
    blocks.sort_by(|a, b| number(a, "block").total_cmp(&number(b, "block")));
    blocks
}

/// The median time of a synced rewrite, microseconds. Not the mean, which a few slow syncs would decide.
fn median(probe: &Probe) -> f64 {
    match (latency(probe, OpKind::Write, Statistic::P50), latency(probe, OpKind::Sync, Statistic::P50)) {
        (Some(write), Some(sync)) => write + sync,
        _ => 1e6 / iops(probe),
    }
}

fn bare(us: f64) -> MeasuredValue {
    MeasuredValue { value: us, interval: None }
}

/// The size below which all blocks are clearly slower than all from there on. Without such a step, times vary by chance
/// or by size.
fn step(evidence: &SheetEvidence<'_>, blocks: &[&Probe]) -> Option<usize> {
    let fastest = |of: &[&Probe]| of.iter().map(|probe| median(probe)).fold(f64::INFINITY, f64::min);
    let slowest = |of: &[&Probe]| of.iter().map(|probe| median(probe)).fold(0.0, f64::max);
    let apart = |at: usize| evidence.differs(bare(slowest(&blocks[at..])), bare(fastest(&blocks[..at])), PENALTY);
    (1..blocks.len()).find(|at| apart(*at) == Some(true))
}

/// Whether the device read something for each rewrite below the step, and nothing from there on. Reads inside a disk
/// are not seen.
fn is_read_before(blocks: &[&Probe], step: usize) -> bool {
    let read_bytes = |probe: &Probe| 1000.0 * probe.found.get("read_kb_per_second").unwrap_or(&0.0) / iops(probe);
    let one_each = |probe: &&Probe| read_bytes(probe) >= number(blocks[step], "block") / 2.0;
    blocks[..step].iter().all(one_each) && !blocks[step..].iter().any(one_each)
}

/// The smallest block that needs no read around it below.
fn write_ahead(evidence: &SheetEvidence<'_>) -> Option<SheetLine> {
    let blocks = aligned(evidence);
    let smallest = number(blocks.first()?, "block");
    if blocks.len() < 2 {
        return None;
    }
    let each: Vec<String> =
        blocks.iter().map(|p| format!("{} at {}", time(median(p)), bytes(number(p, "block")))).collect();
    let figures = format!("median of a synced rewrite: {}", each.join(", "));
    let (statement, value) = match (step(evidence, &blocks), refused(evidence, smallest)) {
        (Some(step), _) => slower_below(evidence, &blocks, step, &figures),
        (None, Some(refused)) => (
            format!(
                "Direct writes of {refused} are refused, and {} is the smallest block ({figures}): \
                 innodb_log_write_ahead_size={smallest} or more ({VARIABLE}).",
                bytes(smallest)
            ),
            Some(smallest.into()),
        ),
        (None, None) => (
            format!(
                "No size of log blocks stands out ({figures}). {}",
                evidence.advised(&blocks, &format!("So innodb_log_write_ahead_size may stay as it is ({VARIABLE})."))
            ),
            None,
        ),
    };
    Some(line_if_known(TOPIC, "log_write_ahead_size", statement, value, "bytes", &blocks))
}

fn slower_below(
    evidence: &SheetEvidence<'_>,
    blocks: &[&Probe],
    step: usize,
    figures: &str,
) -> (String, Option<Scalar>) {
    let block = number(blocks[step], "block");
    let size = bytes(block);
    let setting =
        |verb: &str| evidence.advised(blocks, &format!("innodb_log_write_ahead_size={block} {verb} ({VARIABLE})."));
    let settled = evidence.unsettled(blocks).is_none();
    match is_read_before(blocks, step) {
        true => (
            format!(
                "Log writes of less than {size} are read before they are written ({figures}). {}",
                setting("avoids that")
            ),
            settled.then(|| block.into()),
        ),
        false => (
            format!(
                "Log writes of less than {size} are slower, and it is not clear why ({figures}): no reads of the \
                 device around them were seen, though a disk may read internally. {}",
                setting("is worth a try")
            ),
            None,
        ),
    }
}

/// Whether the storage refused a block of this size, which is an answer, not a failure (open(2), O_DIRECT: EINVAL).
pub fn is_refused(probe: &Probe) -> bool {
    let refusal = std::io::Error::from_raw_os_error(libc::EINVAL).to_string();
    probe.probe == NUMBER && probe.error.as_ref().is_some_and(|error| error.contains(&refusal))
}

/// The largest block below `accepted` that could not be written.
fn refused(evidence: &SheetEvidence<'_>, accepted: f64) -> Option<String> {
    let failed = evidence.probes.iter().filter(|probe| is_refused(probe) && number(probe, "misaligned") == 0.0);
    let block =
        failed.map(|probe| number(probe, "block")).filter(|block| (1.0..accepted).contains(block)).reduce(f64::max)?;
    Some(bytes(block))
}

/// What misalignment costs.
fn misaligned(evidence: &SheetEvidence<'_>) -> Option<SheetLine> {
    let off: Vec<&Probe> = evidence.of(NUMBER).into_iter().filter(|probe| number(probe, "misaligned") > 0.0).collect();
    let blocks = aligned(evidence);
    let same = |off: &Probe| blocks.iter().copied().find(|on| number(on, "block") == number(off, "block"));
    let pairs = off.into_iter().filter_map(|off| Some((same(off)?, off)));
    let kept = |(on, off): &(&Probe, &Probe)| median(on) / median(off);
    let (on, off) = pairs.min_by(|a, b| kept(a).total_cmp(&kept(b)))?;
    let costs = evidence.differs(bare(median(on)), bare(median(off)), PENALTY);
    let figures = format!(
        "a synced rewrite of {} takes {}, one that starts {} off alignment {} (medians)",
        bytes(number(on, "block")),
        time(median(on)),
        bytes(number(off, "misaligned")),
        time(median(off))
    );
    let statement = match costs {
        Some(true) => {
            format!("Misaligned blocks are slower ({figures}): partitions and images must begin at multiples of 1 MiB.")
        }
        Some(false) => format!("Misaligned blocks are not slower ({figures})."),
        None => format!("Whether misaligned blocks are slower {} ({figures}).", evidence.untold()),
    };
    Some(warning_if(
        costs == Some(true),
        line(TOPIC, "misaligned_blocks", statement, kept(&(on, off)), "ratio", &[on, off]),
    ))
}
