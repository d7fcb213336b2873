//! Whether writes to one file wait for each other, and what follows for the number of files: probe 9.
//!
//! A file system may let only one direct write at a time into a file, by the lock of its inode; ext4 does so for writes
//! that allocate blocks (Linux, `fs/ext4/file.c`).

use super::evidence::{MeasuredValue, SheetEvidence, has, number};
use super::figures::iops;
use super::figures::{rate, times};
use super::{line_if_known, warning_if};
use plimsoll_model::Scalar;
use plimsoll_model::io::{Probe, SheetLine};
use plimsoll_model::number::counted;

const TOPIC: &str = "Files";
/// If many files take this many times what one takes, writes to one file wait for each other.
const SERIALISED: f64 = 1.0 / 0.6;
/// If no more is gained, one file is as good as many.
const GAIN: f64 = 1.15;
/// This many threads show it best: more would wait for the device instead.
const THREADS: f64 = 4.0;
const FILES: f64 = 8.0;
const ALLOCATIONS: [(&str, &str, &str); 4] = [
    (
        "overwrite",
        "that overwrite",
        "keep innodb_file_per_table=ON and partition the largest tables, so that pages of one file do not queue up",
    ),
    (
        "unwritten",
        "into blocks that were allocated but never written",
        "have logs and tablespaces written in full before they are used (innodb_extend_and_initialize=ON)",
    ),
    (
        "hole",
        "into holes",
        "do not let servers use sparse files (copied backups, thin images, page compression by hole punching), and \
         write files in full in advance",
    ),
    (
        "extend",
        "that extend it",
        "let files grow in large steps (innodb_autoextend_increment), so that few writes extend them",
    ),
];

pub fn lines(evidence: &SheetEvidence<'_>) -> Vec<SheetLine> {
    let serialised =
        ALLOCATIONS.iter().filter_map(|(allocation, which, remedy)| serialised(evidence, allocation, which, remedy));
    serialised.chain(file_count(evidence)).collect()
}

/// The same load on one file and on several.
struct Pair<'a> {
    one: &'a Probe,
    many: &'a Probe,
}

impl<'a> Pair<'a> {
    /// Of all pairs for an allocation state, the one nearest to 4 threads and 8 files.
    fn of(evidence: &SheetEvidence<'a>, allocation: &str) -> Option<Pair<'a>> {
        let all = with_allocation(evidence, allocation);
        let threads = |probe: &Probe| number(probe, "threads");
        let files = |probe: &Probe| number(probe, "files");
        let ones = all.iter().filter(|probe| files(probe) == 1.0 && threads(probe) > 1.0);
        let pairs = ones.flat_map(|one| {
            let many = all.iter().filter(|many| files(many) > 1.0 && threads(many) == threads(one));
            many.map(|many| Pair { one, many })
        });
        let distance = |pair: &Pair<'_>| {
            let off = |found: f64, wanted: f64| (found / wanted).log2().abs();
            1000.0 * off(threads(pair.one), THREADS) + off(files(pair.many), FILES)
        };
        pairs.min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }
}

fn with_allocation<'a>(evidence: &SheetEvidence<'a>, allocation: &str) -> Vec<&'a Probe> {
    evidence.of(9).into_iter().filter(|probe| has(probe, &[("allocation", allocation.into())])).collect()
}

fn serialised(evidence: &SheetEvidence<'_>, allocation: &str, which: &str, remedy: &str) -> Option<SheetLine> {
    let Pair { one, many } = Pair::of(evidence, allocation)?;
    let serialised = evidence.differs(MeasuredValue::rate(one), MeasuredValue::rate(many), SERIALISED);
    let mut figures = format!(
        "{} write {} per second into one file, {} into {}",
        counted(number(one, "threads"), "thread"),
        rate(one),
        rate(many),
        counted(number(many, "files"), "file")
    );
    let mut probes = vec![one, many];
    let is_alone = |probe: &&Probe| number(probe, "threads") == 1.0 && number(probe, "files") == 1.0;
    if let Some(alone) = with_allocation(evidence, allocation).into_iter().find(is_alone) {
        figures += &format!("; one thread alone {}", rate(alone));
        probes.push(alone);
    }
    let statement = match serialised {
        Some(true) => format!(
            "Direct writes {which} wait for each other within one file: {figures}. {}",
            evidence.advised(&[one, many], &format!("So {remedy}."))
        ),
        Some(false) => format!("Direct writes {which} do not wait for each other within one file: {figures}."),
        None => format!(
            "Whether direct writes {which} wait for each other within one file {}: {figures}.",
            evidence.untold()
        ),
    };
    let told =
        line_if_known(TOPIC, format!("serialised_{allocation}"), statement, serialised.map(Scalar::from), "", &probes);
    Some(warning_if(serialised == Some(true), told))
}

/// One tablespace or many, by what overwriting gains from more files.
fn file_count(evidence: &SheetEvidence<'_>) -> Option<SheetLine> {
    let all = with_allocation(evidence, "overwrite");
    let most_threads = all.iter().map(|probe| number(probe, "threads")).fold(0.0, f64::max);
    let among: Vec<&Probe> = all.into_iter().filter(|probe| number(probe, "threads") == most_threads).collect();
    let one = among.iter().copied().find(|probe| number(probe, "files") == 1.0)?;
    let best = among
        .iter()
        .copied()
        .filter(|probe| number(probe, "files") > 1.0)
        .max_by(|a, b| iops(a).total_cmp(&iops(b)))?;
    let gain = iops(best) / iops(one);
    let threads = counted(most_threads, "thread");
    let (statement, value) = match evidence.differs(MeasuredValue::rate(one), MeasuredValue::rate(best), GAIN) {
        Some(true) => (
            format!(
                "More files help: with {threads}, {} files take {} what one takes. {}",
                number(best, "files"),
                times(gain),
                evidence.advised(&[one, best], "So innodb_file_per_table=ON and partitions of the largest tables.")
            ),
            Some("many".into()),
        ),
        Some(false) => (
            format!(
                "The number of files does not matter here: with {threads}, no number of them takes more than {} what one \
                 takes. {}",
                times(gain.max(1.0)),
                evidence.advised(&[one, best], "Choose innodb_file_per_table by convenience.")
            ),
            Some("any".into()),
        ),
        None => (
            format!(
                "Whether the number of files matters {}: with {threads}, {} files take {} what one takes.",
                evidence.untold(),
                number(best, "files"),
                times(gain)
            ),
            None,
        ),
    };
    Some(line_if_known(TOPIC, "file_count", statement, value, "", &among))
}
