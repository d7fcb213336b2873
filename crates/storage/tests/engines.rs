//! Every engine on real files: counts add up, what is read is what was written, and failures say why.

use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::recorder::LoopTotals;
use plimsoll_load::tally::Tally;
use plimsoll_load::window::Limit;
use plimsoll_model::OpKind;
use plimsoll_model::samples::Phase;
use plimsoll_storage::StorageError;
use plimsoll_storage::files::FileSet;
use plimsoll_storage::job::{Access, Job, JobEngine, Mix, Places, Syncs};
use plimsoll_storage::layout::{Allocation, Content, FileLayout, Open};
use plimsoll_storage::op::{Durable, SyncMode};
use plimsoll_storage::run::{JobRun, io_uring_refused};
use plimsoll_storage::share::RunEvent;
use plimsoll_storage::verify::Mismatch;
use plimsoll_testkit::servers;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const BLOCK: u32 = 4096;
const FILE: u64 = 1 << 20;
const MS: u64 = 1_000_000;
/// No run of these tests takes so long.
const PATIENCE: Duration = Duration::from_secs(60);
const SEED: u64 = 42;

fn job(engine: JobEngine, mix: Mix, limit: Limit) -> Job {
    let layout = FileLayout {
        name: "pages".to_owned(),
        files: 2,
        bytes_per_file: FILE,
        allocation: Allocation::Overwrite,
        content: Content::Random,
        fresh: false,
    };
    let syncs = Syncs::NEVER;
    let access = Access::Random { block: BLOCK, places: Places::Anywhere, mix, syncs, durable: Durable::No };
    let open = Open::default();
    Job { layout, open, access, engine, arrivals: Arrivals::Closed, limit, warmup_ns: 0, verify: false }
}

/// The files of a job, laid out in full.
fn files(directory: &Path, job: &Job) -> Arc<FileSet> {
    let paths: Vec<_> = (0..job.layout.files).map(|n| directory.join(format!("pages.{n}"))).collect();
    let open = |(number, path): (u32, &std::path::PathBuf)| {
        let mut bytes = vec![0; job.layout.bytes_per_file as usize];
        job.layout.content.fill(SEED, number, 0, &mut bytes);
        fs::write(path, bytes).unwrap();
        let direct = if job.open.direct { libc::O_DIRECT } else { 0 };
        OpenOptions::new().read(true).write(true).custom_flags(direct).open(path).unwrap()
    };
    let files: Vec<File> = (0..).zip(&paths).map(open).collect();
    let (layout, directory) = (job.layout.clone(), directory.to_owned());
    Arc::new(FileSet { layout, open: job.open, files, paths, directory })
}

/// Everything that a run told.
#[derive(Default)]
struct Told {
    intervals: Vec<Tally>,
    totals: Vec<LoopTotals>,
    failures: Vec<String>,
    mismatches: Vec<Mismatch>,
    read_back: u32,
}

impl Told {
    fn count(&self, kind: OpKind) -> u64 {
        self.totals.iter().filter_map(|totals| totals.committed.get(kind as usize)).sum()
    }

    fn counted(&self, counter: usize) -> u64 {
        self.totals.iter().map(|totals| totals.counted[counter]).sum()
    }

    /// What was offered is what was done and what was not.
    fn adds_up(&self) {
        for counts in self.totals.iter().map(|totals| totals.counts) {
            assert_eq!(counts.offered, counts.started + counts.dropped, "{counts:?}");
            assert_eq!(counts.started, counts.finished + counts.failed + counts.unfinished, "{counts:?}");
        }
    }
}

fn follow(run: JobRun, mut each: impl FnMut(&JobRun, &Told)) -> Told {
    run.start();
    let (mut told, begun) = (Told::default(), Instant::now());
    while told.totals.len() + run.ended() < run.facts.loops {
        assert!(begun.elapsed() < PATIENCE, "the run does not end");
        match run.next(Duration::from_millis(20)) {
            Some(RunEvent::Interval(tally)) => told.intervals.push(*tally),
            Some(RunEvent::Drained(totals)) => told.totals.push(totals),
            Some(RunEvent::Failed(why)) => told.failures.push(why),
            Some(RunEvent::Mismatch(mismatch)) => told.mismatches.push(mismatch),
            Some(RunEvent::ReadBack) => told.read_back += 1,
            None => {}
        }
        each(&run, &told);
    }
    run.finish();
    told.adds_up();
    told
}

