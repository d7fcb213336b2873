//! What can stand between us and a file.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Others can change what is there, or lead elsewhere by it.
    #[error("`{}` is not to be trusted: {found}; {remedy}", path.display())]
    Untrusted { path: PathBuf, found: String, remedy: String },

    /// What is mounted is not ours to remove; it was left as it was.
    #[error(
        "`{}` is not removed, since something is mounted on `{}`, which is not plimsoll's; unmount it (a plan whose \
         commands mount something unmounts it in `after`)",
        path.display(),
        mount.display()
    )]
    Mounted { path: PathBuf, mount: PathBuf },

    #[error("`{}` is not removed: {found}", path.display())]
    NoTree { path: PathBuf, found: &'static str },

    #[error("cannot {action} `{}`: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

impl HostError {
    /// What the message is about.
    pub fn path(&self) -> &Path {
        match self {
            HostError::Untrusted { path, .. }
            | HostError::Mounted { path, .. }
            | HostError::NoTree { path, .. }
            | HostError::Io { path, .. } => path,
        }
    }
}

/// Names the action and the path of a failed system call.
pub(crate) trait During<T> {
    fn during(self, action: &'static str, path: &Path) -> Result<T, HostError>;
}

impl<T, E: Into<io::Error>> During<T> for Result<T, E> {
    fn during(self, action: &'static str, path: &Path) -> Result<T, HostError> {
        self.map_err(|error| HostError::Io { action, path: path.to_owned(), source: error.into() })
    }
}
