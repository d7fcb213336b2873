//! The matrix of an article of 2008 on evaluating I/O for MySQL with sysbench fileio: "Evaluating IO subsystem
//! performance for MySQL Needs", MySQL Performance Blog, 5 March 2008. Its numbers are in `plans/percona-io.toml`.
//!
//! Random pages of 16 KiB, direct I/O, no sync during a run: a set that fits the controller's cache and one that does
//! not, one file and 128, 1 thread and 64, reads and writes. The article switched the controller's cache between
//! write-through and write-back. That cannot be done from here; the moment when a write returns stands for it: with
//! O_DSYNC when it is on the medium (write-through), without it when the storage has accepted it (write-back). The
//! article's runs ended after 60 s or a million requests; ours end by time alone.

use crate::job::{Access, Job, JobEngine, Places, Syncs};
use crate::layout::{FileLayout, Open};
use crate::op::PAGE;
use crate::op::SyncMode;
use crate::probe::{Extent, ProbeStep};
use plimsoll_model::Scalar;

const MIB: u64 = 1 << 20;
/// The article's sets.
const SMALL: u64 = 128 * MIB;
const LARGE: u64 = 2048 * MIB;
/// On a small disk, sets are a multiple of this: 128 files of whole pages.
const GRAIN: u64 = 128 * PAGE as u64;
/// Its runs are probes 101, 102 and so on: no probe of the other suites has such a number.
const BEFORE_FIRST: u8 = 100;

/// One run of the article.
struct Run {
    /// In its words.
    name: &'static str,
    large: bool,
    files: u32,
    what: What,
    threads: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Reads,
    WritesThrough,
    WritesBack,
}

const fn run(name: &'static str, large: bool, files: u32, what: What, threads: u32) -> Run {
    Run { name, large, files, what, threads }
}

/// In the article's order.
const RUNS: [Run; 12] = [
    run("128 MB, 1 file, random read, 1 thread", false, 1, What::Reads, 1),
    run("128 MB, 1 file, random read, 64 threads", false, 1, What::Reads, 64),
    run("128 MB, 1 file, random write, write-through, 1 thread", false, 1, What::WritesThrough, 1),
    run("128 MB, 1 file, random write, write-through, 64 threads", false, 1, What::WritesThrough, 64),
    run("128 MB, 128 files, random write, write-through, 64 threads", false, 128, What::WritesThrough, 64),
    run("128 MB, 1 file, random write, write-back, 1 thread", false, 1, What::WritesBack, 1),
    run("128 MB, 1 file, random write, write-back, 64 threads", false, 1, What::WritesBack, 64),
    run("128 MB, 128 files, random write, write-back, 64 threads", false, 128, What::WritesBack, 64),
    run("2 GB, 128 files, random read, 1 thread", true, 128, What::Reads, 1),
    run("2 GB, 128 files, random read, 64 threads", true, 128, What::Reads, 64),
    run("2 GB, 128 files, random write, write-back, 1 thread", true, 128, What::WritesBack, 1),
    run("2 GB, 128 files, random write, write-back, 64 threads", true, 128, What::WritesBack, 64),
];

/// Bytes of the small and of the large set within this limit: the article's own if there is room.
pub(crate) fn sizes(usable: u64) -> (u64, u64) {
    let (small, large) = sized(usable);
    (SMALL.min(small), LARGE.min(large))
}

/// The same with a large set of this size, and a small one in proportion.
pub(crate) fn sized(bytes: u64) -> (u64, u64) {
    let grained = |bytes: u64| (bytes / GRAIN * GRAIN).max(GRAIN);
    (grained(bytes / 16), grained(bytes))
}

/// The article's runs. The small set has the size of the page files, the large one that of the largest working set.
pub fn steps(extent: &Extent) -> Vec<ProbeStep> {
    (1..).zip(&RUNS).map(|(number, run)| run.step(extent, number)).collect()
}

/// The numbers that its runs have as probes.
pub(crate) fn numbers() -> impl Iterator<Item = u8> {
    (1..).zip(&RUNS).map(|(number, _): (u8, &Run)| BEFORE_FIRST + number)
}

impl Run {
    fn step(&self, extent: &Extent, number: u8) -> ProbeStep {
        let (set, bytes) = if self.large { ("large", extent.most_bytes) } else { ("small", extent.data_bytes) };
        let layout = FileLayout::of(&format!("{set}-{}", self.files), self.files, bytes);
        let params = [
            ("set_bytes", layout.bytes().into()),
            ("files", self.files.into()),
            ("threads", self.threads.into()),
            ("block", PAGE.into()),
            ("what", Scalar::from(if self.what == What::Reads { "read" } else { "write" })),
            ("dsync", Scalar::from(self.what == What::WritesThrough)),
        ];
        let access = match self.what {
            What::Reads => Access::page_reads(Places::Anywhere),
            // sysbench's default: a sync of all files at the end of the run.
            _ => Access::page_writes(
                Places::Anywhere,
                Syncs { mode: SyncMode::Fsync, all_files: true, at_end: true, ..Syncs::NEVER },
            ),
        };
        let job = extent.job(layout, access, JobEngine::Threads { workers: self.threads });
        let open = Open { dsync: self.what == What::WritesThrough, ..job.open };
        let step = ProbeStep::new(BEFORE_FIRST + number, "", self.name, params, Job { open, warmup_ns: 0, ..job });
        ProbeStep { id: format!("percona.{number}"), ..step }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_load::window::SECOND_NS;

    #[test]
    fn runs_are_those_of_the_article() {
        let extent = Extent {
            data_bytes: SMALL,
            most_bytes: LARGE,
            window_ns: 10 * SECOND_NS,
            advising_ns: 10 * SECOND_NS,
            full: false,
            io_uring: true,
            direct: true,
            log_block: Some(4096),
            atomic: false,
        };
        let steps = steps(&extent);
        assert_eq!(steps.iter().map(|step| step.probe).collect::<Vec<_>>(), (101..=112).collect::<Vec<_>>());
        for (step, run) in steps.iter().zip(&RUNS) {
            assert_eq!(step.job.engine.depth(), run.threads, "{}", step.name);
            assert_eq!(step.job.open.dsync, step.name.contains("write-through"));
            assert_eq!(step.job.layout.bytes(), if step.name.starts_with("2 GB") { LARGE } else { SMALL });
            assert!(step.name.contains(&format!("{} file", run.files)) && step.job.layout.files == run.files);
        }
    }
}
