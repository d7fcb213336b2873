//! The smallest block that is rewritten in place without reading around it: probe 17.

use super::evidence::{Evidence, P50, iops, latency, number};
use super::figures::{bytes, time};
use super::{line, warning_if};
use plimsoll_model::io::{Probe, SheetLine};

const TOPIC: &str = "Log blocks";
/// Less than this share of what another brings is clearly less.
const PENALTY_BELOW: f64 = 0.8;
/// The largest value of innodb_log_write_ahead_size: a page.
const PAGE: f64 = 16384.0;

pub fn lines(evidence: &Evidence<'_>) -> Vec<SheetLine> {
    write_ahead(evidence).into_iter().chain(misaligned(evidence)).collect()
}

fn aligned<'a>(evidence: &Evidence<'a>) -> Vec<&'a Probe> {
    let mut blocks: Vec<&Probe> =
        evidence.of(17).into_iter().filter(|p| number(p, "misaligned") == 0.0 && number(p, "block") <= PAGE).collect();
    blocks.sort_by(|a, b| number(a, "block").total_cmp(&number(b, "block")));
    blocks
}

/// Half of all synced rewrites take at most so long, microseconds. Medians, since a few slow syncs decide a mean.
fn median(probe: &Probe) -> f64 {
    match (latency(probe, "write", P50), latency(probe, "sync", P50)) {
        (Some(write), Some(sync)) => write + sync,
        _ => 1e6 / iops(probe),
    }
}

/// Where all smaller blocks are clearly slower than all from here on. What has no such step varies by chance, or by size.
fn step(blocks: &[&Probe]) -> Option<usize> {
    let fastest = |of: &[&Probe]| of.iter().map(|probe| median(probe)).fold(f64::INFINITY, f64::min);
    let slowest = |of: &[&Probe]| of.iter().map(|probe| median(probe)).fold(0.0, f64::max);
    (1..blocks.len()).find(|at| slowest(&blocks[*at..]) < PENALTY_BELOW * fastest(&blocks[..*at]))
}

/// The smallest block that nothing below has to read around.
fn write_ahead(evidence: &Evidence<'_>) -> Option<SheetLine> {
    let blocks = aligned(evidence);
    if blocks.len() < 2 {
        return None;
    }
    let step = step(&blocks);
    let block = number(blocks[step.unwrap_or(0)], "block");
    let each: Vec<String> =
        blocks.iter().map(|p| format!("{} at {}", time(median(p)), bytes(number(p, "block")))).collect();
    let figures = format!("median of a synced rewrite: {}", each.join(", "));
    let statement = match (step, refused(evidence, block)) {
        (Some(_), _) => format!(
            "Log writes of less than {} are read before they are written ({figures}): innodb_log_write_ahead_size={block}.",
            bytes(block)
        ),
        (None, Some(refused)) => format!(
            "Direct writes of {refused} are refused, {} is the smallest block ({figures}): innodb_log_write_ahead_size={block} \
             or more.",
            bytes(block)
        ),
        (None, None) => {
            format!("Small log writes cost nothing extra ({figures}): innodb_log_write_ahead_size may stay as it is.")
        }
    };
    Some(line(TOPIC, "log_write_ahead_size", statement, (block, "bytes"), &blocks))
}

/// The largest block below `accepted` that could not be written at all.
fn refused(evidence: &Evidence<'_>, accepted: f64) -> Option<String> {
    let failed =
        evidence.probes.iter().filter(|p| p.probe == 17 && p.error.is_some() && number(p, "misaligned") == 0.0);
    let block =
        failed.map(|probe| number(probe, "block")).filter(|block| (1.0..accepted).contains(block)).reduce(f64::max)?;
    Some(bytes(block))
}

/// What it costs not to begin at a multiple of the block.
fn misaligned(evidence: &Evidence<'_>) -> Option<SheetLine> {
    let off: Vec<&Probe> = evidence.of(17).into_iter().filter(|probe| number(probe, "misaligned") > 0.0).collect();
    let blocks = aligned(evidence);
    let same = |off: &Probe| blocks.iter().copied().find(|on| number(on, "block") == number(off, "block"));
    let pairs = off.into_iter().filter_map(|off| Some((same(off)?, off)));
    let kept = |(on, off): &(&Probe, &Probe)| median(on) / median(off);
    let (on, off) = pairs.min_by(|a, b| kept(a).total_cmp(&kept(b)))?;
    let costs = kept(&(on, off)) < PENALTY_BELOW;
    let figures = format!(
        "a synced rewrite of {} takes {}, one that begins {} off {} (medians)",
        bytes(number(on, "block")),
        time(median(on)),
        bytes(number(off, "misaligned")),
        time(median(off))
    );
    let statement = match costs {
        true => {
            format!("Misaligned blocks are slower ({figures}): partitions and images must begin at multiples of 1 MiB.")
        }
        false => format!("Misaligned blocks are not slower ({figures})."),
    };
    Some(warning_if(costs, line(TOPIC, "misaligned_blocks", statement, (kept(&(on, off)), "ratio"), &[on, off])))
}
