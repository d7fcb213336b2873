//! Restoring a dataset before a trial: by reflinks on an XFS lane and by copying beside it, over the size of the data, next
//! to the server's own start on what was restored.

use super::{BenchExtent, BenchRow, BenchTarget, PeerComparison, in_turn};
use crate::arena::Arena;
use crate::child::Interrupted;
use anyhow::Context;
use plimsoll_data::DataError;
use plimsoll_data::starting_data::{self, TrialDirectories};
use plimsoll_host::{Home, facts};
use plimsoll_lanes::spec::Spec;
use plimsoll_lanes::{Lane, Lanes};
use plimsoll_plan::lab::{Layout, Method, file};
use plimsoll_server::snapshot::store::Stored;
use plimsoll_server::{Opening, TrialDirectory, baseline};
use plimsoll_watch::{Event, Watcher};
use std::time::{Duration, Instant};

/// Rows of the one table, and the size that they come to with their indexes.
const SIZES: [(u64, &str); 2] = [(1_100_000, "256M"), (4_400_000, "1G")];
/// Room for both datasets and a copy of the larger one, and for the redo logs of 1 GiB of the server that works.
const LANE_BYTES: u64 = 12 << 30;
const LANE: &str = "xfs";
const MOST_ROUNDS: u32 = 5;
const STOPS_WITHIN: Duration = Duration::from_secs(120);
/// Of 1 GB by reflinks, seconds.
const REFLINK: BenchTarget = BenchTarget::AtMost(2.0);

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let home = arena.home()?;
    let (lanes, spec) = (Lanes::of(home.path()), Spec::parse(LANE)?);
    let lane = lanes.up(&spec, Some(LANE_BYTES), false, &mut |_| true).context("building the lane")?.lane;
    let compared = compare_on(arena, &home, &lane, extent);
    let down = lanes.down(&spec).context("taking the lane down");
    let compared = compared?;
    down?;
    Ok(compared)
}

/// A guess, most of it for loading.
pub fn expected_seconds(pairs: u32) -> u64 {
    240 + u64::from(pairs.min(MOST_ROUNDS)) * 60
}

fn compare_on(arena: &Arena, home: &Home, lane: &Lane, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let title = format!("restoring data of {} on an XFS lane", arena.label());
    let place = home.below(&lane.directory)?;
    let directories = TrialDirectories {
        data: TrialDirectory::take(&place, "bench-restore", "plimsoll-bench")?,
        apart: Vec::new(),
        lane: Some(lane.clone()),
        lane_is_ours: true,
    };
    let (mut rows, mut findings) = (Vec::new(), Vec::new());
    for (table_size, size) in SIZES {
        let data = Data { arena, directories: &directories, stored: obtain(arena, home, &directories, table_size)? };
        let rounds = extent.pairs.min(MOST_ROUNDS) as usize;
        let [reflinks, copies] = in_turn(
            &format!("{title}: {size}"),
            rounds,
            [("reflink", &|| data.round(Method::Reflink)), ("copy", &|| data.round(Method::Copy))],
            |round: &Round| format!("{:.2} s, then a start of {:.2} s", round.restore, round.start),
        )?;
        let row = |what: &str, all: &[Round], of: fn(&Round) -> f64| {
            BenchRow::new(format!("{size}: {what}: s"), 2, all.iter().map(of))
        };
        let by_reflink = row("restored by reflink", &reflinks, |round| round.restore).with_target(REFLINK);
        findings.push(by_reflink.finding("restore-reflink", arena));
        rows.extend([
            by_reflink,
            row("restored by copy", &copies, |round| round.restore),
            row("server's start after a reflink", &reflinks, |round| round.start),
            row("server's start after a copy", &copies, |round| round.start),
        ]);
    }
    directories.data.remove()?;
    let notes = vec!["sizes are those of the tables; the server makes its redo log of 1 GiB when it starts".to_owned()];
    Ok(PeerComparison { title, rows, findings, notes, ..PeerComparison::default() })
}

/// Seconds.
struct Round {
    restore: f64,
    start: f64,
}

struct Data<'a> {
    arena: &'a Arena<'a>,
    directories: &'a TrialDirectories,
    stored: Stored,
}

impl Data<'_> {
    fn round(&self, method: Method) -> anyhow::Result<Round> {
        self.arena.go_on()?;
        let (layout, mut watcher) = (Layout::default(), Quiet(self.arena));
        let restored = starting_data::restore(self.directories, &self.stored, &layout, Some(method), &mut watcher);
        let restored = restored.map_err(told)?;
        let settings = baseline(self.arena.build(), facts::memory_bytes());
        let begun = Instant::now();
        let server = self.directories.data.open(self.arena.build(), &settings, Opening::new("plimsoll-bench"))?;
        let start = begun.elapsed().as_secs_f64();
        server.stop(STOPS_WITHIN)?;
        Ok(Round { restore: restored.seconds, start })
    }
}

fn obtain(arena: &Arena, home: &Home, directories: &TrialDirectories, table_size: u64) -> anyhow::Result<Stored> {
    eprintln!("building a dataset of {table_size} rows");
    let plan =
        format!("name = \"restore\"\n[workload]\nkind = \"oltp_read_write\"\ntables = 1\ntable_size = {table_size}\n");
    let mut plan =
        file::read("restore", &plan, file::PlanChoices::of_seed(1), &|path| Err(format!("there is no {path}")))?;
    let variant = plan.variants.remove(0);
    starting_data::obtain(home, directories, arena.build(), &variant, &mut Quiet(arena)).map_err(told)
}

fn told(error: DataError) -> anyhow::Error {
    match error {
        DataError::Interrupted => Interrupted.into(),
        other => other.into(),
    }
}

/// Tells nobody, and stops when the whole bench is to.
struct Quiet<'a>(&'a Arena<'a>);

impl Watcher for Quiet<'_> {
    fn tell(&mut self, _: Event<'_>) {}

    fn interrupted(&self) -> bool {
        self.0.go_on().is_err()
    }
}