fn told(job: &Job, files: Arc<FileSet>) -> Told {
    follow(JobRun::begin(job, files, SEED).unwrap(), |_, _| {})
}

/// Engines that this machine has.
fn engines() -> Vec<JobEngine> {
    let mut engines = vec![JobEngine::Threads { workers: 3 }, JobEngine::Mmap { workers: 2 }];
    match io_uring_refused() {
        None => engines.push(JobEngine::Uring { loops: 2, depth: 8 }),
        Some(why) => servers::skip(&why),
    }
    engines
}

#[test]
fn every_engine_does_as_many_operations_as_asked_for_and_counts_their_bytes() {
    for engine in engines().into_iter().chain([JobEngine::Null { workers: 2 }]) {
        let home = servers::home();
        let mut job = job(engine, Mix::Ratio(1.0), Limit::Events(1000));
        let Access::Random { syncs, .. } = &mut job.access else { unreachable!() };
        *syncs = Syncs { every: 10, mode: SyncMode::Fdatasync, all_files: false, at_end: true };
        let told = told(&job, files(home.path(), &job));
        assert!(told.failures.is_empty(), "{engine:?}: {:?}", told.failures);
        let [reads, writes, syncs] = [OpKind::Read, OpKind::Write, OpKind::Sync].map(|kind| told.count(kind));
        // Two syncs come at the end, when the window is over.
        assert_eq!(reads + writes + syncs, 1002, "{engine:?}");
        assert!(reads > 300 && writes > 300 && syncs > 2, "{engine:?}: {reads} {writes} {syncs}");
        assert_eq!(told.counted(0), reads * u64::from(BLOCK), "{engine:?}");
        assert_eq!(told.counted(1), writes * u64::from(BLOCK), "{engine:?}");
        let counts: u64 = told.totals.iter().map(|totals| totals.counts.finished).sum();
        assert_eq!(counts, 1000, "{engine:?}: of the window");
    }
}

#[test]
fn what_is_read_is_what_was_written() {
    for engine in engines() {
        let home = servers::home();
        let mut job = job(engine, Mix::Ratio(2.0), Limit::Events(2000));
        (job.layout.content, job.verify) = (Content::Checked, true);
        let told = told(&job, files(home.path(), &job));
        assert_eq!((told.failures.len(), told.mismatches.len()), (0, 0), "{engine:?}: {:?}", told.mismatches);
        assert_eq!(told.read_back, 1, "{engine:?}");
        assert_eq!(told.count(OpKind::Read) + told.count(OpKind::Write), 2000, "{engine:?}");
    }
}

#[test]
fn a_block_that_somebody_changed_is_found_by_every_engine() {
    for engine in engines() {
        let home = servers::home();
        let mut job = job(engine, Mix::Reads, Limit::Events(2000));
        (job.layout.content, job.verify) = (Content::Checked, true);
        let files = files(home.path(), &job);
        files.files[1].write_all_at(b"not what was written", 8192).unwrap();
        let told = told(&job, files);
        let failed: u64 = told.totals.iter().map(|totals| totals.counts.failed).sum();
        assert!(told.failures.is_empty() && failed > 0, "{engine:?}: {failed}");
        // Once more when everything is read back.
        assert_eq!(told.mismatches.len() as u64, failed + 1, "{engine:?}");
        assert!(told.mismatches.iter().all(|found| found.path.ends_with("pages.1") && found.offset == 8192));
    }
}

#[test]
fn io_uring_does_the_operations_of_threads() {
    if let Some(why) = io_uring_refused() {
        return servers::skip(&why);
    }
    // Each write goes to a place of its own, so that their order does not matter.
    let written = |engine| {
        let home = servers::home();
        let mut job = job(engine, Mix::Writes, Limit::Events(300));
        (job.layout.allocation, job.layout.content) = (Allocation::Hole, Content::Duplicates);
        let files = files(home.path(), &job);
        files.files.iter().for_each(|file| {
            file.set_len(0).unwrap();
            file.set_len(FILE).unwrap();
        });
        let told = told(&job, Arc::clone(&files));
        assert_eq!((told.failures, told.totals.iter().map(|t| t.counts.finished).sum::<u64>()), (vec![], 300));
        files.paths.iter().map(|path| fs::read(path).unwrap()).collect::<Vec<_>>()
    };
    let threads = written(JobEngine::Threads { workers: 1 });
    let blocks = threads.iter().flat_map(|file| file.chunks(BLOCK as usize));
    assert_eq!(blocks.filter(|block| block.iter().any(|byte| *byte != 0)).count(), 300);
    assert!(threads == written(JobEngine::Uring { loops: 1, depth: 16 }));
}

