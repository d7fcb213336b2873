//! A copy of a running private server becomes a dataset.

use super::contents::{self, Found};
use super::cost::{Cost, Meter};
use super::method::{self, Choice, Method};
use super::source::Source;
use super::verify::{self, Checked};
use super::{backup, clone, interrupted};
use crate::DataError;
use crate::starting_data::{server, small_redo};
use plimsoll_host::{Home, facts};
use plimsoll_server::freeze::Frozen;
use plimsoll_server::snapshot::store::{self, Description, Making, Stored};
use plimsoll_server::snapshot::tree::{self, Way};
use plimsoll_server::{Rig, ServerError, Settings, baseline};
use plimsoll_watch::{Event, Watcher};
use rustix::fs::syncfs;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long the server is watched before it is copied, and afterwards.
const AROUND: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(50);
/// The copy is checked beside a server under load, so it gets little memory.
const POOL: &str = "256M";
/// What was decided when the server's data were made.
const FIXED: [&str; 4] =
    ["innodb_data_file_path", "innodb_page_size", "innodb_undo_tablespaces", "lower_case_table_names"];

/// What to save, and as what.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The dataset's id.
    pub name: &'a str,
    /// The private server; the only one that runs if not given.
    pub server: Option<&'a str>,
    pub method: Choice,
    /// Who we are, for another Plimsoll that finds the copy in use.
    pub holder: &'a str,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Saved {
    /// None if the copy failed its check: then it is gone again.
    pub stored: Option<Stored>,
    pub server: String,
    pub method: Method,
    /// How long the server stood still, where it was stopped.
    pub stopped: Option<Duration>,
    /// From the beginning of the copy to its end.
    pub copied: Duration,
    /// Until a server had started on the copy, its recovery included.
    pub started: Duration,
    pub cost: Cost,
    pub checked: Vec<Checked>,
}

impl Saved {
    /// How many invariants do not hold.
    pub fn broken(&self) -> usize {
        self.checked.iter().flat_map(|checked| &checked.findings).filter(|finding| !finding.holds).count()
    }
}

/// Copies a running private server without its lock, which whoever loads it may hold, starts the copy, checks every
/// dataset that is marked in it, shuts it down and keeps it.
///
/// # Errors
/// [`DataError::Refused`] if there is no way to a consistent copy, or no such server; [`DataError::Interrupted`]; those
/// of servers and files. Whatever was made is removed, and the server runs on.
pub fn save(home: &Home, request: &Request, watcher: &mut dyn Watcher) -> Result<Saved, DataError> {
    let mut source = Source::find(home, request.server)?;
    let datasets = contents::found(&mut source.control)?;
    must_be_new(home, request.name)?;
    let making = Making::begin(&source.home, request.name)?;
    let rig = Rig::take(&source.home, &format!("save-{}", std::process::id()), request.holder)?;
    let saving = Saving { source, datasets, rig: &rig, request, watcher };
    let saved = saving.run(making);
    let removed = rig.remove();
    let saved = saved?;
    removed?;
    Ok(saved)
}

/// That neither the home nor any place has a dataset of this name: it names one dataset, wherever its copies are.
fn must_be_new(home: &Home, id: &str) -> Result<(), DataError> {
    match store::list(home)?.iter().any(|stored| stored.description.id == id) {
        true => Err(ServerError::DatasetExists { id: id.to_owned() }.into()),
        false => Ok(()),
    }
}

struct Saving<'a> {
    source: Source,
    datasets: Vec<Found>,
    /// Where the copy is made and started.
    rig: &'a Rig,
    request: &'a Request<'a>,
    watcher: &'a mut dyn Watcher,
}

/// A copy that nobody has looked at yet.
struct Copy {
    stopped: Option<Duration>,
    took: Duration,
    cost: Cost,
    /// The copy has MySQL's clone plugin, though the server had not.
    with_plugin: bool,
}

