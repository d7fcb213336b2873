//! What holds for every stream: it stays inside the files, depends on seed and worker alone, and covers what it has to.

use super::*;
use crate::job::{Places, Syncs};
use crate::layout::{Content, Open};
use crate::op::{Durable, SyncMode};
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::window::Limit;
use proptest::prelude::*;
use std::collections::BTreeMap;

const BLOCK: u32 = 4096;

fn job(access: Access, files: u32, blocks_per_file: u64, allocation: Allocation, workers: u32) -> Job {
    let bytes_per_file = blocks_per_file * u64::from(BLOCK);
    let name = "data".to_owned();
    Job {
        layout: FileLayout { name, files, bytes_per_file, allocation, content: Content::Random, fresh: false },
        open: Open::default(),
        access,
        engine: JobEngine::Threads { workers },
        arrivals: Arrivals::Closed,
        limit: Limit::Time(1),
        warmup_ns: 0,
        verify: false,
    }
}

fn random(places: Places, mix: Mix, syncs: Syncs) -> Access {
    Access::Random { block: BLOCK, places, mix, syncs, durable: Durable::No }
}

fn sequential(mix: Mix) -> Access {
    Access::Sequential { block: BLOCK, mix, syncs: Syncs::NEVER, durable: Durable::No }
}

/// Up to `most` operations of each worker, the workers taking turns.
fn drawn(job: &Job, seed: u64, most: usize) -> Vec<Vec<Op>> {
    let mut streams = streams(job, seed);
    let mut ops = vec![Vec::new(); streams.len()];
    for _ in 0..most {
        for (stream, ops) in streams.iter_mut().zip(&mut ops) {
            ops.extend(stream.next());
        }
    }
    ops
}

/// File, offset and length of a read or a write.
fn extent(op: &Op) -> Option<(u32, u64, u32)> {
    match *op {
        Op::Read { file, offset, bytes } | Op::Write { file, offset, bytes, .. } => Some((file, offset, bytes)),
        _ => None,
    }
}

fn any_access() -> impl Strategy<Value = Access> {
    let mix = prop_oneof![Just(Mix::Reads), Just(Mix::Writes), (0.1f64..10.0).prop_map(Mix::Ratio)];
    let places = prop_oneof![
        Just(Places::Anywhere),
        Just(Places::EachOnce),
        Just(Places::InTurn),
        (0u64..100_000).prop_map(Places::First)
    ];
    let doublewrite = prop_oneof![Just(Doublewrite::Off), Just(Doublewrite::On), Just(Doublewrite::Synced)];
    prop_oneof![
        (places, mix.clone(), 0u64..5).prop_map(|(places, mix, every)| random(places, mix, Syncs::every(every))),
        mix.prop_map(sequential),
        (512u32..10_000).prop_map(|block| Access::Streams { block }),
        (512u32..10_000, 0u32..600).prop_map(|(block, misaligned)| Access::InPlace { block, misaligned }),
        (1u32..8, doublewrite).prop_map(|(pages, doublewrite)| Access::FlushBatch { pages, doublewrite }),
    ]
}

proptest! {
    #[test]
    fn what_was_checked_stays_inside_its_files_and_is_repeatable(
        access in any_access(), files in 1u32..5, blocks in 1u64..50, workers in 1u32..5, seed: u64,
    ) {
        let mut job = job(access, files, blocks, Allocation::Overwrite, workers);
        job.open.direct = true;
        prop_assume!(check(&job).is_ok());
        let ops = drawn(&job, seed, 200);
        for (file, offset, bytes) in ops.iter().flatten().filter_map(extent) {
            prop_assert!(file < files && offset + u64::from(bytes) <= job.layout.bytes_per_file, "{file} {offset} {bytes}");
        }
        let outside = |op: &Op| matches!(op, Op::Sync { file, .. } if *file >= files);
        prop_assert!(!ops.iter().flatten().any(outside));
        prop_assert!(ops.iter().any(|ops| ops.len() == 200), "allocated files are never used up");
        prop_assert_eq!(ops, drawn(&job, seed, 200));
    }

    #[test]
    fn blocks_to_be_allocated_are_written_once_each_and_all(
        places in prop_oneof![Just(Places::Anywhere), Just(Places::EachOnce), Just(Places::InTurn)],
        in_order: bool, files in 1u32..5, blocks in 1u64..60, workers in 1u32..7, seed: u64,
    ) {
        let access = if in_order { sequential(Mix::Writes) } else { random(places, Mix::Writes, Syncs::NEVER) };
        let job = job(access, files, blocks, Allocation::Hole, workers);
        let total = u64::from(files) * blocks;
        let ops = drawn(&job, seed, total as usize + 10);
        let mut seen: Vec<_> = ops.iter().flatten().filter_map(extent).collect();
        seen.sort_unstable();
        let blocks = (0..blocks).map(|block| block * u64::from(BLOCK));
        let all: Vec<_> = (0..files).flat_map(|file| blocks.clone().map(move |offset| (file, offset, BLOCK))).collect();
        prop_assert_eq!(seen, all);
    }

    #[test]
    fn reads_and_writes_keep_their_ratio_by_count(ratio in 0.05f64..20.0) {
        let ops = drawn(&job(random(Places::Anywhere, Mix::Ratio(ratio), Syncs::NEVER), 1, 10, Allocation::Overwrite, 1), 1, 5000);
        let reads = ops[0].iter().filter(|op| matches!(op, Op::Read { .. })).count() as f64;
        let writes = 5000.0 - reads;
        prop_assert!((reads - ratio * writes).abs() <= ratio + 2.0, "{reads} reads, {writes} writes");
    }
}

