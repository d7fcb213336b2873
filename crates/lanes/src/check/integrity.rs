//! Checks that what was written is there. It makes small and large, direct and buffered writes at the same time, then
//! looks for each block: in the file, read past the page cache, and in the image or export in which the lane stores it.
//!
//! Blocks are found there by their content, so it does not matter where a file system places them.

use super::{LaneFinding, Stored, open};
use crate::LaneError;
use crate::error::DuringLane;
use plimsoll_load::seed::Rng;
use plimsoll_storage::buffer::Aligned;
use rustix::fs::{Advice, FallocateFlags, OFlags, fadvise, fallocate};
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::thread;

/// File systems of lanes place data at multiples of this.
const BLOCK: usize = 4096;
/// A part of the file that is covered by one write or by many, bytes.
const REGION: usize = 4 << 20;
const REGIONS: usize = 12;
const WRITERS: usize = 4;
/// How often each region is written; the last write must win.
const GENERATIONS: usize = 2;
/// The most small writes per region and time; with more, a delayed device would take minutes.
const WRITES: usize = 64;
/// Sizes of writes.
const SIZES: [usize; 5] = [4 << 10, 16 << 10, 64 << 10, 1 << 20, 4 << 20];
const SYNC_EVERY: usize = 16;
const PIECE: usize = 1 << 20;

/// Writes into this file, and looks for the data there and wherever else they have to be.
///
/// # Errors
/// [`LaneError::Io`] if it cannot be written or read.
pub(super) fn check(path: &Path, stored: &Stored) -> Result<LaneFinding, LaneError> {
    let pattern = Pattern { nonce: rand_nonce() };
    write_all(path, pattern)?;
    let expected = expected();
    let blocks = expected.iter().flatten().count();
    if let Some(refused) = mixed_up(path, "read back", pattern, &expected)? {
        return Ok(refused);
    }
    let mut found = format!("{blocks} blocks, 4K to 4M, direct and buffered, read back as written");
    if let Some(backing) = &stored.backing {
        match in_backing(backing, pattern, &expected)? {
            0 => found += ", found in the backing store",
            missing => {
                return Ok(refused(format!(
                    "{missing} of {blocks} blocks were written and synced, but are not in the backing store {}",
                    backing.display()
                )));
            }
        }
    }
    // Last, because a direct read of the storage server's own file makes it write what it had only in memory.
    if let Some(served) = &stored.served {
        if let Some(refused) = mixed_up(served, "in the storage server's file", pattern, &expected)? {
            return Ok(refused);
        }
        found += ", and in the storage server's file";
    }
    Ok(LaneFinding::passed("data", found))
}

/// The finding for a file with wrong blocks.
fn mixed_up(
    path: &Path,
    which: &str,
    pattern: Pattern,
    expected: &[Option<usize>],
) -> Result<Option<LaneFinding>, LaneError> {
    let wrong = in_file(path, pattern, expected)?;
    let blocks = expected.iter().flatten().count();
    Ok(wrong.first().map(|first| {
        let (wrong, at) = (wrong.len(), first * BLOCK);
        refused(format!("{wrong} of {blocks} blocks {which} are not what was written, the first at {at}"))
    }))
}

fn refused(found: String) -> LaneFinding {
    LaneFinding::refused("data", found)
}

/// A pattern that no earlier check has written.
fn rand_nonce() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    (now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64)
}

/// The content of a block: who wrote it, which block of the file it is, its generation, then bits that follow from
/// these three.
#[derive(Clone, Copy)]
struct Pattern {
    nonce: u64,
}

impl Pattern {
    fn fill(self, block: usize, generation: usize, bytes: &mut [u8]) {
        let mut bits = Rng::new(self.nonce, block as u64, generation as u64);
        for word in bytes.chunks_exact_mut(8) {
            word.copy_from_slice(&bits.next_u64().to_le_bytes());
        }
        for (at, value) in [self.nonce, block as u64, generation as u64].into_iter().enumerate() {
            bytes[at * 8..][..8].copy_from_slice(&value.to_le_bytes());
        }
    }