impl Saving<'_> {
    fn run(mut self, making: Making) -> Result<Saved, DataError> {
        let method = method::choose(self.request.method, &mut self.source, self.rig.directory().path())?;
        let (fixed, settings) = self.settings()?;
        let copy = self.copy(method)?;
        Rig::mark_data(&self.rig.data(), &self.source.build)?;
        let begun = Instant::now();
        let holder = self.request.holder;
        let mut target = server::open(self.rig, (&self.source.build, settings), holder, self.watcher)?;
        let started = begun.elapsed();
        if copy.with_plugin {
            clone::uninstall(&mut target.control)?;
        }
        verify::nothing_is_prepared(&mut target.control)?;
        let checked = verify::checked(&mut target, &self.datasets, self.watcher)?;
        let mut saved = Saved {
            stored: None,
            server: self.source.directory.name().to_owned(),
            method,
            stopped: copy.stopped,
            copied: copy.took,
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

    /// What the copied server has of those settings that its data depend on, and all settings to start the copy with.
    fn settings(&mut self) -> Result<(BTreeMap<String, String>, Settings), DataError> {
        let fixed: BTreeMap<String, String> = self.source.variables(&FIXED)?.into_iter().collect();
        let mut settings = small_redo::with(baseline(&self.source.build, facts::memory_bytes()))?;
        settings.set("innodb_buffer_pool_size", POOL, "the check of a copy")?;
        for (name, value) in &fixed {
            settings.set(name, value, "the server that was copied")?;
        }
        Ok((fixed, settings))
    }

    /// Copies the data into the rig, and looks what the server does meanwhile.
    fn copy(&mut self, method: Method) -> Result<Copy, DataError> {
        let meter = Meter::begin(&self.source.socket);
        self.doing("looking what the server does");
        self.wait(AROUND)?;
        self.doing("copying the server's data");
        let begun = Instant::now();
        let (mut stopped, mut with_plugin) = (None, false);
        let to = self.rig.data();
        match method {
            Method::Reflink => stopped = Some(self.reflink(&to)?),
            Method::BtrfsSnapshot => self.snapshot(&to)?,
            Method::Clone => with_plugin = clone::copy(&mut self.source, &to, self.watcher)?,
            Method::MariadbBackup => {
                let log = self.rig.directory().path().join("backup.log");
                backup::copy(&self.source, &to, &log, self.watcher)?;
            }
        }
        let ended = Instant::now();
        self.doing("looking what the server does");
        self.wait(AROUND)?;
        let cost = meter.end(begun, ended)?;
        Ok(Copy { stopped, took: ended - begun, cost, with_plugin })
    }

    /// Clones the files of the stopped server; for how long it stood still.
    fn reflink(&mut self, to: &Path) -> Result<Duration, DataError> {
        let data = self.source.directory.data();
        let failed = |error: std::io::Error| DataError::Environment(format!("{}: {error}", data.display()));
        // What is flushed now need not be while it stands still.
        syncfs(File::open(&data).map_err(failed)?).map_err(|errno| failed(errno.into()))?;
        let frozen = Frozen::stop(&self.source.directory, &self.source.identity, self.request.holder)?;
        let copied = tree::share(&data, to, &mut || !self.watcher.interrupted());
        let stopped = frozen.resume()?;
        copied.map(|_| stopped).map_err(interrupted)
    }

    fn snapshot(&mut self, to: &Path) -> Result<(), DataError> {
        let go_on = &mut || !self.watcher.interrupted();
        tree::copy(&self.source.directory.data(), to, Way::BtrfsSnapshot, go_on).map(drop).map_err(interrupted)
    }

    fn wait(&mut self, time: Duration) -> Result<(), DataError> {
        let begun = Instant::now();
        while begun.elapsed() < time {
            if self.watcher.interrupted() {
                return Err(DataError::Interrupted);
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Moves the data, whose server is down, to where datasets are kept.
    fn keep(
        &mut self,
        making: Making,
        method: Method,
        fixed: BTreeMap<String, String>,
        checksums: BTreeMap<String, String>,
    ) -> Result<Stored, DataError> {
        let (from, to) = (self.rig.data(), making.data());
        server::forget_identity(&from)?;
        tree::take_in(&from, &to, &mut || !self.watcher.interrupted()).map_err(interrupted)?;
        let description = Description {
            plimsoll_dataset: 1,
            id: self.request.name.to_owned(),
            build: self.source.build.clone(),
            fixed,
            contents: self.datasets.iter().map(Found::content).collect(),
            checksums,
            bytes: tree::files(&to)?.iter().map(|(_, bytes)| bytes).sum(),
            made: plimsoll_host::facts::utc_now(),
            origin: method.name().to_owned(),
        };
        Ok(making.finish(&description)?)
    }
}
