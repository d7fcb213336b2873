//! Probe 4, sync primitives: the ways to make one written block durable, for each state that a file's blocks can be in.
//! It shows which `innodb_flush_method`, `innodb_use_fdatasync` (MySQL) and `innodb_log_file_write_through` (MariaDB)
//! suit.

use crate::job::{Access, Job, JobEngine, Mix, Syncs};
use crate::layout::{Allocation, FileLayout, Open};
use crate::op::{Durable, SyncMode};
use crate::probe::{Extent, ProbeStep};
use plimsoll_load::window::{Limit, SECOND_NS};

/// A block of the file system, as a log rewrites it.
const BLOCK: u32 = 4096;
/// More than any device gets through in one window.
const BYTES: u64 = 256 << 20;
const ALLOCATIONS: [Allocation; 4] =
    [Allocation::Overwrite, Allocation::Extend, Allocation::Hole, Allocation::Unwritten];
const WRITE_ONLY: Syncs = Syncs::NEVER;

/// How a block becomes durable: by how the file was opened, by the write itself, or by a separate call.
struct Primitive {
    name: &'static str,
    open: Open,
    durable: Durable,
    syncs: Syncs,
}

pub fn steps(extent: &Extent) -> Vec<ProbeStep> {
    let primitives = primitives(extent);
    let each = |allocation: Allocation| primitives.iter().map(move |primitive| step(extent, primitive, allocation));
    ALLOCATIONS.into_iter().flat_map(each).collect()
}

fn primitives(extent: &Extent) -> Vec<Primitive> {
    let buffered = Open::default();
    let direct = Open { direct: true, ..buffered };
    let dsync = Open { dsync: true, ..buffered };
    let fsync = Syncs { mode: SyncMode::Fsync, ..Syncs::every(1) };
    let primitive = |name, open, durable, syncs| Primitive { name, open, durable, syncs };
    let mut all = vec![
        primitive("fdatasync", buffered, Durable::No, Syncs::every(1)),
        primitive("fsync", buffered, Durable::No, fsync),
        primitive("o_dsync", dsync, Durable::No, WRITE_ONLY),
        primitive("rwf_dsync", buffered, Durable::Dsync, WRITE_ONLY),
    ];
    if extent.direct {
        all.push(primitive("o_direct+fdatasync", direct, Durable::No, Syncs::every(1)));
    }
    if extent.io_uring {
        all.push(primitive("io_uring-linked", extent.open(), Durable::Linked, WRITE_ONLY));
    }
    all
}

fn step(extent: &Extent, primitive: &Primitive, allocation: Allocation) -> ProbeStep {
    let params = [("primitive", primitive.name.into()), ("allocation", allocation.name().into())];
    let Primitive { name, open, durable, syncs } = *primitive;
    let access = Access::Sequential { block: BLOCK, mix: Mix::Writes, syncs, durable };
    let engine = match durable {
        Durable::Linked => JobEngine::Uring { loops: 1, depth: 1 },
        _ => JobEngine::Threads { workers: 1 },
    };
    let job = Job {
        open,
        limit: Limit::Time(match allocation {
            Allocation::Overwrite => extent.window_ns,
            // Their files are used up.
            _ => extent.window_ns.min(SECOND_NS / 2),
        }),
        warmup_ns: 0,
        ..extent.job(layout(extent, allocation), access, engine)
    };
    let slug = format!("{}.{}", name.replace('_', "-"), allocation.name());
    ProbeStep::new(4, &slug, "sync primitive", params, job)
}

/// Written blocks are those of the shared page files; others can be allocated only once.
fn layout(extent: &Extent, allocation: Allocation) -> FileLayout {
    match allocation {
        Allocation::Overwrite => extent.pages(),
        _ => FileLayout { allocation, fresh: true, ..FileLayout::of("primitive", 1, BYTES.min(extent.data_bytes / 8)) },
    }
}