    /// The block and generation that these bytes claim to be, if they are from this check.
    fn claims(self, bytes: &[u8]) -> Option<(usize, usize)> {
        let word = |at: usize| bytes[at * 8..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        (word(0) == self.nonce).then(|| (word(1) as usize, word(2) as usize))
    }

    fn is(self, block: usize, generation: usize, bytes: &[u8]) -> bool {
        let mut right = [0; BLOCK];
        self.fill(block, generation, &mut right);
        right == *bytes
    }
}

/// The size of writes to a region, and how many of them.
fn writes(region: usize, generation: usize) -> (usize, usize) {
    let size = SIZES[(region + generation) % SIZES.len()];
    (size, (REGION / size).min(WRITES))
}

/// The final generation of each block of the file; none if nothing was written.
fn expected() -> Vec<Option<usize>> {
    let mut blocks = vec![None; REGIONS * REGION / BLOCK];
    for region in 0..REGIONS {
        for generation in 0..GENERATIONS {
            let (size, count) = writes(region, generation);
            let first = region * REGION / BLOCK;
            blocks[first..first + size * count / BLOCK].fill(Some(generation));
        }
    }
    blocks
}

/// Every second writer uses direct I/O.
fn write_all(path: &Path, pattern: Pattern) -> Result<(), LaneError> {
    let buffered = open(path, false)?;
    let length = (REGIONS * REGION) as u64;
    match fallocate(&buffered, FallocateFlags::empty(), 0, length) {
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => {}
        Err(error) => return Err(error).during("allocate the check's file in", path),
    }
    let outcome = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(path, pattern, writer))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap_or_else(|_| Err(lost_writer()))).collect::<Vec<_>>()
    });
    outcome.into_iter().collect::<Result<(), _>>()?;
    buffered.sync_data().during("sync", path)
}

fn lost_writer() -> LaneError {
    LaneError::Environment("a writer of the check ended early; this is a bug".to_owned())
}

/// The regions of one writer, one after the other, then all of them again.
fn write(path: &Path, pattern: Pattern, writer: usize) -> Result<(), LaneError> {
    let file = open(path, writer.is_multiple_of(2))?;
    let mut buffer = Aligned::zeroed(REGION);
    let mut done = 0;
    for generation in 0..GENERATIONS {
        for region in (writer..REGIONS).step_by(WRITERS) {
            let (size, count) = writes(region, generation);
            for at in (0..count).map(|number| region * REGION + number * size) {
                let bytes = &mut buffer.bytes_mut()[..size];
                for (number, block) in bytes.chunks_exact_mut(BLOCK).enumerate() {
                    pattern.fill(at / BLOCK + number, generation, block);
                }
                file.write_all_at(bytes, at as u64).during("write", path)?;
                done += 1;
                if done % SYNC_EVERY == 0 {
                    file.sync_data().during("sync", path)?;
                }
            }
        }
    }
    file.sync_data().during("sync", path)
}

/// The blocks that are wrong when they are read from the device.
fn in_file(path: &Path, pattern: Pattern, expected: &[Option<usize>]) -> Result<Vec<usize>, LaneError> {
    let file = open_to_read(path)?;
    fadvise(&file, 0, None, Advice::DontNeed).during("drop from the page cache", path)?;
    let mut piece = Aligned::zeroed(PIECE);
    let mut wrong = Vec::new();
    for (number, blocks) in expected.chunks(PIECE / BLOCK).enumerate() {
        file.read_exact_at(piece.bytes_mut(), (number * PIECE) as u64).during("read", path)?;
        for (at, (generation, bytes)) in blocks.iter().zip(piece.bytes().chunks_exact(BLOCK)).enumerate() {
            let block = number * PIECE / BLOCK + at;
            if generation.is_some_and(|generation| !pattern.is(block, generation, bytes)) {
                wrong.push(block);
            }
        }
    }
    Ok(wrong)
}

