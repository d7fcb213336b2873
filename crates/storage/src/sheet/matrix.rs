//! What the article of 2008 learned from its matrix: what more threads gain, whether one file takes one write at a
//! time, and whether the blocks that the system counts agree with the requests that were made.

use super::evidence::{SheetEvidence, has, number};
use super::figures::iops;
use super::figures::{rate, times};
use super::{line, warning_if};
use crate::percona;
use plimsoll_model::Scalar;
use plimsoll_model::io::{Probe, SheetLine};
use plimsoll_model::number::three_digits;

const TOPIC: &str = "Threads and files";
/// If many threads do no more than this many times what one does, they wait for each other.
const SCALES: f64 = 1.5;
/// If many files take this many times what one takes from as many threads, writes to one file wait for each other.
const SERIALISED: f64 = 1.0 / 0.6;

pub fn lines(evidence: &SheetEvidence<'_>) -> Vec<SheetLine> {
    let all: Vec<&Probe> = percona::numbers().flat_map(|number| evidence.of(number)).collect();
    let scaling = all.iter().filter_map(|many| scaling(&all, many));
    let files = all.iter().filter_map(|many| one_writer(&all, many));
    // With the most under way over the largest set, as in the article.
    let size = |probe: &&Probe| (number(probe, "set_bytes") * number(probe, "threads")) as u64;
    let most = all.iter().map(size).max();
    let blocks = all.iter().filter(|probe| Some(size(probe)) == most).filter_map(|probe| blocks(probe));
    files.chain(scaling).chain(blocks).collect()
}

/// The run that differs from `probe` only in this parameter, which has this value.
fn twin<'a>(all: &[&'a Probe], probe: &Probe, param: &str, value: u32) -> Option<&'a Probe> {
    const PARAMS: [&str; 5] = ["set_bytes", "files", "threads", "what", "dsync"];
    let others = PARAMS.into_iter().filter(|name| *name != param);
    let mut wanted: Vec<(&str, Scalar)> =
        others.filter_map(|name| Some((name, probe.params.get(name)?.clone()))).collect();
    wanted.push((param, value.into()));
    all.iter().copied().find(|other| has(other, &wanted) && other.id != probe.id)
}

/// `writes into 128 files of 128 MB in all`.
fn load(probe: &Probe) -> String {
    let what = match (probe.word("what"), probe.params.get("dsync").and_then(Scalar::switch) == Some(true)) {
        ("read", _) => "reads from",
        (_, true) => "writes with O_DSYNC into",
        (_, false) => "writes into",
    };
    let files = number(probe, "files");
    let noun = if files == 1.0 { "file" } else { "files" };
    format!(
        "{what} {} {noun} of {} MB in all",
        three_digits(files),
        three_digits(number(probe, "set_bytes") / 1_048_576.0)
    )
}

/// What many threads do compared with one.
fn scaling(all: &[&Probe], many: &Probe) -> Option<SheetLine> {
    let one = twin(all, many, "threads", 1)?;
    let ratio = iops(many) / iops(one);
    let statement = format!(
        "{} threads make {} as many {} as one: {} against {} per second.",
        three_digits(number(many, "threads")),
        times(ratio),
        load(many),
        rate(many),
        rate(one)
    );
    Some(line(TOPIC, format!("scaling_{}", key(many)), statement, ratio, "times", &[one, many]))
}

/// Whether direct writes to one file wait for each other.
fn one_writer(all: &[&Probe], many: &Probe) -> Option<SheetLine> {
    let one = twin(all, many, "files", 1)?;
    let alone = twin(all, one, "threads", 1)?;
    let gain = iops(many) / iops(one);
    let serialised = gain >= SERIALISED && iops(one) <= SCALES * iops(alone);
    let verdict = if serialised { "one write at a time" } else { "several writes at a time" };
    let threads = three_digits(number(many, "threads"));
    let statement = format!(
        "A file takes {verdict}: {threads} threads make {} {} per second, as many threads on 1 file {}, one thread {}.",
        rate(many),
        load(many),
        rate(one),
        rate(alone)
    );
    let found = line(TOPIC, format!("one_writer_{}", key(many)), statement, serialised, "", &[alone, one, many]);
    Some(warning_if(serialised, found))
}

/// The article's check with vmstat: pages that the device moved, counted from its blocks, beside those that were
/// requested.
fn blocks(probe: &Probe) -> Option<SheetLine> {
    let is_reading = probe.word("what") == "read";
    let kilobytes = probe.found.get(if is_reading { "read_kb_per_second" } else { "written_kb_per_second" })?;
    let pages = kilobytes * 1e3 / number(probe, "block");
    let share = pages / iops(probe);
    let moved = if is_reading { "read" } else { "written" };
    let statement = format!(
        "The device has {moved} blocks for {} pages per second, where {} were requested ({}): {} of each.",
        three_digits(pages),
        rate(probe),
        probe.name,
        three_digits(share)
    );
    Some(line("Blocks and requests", format!("blocks_{}", key(probe)), statement, share, "times", &[probe]))
}

/// `percona_9`: the run in the keys of lines.
fn key(probe: &Probe) -> String {
    probe.id.replace('.', "_")
}
