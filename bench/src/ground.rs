//! The file on which the contestants of storage meet, as [`crate::arena`] is the server of the others.

use crate::arena::Tools;
use crate::child::{self, FinishedProcess, Interrupted};
use anyhow::Context;
use plimsoll_host::Home;
use plimsoll_storage::files;
use plimsoll_storage::layout::{Allocation, Content, FileLayout};
use plimsoll_storage::{EvaluationDirectory, StorageError};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Of the file: more than caches near the processor hold, and soon written.
const FILE_BYTES: u64 = 1 << 30;
/// Its content is random, and the same each time.
const SEED: u64 = 1;

/// A file, written in full; dropping this removes it.
pub struct Ground<'t> {
    place: EvaluationDirectory,
    // What contestants print; removed with it.
    scratch: tempfile::TempDir,
    tools: &'t Tools,
    layout: FileLayout,
    runs: Cell<u64>,
}

impl<'t> Ground<'t> {
    /// Lays the file out below the home.
    pub fn open(home: &Home, tools: &'t Tools) -> anyhow::Result<Ground<'t>> {
        eprintln!("writing a file of {} MiB", FILE_BYTES >> 20);
        let place = EvaluationDirectory::create(home.path(), home.path())?;
        let layout = FileLayout {
            // As sysbench calls its files; the first of them gets `.0`.
            name: "test_file".to_owned(),
            files: 1,
            bytes_per_file: FILE_BYTES,
            allocation: Allocation::Overwrite,
            content: Content::Random,
            fresh: false,
        };
        let go_on = || !tools.interrupted.load(Ordering::Relaxed);
        match files::lay_out(&place, &layout, SEED, &mut |_, _| go_on()) {
            Err(StorageError::Interrupted) => return Err(Interrupted.into()),
            laid_out => laid_out.context("laying out the file")?,
        }
        let scratch = tempfile::tempdir_in(home.path())?;
        Ok(Ground { place, scratch, tools, layout, runs: Cell::new(0) })
    }

    pub fn tools(&self) -> &Tools {
        self.tools
    }

    /// The directory of the file, and nothing else.
    pub fn directory(&self) -> &Path {
        self.place.path()
    }

    pub fn file(&self) -> PathBuf {
        self.directory().join(format!("{}.0", self.layout.name))
    }

    pub fn file_bytes(&self) -> u64 {
        self.layout.bytes()
    }

    /// Another one for each run: nobody goes to the same places twice in the same order.
    pub fn next_seed(&self) -> u64 {
        self.runs.set(self.runs.get() + 1);
        self.runs.get()
    }

    /// Runs a contestant that should take no longer than `patience`.
    pub fn run(&self, command: Command, patience: Duration) -> anyhow::Result<FinishedProcess> {
        child::run(command, None, self.scratch.path(), patience, &self.tools.interrupted)
    }
}
