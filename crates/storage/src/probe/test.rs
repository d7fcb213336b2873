//! One measurement of the user's own (`--test`): the six access patterns of sysbench fileio with its parameters and its
//! defaults, on any engine of ours.

use super::ProbeStep;
use crate::engine::uring::MOST_DEPTH;
use crate::error::StorageError;
use crate::job::{Access, Job, JobEngine, Mix, Places, Syncs};
use crate::layout::{Allocation, Content, FileLayout, Open};
use crate::op::{Durable, SyncMode};
use crate::run;
use crate::sector::SECTOR;
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::window::{Limit, SECOND_NS};
use plimsoll_model::OpKind;
use plimsoll_model::io::{LatencyUs, Probe};
use std::fmt::Write;

const MIB: f64 = (1u64 << 20) as f64;
/// More threads than any server has active connections.
const MOST_WORKERS: u32 = 4096;

/// Which blocks are read or written, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestMode {
    /// Files are created by appending, once.
    SequentialWrite,
    SequentialRewrite,
    SequentialRead,
    RandomRead,
    RandomWrite,
    /// Both, in a fixed proportion.
    RandomMixed,
}

impl TestMode {
    pub const ALL: [TestMode; 6] = [
        TestMode::SequentialWrite,
        TestMode::SequentialRewrite,
        TestMode::SequentialRead,
        TestMode::RandomRead,
        TestMode::RandomWrite,
        TestMode::RandomMixed,
    ];
    /// sysbench's names, in the order of [`TestMode::ALL`].
    pub const NAMES: [&'static str; 6] = ["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"];

    pub fn name(self) -> &'static str {
        TestMode::NAMES[self as usize]
    }

    /// `rndrw` and so on.
    pub fn parse(name: &str) -> Option<TestMode> {
        TestMode::ALL.into_iter().find(|mode| mode.name() == name)
    }

    pub fn in_words(self) -> &'static str {
        match self {
            TestMode::SequentialWrite => "sequential write of new files",
            TestMode::SequentialRewrite => "sequential rewrite",
            TestMode::SequentialRead => "sequential read",
            TestMode::RandomRead => "random read",
            TestMode::RandomWrite => "random write",
            TestMode::RandomMixed => "random read and write",
        }
    }

    pub fn is_sequential(self) -> bool {
        matches!(self, TestMode::SequentialWrite | TestMode::SequentialRewrite | TestMode::SequentialRead)
    }

    /// Reads and writes, of which only [`TestMode::RandomMixed`] has both.
    pub fn mix(self, ratio: f64) -> Mix {
        match self {
            TestMode::SequentialRead | TestMode::RandomRead => Mix::Reads,
            TestMode::SequentialWrite | TestMode::SequentialRewrite | TestMode::RandomWrite => Mix::Writes,
            TestMode::RandomMixed => Mix::Ratio(ratio),
        }
    }
}

/// The way in which reads and writes are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoMode {
    /// pread(2) and pwrite(2).
    Sync,
    /// io_uring: `depth` operations under way per thread.
    Async,
    Mmap,
    /// Does nothing: measures the instrument itself.
    Null,
}

impl IoMode {
    pub const ALL: [IoMode; 4] = [IoMode::Sync, IoMode::Async, IoMode::Mmap, IoMode::Null];
    /// In the order of [`IoMode::ALL`].
    pub const NAMES: [&'static str; 4] = ["sync", "async", "mmap", "null"];

    pub fn name(self) -> &'static str {
        IoMode::NAMES[self as usize]
    }