#[test]
fn workers_and_seeds_differ() {
    let job = job(random(Places::Anywhere, Mix::Reads, Syncs::NEVER), 4, 1000, Allocation::Overwrite, 2);
    let ops = drawn(&job, 1, 50);
    assert_ne!(ops[0], ops[1]);
    assert_ne!(ops[0], drawn(&job, 2, 50)[0]);
}

#[test]
fn random_places_are_uniform_over_all_files() {
    let job = job(random(Places::Anywhere, Mix::Reads, Syncs::NEVER), 4, 5, Allocation::Overwrite, 1);
    let mut counts = BTreeMap::new();
    for place in drawn(&job, 7, 20_000)[0].iter().filter_map(extent) {
        *counts.entry(place).or_insert(0u32) += 1;
    }
    assert_eq!(counts.len(), 20);
    // 1000 expected in each; seven standard deviations.
    assert!(counts.values().all(|count| (780..=1220).contains(count)), "{counts:?}");
}

#[test]
fn the_first_bytes_are_those_of_the_first_files() {
    let job = job(random(Places::First(7 * 4096), Mix::Reads, Syncs::NEVER), 4, 5, Allocation::Overwrite, 1);
    let ops = drawn(&job, 7, 1000);
    let mut seen: Vec<_> = ops[0].iter().filter_map(extent).map(|(file, offset, _)| (file, offset / 4096)).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0), (1, 1)]);
}

#[test]
fn a_sync_follows_every_so_many_requests_if_anything_was_written() {
    let job_of = |syncs| job(random(Places::Anywhere, Mix::Ratio(1.5), syncs), 3, 10, Allocation::Overwrite, 1);
    let pattern = |syncs| drawn(&job_of(syncs), 3, 600).remove(0);
    let one = pattern(Syncs { mode: SyncMode::Fsync, ..Syncs::every(4) });
    let (mut requests, mut last) = (0, None);
    for op in &one {
        match *op {
            Op::Write { file, .. } => (requests, last) = (requests + 1, Some(file)),
            Op::Sync { file, mode } => {
                assert_eq!((requests, last, mode), (4, Some(file), SyncMode::Fsync));
                (requests, last) = (0, None);
            }
            _ => requests += 1,
        }
        assert!(requests <= 4);
    }
    assert!(one.iter().any(|op| matches!(op, Op::Sync { .. })));
    let all = pattern(Syncs { all_files: true, ..Syncs::every(4) });
    let synced: Vec<u32> =
        all.iter().filter_map(|op| if let Op::Sync { file, .. } = op { Some(*file) } else { None }).collect();
    assert!(synced.len() > 3);
    assert!(synced.iter().zip([0, 1, 2].iter().cycle()).all(|(synced, expected)| synced == expected), "{synced:?}");
}

#[test]
fn sequential_workers_share_one_cursor_and_begin_again() {
    let ops = drawn(&job(sequential(Mix::Reads), 2, 3, Allocation::Overwrite, 2), 1, 4);
    let places = |worker: usize| ops[worker].iter().filter_map(extent).map(|(file, offset, _)| (file, offset / 4096));
    assert_eq!(places(0).collect::<Vec<_>>(), [(0, 0), (0, 2), (1, 1), (0, 0)]);
    assert_eq!(places(1).collect::<Vec<_>>(), [(0, 1), (1, 0), (1, 2), (0, 1)]);
}

#[test]
fn places_in_turn_let_files_grow_side_by_side() {
    let ops = drawn(&job(random(Places::InTurn, Mix::Writes, Syncs::NEVER), 2, 2, Allocation::Extend, 1), 1, 9);
    let places: Vec<_> = ops[0].iter().filter_map(extent).map(|(file, offset, _)| (file, offset / 4096)).collect();
    assert_eq!(places, [(0, 0), (1, 0), (0, 1), (1, 1)]);
}

