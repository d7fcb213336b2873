//! What counts as an operation of a probe, where several kinds of them go on.

use hdrhistogram::Histogram;
use plimsoll_load::tally::Tally;
use plimsoll_stats::latency::new_histogram;
use plimsoll_storage::job::{Access, Doublewrite};
use plimsoll_storage::measure::WRITTEN_BYTES;
use plimsoll_storage::op::Kind;
use plimsoll_storage::op::PAGE;

/// Which operations [`plimsoll_model::io::Probe::iops`] counts, and whose latency its series shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    Kinds(&'static [Kind]),
    /// Pages put in their places; each is written so many times.
    Pages {
        copies: u64,
    },
}

impl Counting {
    pub fn of(access: &Access) -> Counting {
        match access {
            Access::Commits(_) => Counting::Kinds(&[Kind::Commit]),
            Access::Extension { .. } => Counting::Kinds(&[Kind::Extend]),
            Access::Metadata { .. } => {
                Counting::Kinds(&[Kind::Create, Kind::Rename, Kind::Truncate, Kind::Unlink, Kind::Extend])
            }
            Access::FlushBatch { doublewrite: Doublewrite::On | Doublewrite::Synced, .. } => {
                Counting::Pages { copies: 2 }
            }
            Access::FlushBatch { .. } => Counting::Pages { copies: 1 },
            Access::Random { .. } | Access::Sequential { .. } | Access::Streams { .. } | Access::InPlace { .. } => {
                Counting::Kinds(&[Kind::Read, Kind::Write])
            }
        }
    }

    pub fn count(self, tally: &Tally) -> u64 {
        match self {
            Counting::Kinds(kinds) => histograms(kinds, tally).map(Histogram::len).sum(),
            Counting::Pages { copies } => {
                tally.counted.get(WRITTEN_BYTES).copied().unwrap_or(0) / u64::from(PAGE) / copies
            }
        }
    }

    /// The latencies of what is counted.
    pub fn latency(self, tally: &Tally) -> Histogram<u64> {
        let kinds = match self {
            Counting::Kinds(kinds) => kinds,
            Counting::Pages { .. } => &[Kind::Write],
        };
        let mut all = new_histogram();
        for values in histograms(kinds, tally) {
            // All latency histograms have the same bounds, so that none can be out of range.
            let _ = all.add(values);
        }
        all
    }
}

fn histograms<'a>(kinds: &'a [Kind], tally: &'a Tally) -> impl Iterator<Item = &'a Histogram<u64>> {
    kinds.iter().filter_map(|kind| tally.transactions.get(*kind as usize)).map(|kind| &kind.service)
}
