//! Files of one JSON document per line, and small files that are replaced as a whole.
//!
//! The first line of each `.ndjson` file names its schema: `{"schema":"plimsoll.events","version":1}`. A line is
//! written by one system call and is either there as a whole or not at all: what a full disk took of it is cut
//! off again.

use crate::{RecordError, Result, file};
use plimsoll_host::HostError;
use plimsoll_host::replace::{Durable, replace};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The version that every line file of this program has.
pub const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Schema {
    schema: String,
    version: u64,
}

/// A file that grows by whole lines.
#[derive(Debug)]
pub struct LineFile {
    path: PathBuf,
    file: File,
    /// Length up to the last whole line, bytes.
    length: u64,
}

impl LineFile {
    /// Creates the file, which must not exist, with `head` as its first lines.
    pub(crate) fn create(path: PathBuf, head: &str) -> Result<LineFile> {
        let file = OpenOptions::new().append(true).create_new(true).open(&path).map_err(RecordError::write(&path))?;
        let mut lines = LineFile { path, file, length: 0 };
        lines.append(head.as_bytes())?;
        Ok(lines)
    }

    /// Opens a file that another process wrote. Nothing may be appended before [`LineFile::mend`].
    pub(crate) fn reopen(path: PathBuf) -> Result<LineFile> {
        let file = OpenOptions::new().append(true).open(&path).map_err(RecordError::read(&path))?;
        Ok(LineFile { path, file, length: 0 })
    }

    /// Cuts off what is behind the last whole line.
    pub(crate) fn mend(&mut self) -> Result<()> {
        let bytes = file::read(&self.path, file::LARGE).map_err(RecordError::read(&self.path))?;
        self.length = whole_lines(&bytes).len() as u64;
        self.file.set_len(self.length).map_err(RecordError::write(&self.path))
    }

    /// Creates a file of JSON lines whose first line names `schema`.
    pub(crate) fn create_json(path: PathBuf, schema: &str) -> Result<LineFile> {
        let head = format!("{{\"schema\":\"{schema}\",\"version\":{VERSION}}}\n");
        LineFile::create(path, &head)
    }

    /// Appends whole lines, line breaks included, in one write.
    pub(crate) fn append(&mut self, lines: &[u8]) -> Result<()> {
        match self.file.write_all(lines) {
            Ok(()) => {
                self.length += lines.len() as u64;
                Ok(())
            }
            Err(source) => {
                // Best effort: the reader forgives a torn last line, but a later line must not be glued to it.
                let _ = self.file.set_len(self.length);
                Err(RecordError::Write { path: self.path.clone(), source })
            }
        }
    }

    pub(crate) fn append_json(&mut self, record: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(record).map_err(|e| RecordError::write(&self.path)(e.into()))?;
        line.push(b'\n');
        self.append(&line)
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }
}

/// The whole lines of a text: what follows the last line break was torn off by a kill or a full disk.
pub(crate) fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
    &bytes[..end]
}

/// Reads a file of JSON lines. A file that is not there has no lines; a torn last line is left out; unknown
/// fields are skipped.
pub(crate) fn read_json_lines<T: DeserializeOwned>(path: &Path, schema: &str) -> Result<Vec<T>> {
    let bytes = match file::read(path, file::LARGE) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(RecordError::read(path)(e)),
    };
    let malformed = |line: usize, found: String| RecordError::Malformed { path: path.to_owned(), line, found };
    let mut lines = whole_lines(&bytes).split(|&b| b == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    let Some((_, first)) = lines.next() else { return Ok(Vec::new()) };
    let head: Schema = serde_json::from_slice(first).map_err(|e| malformed(1, format!("no schema named: {e}")))?;
    if head.schema != schema {
        return Err(malformed(1, format!("schema {:?} where {schema:?} belongs", head.schema)));
    }
    if head.version > u64::from(VERSION) {
        return Err(RecordError::TooNew { path: path.to_owned(), found: head.version, known: VERSION });
    }
    lines.map(|(at, line)| serde_json::from_slice(line).map_err(|e| malformed(at + 1, e.to_string()))).collect()
}

/// Writes a whole file so that a reader sees either the old or the new one, and so does whoever looks after a crash.
pub(crate) fn replace_file(path: &Path, content: &[u8]) -> Result<()> {
    replace(path, content, Durable::Now).map_err(|error| match error {
        HostError::Io { path, source, .. } => RecordError::Write { path, source },
        other => other.into(),
    })
}

/// [`replace_file`] with a JSON document that people can read, too.
pub(crate) fn replace_json(path: &Path, document: &impl Serialize) -> Result<()> {
    let mut text = serde_json::to_vec_pretty(document).map_err(|e| RecordError::write(path)(e.into()))?;
    text.push(b'\n');
    replace_file(path, &text)
}

/// Reads one JSON document.
///
/// # Errors
/// [`RecordError::Read`] if it is not there or is no regular file, [`RecordError::Malformed`] if it is no `T`.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let bytes = file::read(path, file::SMALL).map_err(RecordError::read(path))?;
    serde_json::from_slice(&bytes).map_err(|e| RecordError::Malformed {
        path: path.to_owned(),
        line: e.line(),
        found: e.to_string(),
    })
}
