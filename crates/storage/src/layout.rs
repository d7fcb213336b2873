//! The files that a job works on: how many, how large, in which state, and with what content.

use crate::sector::{scramble, stamp};
use plimsoll_load::seed::Rng;
use std::path::{Path, PathBuf};

/// What [`Content::HalfCompressible`] halves: the smallest block in which file systems and arrays compress.
const COMPRESSED: usize = 4096;
/// What [`Content::Duplicates`] repeats: an InnoDB page.
pub(crate) const DUPLICATE: usize = 16 << 10;

/// How the blocks of a file are allocated when a job begins. On ext4 it decides whether direct writes to one file are
/// serialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Allocation {
    /// Written in full in advance, so the job overwrites.
    Overwrite,
    /// Allocated by fallocate(2), never written.
    Unwritten,
    /// Sparse, by ftruncate(2).
    Hole,
    /// Empty: it grows.
    Extend,
}

impl Allocation {
    pub fn name(self) -> &'static str {
        match self {
            Allocation::Overwrite => "overwrite",
            Allocation::Unwritten => "unwritten",
            Allocation::Hole => "hole",
            Allocation::Extend => "extend",
        }
    }
}

/// What is written: arrays and file systems treat zeros and duplicates specially.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Content {
    #[default]
    Random,
    Zeros,
    /// The first half of each 4 KiB is random, the second is zeros.
    HalfCompressible,
    /// The same random 16 KiB, repeated.
    Duplicates,
    /// Random, with a checksum and the offset it belongs to: see [`crate::verify`].
    Checked,
}

impl Content {
    /// Fills `buffer` with the content at `offset` of a file: a function of these four alone.
    pub fn fill(self, seed: u64, file: u32, offset: u64, buffer: &mut [u8]) {
        match self {
            Content::Random => scramble(&mut Rng::new(seed, file.into(), offset), buffer),
            Content::Zeros => buffer.fill(0),
            Content::HalfCompressible => {
                let mut rng = Rng::new(seed, file.into(), offset);
                for unit in buffer.chunks_mut(COMPRESSED) {
                    let (random, zeros) = unit.split_at_mut(unit.len() / 2);
                    scramble(&mut rng, random);
                    zeros.fill(0);
                }
            }
            Content::Duplicates => {
                buffer.chunks_mut(DUPLICATE).for_each(|page| scramble(&mut Rng::new(seed, 0, 0), page));
            }
            Content::Checked => stamp(seed, file, offset, 0, buffer),
        }
    }
}

/// A set of files, as a plan describes it. Equal layouts that are written in full are laid out once per evaluation,
/// unless `fresh` or checked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileLayout {
    /// Files are called `<name>.0`, `<name>.1`, …
    pub name: String,
    pub files: u32,
    pub bytes_per_file: u64,
    pub allocation: Allocation,
    pub content: Content,
    /// Created again for each job: a hole is filled only once.
    pub fresh: bool,
}

impl FileLayout {
    pub fn bytes(&self) -> u64 {
        u64::from(self.files) * self.bytes_per_file
    }

    /// `<name>.<number>`.
    pub fn file_name(&self, number: u32) -> String {
        format!("{}.{number}", self.name)
    }

    /// Whether another job can reuse the files: holes are filled once, and only a job's own verifier knows what it
    /// wrote.
    pub(crate) fn can_be_used_again(&self) -> bool {
        !self.fresh && self.allocation == Allocation::Overwrite && self.content != Content::Checked
    }

    pub(crate) fn paths(&self, directory: &Path) -> Vec<PathBuf> {
        (0..self.files).map(|number| directory.join(self.file_name(number))).collect()
    }
}

/// How a job opens its files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Open {
    pub direct: bool,
    /// O_DSYNC: each write returns when it is durable.
    pub dsync: bool,
}

impl Open {
    /// Uses libc's constants, because rustix's `OFlags::DSYNC` is O_SYNC.
    pub(crate) fn flags(self) -> i32 {
        let asked = [(self.direct, libc::O_DIRECT), (self.dsync, libc::O_DSYNC)];
        asked.into_iter().filter(|(asked, _)| *asked).fold(libc::O_NOFOLLOW, |flags, (_, flag)| flags | flag)
    }
}
