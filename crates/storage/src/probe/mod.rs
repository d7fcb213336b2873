//! The probes: one file each, all of the same shape. A probe is a list of steps; the code that runs them knows none by
//! name.
//!
//! The top of each file says which mechanism of InnoDB the probe predicts.

pub mod alignment;
pub mod cache;
pub mod commit;
pub mod content;
pub mod cost;
pub mod extension;
pub mod files;
pub mod flush_batch;
pub mod honesty;
pub mod interference;
pub mod metadata;
pub mod page_read;
pub mod page_write;
pub mod primitives;
pub mod read_tail;
pub mod sequential;
pub mod steady;
pub mod test;

use crate::job::{Access, Job, JobEngine, Mix, Places, Syncs};
use crate::layout::{Allocation, Content, FileLayout, Open};
use crate::op::Durable;
use crate::op::PAGE;
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::window::{Limit, SECOND_NS};
use plimsoll_model::{NamedScalars, Scalar};

/// Longer than any measurement; a load beside one is stopped when the measurement is over.
const UNTIL_STOPPED_NS: u64 = 24 * 3600 * SECOND_NS;
/// How long a probe takes on which advice rests, if there is time: the sheet accepts no less.
pub(crate) const ADVISING_NS: u64 = 10 * SECOND_NS;

/// How much a suite may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// Bytes of the page files that most probes share.
    pub data_bytes: u64,
    /// The largest working set.
    pub most_bytes: u64,
    /// Nanoseconds that one measurement lasts.
    pub window_ns: u64,
    /// The same for measurements on which advice about settings rests.
    pub advising_ns: u64,
    /// A denser matrix: the full suite, not the quick one.
    pub full: bool,
    /// io_uring can be used; otherwise threads replace it.
    pub io_uring: bool,
    /// O_DIRECT can be used.
    pub direct: bool,
    /// Bytes of the blocks that MariaDB's log has past the page cache; `None` where it goes through it.
    pub log_block: Option<u32>,
    /// statx(2) offers untorn writes of 16 KiB.
    pub atomic: bool,
}

impl Extent {
    /// The page files that most probes share: one file, written in full, so that probes overwrite.
    pub fn pages(&self) -> FileLayout {
        FileLayout::of("pages", 1, self.data_bytes)
    }

    /// How a data file is opened: bypassing the page cache if the file system supports it.
    pub fn open(&self) -> Open {
        Open { direct: self.direct, ..Open::default() }
    }

    /// A depth: in one ring, or with as many threads if io_uring cannot be used.
    pub fn at_depth(&self, depth: u32) -> JobEngine {
        if self.io_uring { JobEngine::Uring { loops: 1, depth } } else { JobEngine::Threads { workers: depth } }
    }

    /// One operation after the other for a whole window, after a warm-up of an eighth of it.
    pub fn job(&self, layout: FileLayout, access: Access, engine: JobEngine) -> Job {
        Job {
            layout,
            open: self.open(),
            access,
            engine,
            arrivals: Arrivals::Closed,
            limit: Limit::Time(self.window_ns),
            warmup_ns: self.window_ns / 8,
            verify: false,
        }
    }
}

impl FileLayout {
    /// Files written in full with random bytes; `bytes` is the size of all files together, rounded down to whole pages.
    pub fn of(name: &str, files: u32, bytes: u64) -> FileLayout {
        let page = u64::from(PAGE);
        FileLayout {
            name: name.to_owned(),
            files,
            bytes_per_file: bytes / u64::from(files) / page * page,
            allocation: Allocation::Overwrite,
            content: Content::Random,
            fresh: false,
        }
    }
}

impl Access {
    /// Pages read at random offsets.
    pub fn page_reads(places: Places) -> Access {
        Access::Random { block: PAGE, places, mix: Mix::Reads, syncs: Syncs::NEVER, durable: Durable::No }
    }

    /// Pages written at random offsets.
    pub fn page_writes(places: Places, syncs: Syncs) -> Access {
        Access::Random { block: PAGE, places, mix: Mix::Writes, syncs, durable: Durable::No }
    }
}

/// One measurement of a probe.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeStep {
    /// The probe's number.
    pub probe: u8,
    /// `6.depth-16`; matches `[a-z0-9][a-z0-9./+-]*`.
    pub id: String,
    /// In words: `page read`.
    pub name: &'static str,
    /// The parameters that the sheet finds it by.
    pub params: NamedScalars,
    pub job: Job,
    /// A load that runs beside the measurement and is not measured: begins before, ends after.
    pub beside: Option<Job>,
    /// What is done first on the same files, once and unmeasured.
    pub before: Option<Job>,
}

impl ProbeStep {
    /// What is done first, what runs beside, what is measured.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.before.iter().chain(&self.beside).chain([&self.job])
    }

    /// A step with nothing before or beside it; its id is `<probe>.<slug>`, with hyphens for underscores.
    pub fn new<const N: usize>(
        probe: u8,
        slug: &str,
        name: &'static str,
        params: [(&str, Scalar); N],
        job: Job,
    ) -> ProbeStep {
        let params = params.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let id = format!("{probe}.{slug}").replace('_', "-");
        ProbeStep { probe, id, name, params, job, beside: None, before: None }
    }

    /// The same with something done first.
    pub fn after(self, first: Job) -> ProbeStep {
        ProbeStep { before: Some(first), ..self }
    }

    /// The same with a load beside it, which continues until the measurement is over.
    pub fn beside(self, load: Job) -> ProbeStep {
        ProbeStep { beside: Some(Job { limit: Limit::Time(UNTIL_STOPPED_NS), warmup_ns: 0, ..load }), ..self }
    }
}

/// A size as used in ids: `64m`, `1g`; whole units only, so that different sizes have different names.
pub fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")];
    let unit = UNITS.iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| bytes.to_string(), |(unit, name)| format!("{}{name}", bytes / unit))
}