/// Past the page cache.
fn open_to_read(path: &Path) -> Result<File, LaneError> {
    let flags = (OFlags::DIRECT | OFlags::NOFOLLOW).bits() as i32;
    OpenOptions::new().read(true).custom_flags(flags).open(path).during("open", path)
}

/// How many blocks are missing from the backing store.
fn in_backing(backing: &Path, pattern: Pattern, expected: &[Option<usize>]) -> Result<usize, LaneError> {
    let file = open_to_read(backing)?;
    let mut missing = expected.to_vec();
    let mut piece = Aligned::zeroed(PIECE);
    let mut at = 0;
    while let Some(data) = next_data(&file, at) {
        let from = data / PIECE as u64 * PIECE as u64;
        let read = read_up_to(&file, piece.bytes_mut(), from).during("read", backing)?;
        for bytes in piece.bytes()[..read].chunks_exact(BLOCK) {
            let Some((block, generation)) = pattern.claims(bytes) else { continue };
            if missing.get(block) == Some(&Some(generation)) && pattern.is(block, generation, bytes) {
                missing[block] = None;
            }
        }
        if read == 0 {
            break;
        }
        at = from + PIECE as u64;
    }
    Ok(missing.iter().flatten().count())
}

/// Where data begin at or after an offset; holes need not be read.
fn next_data(file: &File, at: u64) -> Option<u64> {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(at)) {
        Ok(data) => Some(data),
        Err(rustix::io::Errno::NXIO) => None,
        // It cannot tell: everything may be data.
        Err(_) => Some(at),
    }
}

/// Returns fewer bytes than requested only at the end of the file.
fn read_up_to(file: &File, buffer: &mut [u8], from: u64) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], from + filled as u64) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn written(directory: &Path) -> (PathBuf, Pattern) {
        let (path, pattern) = (directory.join("file"), Pattern { nonce: 7 });
        write_all(&path, pattern).unwrap();
        (path, pattern)
    }

    #[test]
    fn every_size_is_written_both_ways_and_overwritten_by_another() {
        for writer in [0, 1] {
            let regions = (0..REGIONS).filter(|region| region % 2 == writer);
            let mut sizes: Vec<usize> = regions.map(|region| writes(region, GENERATIONS - 1).0).collect();
            sizes.sort_unstable();
            sizes.dedup();
            assert_eq!(sizes, SIZES, "writer {writer}");
        }
        let generations = |wanted| expected().iter().filter(|found| **found == wanted).count();
        assert!(generations(Some(0)) > 0 && generations(Some(1)) > generations(Some(0)) && generations(None) > 0);
    }

    #[test]
    fn what_was_written_is_found_again_and_what_was_not_is_missed() {
        let directory = tempfile::tempdir().unwrap();
        let (path, pattern) = written(directory.path());
        assert!(in_file(&path, pattern, &expected()).unwrap().is_empty());
        // The file may serve as a backing store of itself.
        assert_eq!(in_backing(&path, pattern, &expected()).unwrap(), 0);
        // A bit that flipped, a block that belongs elsewhere, a write that was lost.
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mut block = [0; BLOCK];
        file.read_exact_at(&mut block, 2 * BLOCK as u64).unwrap();
        file.write_all_at(&block, 3 * BLOCK as u64).unwrap();
        block[BLOCK - 1] ^= 1;
        file.write_all_at(&block, 2 * BLOCK as u64).unwrap();
        pattern.fill(5, 0, &mut block);
        file.write_all_at(&block, 5 * BLOCK as u64).unwrap();
        assert_eq!(in_file(&path, pattern, &expected()).unwrap(), [2, 3, 5]);
        // Block 2 lies where 3 belongs, which a file system is free to do.
        assert_eq!(in_backing(&path, pattern, &expected()).unwrap(), 2);
    }
}