#[test]
fn an_engine_that_does_nothing_never_runs_out_of_holes() {
    for access in [random(Places::Anywhere, Mix::Writes, Syncs::NEVER), sequential(Mix::Writes)] {
        let mut job = job(access, 2, 3, Allocation::Hole, 1);
        assert_eq!(drawn(&job, 1, 100)[0].len(), 6);
        job.engine = JobEngine::Null { workers: 1 };
        assert_eq!(drawn(&job, 1, 100)[0].len(), 100);
    }
}

#[test]
fn streams_read_pieces_that_do_not_overlap() {
    let mut job = job(Access::Streams { block: BLOCK }, 2, 5, Allocation::Overwrite, 3);
    let once: Vec<usize> = drawn(&job, 1, 8).iter().map(Vec::len).collect();
    assert_eq!(once, [3, 3, 4], "the page cache is not read");
    job.open.direct = true;
    let ops = drawn(&job, 1, 8);
    let first = |worker: usize| ops[worker].iter().filter_map(extent).map(|(file, at, _)| file * 5 + at as u32 / BLOCK);
    assert_eq!(first(0).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2, 0, 1]);
    assert_eq!(first(2).collect::<Vec<_>>(), [6, 7, 8, 9, 6, 7, 8, 9]);
}

#[test]
fn blocks_in_place_are_synced_each_and_belong_to_one_worker() {
    let ops = drawn(&job(Access::InPlace { block: BLOCK, misaligned: 512 }, 1, 9, Allocation::Overwrite, 2), 1, 20);
    assert!(ops.iter().all(|ops| ops.iter().step_by(2).all(|op| matches!(op, Op::Write { .. }))));
    assert!(ops.iter().all(|ops| ops.iter().skip(1).step_by(2).all(|op| matches!(op, Op::Sync { file: 0, .. }))));
    let blocks = |worker: usize| ops[worker].iter().filter_map(extent).map(|(_, at, _)| (at / 4096, at % 4096));
    assert_eq!(blocks(0).take(5).collect::<Vec<_>>(), [(0, 512), (1, 512), (2, 512), (3, 512), (0, 512)]);
    assert_eq!(blocks(1).next(), Some((4, 512)));
}

#[test]
fn a_flush_batch_is_area_then_pages_then_syncs() {
    let kinds = |doublewrite| {
        let job = job(Access::FlushBatch { pages: 3, doublewrite }, 3, 20, Allocation::Overwrite, 1);
        let ops = drawn(&job, 1, 16).remove(0);
        let letter = |op: &Op| match *op {
            Op::Write { file: 0, bytes, .. } if bytes == 3 * PAGE => 'A',
            Op::Write { file: 1..=2, bytes: PAGE, atomic: false, .. } => 'p',
            Op::Write { file: 1..=2, bytes: PAGE, atomic: true, .. } => 'a',
            Op::Sync { file, mode: SyncMode::Fdatasync } => char::from_digit(file, 10).unwrap(),
            _ => '?',
        };
        ops.iter().map(letter).collect::<String>()
    };
    assert_eq!(&kinds(Doublewrite::On)[..12], "Appp12Appp12");
    assert_eq!(&kinds(Doublewrite::Synced)[..14], "A0ppp12A0ppp12");
    assert_eq!(&kinds(Doublewrite::Off)[..10], "ppp12ppp12");
    assert_eq!(&kinds(Doublewrite::Atomic)[..10], "aaa12aaa12");
}

#[test]
fn metadata_cycles_through_the_life_of_one_file_after_the_other() {
    let ops = drawn(&job(Access::Metadata { bytes: 0 }, 0, 0, Allocation::Overwrite, 2), 1, 5);
    let (number, next) = (1, 3);
    let life = [Op::Create { number }, Op::Rename { number }, Op::Truncate { number }, Op::Unlink { number }];
    assert_eq!((&ops[1][..4], ops[1][4]), (&life[..], Op::Create { number: next }));
}

#[test]
fn jobs_without_room_are_refused_in_words() {
    let overwrite = Allocation::Overwrite;
    let big = Access::Streams { block: BLOCK };
    let batch = Access::FlushBatch { pages: 100, doublewrite: Doublewrite::On };
    let cases = [
        (job(random(Places::Anywhere, Mix::Reads, Syncs::NEVER), 1, 0, overwrite, 1), "too small"),
        (job(random(Places::Anywhere, Mix::Reads, Syncs::NEVER), 1, 9, Allocation::Extend, 1), "cannot be read"),
        (job(sequential(Mix::Writes), 0, 9, overwrite, 1), "needs a file"),
        (job(big, 1, 3, overwrite, 4), "3 blocks are too few for 4 streams"),
        (job(batch.clone(), 1, 9, overwrite, 1), "doublewrite area"),
        (job(batch, 2, 9, overwrite, 1), "at least 1638400 bytes"),
        (job(Access::Extension { step: 0, limit: 9, allocate: true }, 1, 9, overwrite, 1), "0 bytes"),
    ];
    for (job, expected) in cases {
        let message = check(&job).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}
