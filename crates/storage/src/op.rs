//! One operation on a file.

use plimsoll_model::OpKind;

/// Bytes of a page: the default of `innodb_page_size`.
pub const PAGE: u32 = 16 * 1024;

/// Which of a slot's two buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
}

/// How much of a file's state a sync has to bring to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncMode {
    Fsync,
    Fdatasync,
}

/// What a write asks for in addition to being written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durable {
    /// Nothing: a sync comes later, or the file is open with O_DSYNC.
    #[default]
    No,
    /// RWF_DSYNC (pwritev2(2)).
    Dsync,
    /// A write and a linked fdatasync in one submission; io_uring only.
    Linked,
}

/// What to do. Files are numbers within the job's file set; offsets and lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Read {
        file: u32,
        offset: u64,
        bytes: u32,
    },
    Write {
        file: u32,
        offset: u64,
        bytes: u32,
        durable: Durable,
        atomic: bool,
    },
    Sync {
        file: u32,
        mode: SyncMode,
    },
    /// Makes one transaction durable; commit engine only.
    Commit,
    /// The file grows by this many bytes at its end: allocated without writing, or filled with zeros.
    Extend {
        file: u32,
        bytes: u64,
        allocate: bool,
    },
    /// Creates an empty file of this number and makes its name durable.
    Create {
        number: u64,
    },
    Rename {
        number: u64,
    },
    Truncate {
        number: u64,
    },
    Unlink {
        number: u64,
    },
}

impl Op {
    pub fn kind(&self) -> OpKind {
        match self {
            Op::Read { .. } => OpKind::Read,
            Op::Write { .. } => OpKind::Write,
            Op::Sync { .. } => OpKind::Sync,
            Op::Commit => OpKind::Commit,
            Op::Extend { .. } => OpKind::Extend,
            Op::Create { .. } => OpKind::Create,
            Op::Rename { .. } => OpKind::Rename,
            Op::Truncate { .. } => OpKind::Truncate,
            Op::Unlink { .. } => OpKind::Unlink,
        }
    }

    /// Bytes read, and bytes written.
    pub fn bytes(&self) -> (u64, u64) {
        match *self {
            Op::Read { bytes, .. } => (u64::from(bytes), 0),
            Op::Write { bytes, .. } => (0, u64::from(bytes)),
            Op::Extend { bytes, allocate: false, .. } => (0, bytes),
            _ => (0, 0),
        }
    }
}
