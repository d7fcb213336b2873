//! What can go wrong with an archive.

use plimsoll_record::RecordError;
use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error(transparent)]
    Record(#[from] RecordError),

    #[error("{path}: {source}", path = path.display())]
    Io { path: PathBuf, source: io::Error },

    /// What somebody has sent is no recording of ours, or more than one.
    #[error("it is no exported recording: {0}")]
    Foreign(String),

    #[error("interrupted; nothing of it is left")]
    Interrupted,

    #[error("there is already a recording {id}; remove it first: plimsoll recordings rm {id}")]
    Exists { id: String },
}

impl ArchiveError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> ArchiveError {
        let path = path.into();
        |source| ArchiveError::Io { path, source }
    }

    pub(crate) fn foreign(what: impl Into<String>) -> ArchiveError {
        ArchiveError::Foreign(what.into())
    }
}
