//! Reads and writes of pages at random places of one file, past the page cache: Plimsoll's engines against the tools that
//! people measure storage with. No server takes part.

mod fio;
mod null;
mod sysbench;

use super::{BenchExtent, BenchRow, PeerComparison};
use crate::args::BenchSuite;
use crate::ground::Ground;
use crate::peers::{AccessPattern, FileLoad, IoEngine, Transfers};

const DEPTHS: [u32; 3] = [1, 16, 64];

/// One comparison of a storage suite.
pub struct SuitePart {
    load: FileLoad,
    compare: fn(&Ground, FileLoad, &BenchExtent) -> anyhow::Result<PeerComparison>,
}

impl SuitePart {
    pub fn run(&self, ground: &Ground, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
        (self.compare)(ground, self.load, extent)
    }
}

/// What a suite consists of; nothing if it is of a server.
pub fn parts(suite: BenchSuite, seconds: u32) -> Vec<SuitePart> {
    let matrix = |engine: fn(u32) -> IoEngine, compare| -> Vec<SuitePart> {
        let loads = |access| DEPTHS.map(|depth| FileLoad { access, engine: engine(depth), depth, seconds });
        [AccessPattern::Read, AccessPattern::Write]
            .into_iter()
            .flat_map(loads)
            .map(|load| SuitePart { load, compare })
            .collect()
    };
    match suite {
        BenchSuite::IoFio => {
            matrix(|depth| if depth == 1 { IoEngine::Threads } else { IoEngine::IoUring }, fio::compare)
        }
        BenchSuite::IoSysbench => matrix(|_| IoEngine::Threads, sysbench::compare),
        BenchSuite::IoNull => {
            let load = FileLoad { access: AccessPattern::Read, engine: IoEngine::Null, depth: 1, seconds };
            vec![SuitePart { load, compare: null::compare }]
        }
        _ => Vec::new(),
    }
}

/// One quantity of two contestants, ours first, where they tell it.
fn both(
    peer: &str,
    what: &str,
    digits: usize,
    sides: &[Vec<Transfers>; 2],
    value: fn(&Transfers) -> Option<f64>,
) -> [BenchRow; 2] {
    let row =
        |who: &str, all: &[Transfers]| BenchRow::new(format!("{who}: {what}"), digits, all.iter().filter_map(value));
    [row("plimsoll", &sides[0]), row(peer, &sides[1])]
}

/// Ours over theirs, pair by pair. Three digits: the targets are near 1.
fn ratio(peer: &str, what: &str, rows: &[BenchRow; 2]) -> BenchRow {
    BenchRow { digits: 3, ..BenchRow::ratio(format!("{what}: plimsoll ÷ {peer}"), &rows[0], &rows[1]) }
}
