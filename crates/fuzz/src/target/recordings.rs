//! Recordings of which one file was changed: refused by the name of a file, or shown in every format, as text.

use super::FuzzTarget;
use crate::change;
use crate::corpus::{self, CorpusEntry};
use anyhow::Context;
use plimsoll_analysis::AnalysisError;
use plimsoll_load::seed::Rng;
use plimsoll_record::read;
use plimsoll_render::{Format, render};
use plimsoll_report::terminal::TextLook;
use roxmltree::{Document, ParsingOptions};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Recordings, and the trials that are kept of each: a report of a few takes a part of the time.
const RECORDINGS: [(&str, &[&str]); 2] = [
    ("crates/fuzz/corpus/recordings/killed-run", &["0001"]),
    ("crates/plimsoll/tests/fixtures/systems/eight-cpus", &["0001", "0003"]),
];
const FILES: &[&str] = &[".json", ".ndjson", ".hlog"];
const FORMATS: [Format<'static>; 5] = [Format::Html, Format::Markdown, Format::Json, Format::Csv, Format::Svg(None)];

/// What would end a script of a page and begin another.
const SCRIPT: &str = "</script><script>alert(7)";
/// What takes the place of values.
const WORDS: &[&str] = &[
    "",
    "0",
    "-1",
    "18446744073709551615",
    "9223372036854775808",
    "340282366920938463463374607431768211456",
    "1e308",
    "-1e308",
    "1e999",
    "5e-324",
    "NaN",
    "null",
    "true",
    "[]",
    "{}",
    "[[[[{\"a\":[{}]}]]]]",
    "\"</script><script>alert(7)//\"",
    "\"\\u202e\\u001b[2J\\u0000\"",
    "\"2026-01-01T00:00:00Z\"",
    "\"measure\"",
];

pub struct Recordings {
    entries: Vec<CorpusEntry>,
    /// Of each entry, in its order: the copy of its recording, and that of the file itself.
    places: Vec<(PathBuf, PathBuf)>,
    _home: TempDir,
}

impl Recordings {
    pub fn open() -> anyhow::Result<Recordings> {
        let home = tempfile::tempdir().context("a directory for copies")?;
        let (mut entries, mut places) = (Vec::new(), Vec::new());
        for (directory, trials) in RECORDINGS {
            let copy = home.path().join(Path::new(directory).file_name().unwrap_or_default());
            let is_left_out = |trial: &str| !trials.iter().any(|kept| trial.starts_with(*kept));
            for entry in corpus::files(directory, FILES)? {
                let within = entry.name.strip_prefix(directory).unwrap_or_default().trim_start_matches('/');
                if within.strip_prefix("trials/").is_some_and(is_left_out) {
                    continue;
                }
                let file = copy.join(within);
                fs::create_dir_all(file.parent().unwrap_or(&copy))?;
                fs::write(&file, &entry.bytes)?;
                places.push((copy.clone(), file));
                entries.push(entry);
            }
        }
        Ok(Recordings { entries, places, _home: home })
    }
}

impl FuzzTarget for Recordings {
    fn name(&self) -> &'static str {
        "recordings"
    }

    fn entries(&self) -> &[CorpusEntry] {
        &self.entries
    }

    fn changed(&self, entry: usize, random: &mut Rng) -> Vec<u8> {
        change::of_text(&self.entries[entry].bytes, &self.entries, WORDS, random)
    }

    fn read(&mut self, entry: usize, input: &[u8]) -> Result<bool, String> {
        let (recording, file) = &self.places[entry];
        let put = |bytes: &[u8]| fs::write(file, bytes).map_err(|error| format!("cannot write a copy: {error}"));
        put(input)?;
        let shown = shown(recording);
        put(&self.entries[entry].bytes)?;
        shown
    }
}

/// Reads a recording and reports it; true if there was something to report.
fn shown(recording: &Path) -> Result<bool, String> {
    let read = read::open(recording).map_err(AnalysisError::from);
    let recorded = match read.and_then(|view| plimsoll_analysis::recorded(&view, "now", |_| Vec::new())) {
        Ok(recorded) => recorded,
        Err(AnalysisError::Record(error)) if error.path().is_none_or(|path| !path.starts_with(recording)) => {
            return Err(format!("refused by the name of no file of it: {error}"));
        }
        Err(_) => return Ok(false),
    };
    let document = plimsoll_report::document(&recorded);
    for format in FORMATS {
        // One that has nothing to draw has no figure.
        let Ok(text) = render(&document, format) else { continue };
        if matches!(format, Format::Html | Format::Svg(_)) {
            is_inert(&text).map_err(|why| format!("{format:?} {why}"))?;
        }
    }
    // What a terminal must not get is taken out where it is written.
    plimsoll_report::terminal(&recorded, TextLook { width: 80, room: 80, ..TextLook::PLAIN });
    Ok(true)
}

/// Whatever a text of the recording says, it is text on the page.
fn is_inert(page: &str) -> Result<(), String> {
    if page.contains(SCRIPT) {
        return Err("lets a text end its script".to_owned());
    }
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(page, options).map(drop).map_err(|error| format!("is not well-formed: {error}"))
}
