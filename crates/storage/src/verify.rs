//! Checks that the storage returns what was written. Each sector of 512 bytes carries a checksum, the offset it belongs
//! to and the number of its write; a run knows which write came last.
//!
//! A sector is 488 bytes drawn from (seed, file, offset, generation), then little-endian: file (4 bytes), generation
//! (4), offset (8), low half of the seed (4), CRC-32 of all that comes before (4). Sectors identify themselves, so that
//! a file can be laid out before the block size is known, and a partly written block is noticed.

use crate::error::{DuringStorage, StorageError};
use crate::files::{FileSet, Told};
use crate::layout::{Allocation, FileLayout};
use crate::sector::{BODY, SECTOR, TRAILER, stamp};
use memmap2::MmapMut;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// An operation of ours is under way on the block.
const BUSY: u32 = 1 << 31;
/// A write began that was never acknowledged: either the write before it or this one may be found.
const UNCERTAIN: u32 = 1 << 30;
/// The number of the last acknowledged write; 0 is the layout.
const GENERATION: u32 = UNCERTAIN - 1;

/// Bytes that [`Verifier::sweep`] reads at once.
const PIECE: usize = 1 << 20;

/// What was found instead of what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Name of the file within its directory.
    pub path: String,
    pub offset: u64,
    /// `checksum 3f… where 1a… belongs`, `an older write (3 where 5 belongs)`, `the block of offset 16384`.
    pub found: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {}: {}", self.path, self.offset, self.found)
    }
}

/// Knows the last acknowledged write of each block of a file set. Shared by all workers of a job.
///
/// Blocks outside the layout are never claimed.
#[derive(Debug)]
pub struct Verifier {
    layout: FileLayout,
    block: u64,
    seed: u64,
    blocks_per_file: u64,
    blocks: Vec<AtomicU32>,
}

impl Verifier {
    /// Bytes of memory that one takes: 4 per block.
    pub fn bytes(layout: &FileLayout, block: u32) -> u64 {
        layout.bytes() / u64::from(block).max(SECTOR as u64) * size_of::<AtomicU32>() as u64
    }

    /// `block` bytes each, a multiple of [`SECTOR`]; `seed` is the one that the files were laid out with. Takes
    /// [`Verifier::bytes`] of memory.
    pub fn new(layout: &FileLayout, block: u32, seed: u64) -> Verifier {
        let block = u64::from(block).max(SECTOR as u64);
        let blocks_per_file = layout.bytes_per_file / block;
        let blocks = (0..blocks_per_file * u64::from(layout.files)).map(|_| AtomicU32::new(0)).collect();
        Verifier { layout: layout.clone(), block, seed, blocks_per_file, blocks }
    }

    fn state(&self, file: u32, offset: u64) -> Option<&AtomicU32> {
        let within = Some(offset / self.block).filter(|at| *at < self.blocks_per_file && file < self.layout.files)?;
        self.blocks.get(usize::try_from(u64::from(file) * self.blocks_per_file + within).ok()?)
    }

    fn load(&self, file: u32, offset: u64) -> u32 {
        self.state(file, offset).map_or(0, |state| state.load(Ordering::Acquire))
    }

    /// Claims a block for one operation; false if another operation is under way there.
    pub fn claim(&self, file: u32, offset: u64) -> bool {
        self.state(file, offset).is_some_and(|state| state.fetch_or(BUSY, Ordering::AcqRel) & BUSY == 0)
    }

    /// Fills a buffer for the next write of a claimed block.
    pub fn fill(&self, file: u32, offset: u64, buffer: &mut [u8]) {
        if let Some(state) = self.state(file, offset) {
            let before = state.fetch_or(UNCERTAIN, Ordering::AcqRel);
            stamp(self.seed, file, offset, (before & GENERATION) + 1, buffer);
        }
    }

    /// Checks what was read from a claimed block.
    ///
    /// # Errors
    /// The first sector that is not what was written last.
    pub fn check(&self, file: u32, offset: u64, buffer: &[u8]) -> Result<(), Mismatch> {
        let state = self.load(file, offset);
        let sectors = buffer.chunks(SECTOR).zip((offset..).step_by(SECTOR));
        for (sector, at) in sectors {
            self.check_sector(file, at, state, sector).map_err(|found| self.mismatch(file, at, found))?;
        }
        Ok(())
    }

