//! One operation on a file.

/// Bytes of a page: the default of `innodb_page_size`.
pub const PAGE: u32 = 16 * 1024;

/// Which of a slot's two buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
}

/// What is counted apart: each kind has its own histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    Sync,
    /// From asking for durability to having it: of one committer, whoever wrote and synced.
    Commit,
    /// A file grows.
    Extend,
    Create,
    Rename,
    Truncate,
    Unlink,
}

impl Kind {
    pub const ALL: [Kind; 9] = [
        Kind::Read,
        Kind::Write,
        Kind::Sync,
        Kind::Commit,
        Kind::Extend,
        Kind::Create,
        Kind::Rename,
        Kind::Truncate,
        Kind::Unlink,
    ];
    /// In the order of [`Kind::ALL`], which is the order of the transactions of a tally.
    pub const NAMES: [&'static str; 9] =
        ["read", "write", "sync", "commit", "extend", "create", "rename", "truncate", "unlink"];

    pub fn name(self) -> &'static str {
        Kind::NAMES[self as usize]
    }
}

/// How much of a file's state a sync has to bring to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncMode {
    Fsync,
    Fdatasync,
}

/// How a write asks for more than being written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durable {
    /// Not at all: a sync comes later, or the file is open with O_DSYNC.
    #[default]
    No,
    /// RWF_DSYNC (pwritev2(2)).
    Dsync,
    /// A write and a linked fdatasync in one submission; only io_uring can.
    Linked,
}

/// What is to be done. Files are numbers within the job's file set; offsets and lengths are bytes.
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
    /// Makes one transaction durable; only the commit engine can.
    Commit,
    /// The file grows by so many bytes at its end: allocated without writing, or written with zeros.
    Extend {
        file: u32,
        bytes: u64,
        allocate: bool,
    },
    /// An empty file of this number, and its name made durable.
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
    pub fn kind(&self) -> Kind {
        match self {
            Op::Read { .. } => Kind::Read,
            Op::Write { .. } => Kind::Write,
            Op::Sync { .. } => Kind::Sync,
            Op::Commit => Kind::Commit,
            Op::Extend { .. } => Kind::Extend,
            Op::Create { .. } => Kind::Create,
            Op::Rename { .. } => Kind::Rename,
            Op::Truncate { .. } => Kind::Truncate,
            Op::Unlink { .. } => Kind::Unlink,
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
