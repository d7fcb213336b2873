//! Probe 9, files and allocation: whether direct writes to one file wait for each other, because of its inode lock.
//! What is true of blocks that were written before is not true of holes (Linux, `fs/ext4/file.c`: only overwrites share
//! the lock). This decides between one large tablespace, a file per table, and partitions.

use crate::job::{Access, JobEngine, Places, Syncs};
use crate::layout::{Allocation, FileLayout};
use crate::probe::{ADVISING_NS, Extent, ProbeStep};
use plimsoll_load::window::Limit;

/// Threads and files; in the order of files, so that each set is laid out once.
const QUICK: &[(u32, u32)] = &[(4, 1), (4, 8)];
const FULL: &[(u32, u32)] = &[(1, 1), (4, 1), (16, 1), (64, 1), (4, 2), (4, 8), (16, 8), (64, 8), (64, 128)];
/// The less usual states are measured only for the two verdicts: one writer or many, one file or several.
const THINNED: &[(u32, u32)] = &[(1, 1), (4, 1), (64, 1), (4, 8), (64, 8)];

pub fn steps(extent: &Extent) -> Vec<ProbeStep> {
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

fn step(extent: &Extent, allocation: Allocation, threads: u32, files: u32) -> ProbeStep {
    let (layout, places) = set(extent, allocation, files);
    let params = [
        ("threads", threads.into()),
        ("files", files.into()),
        ("allocation", allocation.name().into()),
        ("set_bytes", bytes(extent).into()),
    ];
    let access = Access::page_writes(places, Syncs::NEVER);
    let mut job = extent.job(layout, access, JobEngine::Threads { workers: threads });
    // A hole can be filled only once: so half a window, unless advice rests on a whole one, and no warm-up, which few
    // devices are fast enough to use up.
    let advises = extent.window_ns >= ADVISING_NS;
    job.limit = Limit::Time(if advises { extent.window_ns } else { extent.window_ns / 2 });
    job.warmup_ns = 0;
    ProbeStep::new(9, &format!("{}.{threads}x{files}", allocation.name()), "files and allocation", params, job)
}

/// Bytes of each set: no more is written, however fast the device is.
fn bytes(extent: &Extent) -> u64 {
    if extent.full { extent.data_bytes / 4 } else { extent.data_bytes / 2 }
}

/// The files, and where in them writes go. All sets have the same name, so that they replace each other.
fn set(extent: &Extent, allocation: Allocation, files: u32) -> (FileLayout, Places) {
    let bytes = bytes(extent);
    let set =
        FileLayout { allocation, fresh: allocation != Allocation::Overwrite, ..FileLayout::of("files", files, bytes) };
    match allocation {
        Allocation::Overwrite if files == 1 => (extent.pages(), Places::First(bytes)),
        Allocation::Overwrite => (set, Places::Anywhere),
        Allocation::Hole | Allocation::Unwritten => (set, Places::EachOnce),
        Allocation::Extend => (set, Places::InTurn),
    }
}
