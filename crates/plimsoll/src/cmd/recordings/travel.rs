//! Recordings that leave this machine, and those that come from another.

use crate::cmd::DONE;
use crate::terminal::{self, Progress};
use plimsoll_analysis::find;
use plimsoll_archive::{ArchiveError, Scrubber};
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_model::number::counted;
use plimsoll_record::read::{self, Listing};
use plimsoll_watch::{Event, Watcher};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

const MIB: f64 = 1_048_576.0;

/// Packs a recording into a file that is not there yet.
pub fn export(listing: &Listing, recording: &str, output: &Path, anonymise: bool) -> anyhow::Result<u8> {
    let directory = find::only(listing, recording).map_err(LabError::from)?;
    let scrubber = match anonymise {
        true => Some(read::open(&directory).and_then(|view| Scrubber::of(&view)).map_err(LabError::from)?),
        false => None,
    };
    // From here on Ctrl-C leaves nothing behind.
    let mut progress = Progress::new(0)?;
    let file = File::create_new(output).map_err(|error| {
        LabError::Refused(format!("--output {}: {error}; accepted is a new file", output.display()))
    })?;
    progress.tell(Event::Doing("packing the recording"));
    let exported = plimsoll_archive::export(&directory, file, scrubber.as_ref(), &|| progress.interrupted());
    progress.clear();
    let exported = exported.inspect_err(|_| {
        // Half of it is of no use; the error says what happened.
        let _ = fs::remove_file(output);
    })?;
    let size = fs::metadata(output).map_or(0, |metadata| metadata.len());
    terminal::note(&format!(
        "{}: {}, {:.1} MiB in {:.1} MiB",
        output.display(),
        counted(exported.files as f64, "file"),
        exported.bytes as f64 / MIB,
        size as f64 / MIB
    ));
    Ok(DONE)
}

/// Unpacks a recording among the others.
pub fn import(home: &Home, file: &Path) -> anyhow::Result<u8> {
    let opened = File::open(file).map_err(|error| LabError::Refused(format!("{}: {error}", file.display())))?;
    let mut progress = Progress::new(0)?;
    progress.tell(Event::Doing("unpacking the recording"));
    let is_interrupted = || progress.interrupted();
    let imported = plimsoll_archive::import(BufReader::new(opened), &home.recordings(), &is_interrupted);
    progress.clear();
    let directory = imported.map_err(|error| match error {
        ArchiveError::Foreign(why) => ArchiveError::Foreign(format!("{}: {why}", file.display())),
        other => other,
    })?;
    terminal::result(&directory.display().to_string())?;
    Ok(DONE)
}
