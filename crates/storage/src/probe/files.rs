//! Probe 9, files and allocation: whether direct writes to one file wait for each other, by the lock of its inode. What
//! holds for blocks that were written before does not for holes (Linux, `fs/ext4/file.c`: only overwrites share the
//! lock). Decides between one large tablespace, a file per table, and partitions.

use crate::job::{Access, Engine, Places, Syncs};
use crate::layout::{Allocation, Layout};
use crate::probe::{Extent, Step};
use plimsoll_load::window::Limit;
use serde_json::json;

/// Threads and files; in the order of files, so that each set is laid out once.
const QUICK: &[(u32, u32)] = &[(4, 1), (4, 8)];
const FULL: &[(u32, u32)] = &[(1, 1), (4, 1), (16, 1), (64, 1), (4, 2), (4, 8), (16, 8), (64, 8), (64, 128)];
/// The less usual states only where the two verdicts come from: one writer or many, one file or several.
const THINNED: &[(u32, u32)] = &[(1, 1), (4, 1), (64, 1), (4, 8), (64, 8)];

pub fn steps(extent: &Extent) -> Vec<Step> {
    let matrix: &[(Allocation, &[(u32, u32)])] = match extent.full {
        true => &[
            (Allocation::Overwrite, FULL),
            (Allocation::Hole, FULL),
            (Allocation::Unwritten, THINNED),
            (Allocation::Extend, THINNED),
        ],
        false => &[(Allocation::Overwrite, QUICK), (Allocation::Hole, QUICK)],
    };
    let each = |(allocation, shapes): &(Allocation, &'static [(u32, u32)])| {
        let allocation = *allocation;
        shapes.iter().map(move |(threads, files)| step(extent, allocation, *threads, *files))
    };
    matrix.iter().flat_map(each).collect()
}

fn step(extent: &Extent, allocation: Allocation, threads: u32, files: u32) -> Step {
    let (layout, places) = set(extent, allocation, files);
    let params = [
        ("threads", json!(threads)),
        ("files", json!(files)),
        ("allocation", json!(allocation.name())),
        ("set_bytes", json!(bytes(extent))),
    ];
    let access = Access::page_writes(places, Syncs::NEVER);
    let mut job = extent.job(layout, access, Engine::Threads { workers: threads });
    // A hole is one only once: half a window, and no warm-up, so that few devices get through the set.
    job.limit = Limit::Time(extent.window_ns / 2);
    job.warmup_ns = 0;
    Step::new(9, &format!("{}.{threads}x{files}", allocation.name()), "files and allocation", params, job)
}

/// Bytes of each set: what is written here is bounded by it, however fast the device is.
fn bytes(extent: &Extent) -> u64 {
    if extent.full { extent.data_bytes / 4 } else { extent.data_bytes / 2 }
}

/// The files, and where in them writes go. All sets have one name, so that they replace each other.
fn set(extent: &Extent, allocation: Allocation, files: u32) -> (Layout, Places) {
    let bytes = bytes(extent);
    let set = Layout { allocation, fresh: allocation != Allocation::Overwrite, ..Layout::of("files", files, bytes) };
    match allocation {
        Allocation::Overwrite if files == 1 => (extent.pages(), Places::First(bytes)),
        Allocation::Overwrite => (set, Places::Anywhere),
        Allocation::Hole | Allocation::Unwritten => (set, Places::EachOnce),
        Allocation::Extend => (set, Places::InTurn),
    }
}
