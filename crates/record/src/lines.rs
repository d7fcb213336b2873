//! Files of one JSON document per line, and small files that are replaced as a whole.
//!
//! The first line of each `.ndjson` file names its schema: `{"schema":"plimsoll.events","version":1}`. A line is
//! written by one system call and is either there as a whole or not at all: what a full disk took of it is cut
//! off again.

use crate::bounds::{LARGEST_DOCUMENT, LARGEST_SERIES, LONGEST_LINE, Timed, implausible, is_too_heavy};
use crate::memory::Allowance;
use crate::{RecordError, Result, file};
use plimsoll_host::HostError;
use plimsoll_host::replace::replace;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take, Write};
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
        let mut file = file::open(&self.path).map_err(RecordError::read(&self.path))?;
        self.length = end_of_whole_lines(&mut file).map_err(RecordError::read(&self.path))?;
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

/// The lines of a file that is being read, one at a time in memory.
pub(crate) struct Lines<'p> {
    path: &'p Path,
    /// As much as there was when it was opened: a recording grows while it is read.
    reader: BufReader<Take<File>>,
    line: Vec<u8>,
    /// Of the line that was read last, from 1.
    number: usize,
}

impl<'p> Lines<'p> {
    /// None for a file that is not there.
    pub(crate) fn open(path: &'p Path) -> Result<Option<Lines<'p>>> {
        match file::open_bounded(path, LARGEST_SERIES) {
            Ok((file, size)) => {
                let reader = BufReader::with_capacity(64 << 10, file.take(size));
                Ok(Some(Lines { path, reader, line: Vec::new(), number: 0 }))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(RecordError::read(path)(e)),
        }
    }

    /// The next line, line break included; none behind the last whole one: what follows it was torn off by a kill or a
    /// full disk.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>> {
        self.line.clear();
        self.number += 1;
        let most = LONGEST_LINE as u64 + 1;
        let read = self.reader.by_ref().take(most).read_until(b'\n', &mut self.line);
        read.map_err(RecordError::read(self.path))?;
        match self.line.last() {
            Some(b'\n') => Ok(Some(&self.line)),
            Some(_) if self.line.len() > LONGEST_LINE => {
                Err(self.malformed(format!("more than {LONGEST_LINE} bytes without a line break")))
            }
            _ => Ok(None),
        }
    }

    /// The same without lines that are empty.
    fn next_filled(&mut self) -> Result<Option<&[u8]>> {
        while self.next()?.is_some() {
            if self.line.len() > 1 {
                return Ok(Some(&self.line));
            }
        }
        Ok(None)
    }

    /// What is wrong with the line that was read last.
    pub(crate) fn malformed(&self, found: impl Into<String>) -> RecordError {
        RecordError::malformed(self.path, self.number, found)
    }

    fn parsed<T: DeserializeOwned>(&self) -> Result<T> {
        document(&self.line).map_err(|wrong| self.malformed(wrong.found))
    }
}

/// What is wrong with a document, and in which line of it, from 1.
struct Wrong {
    found: String,
    line: usize,
}

/// One JSON document, in memory only if it is no heavier than those of ours.
fn document<T: DeserializeOwned>(text: &[u8]) -> std::result::Result<T, Wrong> {
    if is_too_heavy(text) {
        return Err(Wrong { found: "more values than any document of Plimsoll has".to_owned(), line: 1 });
    }
    serde_json::from_slice(text).map_err(|error| {
        let (line, column, found) = (error.line(), error.column(), error.to_string());
        // The line is told with the file.
        let place = format!(" at line {line} column {column}");
        let found = match found.strip_suffix(&place) {
            Some(found) if column > 0 => format!("{found} at column {column}"),
            _ => found,
        };
        Wrong { found, line }
    })
}

/// The `T` that a line is; none of what is no `T`, or is heavier in memory than any line of ours.
pub fn parsed<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    document(line).ok()
}

/// Reads a file of JSON lines. A file that is not there has no lines; a torn last line is left out; unknown
/// fields are skipped.
///
/// # Errors
/// [`RecordError::Malformed`] with the line of what is no `T`, or lies beyond its bounds; [`RecordError::TooLarge`] if
/// all of them are more than is `allowed`.
pub(crate) fn read_json_lines<T: DeserializeOwned + Timed>(
    path: &Path,
    schema: &str,
    allowed: &Allowance,
) -> Result<Vec<T>> {
    let Some(mut lines) = Lines::open(path)? else { return Ok(Vec::new()) };
    if lines.next_filled()?.is_none() {
        return Ok(Vec::new());
    }
    let head: Schema =
        document(&lines.line).map_err(|wrong| lines.malformed(format!("no schema named: {}", wrong.found)))?;
    if head.schema != schema {
        return Err(lines.malformed(format!("schema {:?} where {schema:?} belongs", head.schema)));
    }
    if head.version > u64::from(VERSION) {
        return Err(RecordError::TooNew { path: path.to_owned(), found: head.version, known: VERSION });
    }
    let mut all = Vec::new();
    while lines.next_filled()?.is_some() {
        let line: T = lines.parsed()?;
        if let Some(why) = implausible(&line) {
            return Err(lines.malformed(why));
        }
        let took = allowed.took(lines.line.len() + size_of::<T>());
        took.map_err(|found| RecordError::TooLarge { path: path.to_owned(), line: lines.number, found })?;
        all.push(line);
    }
    Ok(all)
}

/// Where the last whole line of a file ends, bytes.
fn end_of_whole_lines(file: &mut File) -> io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut block = vec![0; 64 << 10];
    while end > 0 {
        let from = end.saturating_sub(block.len() as u64);
        let block = &mut block[..(end - from) as usize];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(block)?;
        if let Some(at) = block.iter().rposition(|&byte| byte == b'\n') {
            return Ok(from + at as u64 + 1);
        }
        end = from;
    }
    Ok(0)
}

/// Writes a whole file so that a reader sees either the old or the new one, and so does whoever looks after a crash.
pub(crate) fn replace_file(path: &Path, content: &[u8]) -> Result<()> {
    replace(path, content).map_err(|error| match error {
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
    let bytes = file::read(path, LARGEST_DOCUMENT).map_err(RecordError::read(path))?;
    document(&bytes).map_err(|wrong| RecordError::malformed(path, wrong.line, wrong.found))
}

#[cfg(test)]
mod tests {
    use super::{read_json, replace_json};

    /// What is computed again from a recording is what was computed while it was measured.
    #[test]
    fn numbers_come_back_as_they_were() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("numbers.json");
        let numbers: Vec<f64> = (1..10_000_u32).map(|n| 1e6 * f64::from(n).sqrt().sin()).collect();
        replace_json(&path, &numbers).expect("written");
        let read: Vec<f64> = read_json(&path).expect("numbers");
        assert!(read == numbers, "numbers changed between a recording's writer and its reader");
    }
}
