//! Turns a copy of a running private server into a dataset.

use super::contents::{self, FoundDataset};
use super::copying::Copying;
use super::cost::CopyCost;
use super::interrupted;
use super::method::{self, Choice, SnapshotMethod};
use super::source::DatasetSource;
use super::verify::{self, Checked};
use crate::DataError;
use crate::starting_data::{server, small_redo};
use plimsoll_host::{Home, facts};
use plimsoll_server::snapshot::store::{self, Making, Stored, StoredDescription};
use plimsoll_server::snapshot::tree;
use plimsoll_server::{ServerError, Settings, TrialDirectory, baseline};
use plimsoll_watch::{Event, Watcher};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The copy is checked while the other server may be under load, so it gets little memory.
const POOL: &str = "256M";
/// What was decided when the server's data directory was created.
const FIXED: [&str; 4] =
    ["innodb_data_file_path", "innodb_page_size", "innodb_undo_tablespaces", "lower_case_table_names"];

/// What to save, and as what.
#[derive(Clone, Debug)]
pub struct SaveRequest<'a> {
    /// The dataset's id.
    pub name: &'a str,
    /// The private server; if not given, the only one that is running.
    pub server: Option<&'a str>,
    pub method: Choice,
    /// Who we are, for another Plimsoll that finds the copy in use.
    pub holder: &'a str,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Saved {
    /// None if the copy failed its check: then it was removed.
    pub stored: Option<Stored>,
    pub server: String,
    pub method: SnapshotMethod,
    /// How long the server was paused, if it was.
    pub stopped: Option<Duration>,
    /// From the beginning of the copy to its end.
    pub copied: Duration,
    /// Until a server had started on the copy, recovery included.
    pub started: Duration,
    pub cost: CopyCost,
    pub checked: Vec<Checked>,
}

impl Saved {
    /// How many invariants are broken.
    pub fn broken(&self) -> usize {
        self.checked.iter().flat_map(|checked| &checked.findings).filter(|finding| !finding.holds).count()
    }
}

/// Copies a running private server without taking its lock, which whoever loads it may hold; starts the copy, checks
/// every dataset that has a marker, shuts it down and keeps it.
///
/// # Errors
/// [`DataError::Refused`] if there is no way to a consistent copy, or no such server; [`DataError::Interrupted`]; those
/// of servers and files. Whatever was made is removed, and the server keeps running.
pub fn save(home: &Home, request: &SaveRequest, watcher: &mut dyn Watcher) -> Result<Saved, DataError> {
    let mut source = DatasetSource::find(home, request.server)?;
    let datasets = contents::found(&mut source.control)?;
    // What could not be checked is not copied.
    datasets.iter().try_for_each(|dataset| dataset.workload().map(drop))?;
    must_be_new(home, request.name)?;
    let making = Making::begin(&source.home, request.name)?;
    let directory = TrialDirectory::take(&source.home, &format!("save-{}", std::process::id()), request.holder)?;
    let saving = Saving { source, datasets, directory: &directory, request, watcher };
    let saved = saving.run(making);
    let removed = directory.remove();
    let saved = saved?;
    removed?;
    Ok(saved)
}

/// Refuses a name that a dataset of the home or any place has: a name means one dataset, wherever its copies are.
fn must_be_new(home: &Home, id: &str) -> Result<(), DataError> {
    match store::list(home)?.iter().any(|stored| stored.description.id == id) {
        true => Err(ServerError::DatasetExists { id: id.to_owned() }.into()),
        false => Ok(()),
    }
}

struct Saving<'a> {
    source: DatasetSource,
    datasets: Vec<FoundDataset>,
    /// Where the copy is made and started.
    directory: &'a TrialDirectory,
    request: &'a SaveRequest<'a>,
    watcher: &'a mut dyn Watcher,
}

impl Saving<'_> {
    fn run(mut self, making: Making) -> Result<Saved, DataError> {
        let method = method::choose(self.request.method, &mut self.source, self.directory.directory().path())?;
        let (fixed, settings) = self.settings()?;
        let holder = self.request.holder;
        let copying = Copying { source: &mut self.source, to: self.directory, holder, watcher: &mut *self.watcher };
        let copy = copying.by(method)?;
        let begun = Instant::now();
        let mut target = copy.start(self.directory, &self.source.build, settings, holder, self.watcher)?;
        let started = begun.elapsed();
        let checked = verify::checked(&mut target, &self.datasets, self.watcher)?;
        let mut saved = Saved {
            stored: None,
            server: self.source.directory.name().to_owned(),
            method,
            stopped: copy.stopped,
            copied: copy.ended - copy.begun,
            started,
            cost: copy.cost,
            checked,
        };
        if saved.broken() == 0 {
            self.doing("summing the tables and shutting the copy down");
            let checksums = verify::sums(&mut target.control, &self.datasets)?;
            server::shut_down(target)?;
            saved.stored = Some(self.keep(making, method, fixed, checksums)?);
        }
        Ok(saved)
    }

    fn doing(&mut self, what: &str) {
        self.watcher.tell(Event::Doing(what));
    }

    /// The copied server's values of the settings that its data depend on, and all settings to start the copy with.
    fn settings(&mut self) -> Result<(BTreeMap<String, String>, Settings), DataError> {
        let fixed: BTreeMap<String, String> = self.source.variables(&FIXED)?.into_iter().collect();
        let mut settings = small_redo::with(baseline(&self.source.build, facts::memory_bytes()))?;
        settings.set("innodb_buffer_pool_size", POOL, "the check of a copy")?;
        for (name, value) in &fixed {
            settings.set(name, value, "the server that was copied")?;
        }
        Ok((fixed, settings))
    }

    /// Moves the data, whose server is down, into the store.
    fn keep(
        &mut self,
        making: Making,
        method: SnapshotMethod,
        fixed: BTreeMap<String, String>,
        checksums: BTreeMap<String, String>,
    ) -> Result<Stored, DataError> {
        let (from, to) = (self.directory.data(), making.data());
        server::forget_identity(&from)?;
        tree::take_in(&from, &to, &mut || !self.watcher.interrupted()).map_err(interrupted)?;
        let description = StoredDescription {
            plimsoll_dataset: 1,
            id: self.request.name.to_owned(),
            build: self.source.build.clone(),
            fixed,
            contents: self.datasets.iter().map(FoundDataset::content).collect(),
            checksums,
            bytes: tree::files(&to)?.iter().map(|(_, bytes)| bytes).sum(),
            made: plimsoll_host::facts::utc_now(),
            origin: method.name().to_owned(),
        };
        Ok(making.finish(&description)?)
    }
}
