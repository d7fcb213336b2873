//! A recording → one file.

use crate::anonymous::Scrubber;
use crate::{ArchiveError, ID, ROOT, Result};
use plimsoll_record::{RecordError, file, read};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tar::{Builder, Header};

/// Zstandard's own default.
const LEVEL: i32 = 3;
/// What is in the files of these endings is known; everything else may have anything in it.
const KNOWN: [&str; 3] = ["json", "ndjson", "hlog"];
/// How long the series beside it were when they were synced.
const LENGTHS: &str = "series.json";

/// What was packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    pub files: usize,
    /// Before they were compressed.
    pub bytes: u64,
}

/// Packs the recording in this directory. With a scrubber nothing in it names people, machines or places: texts are
/// cleaned, and logs, option files, pages and notes stay behind.
///
/// # Errors
/// [`ArchiveError::Record`] for what is no recording or is still being written, [`ArchiveError::Io`],
/// [`ArchiveError::Interrupted`] before the next file once `is_interrupted`.
pub fn export(
    recording: &Path,
    out: impl Write,
    scrubber: Option<&Scrubber>,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<Exported> {
    read::manifest(recording)?;
    if read::is_being_written(recording) {
        return Err(RecordError::InUse { path: recording.to_owned() }.into());
    }
    let failed = |error: io::Error| ArchiveError::Io { path: recording.to_owned(), source: error };
    let mut archive = Builder::new(zstd::Encoder::new(out, LEVEL).map_err(failed)?);
    let id = recording.file_name().unwrap_or_default().to_string_lossy();
    let id = scrubber.map_or_else(|| id.to_string(), |scrubber| scrubber.text(&id));
    add(&mut archive, Path::new(ID), id.len() as u64, id.as_bytes())?;
    let mut exported = Exported { files: 0, bytes: 0 };
    let mut cleaned = Cleaned::default();
    for path in files(recording, Path::new(""))? {
        if is_interrupted() {
            return Err(ArchiveError::Interrupted);
        }
        let from = recording.join(&path);
        let mut content = file::open(&from).map_err(ArchiveError::io(&from))?;
        let size = content.metadata().map_err(ArchiveError::io(&from))?.len();
        let to = Path::new(ROOT).join(&path);
        let size = match scrubber {
            None => {
                add(&mut archive, &to, size, content.take(size))?;
                size
            }
            Some(scrubber) if is_known(&path) => {
                let mut text = String::new();
                content.read_to_string(&mut text).map_err(ArchiveError::io(&from))?;
                let text = cleaned.text(scrubber, &path, &text);
                add(&mut archive, &to, text.len() as u64, text.as_bytes())?;
                text.len() as u64
            }
            Some(_) => continue,
        };
        exported.files += 1;
        exported.bytes += size;
    }
    archive.into_inner().and_then(zstd::Encoder::finish).map_err(failed)?;
    Ok(exported)
}

/// How long files were that were cleaned, and how long they are: what a trial says of the lengths of its series has to follow.
#[derive(Default)]
struct Cleaned(BTreeMap<PathBuf, Lengths>);

struct Lengths {
    was: u64,
    is: u64,
}

impl Cleaned {
    fn text(&mut self, scrubber: &Scrubber, path: &Path, text: &str) -> String {
        if path.ends_with(LENGTHS) {
            return self.lengths(path, text).unwrap_or_else(|| scrubber.file(path, text));
        }
        let cleaned = scrubber.file(path, text);
        self.0.insert(path.to_owned(), Lengths { was: text.len() as u64, is: cleaned.len() as u64 });
        cleaned
    }

    /// The lengths of the series beside `path` as they are now; what was torn is as much too short as it was.
    fn lengths(&self, path: &Path, text: &str) -> Option<String> {
        let mut lengths: BTreeMap<String, u64> = serde_json::from_str(text).ok()?;
        for (name, length) in &mut lengths {
            if let Some(Lengths { was, is }) = self.0.get(&path.with_file_name(name)) {
                *length = length.saturating_sub(*was).saturating_add(*is);
            }
        }
        serde_json::to_string(&lengths).ok()
    }
}

/// Labels are what somebody says in their own words.
fn is_known(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    path != Path::new("labels.json") && ending.is_some_and(|ending| KNOWN.contains(&ending))
}

/// The regular files below a directory of a recording, from the recording, in an order that is always the same.
fn files(recording: &Path, below: &Path) -> Result<Vec<PathBuf>> {
    let directory = recording.join(below);
    let entries = fs::read_dir(&directory).map_err(ArchiveError::io(&directory))?;
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(ArchiveError::io(&directory))?;
        let path = below.join(entry.file_name());
        let kind = entry.file_type().map_err(ArchiveError::io(recording.join(&path)))?;
        match kind.is_dir() {
            true => found.extend(files(recording, &path)?),
            false if kind.is_file() => found.push(path),
            false => {}
        }
    }
    // The lengths of series come after the series.
    found.sort_by_cached_key(|path| (path.ends_with(LENGTHS), path.clone()));
    Ok(found)
}

fn add(archive: &mut Builder<impl Write>, path: &Path, size: u64, content: impl Read) -> Result<()> {
    let mut header = Header::new_ustar();
    header.set_size(size);
    header.set_mode(0o644);
    header.set_path(path).map_err(ArchiveError::io(path))?;
    header.set_cksum();
    archive.append(&header, content).map_err(ArchiveError::io(path))
}