#[test]
fn durable_writes_are_done_by_the_engines_that_can() {
    let home = servers::home();
    let durable = |engine, durable| {
        let mut job = job(engine, Mix::Writes, Limit::Events(20));
        let Access::Random { durable: how, .. } = &mut job.access else { unreachable!() };
        *how = durable;
        job
    };
    let dsync = durable(JobEngine::Threads { workers: 1 }, Durable::Dsync);
    assert_eq!(told(&dsync, files(home.path(), &dsync)).count(OpKind::Write), 20);
    let linked = durable(JobEngine::Threads { workers: 1 }, Durable::Linked);
    let refused = JobRun::begin(&linked, files(home.path(), &linked), SEED).unwrap_err();
    assert!(refused.to_string().contains("io_uring"), "{refused}");
    if let Some(why) = io_uring_refused() {
        return servers::skip(&why);
    }
    for how in [Durable::Dsync, Durable::Linked] {
        let job = durable(JobEngine::Uring { loops: 1, depth: 4 }, how);
        assert_eq!(told(&job, files(home.path(), &job)).count(OpKind::Write), 20, "{how:?}");
    }
}

#[test]
fn seconds_are_told_and_a_stop_ends_the_window_at_once() {
    for engine in engines() {
        let home = servers::home();
        let job = job(engine, Mix::Reads, Limit::Time(3600 * 1000 * MS));
        let run = JobRun::begin(&job, files(home.path(), &job), SEED).unwrap();
        let loops = run.facts.loops;
        let told = follow(run, |run, told| {
            if told.intervals.len() >= run.facts.loops {
                run.stop();
            }
        });
        let measured = told.intervals.iter().filter(|tally| tally.phase == Phase::Measure);
        assert!(measured.clone().count() >= 2 * loops, "{engine:?}: one whole second, and what was left of the next");
        assert!(measured.map(|tally| tally.transactions[OpKind::Read as usize].committed).sum::<u64>() > 100);
    }
}

#[test]
fn an_idle_open_loop_stops_at_once_and_has_told_of_silent_seconds() {
    let home = servers::home();
    let mut job = job(JobEngine::Threads { workers: 2 }, Mix::Reads, Limit::Time(3600 * 1000 * MS));
    job.arrivals = Arrivals::Constant { rate: 0.001 };
    let run = JobRun::begin(&job, files(home.path(), &job), SEED).unwrap();
    let told = follow(run, |run, told| {
        if told.intervals.len() >= 2 {
            run.stop();
        }
    });
    assert_eq!(told.count(OpKind::Read), 1, "the first arrival is due at the start, the next in a quarter of an hour");
    assert!(told.intervals.len() >= 4);
}

#[test]
fn an_open_loop_offers_its_rate_to_all_workers_together() {
    for engine in engines() {
        let home = servers::home();
        let mut job = job(engine, Mix::Reads, Limit::Events(200));
        job.arrivals = Arrivals::Constant { rate: 1000.0 };
        let told = told(&job, files(home.path(), &job));
        let offered: u64 = told.totals.iter().map(|totals| totals.counts.offered).sum();
        assert_eq!((offered, told.count(OpKind::Read)), (200, 200), "{engine:?}");
        let responses: u64 = told.intervals.iter().map(|tally| tally.transactions[0].response.len()).sum();
        assert_eq!(responses, 200, "{engine:?}");
    }
}

#[test]
fn a_misaligned_direct_write_fails_and_says_why() {
    let home = servers::home();
    let mut job = job(JobEngine::Threads { workers: 2 }, Mix::Writes, Limit::Events(10));
    job.access = Access::InPlace { block: BLOCK, misaligned: 100 };
    job.open.direct = true;
    let told = told(&job, files(home.path(), &job));
    assert_eq!(told.failures.len(), 2, "one for each worker");
    let why = &told.failures[0];
    for part in ["writing 4096 bytes at offset", "pages.", "Invalid argument", "O_DIRECT", "multiples"] {
        assert!(why.contains(part), "{part} is not in {why}");
    }
    assert!(told.totals.iter().all(|totals| totals.counts.failed == 1));
}