    /// Releases a claimed block; `written` if a write was acknowledged.
    pub fn release(&self, file: u32, offset: u64, written: bool) {
        let Some(state) = self.state(file, offset) else { return };
        match written {
            true => state.store((state.load(Ordering::Acquire) & GENERATION) + 1, Ordering::Release),
            false => drop(state.fetch_and(!BUSY, Ordering::AcqRel)),
        }
    }

    /// Reads back every block once all workers are gone: a lost write shows up here. The files are first synced and
    /// dropped from the page cache (posix_fadvise(2), POSIX_FADV_DONTNEED) and read with O_DIRECT if the file system
    /// supports it, so that the device answers; mapped pages stay cached, so unmap them first.
    ///
    /// # Errors
    /// [`StorageError::Io`] if the files cannot be read; [`StorageError::Interrupted`] if `told` (bytes done, of how
    /// many) says so.
    pub fn sweep(&self, files: &FileSet, found: &mut dyn FnMut(Mismatch), told: Told<'_>) -> Result<(), StorageError> {
        for file in 0..files.files.len() {
            files.drop_file(file)?;
            if !told(0, self.layout.bytes()) {
                return Err(StorageError::Interrupted);
            }
        }
        let mut buffer = MmapMut::map_anon(PIECE).during("get memory to read back", &files.directory)?;
        let mut done = 0;
        for (number, path) in (0u32..).zip(&files.paths) {
            let mut reader = Reader::open(path)?;
            for start in (0..self.blocks_per_file * self.block).step_by(PIECE) {
                let length = reader.read(path, start, &mut buffer)?;
                self.sweep_piece(number, start, &buffer[..length], found);
                done += PIECE as u64;
                if !told(done.min(self.layout.bytes()), self.layout.bytes()) {
                    return Err(StorageError::Interrupted);
                }
            }
        }
        Ok(())
    }

    /// Checks a piece of a file sector by sector. Nothing is expected where nothing was written to a growing file.
    fn sweep_piece(&self, file: u32, start: u64, piece: &[u8], found: &mut dyn FnMut(Mismatch)) {
        let end = (start + PIECE as u64).min(self.blocks_per_file * self.block);
        for at in (start..end).step_by(SECTOR) {
            let state = self.load(file, at);
            let from = (at - start) as usize;
            let verdict = match piece.get(from..from + SECTOR) {
                Some(sector) => self.check_sector(file, at, state, sector),
                None if state & GENERATION == 0 && self.layout.allocation == Allocation::Extend => Ok(()),
                None => Err("the end of the file".to_owned()),
            };
            if let Err(what) = verdict {
                found(self.mismatch(file, at, what));
            }
        }
    }

    fn mismatch(&self, file: u32, offset: u64, found: String) -> Mismatch {
        Mismatch { path: self.layout.file_name(file), offset, found }
    }

    /// What is wrong with a sector, in words.
    fn check_sector(&self, file: u32, offset: u64, state: u32, sector: &[u8]) -> Result<(), String> {
        let expected = state & GENERATION;
        let zeros = sector.iter().all(|byte| *byte == 0);
        if zeros && expected == 0 && self.layout.allocation != Allocation::Overwrite {
            return Ok(());
        }
        if zeros {
            return Err(format!("only zeros where write {expected} belongs"));
        }
        let Some(trailer) = Trailer::of(sector) else { return Err("a part of a sector".to_owned()) };
        let sum = crc32fast::hash(&sector[..SECTOR - 4]);
        if trailer.sum != sum {
            return Err(format!("checksum {sum:08x} where {:08x} belongs", trailer.sum));
        }
        if (trailer.file, trailer.offset) != (file, offset) {
            let whose = self.layout.file_name(trailer.file);
            return Err(format!("the block of offset {} of {whose}", trailer.offset));
        }
        if trailer.seed != self.seed as u32 {
            return Err("a write of another run".to_owned());
        }
        match trailer.generation {
            found if found == expected => Ok(()),
            found if state & UNCERTAIN != 0 && found == expected + 1 => Ok(()),
            found if found < expected => Err(format!("an older write ({found} where {expected} belongs)")),
            found => Err(format!("a write that was not acknowledged ({found} where {expected} belongs)")),
        }
    }
}

/// The last bytes of a sector.
struct Trailer {
    file: u32,
    generation: u32,
    offset: u64,
    seed: u32,
    sum: u32,
}

