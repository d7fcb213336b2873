//! What counts as an operation of a probe that does several kinds of them.

use hdrhistogram::Histogram;
use plimsoll_load::tally::Tally;
use plimsoll_model::OpKind;
use plimsoll_stats::latency::new_histogram;
use plimsoll_storage::job::{Access, Doublewrite};
use plimsoll_storage::measure::WRITTEN_BYTES;
use plimsoll_storage::op::PAGE;

/// Which operations [`plimsoll_model::io::Probe::iops`] counts, and whose latency its series shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    Kinds(&'static [OpKind]),
    /// Pages written in place; each is written this many times.
    Pages {
        copies: u64,
    },
}

impl Counting {
    pub fn of(access: &Access) -> Counting {
        match access {
            Access::Commits(_) => Counting::Kinds(&[OpKind::Commit]),
            Access::Extension { .. } => Counting::Kinds(&[OpKind::Extend]),
            Access::Metadata { .. } => {
                Counting::Kinds(&[OpKind::Create, OpKind::Rename, OpKind::Truncate, OpKind::Unlink, OpKind::Extend])
            }
            Access::FlushBatch { doublewrite: Doublewrite::On | Doublewrite::Synced, .. } => {
                Counting::Pages { copies: 2 }
            }
            Access::FlushBatch { .. } => Counting::Pages { copies: 1 },
            Access::Random { .. } | Access::Sequential { .. } | Access::Streams { .. } | Access::InPlace { .. } => {
                Counting::Kinds(&[OpKind::Read, OpKind::Write])
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

    /// The latencies of the operations that count.
    pub fn latency(self, tally: &Tally) -> Histogram<u64> {
        let kinds = match self {
            Counting::Kinds(kinds) => kinds,
            Counting::Pages { .. } => &[OpKind::Write],
        };
        let mut all = new_histogram();
        for values in histograms(kinds, tally) {
            // All latency histograms have the same bounds, so nothing can be out of range.
            let _ = all.add(values);
        }
        all
    }
}

fn histograms<'a>(kinds: &'a [OpKind], tally: &'a Tally) -> impl Iterator<Item = &'a Histogram<u64>> {
    kinds.iter().filter_map(|kind| tally.transactions.get(*kind as usize)).map(|kind| &kind.service)
}