#[test]
fn a_full_device_fails_and_says_so() {
    let Some(tmpfs) = servers::tmpfs(1 << 20) else { return };
    let mut job = job(JobEngine::Threads { workers: 1 }, Mix::Writes, Limit::Events(1000));
    job.layout = FileLayout { files: 1, bytes_per_file: 0, allocation: Allocation::Extend, ..job.layout };
    for allocate in [false, true] {
        job.access = Access::Extension { step: 64 << 10, limit: 1 << 30, allocate };
        let told = told(&job, files(tmpfs.path(), &job));
        assert_eq!(told.failures.len(), 1);
        let why = &told.failures[0];
        assert!(why.contains("extending") && why.contains("pages.0"), "{why}");
        assert!(why.contains("No space left") || why.contains("were transferred"), "{why}");
        assert_eq!(told.count(OpKind::Extend), 16, "a megabyte in steps of 64 KiB");
    }
}

#[test]
fn a_file_that_grows_is_emptied_at_its_limit() {
    let home = servers::home();
    let mut job = job(JobEngine::Threads { workers: 1 }, Mix::Writes, Limit::Events(10));
    job.layout = FileLayout { files: 1, bytes_per_file: 0, allocation: Allocation::Extend, ..job.layout };
    job.access = Access::Extension { step: 4096, limit: 4 * 4096, allocate: false };
    let files = files(home.path(), &job);
    let told = told(&job, Arc::clone(&files));
    assert_eq!((told.count(OpKind::Extend), told.counted(1)), (10, 10 * 4096));
    assert_eq!(files.files[0].metadata().unwrap().len(), 2 * 4096, "10 steps: twice 4, and 2");
}

#[test]
fn metadata_operations_leave_no_file_behind() {
    let home = servers::home();
    let mut job = job(JobEngine::Threads { workers: 2 }, Mix::Writes, Limit::EventsPerConnection(40));
    job.access = Access::Metadata { bytes: 65536 };
    let told = told(&job, files(home.path(), &job));
    assert!(told.failures.is_empty(), "{:?}", told.failures);
    for kind in [OpKind::Create, OpKind::Rename, OpKind::Truncate, OpKind::Unlink] {
        assert_eq!(told.count(kind), 20, "{}", kind.name());
    }
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2, "the two data files");
}

#[test]
fn a_file_that_is_shorter_than_it_should_be_is_a_failure() {
    for engine in engines() {
        let home = servers::home();
        let job = job(engine, Mix::Reads, Limit::Events(5000));
        let files = files(home.path(), &job);
        if matches!(engine, JobEngine::Mmap { .. }) {
            continue;
        }
        files.files.iter().for_each(|file| file.set_len(FILE / 2 + 100).unwrap());
        let told = told(&job, files);
        assert!(!told.failures.is_empty() && told.failures.iter().all(|why| why.contains("bytes were transferred")));
    }
}

#[test]
fn what_an_engine_cannot_do_is_refused_before_anything_starts() {
    let home = servers::home();
    let reads = |engine| job(engine, Mix::Reads, Limit::Events(1));
    let mut hole = reads(JobEngine::Mmap { workers: 1 });
    hole.layout.allocation = Allocation::Hole;
    let mut unchecked = reads(JobEngine::Threads { workers: 1 });
    unchecked.verify = true;
    let mut still = reads(JobEngine::Threads { workers: 1 });
    still.arrivals = Arrivals::Poisson { rate: 0.0 };
    let cases = [
        (hole, "hole"),
        (unchecked, "checked content"),
        (still, "above 0"),
        (reads(JobEngine::Threads { workers: 0 }), "at least 1"),
        (reads(JobEngine::Committers { workers: 1 }), "commit"),
    ];
    for (job, part) in cases {
        let refused = JobRun::begin(&job, files(home.path(), &job), SEED).unwrap_err();
        assert!(matches!(refused, StorageError::Refused(_)), "{refused:?}");
        assert!(refused.to_string().contains(part), "{refused}");
    }
}
