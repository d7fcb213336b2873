//! Reads and writes of pages at random places of one file, past the page cache: Plimsoll's engines against the tools that
//! people measure storage with. No server takes part.

mod fio;
mod null;
mod sysbench;

use super::{Comparison, Extent, Row};
use crate::args::Suite;
use crate::ground::Ground;
use crate::peers::{Access, Engine, FileLoad, Transfers};

const DEPTHS: [u32; 3] = [1, 16, 64];

/// One comparison of a storage suite.
pub struct Part {
    load: FileLoad,
    compare: fn(&Ground, FileLoad, &Extent) -> anyhow::Result<Comparison>,
}

impl Part {
    pub fn run(&self, ground: &Ground, extent: &Extent) -> anyhow::Result<Comparison> {
        (self.compare)(ground, self.load, extent)
    }
}

/// What a suite consists of; nothing if it is of a server.
pub fn parts(suite: Suite, seconds: u32) -> Vec<Part> {
    let matrix = |engine: fn(u32) -> Engine, compare| -> Vec<Part> {
        let loads = |access| DEPTHS.map(|depth| FileLoad { access, engine: engine(depth), depth, seconds });
        [Access::Read, Access::Write].into_iter().flat_map(loads).map(|load| Part { load, compare }).collect()
    };
    match suite {
        Suite::IoFio => matrix(|depth| if depth == 1 { Engine::Threads } else { Engine::IoUring }, fio::compare),
        Suite::IoSysbench => matrix(|_| Engine::Threads, sysbench::compare),
        Suite::IoNull => {
            let load = FileLoad { access: Access::Read, engine: Engine::Null, depth: 1, seconds };
            vec![Part { load, compare: null::compare }]
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
) -> [Row; 2] {
    let row = |who: &str, all: &[Transfers]| Row::new(format!("{who}: {what}"), digits, all.iter().filter_map(value));
    [row("plimsoll", &sides[0]), row(peer, &sides[1])]
}

/// Ours over theirs, pair by pair. Three digits: the targets are near 1.
fn ratio(peer: &str, what: &str, rows: &[Row; 2]) -> Row {
    Row { digits: 3, ..Row::ratio(format!("{what}: plimsoll ÷ {peer}"), &rows[0], &rows[1]) }
}
