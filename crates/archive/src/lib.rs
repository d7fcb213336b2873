//! Recordings that travel: packed into one file, without what names people and machines if that is asked for, and unpacked
//! again as what a stranger has sent.
//!
//! A file is a tar archive (POSIX.1-1988, ustar) in Zstandard. Its first entry, `id`, has the name of the recording's
//! directory; those below `recording/` are its files. Begin with [`fn@export`] and [`fn@import`]; [`anonymous`] says what is
//! taken out.

pub mod anonymous;
mod error;
mod export;
mod import;
mod known;
mod named;

pub use anonymous::Scrubber;
pub use error::ArchiveError;
pub use export::{Exported, export};
pub use import::import;

type Result<T> = std::result::Result<T, ArchiveError>;

/// The entry that names the recording, and the directory that all others are in.
const ID: &str = "id";
const ROOT: &str = "recording";
