//! `fileio`: reads and writes files of the current directory, with the engines of the storage evaluation.

mod files;

use super::{Begun, Headline};
use crate::general::General;
use crate::halt::Halt;
use crate::options::{OptionKind, OptionSet, OptionSpec, listed, option};
use crate::request::TestRequest;
use crate::totals::RunTotals;
use files::TestFiles;
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::window::{Limit, SECOND_NS};
use plimsoll_model::OpKind;
use plimsoll_storage::job::{Access, JobEngine, Mix, Places, Syncs};
use plimsoll_storage::layout::{Allocation, Content, FileLayout, Open};
use plimsoll_storage::op::{Durable, SyncMode};
use plimsoll_storage::probe::test::{IoMode, TestMode};
use plimsoll_storage::run::{self, JobRun};
use plimsoll_storage::{Job, StorageError};
use std::sync::Arc;

pub static OPTIONS: [OptionSpec; 13] = [
    option("file-num", OptionKind::Int, Some("128"), "files"),
    option("file-block-size", OptionKind::Int, Some("16384"), "bytes of a read or write"),
    option("file-total-size", OptionKind::Size, Some("2G"), "bytes of all files together"),
    option("file-test-mode", OptionKind::Text, None, "what is done {seqwr, seqrewr, seqrd, rndrd, rndwr, rndrw}"),
    option("file-io-mode", OptionKind::Text, Some("sync"), "how it is done {sync,async,mmap}; async is io_uring"),
    option("file-async-backlog", OptionKind::Int, Some("128"), "operations under way in each thread, async only"),
    option("file-extra-flags", OptionKind::List, Some(""), "how files are opened besides {sync,dsync,direct}"),
    option("file-fsync-freq", OptionKind::Int, Some("100"), "requests after which all files are synced, 0 for never"),
    option("file-fsync-all", OptionKind::Bool, Some("off"), "sync after each write"),
    option("file-fsync-end", OptionKind::Bool, Some("on"), "sync at the end"),
    option("file-fsync-mode", OptionKind::Text, Some("fsync"), "the call that syncs {fsync, fdatasync}"),
    option("file-merged-requests", OptionKind::Int, Some("0"), "sequential requests that become one, 0 for none"),
    option("file-rw-ratio", OptionKind::Double, Some("1.5"), "reads per write of rndrw"),
];

const MIB: f64 = (1 << 20) as f64;

/// Creates the files, or makes those larger that are too small.
///
/// # Errors
/// Why one cannot be written.
pub fn prepare(options: &OptionSet) -> Result<(), Halt> {
    TestFiles::read(options)?.prepare()
}

/// Removes the files.
///
/// # Errors
/// Why one cannot be removed.
pub fn cleanup(options: &OptionSet) -> Result<(), Halt> {
    TestFiles::read(options)?.remove()
}

/// What is read and written, and how.
struct FileTest {
    files: TestFiles,
    mode: TestMode,
    io_mode: IoMode,
    depth: u32,
    block: u64,
    merged: u64,
    ratio: f64,
    syncs: Syncs,
}

