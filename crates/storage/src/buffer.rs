//! Memory for direct I/O: O_DIRECT needs memory, offset and length at multiples of the device's logical block
//! (open(2)).

use crate::layout::Content;
use crate::op::Direction;
use plimsoll_load::seed::Rng;

/// The largest logical block of disks in use; memory at its multiples suits all of them.
pub const ALIGNMENT: usize = 4096;
/// The stream that stamps are drawn from; no worker has this number.
const STREAM: u64 = u64::MAX - 1;
/// Bytes of a stamp.
const STAMP: usize = 8;
/// Spreads consecutive numbers over all bits: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Bytes that begin at a multiple of [`ALIGNMENT`].
#[derive(Debug, Default)]
pub struct Aligned {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl Aligned {
    pub fn zeroed(length: usize) -> Aligned {
        let memory = vec![0; length + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Aligned { memory, start, length }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

/// What one worker writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    pub content: Content,
    pub seed: u64,
    pub worker: u64,
    /// Verification fills each block itself.
    pub verified: bool,
}

/// For each slot of an engine, a buffer to read into and one to write from.
#[derive(Debug, Default)]
pub struct Buffers {
    memory: Aligned,
    /// Bytes of each buffer.
    size: usize,
    slots: usize,
    /// What the next stamp is made from; `None` if the content must not change.
    stamp: Option<u64>,
}

impl Buffers {
    /// Bytes that buffers for operations of up to `largest` bytes take.
    pub fn bytes(slots: usize, largest: usize) -> u64 {
        2 * slots as u64 * largest.max(1).next_multiple_of(ALIGNMENT) as u64
    }

    /// Buffers for operations of up to `largest` bytes.
    pub fn new(slots: usize, largest: usize, payload: Payload) -> Buffers {
        let size = largest.max(1).next_multiple_of(ALIGNMENT);
        let mut memory = Aligned::zeroed(2 * slots * size);
        let written = &mut memory.bytes_mut()[slots * size..];
        // Files are numbered upwards, workers downwards, so that nothing is written that was there before.
        let file = u32::MAX - payload.worker as u32;
        for (slot, buffer) in written.chunks_mut(size).enumerate() {
            payload.content.fill(payload.seed, file, (slot * size) as u64, buffer);
        }
        let first = Rng::new(payload.seed, STREAM, payload.worker).next_u64();
        let stamped = !payload.verified && matches!(payload.content, Content::Random | Content::HalfCompressible);
        Buffers { memory, size, slots, stamp: stamped.then_some(first) }
    }

    fn start(&self, slot: usize, direction: Direction) -> usize {
        match direction {
            Direction::Read => slot * self.size,
            Direction::Write => (self.slots + slot) * self.size,
        }
    }

    pub fn buffer(&mut self, slot: usize, direction: Direction) -> &mut [u8] {
        let start = self.start(slot, direction);
        &mut self.memory.bytes_mut()[start..start + self.size]
    }

    /// Where a read of this many bytes goes.
    pub fn read(&mut self, slot: usize, bytes: usize) -> &mut [u8] {
        &mut self.buffer(slot, Direction::Read)[..bytes]
    }

    /// What a write of this many bytes writes: random content gets a number at the start of each 4096 bytes, so that no
    /// two writes are equal to storage that looks for duplicates.
    pub fn write(&mut self, slot: usize, bytes: usize) -> &[u8] {
        let mut stamp = self.stamp;
        let buffer = &mut self.buffer(slot, Direction::Write)[..bytes];
        if let Some(number) = &mut stamp {
            for block in buffer.chunks_mut(ALIGNMENT) {
                *number = number.wrapping_add(GOLDEN);
                let length = block.len().min(STAMP);
                block[..length].copy_from_slice(&number.to_le_bytes()[..length]);
            }
        }
        self.stamp = stamp;
        &self.buffer(slot, Direction::Write)[..bytes]
    }

    /// All of it, for registration with the kernel.
    pub fn memory(&self) -> &[u8] {
        self.memory.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffers(content: Content, worker: u64) -> Buffers {
        Buffers::new(2, 16384, Payload { content, seed: 7, worker, verified: false })
    }

    #[test]
    fn every_buffer_is_aligned_and_apart_from_the_others() {
        let mut buffers =
            Buffers::new(3, 5000, Payload { content: Content::Zeros, seed: 1, worker: 0, verified: false });
        let mut starts: Vec<usize> = (0..3)
            .flat_map(|slot| [Direction::Read, Direction::Write].map(|direction| (slot, direction)))
            .map(|(slot, direction)| buffers.buffer(slot, direction).as_ptr() as usize)
            .collect();
        starts.sort_unstable();
        assert!(starts.iter().all(|start| start % ALIGNMENT == 0));
        assert!(starts.windows(2).all(|pair| pair[1] - pair[0] == 8192));
    }

    #[test]
    fn random_writes_differ_from_each_other_and_between_workers() {
        let (mut one, mut two) = (buffers(Content::Random, 0), buffers(Content::Random, 1));
        let writes = [one.write(0, 16384).to_vec(), one.write(0, 16384).to_vec(), two.write(0, 16384).to_vec()];
        let blocks: std::collections::HashSet<&[u8]> = writes.iter().flat_map(|write| write.chunks(4096)).collect();
        assert_eq!(blocks.len(), 12);
    }

    #[test]
    fn small_writes_differ_too() {
        let mut buffers = buffers(Content::Random, 0);
        for bytes in [4, 512, 4096 + 100] {
            let writes: Vec<Vec<u8>> = (0..10).map(|_| buffers.write(0, bytes).to_vec()).collect();
            let tails: std::collections::HashSet<&[u8]> =
                writes.iter().filter_map(|write| write.chunks(4096).next_back()).collect();
            assert_eq!(tails.len(), writes.len(), "{bytes} bytes");
        }
    }

    #[test]
    fn content_is_what_was_asked_for() {
        assert!(buffers(Content::Zeros, 0).write(0, 16384).iter().all(|byte| *byte == 0));
        let mut half = buffers(Content::HalfCompressible, 0);
        let zeros = half.write(1, 16384).iter().filter(|byte| **byte == 0).count();
        assert!((8192..8192 + 200).contains(&zeros), "{zeros} zeros in 16384 bytes");
        let (mut one, mut two) = (buffers(Content::Duplicates, 0), buffers(Content::Duplicates, 1));
        assert_eq!(one.write(0, 16384).to_vec(), one.write(1, 16384));
        assert_eq!(one.write(0, 16384), two.write(0, 16384));
    }

    #[test]
    fn verified_blocks_are_left_as_they_are() {
        let mut buffers =
            Buffers::new(1, 4096, Payload { content: Content::Checked, seed: 1, worker: 0, verified: true });
        buffers.buffer(0, Direction::Write).fill(7);
        assert!(buffers.write(0, 4096).iter().all(|byte| *byte == 7));
    }
}
