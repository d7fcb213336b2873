//! Directories of recordings, which only their owner can look into, and files of text in them.

use crate::lines::replace_file;
use crate::{RecordError, Result};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Writes a file of text into a directory of a recording.
pub(crate) fn attach(directory: &Path, name: &str, text: &str) -> Result<PathBuf> {
    if !name.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-' | b'_')) || name.starts_with('.') {
        return Err(RecordError::BadName { what: "file of a recording", name: name.to_owned() });
    }
    let path = directory.join(name);
    replace_file(&path, text.as_bytes())?;
    Ok(path)
}

/// Makes a directory that only its owner can look into, and those above it that are missing.
pub(crate) fn make_private(path: &Path) -> Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(path).map_err(RecordError::write(path))
}