impl FileTest {
    fn read(options: &OptionSet) -> Result<FileTest, Halt> {
        let fatal = |text: String| Halt::Fatal(text);
        let files = TestFiles::read(options)?;
        let not_negative = |name: &str| match options.number(name) {
            number if number < 0.0 => Err(fatal(format!("Invalid value for {}: {number}.", name.replace('_', "-")))),
            number => Ok(number as u64),
        };
        let mode = match options.text("file_test_mode") {
            "" => {
                let text =
                    format!("Missing required argument: --file-test-mode\n\nfileio options:\n{}", listed(&OPTIONS));
                return Err(fatal(text));
            }
            name => TestMode::parse(name).ok_or_else(|| fatal(format!("Invalid IO operations mode: {name}.")))?,
        };
        let io_mode = options.text("file_io_mode");
        let io_mode = IoMode::parse(io_mode).filter(|mode| *mode != IoMode::Null);
        let io_mode = io_mode.ok_or_else(|| fatal(format!("unknown I/O mode: {}", options.text("file_io_mode"))))?;
        let depth = options.number("file_async_backlog");
        if io_mode == IoMode::Async && depth < 1.0 {
            return Err(fatal(format!("Invalid value of file-async-backlog: {depth}")));
        }
        let block = options.number("file_block_size");
        if !(1.0..=f64::from(i32::MAX)).contains(&block) {
            return Err(fatal(format!("Invalid value for file-block-size: {block}.")));
        }
        let ratio = options.number("file_rw_ratio");
        if ratio < 0.0 {
            return Err(fatal(format!("Invalid value for --file-rw-ratio: {ratio:.6}.")));
        }
        let fsync = match options.text("file_fsync_mode") {
            "fsync" => SyncMode::Fsync,
            "fdatasync" => SyncMode::Fdatasync,
            other => return Err(fatal(format!("Invalid fsync mode: {other}."))),
        };
        let every = not_negative("file_fsync_freq")?;
        let syncs = match (mode.mix(ratio), options.is_on("file_fsync_all")) {
            (_, true) => Syncs { every: 1, mode: fsync, all_files: false, at_end: false },
            (_, false) => Syncs { every, mode: fsync, all_files: true, at_end: options.is_on("file_fsync_end") },
        };
        let merged = not_negative("file_merged_requests")?;
        Ok(FileTest { files, mode, io_mode, depth: depth as u32, block: block as u64, merged, ratio, syncs })
    }

    /// Bytes of one request.
    fn request(&self) -> u64 {
        if self.mode.is_sequential() { self.block * self.merged.max(1) } else { self.block }
    }

    /// The length with which the test creates its files; `None` if it takes those that are there.
    fn new_length(&self) -> Option<u64> {
        let is_mapped = self.io_mode == IoMode::Mmap;
        // What is mapped needs its length from the first.
        (self.mode == TestMode::SequentialWrite).then(|| if is_mapped { self.files.each() } else { 0 })
    }

    fn job(&self, general: &General) -> Job {
        let (mix, durable) = (self.mode.mix(self.ratio), Durable::No);
        let syncs = if mix == Mix::Reads { Syncs::NEVER } else { self.syncs };
        let block = u32::try_from(self.request()).unwrap_or(u32::MAX);
        let workers = general.threads as u32;
        Job {
            layout: FileLayout {
                name: files::NAME.to_owned(),
                files: self.files.count,
                bytes_per_file: self.files.each(),
                allocation: Allocation::Overwrite,
                content: Content::Random,
                fresh: false,
            },
            open: Open { direct: self.files.flags.direct, dsync: self.files.flags.dsync },
            access: match self.mode.is_sequential() {
                true => Access::Sequential { block, mix, syncs, durable },
                false => Access::Random { block, places: Places::Anywhere, mix, syncs, durable },
            },
            engine: match self.io_mode {
                IoMode::Async => JobEngine::Uring { loops: workers, depth: self.depth },
                IoMode::Mmap => JobEngine::Mmap { workers },
                IoMode::Sync | IoMode::Null => JobEngine::Threads { workers },
            },
            arrivals: match general.rate {
                0 => Arrivals::Closed,
                rate => Arrivals::Poisson { rate: rate as f64 },
            },
            limit: match (general.events, general.time) {
                (0, 0) => Limit::Events(u64::MAX),
                (0, seconds) => Limit::Time(seconds * SECOND_NS),
                (events, _) => Limit::Events(events),
            },
            warmup_ns: general.warmup * SECOND_NS,
            verify: false,
        }
    }