    /// `async` and so on.
    pub fn parse(name: &str) -> Option<IoMode> {
        IoMode::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// The parameters. The defaults are sysbench's.
#[derive(Clone, Debug, PartialEq)]
pub struct TestOptions {
    pub mode: TestMode,
    pub threads: u32,
    pub files: u32,
    /// Bytes of all files together.
    pub size: u64,
    /// Bytes.
    pub block: u32,
    pub io_mode: IoMode,
    /// Operations under way per thread; [`IoMode::Async`] only.
    pub depth: u32,
    /// O_DIRECT.
    pub direct: bool,
    /// O_DSYNC.
    pub dsync: bool,
    /// Reads per write of [`TestMode::RandomMixed`].
    pub rw_ratio: f64,
    /// All files are synced after this many requests of a thread if any of them wrote; 0 for never.
    pub fsync_every: u64,
    /// The file is synced after each write, instead of the two other kinds of sync.
    pub fsync_all: bool,
    pub fsync_mode: SyncMode,
    pub fsync_at_end: bool,
    /// This many blocks make one request; sequential modes only. 0 and 1 are the same.
    pub merged: u32,
    /// When requests are due; the rate is per second over all threads.
    pub arrivals: Arrivals,
    /// Verify what is read, and at the end everything that was written.
    pub verify: bool,
    pub time_ns: u64,
    /// Ends after this many requests instead of a time.
    pub events: Option<u64>,
    pub warmup_ns: u64,
}

impl TestOptions {
    pub fn new(mode: TestMode) -> TestOptions {
        TestOptions {
            mode,
            threads: 1,
            files: 128,
            size: 2 << 30,
            block: 16 << 10,
            io_mode: IoMode::Sync,
            depth: 128,
            direct: false,
            dsync: false,
            rw_ratio: 1.5,
            fsync_every: 100,
            fsync_all: false,
            fsync_mode: SyncMode::Fsync,
            fsync_at_end: true,
            merged: 0,
            arrivals: Arrivals::Closed,
            verify: false,
            time_ns: 10 * SECOND_NS,
            events: None,
            warmup_ns: 0,
        }
    }

    /// Bytes of one read or write.
    fn request(&self) -> u64 {
        u64::from(self.block) * u64::from(self.merged.max(1))
    }

    fn engine(&self) -> JobEngine {
        let workers = self.threads;
        match self.io_mode {
            IoMode::Sync => JobEngine::Threads { workers },
            IoMode::Async => JobEngine::Uring { loops: workers, depth: self.depth },
            IoMode::Mmap => JobEngine::Mmap { workers },
            IoMode::Null => JobEngine::Null { workers },
        }
    }

    fn layout(&self) -> FileLayout {
        let content = if self.verify { Content::Checked } else { Content::Random };
        let allocation = match (self.mode, self.io_mode) {
            // Mapped files need their length and their blocks; files of the null mode may have any.
            (TestMode::SequentialWrite, IoMode::Mmap) => Allocation::Unwritten,
            (_, IoMode::Null) => Allocation::Hole,
            (TestMode::SequentialWrite, _) => Allocation::Extend,
            _ => Allocation::Overwrite,
        };
        FileLayout {
            name: "test".to_owned(),
            files: self.files,
            bytes_per_file: self.size / u64::from(self.files),
            allocation,
            content,
            fresh: true,
        }
    }

    fn syncs(&self) -> Syncs {
        let mode = self.fsync_mode;
        match (self.mode.mix(self.rw_ratio), self.fsync_all) {
            (Mix::Reads, _) => Syncs::NEVER,
            (_, true) => Syncs { every: 1, mode, all_files: false, at_end: false },
            (_, false) => Syncs { every: self.fsync_every, mode, all_files: true, at_end: self.fsync_at_end },
        }
    }

    fn access(&self) -> Access {
        let (mix, syncs, durable) = (self.mode.mix(self.rw_ratio), self.syncs(), Durable::No);
        // It fits: it was validated.
        let block = u32::try_from(self.request()).unwrap_or(u32::MAX);
        match self.mode.is_sequential() {
            true => Access::Sequential { block, mix, syncs, durable },
            false => Access::Random { block, places: Places::Anywhere, mix, syncs, durable },
        }
    }
}

/// The measurement that is asked for.
///
/// # Errors
/// [`StorageError::Refused`] says which option is not acceptable and what is.
pub fn step(options: &TestOptions) -> Result<ProbeStep, StorageError> {
    if let Some(why) = impossible(options).or_else(|| contradictory(options)) {
        return Err(StorageError::Refused(why));
    }
    let job = Job {
        layout: options.layout(),
        open: Open { direct: options.direct, dsync: options.dsync },
        access: options.access(),
        engine: options.engine(),
        arrivals: options.arrivals,
        limit: options.events.map_or(Limit::Time(options.time_ns), Limit::Events),
        warmup_ns: options.warmup_ns,
        verify: options.verify,
    };
    run::check(&job)?;
    let params = [
        ("mode", options.mode.name().into()),
        ("threads", options.threads.into()),
        ("files", options.files.into()),
        ("set_bytes", options.size.into()),
        ("block", options.request().into()),
        ("io_mode", options.io_mode.name().into()),
        ("engine", job.engine.name().into()),
        ("depth", job.engine.depth().into()),
        ("direct", options.direct.into()),
    ];
    let step = ProbeStep::new(0, options.mode.name(), options.mode.in_words(), params, job);
    Ok(ProbeStep { id: format!("test.{}", options.mode.name()), ..step })
}

/// A value that is out of range.
fn impossible(options: &TestOptions) -> Option<String> {
    let within = |name: &str, value: u32, most: u32| {
        (value == 0 || value > most).then(|| format!("{name} {value}: accepted is 1 to {most}"))
    };
    let request = options.request();
    within("--threads", options.threads, MOST_WORKERS)
        .or_else(|| within("--files", options.files, u32::MAX))
        .or_else(|| within("--block", options.block, i32::MAX as u32))
        .or_else(|| within("--depth", options.depth, MOST_DEPTH))
        .or_else(|| {
            let most = i32::MAX as u64;
            (request > most).then(|| format!("--merged makes requests of {request} bytes: accepted are at most {most}"))
        })
        .or_else(|| unfit_size(options))
        .or_else(|| {
            let ratio = options.rw_ratio;
            (!(ratio > 0.0 && ratio.is_finite())).then(|| {
                format!(
                    "--rw-ratio {ratio}: accepted is a number above 0 (rndrd only reads, rndwr only \
                                  writes)"
                )
            })
        })
        .or_else(|| {
            let rate = options.arrivals.rate().filter(|rate| !(*rate > 0.0 && rate.is_finite()))?;
            Some(format!("--rate {rate}: accepted is a number of requests per second above 0"))
        })
        .or_else(|| {
            let nothing = options.events == Some(0) || options.events.is_none() && options.time_ns == 0;
            nothing.then(|| "--time 0 or --events 0: there would be nothing to measure".to_owned())
        })
}

/// All files have the same length, which is a whole number of requests.
fn unfit_size(options: &TestOptions) -> Option<String> {
    let (size, files, request) = (options.size, options.files, options.request());
    let unit = u64::from(files) * request;
    if size > 0 && size.is_multiple_of(unit) {
        return None;
    }
    let below = size / unit * unit;
    let nearest = if below == 0 || size - below > unit / 2 { below.saturating_add(unit) } else { below };
    Some(format!(
        "--size {size} is not a whole number of requests of {request} bytes in each of {files} files: the nearest that \
         fits is {nearest}"
    ))
}

/// Options that are valid alone, but not together.
fn contradictory(options: &TestOptions) -> Option<String> {
    let TestOptions { block, mode, io_mode, .. } = *options;
    let cases = [
        (
            options.events.is_some() && options.warmup_ns > 0 && options.arrivals.rate().is_some(),
            "--events with --rate and --warmup: the requests of the warm-up would be counted too; leave out --warmup"
                .to_owned(),
        ),
        (
            options.direct && (!block.is_power_of_two() || block < 512),
            format!("--direct with --block {block}: direct I/O needs a power of two of at least 512 bytes"),
        ),
        (
            options.verify && !(block as usize).is_multiple_of(SECTOR),
            format!("--verify with --block {block}: verified blocks must be multiples of {SECTOR} bytes"),
        ),
        (
            options.verify && io_mode == IoMode::Null,
            "--verify with --io-mode null: nothing is written, so nothing can be verified".to_owned(),
        ),
        (
            io_mode == IoMode::Mmap && (options.direct || options.dsync),
            "--io-mode mmap with --direct or --dsync: mapped memory is the page cache itself, and only msync makes it \
             durable"
                .to_owned(),
        ),
        (
            options.merged > 1 && !mode.is_sequential(),
            format!("--merged with --test {}: only sequential requests are merged", mode.name()),
        ),
    ];
    cases.into_iter().find_map(|(wrong, why)| wrong.then_some(why))
}

/// The results as a table for a terminal: one line each for reads, writes and syncs.
pub fn listing(probe: &Probe, options: &TestOptions) -> String {
    let mut text = format!(
        "{}: {} files of {} MiB, requests of {} bytes, {} threads, {}, {:.1} s\n\n",
        options.mode.in_words(),
        options.files,
        options.size as f64 / f64::from(options.files.max(1)) / MIB,
        options.request(),
        options.threads,
        way(probe, options),
        probe.seconds,
    );
    let _ = writeln!(
        text,
        "{:8}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}",
        "", "per second", "MiB/s", "min ms", "mean ms", "p95 ms", "max ms"
    );
    for (name, kind, bytes) in [
        ("reads", OpKind::Read, options.request()),
        ("writes", OpKind::Write, options.request()),
        ("syncs", OpKind::Sync, 0),
    ] {
        let count = probe.operations.get(&kind).copied().unwrap_or(0);
        let _ =
            writeln!(text, "{name:8}{}", cells(probe, kind, count, bytes).map(|cell| format!("{cell:>12}")).concat());
    }
    if let (Some(syncs), Some(ms)) = (probe.found.get("closing_syncs"), probe.found.get("closing_sync_ms")) {
        let _ = writeln!(text, "\n{syncs} syncs after the window, not counted in these rates: mean {ms:.3} ms");
    }
    if probe.counts.dropped > 0 {
        let (dropped, offered) = (probe.counts.dropped, probe.counts.offered);
        let _ = writeln!(text, "\n{dropped} of {offered} operations could not be started in time");
    }
    if let Some(error) = &probe.error {
        let _ = writeln!(text, "\nthe measurement did not complete: {error}");
    }
    text
}

/// In which way operations were done; the storage or the kernel may refuse the one that was asked for.
fn way(probe: &Probe, options: &TestOptions) -> String {
    let (asked, used) = (options.engine().name(), probe.word("engine"));
    match used.is_empty() || used == asked {
        true => options.io_mode.name().to_owned(),
        false => format!("{used} instead of {asked}, which is not possible here"),
    }
}

/// Rates and latencies of one kind, from when an operation was due if a rate was set; a dash where there was no sample.
fn cells(probe: &Probe, kind: OpKind, count: u64, bytes: u64) -> [String; 6] {
    let number = |value: Option<f64>, digits: usize| value.map_or("-".to_owned(), |value| format!("{value:.digits$}"));
    let rate = Some(count as f64 / probe.seconds).filter(|rate| rate.is_finite());
    let volume = rate.filter(|_| bytes > 0).map(|rate| rate * bytes as f64 / MIB);
    let latency = probe.response_us.get(&kind).or_else(|| probe.latency_us.get(&kind)).copied().unwrap_or_default();
    let ms = |value: Option<f64>| number(value.map(|us| us / 1e3), 3);
    let LatencyUs { min, mean, p95, max, .. } = latency;
    [number(rate, 2), number(volume, 2), ms(min), ms(mean), ms(p95), ms(max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(change: impl Fn(&mut TestOptions)) -> String {
        let mut options = TestOptions::new(TestMode::RandomMixed);
        change(&mut options);
        step(&options).unwrap_err().to_string()
    }

    #[test]
    fn defaults_are_those_of_sysbench() {
        let step = step(&TestOptions::new(TestMode::RandomMixed)).unwrap();
        assert_eq!((step.probe, step.id.as_str()), (0, "test.rndrw"));
        assert_eq!((step.job.layout.files, step.job.layout.bytes_per_file), (128, 16 << 20));
        let syncs = Syncs { every: 100, mode: SyncMode::Fsync, all_files: true, at_end: true };
        let (block, places, durable) = (16384, Places::Anywhere, Durable::No);
        assert_eq!(step.job.access, Access::Random { block, places, mix: Mix::Ratio(1.5), syncs, durable });
        assert_eq!(step.job.limit, Limit::Time(10_000_000_000));
    }

    #[test]
    fn every_mode_and_way_makes_a_job_with_room() {
        for mode in TestMode::ALL {
            for io_mode in IoMode::ALL {
                let step = step(&TestOptions { io_mode, ..TestOptions::new(mode) }).unwrap();
                run::check(&step.job).unwrap();
                assert_eq!((TestMode::parse(mode.name()), IoMode::parse(io_mode.name())), (Some(mode), Some(io_mode)));
            }
        }
    }

    #[test]
    fn reads_are_never_followed_by_syncs() {
        for mode in [TestMode::RandomRead, TestMode::SequentialRead] {
            assert_eq!(TestOptions { fsync_all: true, ..TestOptions::new(mode) }.syncs(), Syncs::NEVER);
        }
        let each = TestOptions { fsync_all: true, ..TestOptions::new(TestMode::RandomWrite) }.syncs();
        assert_eq!((each.every, each.all_files, each.at_end), (1, false, false));
    }

    #[test]
    fn a_size_that_does_not_fit_names_the_nearest_that_does() {
        let nearest = |size, files| {
            refusal(|options| (options.size, options.files) = (size, files)).rsplit(' ').next().map(str::to_owned)
        };
        assert_eq!(nearest(100_000, 2).as_deref(), Some("98304"));
        assert_eq!(nearest(120_000, 2).as_deref(), Some("131072"));
        assert_eq!(nearest(0, 3).as_deref(), Some("49152"));
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_the_name_of_its_option() {
        type Change = fn(&mut TestOptions);
        let cases: [(&str, Change); 13] = [
            ("--threads 0", |o| o.threads = 0),
            ("--files 0", |o| o.files = 0),
            ("--block 0", |o| o.block = 0),
            ("--depth 0", |o| o.depth = 0),
            ("--rw-ratio 0", |o| o.rw_ratio = 0.0),
            ("--rw-ratio NaN", |o| o.rw_ratio = f64::NAN),
            ("--rate inf", |o| o.arrivals = Arrivals::Poisson { rate: f64::INFINITY }),
            ("--time 0", |o| o.time_ns = 0),
            ("--direct with --block 256", |o| (o.direct, o.block) = (true, 256)),
            ("--verify with --block 256", |o| (o.verify, o.block) = (true, 256)),
            ("--io-mode mmap with --direct", |o| (o.io_mode, o.direct) = (IoMode::Mmap, true)),
            ("--merged with --test rndrw", |o| o.merged = 2),
            ("--events with --rate", |o| {
                (o.events, o.warmup_ns, o.arrivals) = (Some(9), 1, Arrivals::Poisson { rate: 1.0 });
            }),
        ];
        for (expected, change) in cases {
            let message = refusal(change);
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn the_listing_has_rates_volumes_and_latencies_by_kind() {
        let mut probe = Probe { seconds: 2.0, ..Probe::default() };
        probe.operations = [(OpKind::Read, 6400), (OpKind::Sync, 3)].into();
        let latency = LatencyUs {
            count: 6400,
            min: Some(10.0),
            mean: Some(50.0),
            p95: Some(90.0),
            max: Some(1500.0),
            ..LatencyUs::default()
        };
        probe.latency_us = [(OpKind::Read, latency)].into();
        let text = listing(&probe, &TestOptions::new(TestMode::RandomMixed));
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines: Vec<Vec<String>> = text.lines().map(words).collect();
        assert!(text.starts_with("random read and write: 128 files of 16 MiB, requests of 16384 bytes"), "{text}");
        assert_eq!(lines[3], ["reads", "3200.00", "50.00", "0.010", "0.050", "0.090", "1.500"]);
        assert_eq!(lines[4], ["writes", "0.00", "0.00", "-", "-", "-", "-"]);
        assert_eq!(lines[5], ["syncs", "1.50", "-", "-", "-", "-", "-"]);
    }

    #[test]
    fn the_listing_counts_from_when_operations_were_due_and_names_what_was_not_done_as_asked() {
        let mean = |us| LatencyUs { mean: Some(us), ..LatencyUs::default() };
        let mut probe = Probe { seconds: 1.0, ..Probe::default() };
        probe.operations = [(OpKind::Read, 90)].into();
        probe.latency_us = [(OpKind::Read, mean(50.0))].into();
        probe.response_us = [(OpKind::Read, mean(7000.0))].into();
        (probe.counts.offered, probe.counts.dropped) = (100, 10);
        probe.params = [("engine".to_owned(), "threads".into())].into();
        let options = TestOptions { io_mode: IoMode::Async, ..TestOptions::new(TestMode::RandomRead) };
        let text = listing(&probe, &options);
        let reads = text.lines().find(|line| line.starts_with("reads")).unwrap();
        assert!(reads.contains("7.000") && !reads.contains("0.050"), "{text}");
        assert!(text.contains("10 of 100 operations could not be started in time"), "{text}");
        assert!(text.contains("threads instead of io_uring"), "{text}");
    }
}