impl Trailer {
    fn of(sector: &[u8]) -> Option<Trailer> {
        let bytes: &[u8; TRAILER] = sector.get(BODY..SECTOR)?.try_into().ok()?;
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let offset = u64::from(word(8)) | u64::from(word(12)) << 32;
        Some(Trailer { file: word(0), generation: word(4), offset, seed: word(16), sum: word(20) })
    }
}

/// Reads a file, bypassing the page cache if possible.
struct Reader {
    buffered: File,
    direct: Option<File>,
}

impl Reader {
    fn open(path: &Path) -> Result<Reader, StorageError> {
        let flags = (rustix::fs::OFlags::DIRECT | rustix::fs::OFlags::NOFOLLOW).bits() as i32;
        let direct = OpenOptions::new().read(true).custom_flags(flags).open(path).ok();
        Ok(Reader { buffered: File::open(path).during("open", path)?, direct })
    }

    /// As much as the file has from `start`, up to the buffer's length.
    fn read(&mut self, path: &Path, start: u64, buffer: &mut [u8]) -> Result<usize, StorageError> {
        let direct = self.direct.as_ref().map(|file| file.read_at(buffer, start));
        match direct {
            Some(Ok(length)) if length == buffer.len() => return Ok(length),
            Some(Err(error)) if error.raw_os_error() != Some(rustix::io::Errno::INVAL.raw_os_error()) => {
                return Err(error).during("read back", path);
            }
            _ => {}
        }
        let mut length = 0;
        while length < buffer.len() {
            match self.buffered.read_at(&mut buffer[length..], start + length as u64).during("read back", path)? {
                0 => break,
                more => length += more,
            }
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{lay_out, open};
    use crate::layout::{Content, Open};
    use crate::place::EvaluationDirectory;

    const BLOCK: u32 = 4096;
    const SEED: u64 = 7;

    struct Fixture {
        _root: tempfile::TempDir,
        _place: EvaluationDirectory,
        files: FileSet,
        verifier: Verifier,
    }

    impl Fixture {
        /// Two files of 16 blocks.
        fn new(allocation: Allocation) -> Fixture {
            let root = tempfile::tempdir().unwrap();
            let directory = root.path().join("data");
            std::fs::create_dir(&directory).unwrap();
            let place = EvaluationDirectory::create(&root.path().join("home"), &directory).unwrap();
            let (name, bytes_per_file) = ("checked".to_owned(), 16 * u64::from(BLOCK));
            let layout =
                FileLayout { name, files: 2, bytes_per_file, allocation, content: Content::Checked, fresh: true };
            lay_out(&place, &layout, SEED, &mut |_, _| true).unwrap();
            let files = open(&place, &layout, Open::default()).unwrap();
            let verifier = Verifier::new(&layout, BLOCK, SEED);
            Fixture { _root: root, _place: place, files, verifier }
        }

        fn write(&self, file: u32, offset: u64) {
            let mut buffer = vec![0; BLOCK as usize];
            assert!(self.verifier.claim(file, offset));
            self.verifier.fill(file, offset, &mut buffer);
            self.files.files[file as usize].write_all_at(&buffer, offset).unwrap();
            self.verifier.release(file, offset, true);
        }

        fn read(&self, file: u32, offset: u64) -> Vec<u8> {
            let mut buffer = vec![0; BLOCK as usize];
            self.files.files[file as usize].read_exact_at(&mut buffer, offset).unwrap();
            buffer
        }

        fn check(&self, file: u32, offset: u64) -> Result<(), Mismatch> {
            assert!(self.verifier.claim(file, offset));
            let verdict = self.verifier.check(file, offset, &self.read(file, offset));
            self.verifier.release(file, offset, false);
            verdict
        }

        /// Written behind the verifier's back, through a handle of its own.
        fn plant(&self, file: u32, offset: u64, bytes: &[u8]) {
            let other = OpenOptions::new().write(true).open(&self.files.paths[file as usize]).unwrap();
            other.write_all_at(bytes, offset).unwrap();
        }

        fn sweep(&self) -> Vec<Mismatch> {
            let mut all = Vec::new();
            self.verifier.sweep(&self.files, &mut |mismatch| all.push(mismatch), &mut |_, _| true).unwrap();
            all
        }
    }

    #[test]
    fn what_was_laid_out_and_written_is_found_again() {
        for allocation in [Allocation::Overwrite, Allocation::Hole, Allocation::Unwritten, Allocation::Extend] {
            let fixture = Fixture::new(allocation);
            assert_eq!(fixture.sweep(), [], "{allocation:?}");
            (0..3).for_each(|_| fixture.write(1, 0));
            fixture.write(0, 3 * 4096);
            assert_eq!((fixture.check(1, 0), fixture.check(0, 3 * 4096)), (Ok(()), Ok(())));
            let holes = fixture.sweep();
            // A file that grows has a hole only before what was written last.
            assert_eq!(holes, [], "{allocation:?}");
        }
    }

    #[test]
    fn a_flipped_bit_is_found_by_a_read_and_by_the_sweep() {
        let fixture = Fixture::new(Allocation::Overwrite);
        fixture.write(0, 8192);
        for (bit, at) in [(1u8, 8192 + 100), (128, 8192 + 511), (16, 8192 + 4095)] {
            let whole = fixture.read(0, 8192);
            fixture.plant(0, at, &[whole[at as usize - 8192] ^ bit]);
            let mismatch = fixture.check(0, 8192).unwrap_err();
            assert_eq!((mismatch.path.as_str(), mismatch.offset), ("checked.0", at / 512 * 512));
            assert!(mismatch.found.starts_with("checksum "), "{mismatch}");
            assert_eq!(fixture.sweep(), [mismatch]);
            fixture.plant(0, 8192, &whole);
        }
        assert_eq!(fixture.sweep(), []);
    }

    #[test]
    fn a_lost_write_is_an_older_one_whole_or_in_part() {
        let fixture = Fixture::new(Allocation::Overwrite);
        fixture.write(1, 4096);
        let before = fixture.read(1, 4096);
        fixture.write(1, 4096);
        fixture.plant(1, 4096 + 1024, &before[1024..1536]);
        let torn = fixture.sweep();
        assert_eq!((torn.len(), torn[0].offset), (1, 4096 + 1024));
        fixture.plant(1, 4096, &before);
        let lost = fixture.sweep();
        assert_eq!(lost.len(), 8);
        assert_eq!(lost[0].to_string(), "checked.1 at offset 4096: an older write (1 where 2 belongs)");
    }

    #[test]
    fn a_block_in_the_wrong_place_says_where_it_belongs() {
        let fixture = Fixture::new(Allocation::Overwrite);
        let (one, other) = (fixture.read(0, 0), fixture.read(1, 4096));
        fixture.plant(0, 0, &other);
        fixture.plant(1, 4096, &one);
        assert_eq!(fixture.check(0, 0).unwrap_err().found, "the block of offset 4096 of checked.1");
        assert_eq!(fixture.check(1, 4096).unwrap_err().found, "the block of offset 0 of checked.0");
        assert_eq!(fixture.sweep().len(), 16);
    }

    #[test]
    fn zeros_and_a_file_that_lost_its_end_are_found() {
        let fixture = Fixture::new(Allocation::Overwrite);
        fixture.plant(0, 512, &[0; 512]);
        fixture.files.files[1].set_len(15 * 4096).unwrap();
        let found = fixture.sweep();
        assert_eq!(found[0].found, "only zeros where write 0 belongs");
        assert_eq!((found.len(), found[1].found.as_str()), (9, "the end of the file"));
    }

    #[test]
    fn a_write_that_was_not_acknowledged_may_be_found_or_not() {
        let fixture = Fixture::new(Allocation::Overwrite);
        let mut buffer = vec![0; BLOCK as usize];
        assert!(fixture.verifier.claim(0, 0));
        fixture.verifier.fill(0, 0, &mut buffer);
        fixture.verifier.release(0, 0, false);
        assert_eq!(fixture.sweep(), []);
        fixture.plant(0, 0, &buffer[..1024]);
        assert_eq!(fixture.sweep(), []);
        fixture.write(0, 0);
        assert_eq!(fixture.sweep(), []);
    }

    #[test]
    fn a_block_belongs_to_one_operation_at_a_time() {
        let fixture = Fixture::new(Allocation::Hole);
        let verifier = &fixture.verifier;
        assert!(verifier.claim(0, 0) && !verifier.claim(0, 0) && verifier.claim(1, 0));
        verifier.release(0, 0, false);
        assert!(verifier.claim(0, 0));
        assert!(!verifier.claim(0, 1 << 20) && !verifier.claim(2, 0), "outside the layout");
    }

    #[test]
    fn a_sweep_can_be_interrupted() {
        let fixture = Fixture::new(Allocation::Overwrite);
        let swept = fixture.verifier.sweep(&fixture.files, &mut |_| {}, &mut |_, _| false);
        assert!(matches!(swept, Err(StorageError::Interrupted)));
    }
}
