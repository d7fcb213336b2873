//! What can go wrong with files and devices.

use plimsoll_host::HostError;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    #[error("cannot {what} {}: {source}", path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    /// A directory that cannot be used, or a request that makes no sense; nothing was started.
    #[error("{0}")]
    Refused(String),
    /// A layout that does not fit; what was created of it is removed.
    #[error(
        "the file system of {} is too small: {needed} bytes are needed, {free} are free; choose a smaller --size or \
         free some space",
        directory.display()
    )]
    Full { directory: PathBuf, needed: u64, free: u64 },
    /// Something that `clean` found and did not touch.
    #[error("left {} alone: {why}", path.display())]
    LeftAlone { path: PathBuf, why: String },
    /// A program that is missing or failed.
    #[error("{0}")]
    Environment(String),
    /// A tree that was not removed, or that others may have put there.
    #[error(transparent)]
    Host(#[from] HostError),
    #[error("interrupted")]
    Interrupted,
}

/// Says what was being done to which path.
pub(crate) trait DuringStorage<T> {
    fn during(self, what: &'static str, path: &Path) -> Result<T, StorageError>;
}

impl<T, E: Into<io::Error>> DuringStorage<T> for Result<T, E> {
    fn during(self, what: &'static str, path: &Path) -> Result<T, StorageError> {
        self.map_err(|error| StorageError::Io { what, path: path.to_owned(), source: error.into() })
    }
}
