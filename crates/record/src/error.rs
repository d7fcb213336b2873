//! What can go wrong with a recording.

use plimsoll_host::HostError;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error(
        "cannot write {path}: {source}; free some space there or point PLIMSOLL_HOME elsewhere",
        path = path.display()
    )]
    Write { path: PathBuf, source: io::Error },

    #[error("cannot read {path}: {source}", path = path.display())]
    Read { path: PathBuf, source: io::Error },

    /// A tree that was not removed, or a directory that others can write to.
    #[error(transparent)]
    Host(#[from] HostError),

    #[error(
        "{path} is read only: {source}; `report`, `compare` and `recordings show` read it, and nothing is written to it \
         or started from it",
        path = path.display()
    )]
    ReadOnly { path: PathBuf, source: HostError },

    #[error("{path}, line {line}: {found}; the file was changed or is damaged", path = path.display())]
    Malformed { path: PathBuf, line: usize, found: String },

    #[error("{path}, line {line}: {found}", path = path.display())]
    TooLarge { path: PathBuf, line: usize, found: String },

    #[error(
        "{path} has schema version {found}, this program reads {known}; use a newer Plimsoll",
        path = path.display()
    )]
    TooNew { path: PathBuf, found: u64, known: u32 },

    #[error(
        "{path} has schema version {found}, this program reads {known}; read it with the Plimsoll that wrote it, or \
         measure again",
        path = path.display()
    )]
    TooOld { path: PathBuf, found: u64, known: u32 },

    #[error("{path} is not a recording: {found}", path = path.display())]
    NotARecording { path: PathBuf, found: String },

    #[error(
        "{path} is still being written by a running Plimsoll; stop that one first, or force it",
        path = path.display()
    )]
    InUse { path: PathBuf },

    #[error("{name:?} cannot name a {what}; names match [a-z0-9][a-z0-9./+-]* and have at most 80 characters")]
    BadName { what: &'static str, name: String },

    #[error("the note has {found} characters; accepted are at most {most}")]
    LongNote { found: usize, most: usize },

    #[error("{tag:?} cannot tag a latency histogram; tags hold no space, comma or line break")]
    BadTag { tag: String },
}

impl RecordError {
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> RecordError + '_ {
        |source| RecordError::Write { path: path.to_owned(), source }
    }

    /// What the message is about; of a name or a tag nothing.
    pub fn path(&self) -> Option<&Path> {
        match self {
            RecordError::Write { path, .. }
            | RecordError::Read { path, .. }
            | RecordError::ReadOnly { path, .. }
            | RecordError::Malformed { path, .. }
            | RecordError::TooLarge { path, .. }
            | RecordError::TooNew { path, .. }
            | RecordError::TooOld { path, .. }
            | RecordError::NotARecording { path, .. }
            | RecordError::InUse { path } => Some(path),
            RecordError::Host(error) => Some(error.path()),
            RecordError::BadName { .. } | RecordError::BadTag { .. } | RecordError::LongNote { .. } => None,
        }
    }

    pub(crate) fn malformed(path: &Path, line: usize, found: impl Into<String>) -> RecordError {
        RecordError::Malformed { path: path.to_owned(), line, found: found.into() }
    }

    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> RecordError + '_ {
        |source| RecordError::Read { path: path.to_owned(), source }
    }
}
