//! The smallest block that is rewritten in place without reading around it: probe 17.

use super::evidence::{Evidence, iops, number};
use super::figures::{bytes, short};
use super::{line, warning_if};
use plimsoll_model::io::{Probe, SheetLine};

const TOPIC: &str = "Log blocks";
/// A block that brings less than this share of what a larger one brings is read before it is written.
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

/// The smallest block that no larger one is clearly faster than.
fn write_ahead(evidence: &Evidence<'_>) -> Option<SheetLine> {
    let blocks = aligned(evidence);
    if blocks.len() < 2 {
        return None;
    }
    let no_larger_is_faster = |at: &usize| {
        let larger = blocks[*at..].iter().map(|probe| iops(probe)).fold(0.0, f64::max);
        iops(blocks[*at]) >= PENALTY_BELOW * larger
    };
    let unit = blocks[(0..blocks.len()).find(no_larger_is_faster)?];
    let (block, smallest) = (number(unit, "block"), number(blocks[0], "block"));
    let each: Vec<String> =
        blocks.iter().map(|p| format!("{} at {}", short(iops(p)), bytes(number(p, "block")))).collect();
    let figures = format!("synced rewrites per second: {}", each.join(", "));
    let refused = refused(evidence, smallest);
    let statement = match (block > smallest, refused) {
        (true, _) => format!(
            "Log writes of less than {} are read before they are written ({figures}): innodb_log_write_ahead_size={block}.",
            bytes(block)
        ),
        (false, Some(refused)) => format!(
            "Direct writes of {refused} are refused, {} is the smallest block ({figures}): innodb_log_write_ahead_size={block} \
             or more.",
            bytes(block)
        ),
        (false, None) => {
            format!("Small log writes cost nothing extra: {figures}. innodb_log_write_ahead_size may stay as it is.")
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
    let kept = |(on, off): &(&Probe, &Probe)| iops(off) / iops(on);
    let (on, off) = pairs.min_by(|a, b| kept(a).total_cmp(&kept(b)))?;
    let costs = kept(&(on, off)) < PENALTY_BELOW;
    let figures = format!(
        "{} of {} per second, {} where they begin {} off",
        short(iops(on)),
        bytes(number(on, "block")),
        short(iops(off)),
        bytes(number(off, "misaligned"))
    );
    let statement = match costs {
        true => {
            format!("Misaligned blocks are slower ({figures}): partitions and images must begin at multiples of 1 MiB.")
        }
        false => format!("Misaligned blocks are not slower ({figures})."),
    };
    Some(warning_if(costs, line(TOPIC, "misaligned_blocks", statement, (kept(&(on, off)), "ratio"), &[on, off])))
}
