//! The files that a job works on: how many, how large, in which state, with what inside.

use crate::sector::{scramble, stamp};
use plimsoll_load::seed::Rng;
use std::path::{Path, PathBuf};

/// What [`Content::HalfCompressible`] halves: the block in which file systems and arrays compress at the least.
const COMPRESSED: usize = 4096;
/// What [`Content::Duplicates`] repeats: an InnoDB page.
pub(crate) const DUPLICATE: usize = 16 << 10;

/// How the blocks of a file are allocated when a job begins. On ext4 it decides whether direct writes to one file are
/// done one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Allocation {
    /// Written in full before: what follows overwrites.
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

/// What is written: arrays and file systems treat zeros and duplicates as special.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Content {
    #[default]
    Random,
    Zeros,
    /// Of each 4 KiB the first half is random, the second zeros.
    HalfCompressible,
    /// The same random 16 KiB again and again.
    Duplicates,
    /// Random with a checksum and the place it belongs to: see [`crate::verify`].
    Checked,
}

impl Content {
    /// Fills `buffer` with what belongs to `offset` of a file: a function of these four alone.
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

/// A set of files, as a plan says it. Equal layouts that were written in full are laid out once per evaluation, unless
/// `fresh` or checked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Files are called `<name>.0`, `<name>.1`, …
    pub name: String,
    pub files: u32,
    pub bytes_per_file: u64,
    pub allocation: Allocation,
    pub content: Content,
    /// Made anew for each job: a hole is filled only once.
    pub fresh: bool,
}

impl Layout {
    pub fn bytes(&self) -> u64 {
        u64::from(self.files) * self.bytes_per_file
    }

    /// `<name>.<number>`.
    pub fn file_name(&self, number: u32) -> String {
        format!("{}.{number}", self.name)
    }

    /// Whether another job can use what one has left: holes are filled once, and what a verified job wrote only its
    /// own verifier knows.
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
    /// By libc's names: rustix calls O_SYNC what it has as `OFlags::DSYNC`.
    pub(crate) fn flags(self) -> i32 {
        let asked = [(self.direct, libc::O_DIRECT), (self.dsync, libc::O_DSYNC)];
        asked.into_iter().filter(|(asked, _)| *asked).fold(libc::O_NOFOLLOW, |flags, (_, flag)| flags | flag)
    }
}
