//! What can go wrong with a lane.

use plimsoll_host::HostError;
use plimsoll_storage::StorageError;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum LaneError {
    #[error("cannot {what} {}: {source}", path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    /// A name that means no lane, or one that cannot be used; nothing was started.
    #[error("{0}")]
    Refused(String),
    /// A program that is missing or failed.
    #[error("{0}")]
    Environment(String),
    /// A file system that cannot be mounted any more, and why.
    #[error("{0}")]
    Damaged(String),
    /// A tree that was not removed, or that others may have put there.
    #[error(transparent)]
    Host(#[from] HostError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error("interrupted")]
    Interrupted,
}

/// Says what was being done to which path.
pub(crate) trait DuringLane<T> {
    fn during(self, what: &'static str, path: &Path) -> Result<T, LaneError>;
}

impl<T, E: Into<io::Error>> DuringLane<T> for Result<T, E> {
    fn during(self, what: &'static str, path: &Path) -> Result<T, LaneError> {
        self.map_err(|error| LaneError::Io { what, path: path.to_owned(), source: error.into() })
    }
}