    /// What is told before the threads begin.
    fn preamble(&self, general: &General) -> String {
        let mut lines = vec![
            format!("Extra file open flags: {}", self.files.flags.text()),
            format!("{} files, {}B each", self.files.count, size(self.files.each())),
            format!("{}B total file size", size(self.files.total)),
            format!("Block size {}B", size(self.block)),
        ];
        if self.merged > 0 {
            lines.push(format!("Merging requests up to {}B for sequential IO.", size(self.block * self.merged)));
        }
        if !self.mode.is_sequential() {
            lines.push(format!("Number of IO requests: {}", general.events));
            lines.push(format!("Read/Write ratio for combined random IO test: {:.2}", self.ratio));
        }
        match (self.syncs.all_files, self.syncs.every) {
            (false, _) => lines.push("Calling fsync() after each write operation.".to_owned()),
            (true, 0) => {}
            (true, every) => {
                lines.push(format!("Periodic FSYNC enabled, calling fsync() each {every} requests."));
            }
        }
        if self.syncs.at_end {
            lines.push("Calling fsync() at the end of test, Enabled.".to_owned());
        }
        lines.push(match self.io_mode {
            IoMode::Async => "Using asynchronous I/O mode".to_owned(),
            IoMode::Mmap => "Using fast mmaped I/O mode".to_owned(),
            IoMode::Sync | IoMode::Null => "Using synchronous I/O mode".to_owned(),
        });
        let doing = match self.mode {
            TestMode::SequentialWrite => "sequential write (creation)",
            TestMode::SequentialRewrite => "sequential rewrite",
            TestMode::SequentialRead => "sequential read",
            TestMode::RandomRead => "random read",
            TestMode::RandomWrite => "random write",
            TestMode::RandomMixed => "random r/w",
        };
        lines.push(format!("Doing {doing} test"));
        lines.join("\n") + "\n"
    }
}

pub fn begin(request: &TestRequest, options: &OptionSet) -> Result<Begun, Halt> {
    if request.general.validates {
        let instead = "plimsoll io --verify checks everything that it has written";
        return Err(Halt::Fatal(format!("--validate is not supported by the fileio test; {instead}")));
    }
    let test = FileTest::read(options)?;
    let job = test.job(&request.general);
    run::check(&job).map_err(fatal)?;
    let preamble = test.preamble(&request.general);
    let (bytes, percentile) = (test.request(), request.general.percentile);
    let headline = Headline {
        interval: Some(Box::new(move |totals| interval(totals, bytes, percentile))),
        report: Box::new(move |totals| report(totals, bytes)),
        leaves_out_the_end: true,
    };
    let seed = request.general.seed;
    let source = move || {
        let files = Arc::new(test.files.open(&job.layout, test.new_length())?);
        JobRun::begin(&job, files, seed).map_err(fatal)
    };
    Ok(Begun::of(preamble, headline, source))
}

fn fatal(error: StorageError) -> Halt {
    Halt::Fatal(error.to_string())
}

/// Five digits at most, with the unit in front of the `B`.
fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut units = ["", "Ki", "Mi", "Gi", "Ti"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    for next in units {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    let whole_digits = (value.max(1.0).log10().floor() as usize) + 1;
    let text = format!("{value:.0$}", 5usize.saturating_sub(whole_digits));
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}

/// So much of one kind of operation per second.
fn rate(totals: &RunTotals, kind: OpKind) -> f64 {
    totals.rate(totals.kinds.get(kind as usize).copied().unwrap_or_default())
}

fn interval(totals: &RunTotals, bytes: u64, percentile: u64) -> String {
    let mib = |kind| rate(totals, kind) * bytes as f64 / MIB;
    let latency = if percentile > 0 { totals.latency.percentile(percentile) } else { 0.0 };
    format!(
        "reads: {:4.2} MiB/s writes: {:4.2} MiB/s fsyncs: {:4.2}/s latency (ms,{percentile}%): {latency:4.3}",
        mib(OpKind::Read),
        mib(OpKind::Write),
        rate(totals, OpKind::Sync)
    )
}

fn report(totals: &RunTotals, bytes: u64) -> String {
    let mib = |kind| rate(totals, kind) * bytes as f64 / MIB;
    format!(
        "\nFile operations:\n    reads/s:                      {:4.2}\n    writes/s:                     {:4.2}\n    \
         fsyncs/s:                     {:4.2}\n\nThroughput:\n    read, MiB/s:                  {:4.2}\n    \
         written, MiB/s:               {:4.2}\n",
        rate(totals, OpKind::Read),
        rate(totals, OpKind::Write),
        rate(totals, OpKind::Sync),
        mib(OpKind::Read),
        mib(OpKind::Write)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_five_digits_at_most() {
        // As sysbench printed them.
        let cases = [
            (50, "50"),
            (50 << 10, "50Ki"),
            (3 << 19, "1.5Mi"),
            (5 << 29, "2.5Gi"),
            (750_000, "732.42Ki"),
            (1_500_000, "1.4305Mi"),
        ];
        for (bytes, text) in cases {
            assert_eq!(size(bytes), text);
        }
    }
}
