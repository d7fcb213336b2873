//! Why a file or a directory of ours cannot be used.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Others can change what is there, or make it lead elsewhere.
    #[error("`{}` cannot be trusted: {found}; {remedy}", path.display())]
    Untrusted { path: PathBuf, found: String, remedy: String },

    /// What is mounted is not ours to remove; it was left alone.
    #[error(
        "`{}` was not removed, because something that is not Plimsoll's is mounted on `{}`; unmount it (if a plan's \
         commands mount something, unmount it in `after`)",
        path.display(),
        mount.display()
    )]
    Mounted { path: PathBuf, mount: PathBuf },

    #[error("`{}` was not removed: {found}", path.display())]
    NoTree { path: PathBuf, found: &'static str },

    #[error("Plimsoll's {what} `{}` cannot be used: {found}; {remedy}", path.display())]
    Place { what: &'static str, path: PathBuf, found: String, remedy: &'static str },

    /// Something that cannot be trusted ([`HostError::Untrusted`]), with its name, and what would do instead.
    #[error("Plimsoll's {what} cannot be used: {source}; or {remedy}")]
    Ours { what: &'static str, source: Box<HostError>, remedy: &'static str },

    #[error(
        "the socket path `{}` has {bytes} bytes, and at most 107 are possible; set XDG_RUNTIME_DIR to a shorter \
         directory",
        path.display()
    )]
    SocketPath { path: PathBuf, bytes: usize },

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
            | HostError::Place { path, .. }
            | HostError::SocketPath { path, .. }
            | HostError::Io { path, .. } => path,
            HostError::Ours { source, .. } => source.path(),
        }
    }

    /// Says what of Plimsoll's cannot be trusted, and what would do instead.
    pub fn ours(what: &'static str, remedy: &'static str) -> impl FnOnce(HostError) -> HostError {
        move |error| match error {
            HostError::Untrusted { .. } => HostError::Ours { what, source: Box::new(error), remedy },
            other => other,
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
