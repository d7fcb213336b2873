//! Loads a dataset: tables, then rows in chunks by several connections, then indexes. Each chunk and its mark
//! are one transaction, so a load that was killed goes on where it stopped.

use crate::dataset::{self, Description, State};
use crate::error::LabError;
use crate::target::OpenTarget;
use crate::watch::{Event, LoadProgress, Watcher};
use plimsoll_engine::control::Control;
use plimsoll_engine::{Endpoint, Failure};
use plimsoll_server::sample::disk_free;
use plimsoll_workloads::dataset::{Dataset, Table};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Rows of one transaction: large enough to cost nothing, small enough that a kill loses a second.
const CHUNK_ROWS: u64 = 50_000;
/// Pieces in which a LOAD DATA is sent.
const PIECE_BYTES: usize = 64 << 10;
/// Size of an INSERT where LOAD DATA is refused; servers accept 1 MiB at the least.
const INSERT_BYTES: usize = 512 << 10;
/// Room that must be left beside the estimate: redo and temporary files of index builds.
const DISK_MARGIN: f64 = 1.25;
const STATEMENT_LIMIT: Duration = Duration::from_secs(24 * 3600);
const TICK: Duration = Duration::from_millis(100);
/// What servers say that do not allow LOAD DATA LOCAL.
const LOCAL_REFUSED: [u16; 4] = [1148, 3948, 4166, 3950];
/// "Duplicate key name": an index that was built before a kill and not marked.
const INDEX_EXISTS: u16 = 1061;

/// What a load did.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub rows: u64,
    pub elapsed: Duration,
    pub resumed: bool,
    /// `LOAD DATA LOCAL`, or `INSERT` where the server refuses that.
    pub method: &'static str,
}

/// Loads `dataset` over `threads` connections.
///
/// # Errors
/// [`LabError::Refused`] if the data, or tables of others, are there already; [`LabError::Environment`] if the
/// server fails or the disk is too small; [`LabError::Interrupted`], and then the next load goes on.
pub fn load(
    target: &mut OpenTarget,
    dataset: &dyn Dataset,
    threads: usize,
    watcher: &mut dyn Watcher,
) -> Result<Loaded, LabError> {
    let started = Instant::now();
    let prepared = prepare(target, dataset)?;
    let work = Work::new(dataset, &prepared.done);
    let rows_total = work.tables.iter().map(|progress| progress.table.rows).sum();
    let shared = Shared {
        dataset,
        endpoint: target.load_endpoint(),
        rows: AtomicU64::new(rows_total - work.rows_left()),
        work: Mutex::new(work),
        stop: AtomicBool::new(false),
        inserts: AtomicBool::new(false),
    };
    let failure = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(|| shared.worker())).collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::sleep(TICK);
            if watcher.interrupted() {
                shared.stop.store(true, Ordering::Relaxed);
            }
            let rows = shared.rows.load(Ordering::Relaxed);
            let doing = if rows < rows_total { "rows" } else { "indexes" };
            watcher.tell(Event::Load(LoadProgress { doing, rows, rows_total, elapsed: started.elapsed() }));
        }
        let ends = workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Err(died())));
        // All are joined before the first failure is looked at.
        ends.collect::<Vec<_>>().into_iter().find_map(Result::err)
    });
    match failure {
        Some(LabError::Environment(text)) => return Err(explained(target, text)),
        Some(other) => return Err(other),
        None => {}
    }
    if watcher.interrupted() {
        return Err(LabError::Interrupted);
    }
    dataset::set_state(&mut target.control, dataset.family(), State::Loaded)?;
    Ok(Loaded {
        rows: rows_total,
        elapsed: started.elapsed(),
        resumed: prepared.resumed,
        method: if shared.inserts.load(Ordering::Relaxed) { "INSERT" } else { "LOAD DATA LOCAL" },
    })
}

fn died() -> LabError {
    LabError::Environment("a loading thread died; this is a bug".to_owned())
}

fn explained(target: &OpenTarget, text: String) -> LabError {
    match target.epitaph() {
        Some(tail) => LabError::Environment(format!("{text}\nthe server is gone; its error log ends with:\n{tail}")),
        None => LabError::Environment(text),
    }
}

struct Prepared {
    done: BTreeSet<String>,
    resumed: bool,
}

/// Makes the database, the marker and the tables, or finds how far an earlier load came.
fn prepare(target: &mut OpenTarget, dataset: &dyn Dataset) -> Result<Prepared, LabError> {
    let created = !target.enter_database()?;
    let tables = dataset.tables();
    let names: Vec<String> = tables.iter().map(|table| table.name.clone()).collect();
    let family = dataset.family();
    let mut description = Description::of(dataset, created);
    let found = if created { None } else { dataset::marker(&mut target.control, family)? };
    if let Some(marker) = found {
        let existing = dataset::existing_tables(&mut target.control, &marker.description.tables)?;
        let stale = existing.is_empty();
        match marker.state {
            State::Loading if !stale && marker.description.same_data(&description) => {
                make_tables(&mut target.control, &tables, true)?;
                return Ok(Prepared { done: marker.done, resumed: true });
            }
            _ if !stale => return Err(already(target, &marker)),
            // Its tables are gone: it says nothing any more.
            _ => {
                description.created_database = marker.description.created_database;
                dataset::forget(&mut target.control, family)?;
            }
        }
    }
    if !created && let Some(name) = dataset::existing_tables(&mut target.control, &names)?.first() {
        return Err(LabError::Refused(format!(
            "the database `{}` has a table `{name}` that Plimsoll did not load; it is left alone: drop it yourself, or \
             choose another database",
            target.database
        )));
    }
    enough_disk(target, &tables)?;
    if created {
        let make = format!("CREATE DATABASE `{}`", target.database);
        target.control.run(&make).map_err(|failure| LabError::sql("creating the database", &failure))?;
        target.enter_database()?;
    }
    dataset::begin(&mut target.control, family, &description)?;
    make_tables(&mut target.control, &tables, false)?;
    Ok(Prepared { done: BTreeSet::new(), resumed: false })
}

fn already(target: &OpenTarget, marker: &dataset::Marker) -> LabError {
    let state = match marker.state {
        State::Loading => "a load with other parameters has not ended there",
        State::Loaded => "it is loaded",
        State::Driven => "it is loaded and has been run on",
    };
    LabError::Refused(format!(
        "the database `{}` has the dataset `{}` already ({state}): {}; to load anew, `plimsoll drop` it first",
        target.database,
        marker.family,
        marker.description.words()
    ))
}

fn make_tables(control: &mut Control, tables: &[Table], again: bool) -> Result<(), LabError> {
    for table in tables {
        let create = match again {
            true => table.create.replacen("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1),
            false => table.create.clone(),
        };
        for statement in std::iter::once(&create).chain(&table.before) {
            match control.run(statement) {
                Err(Failure::Server(message)) if again && message.code == INDEX_EXISTS => {}
                Err(failure) => return Err(LabError::sql(&format!("creating {}", table.name), &failure)),
                Ok(_) => {}
            }
        }
    }
    Ok(())
}

/// Looks whether the data fit, where the server's disk can be seen.
fn enough_disk(target: &mut OpenTarget, tables: &[Table]) -> Result<(), LabError> {
    if target.control.peer_pid().is_none() {
        return Ok(());
    }
    let rows =
        target.control.rows("SELECT @@datadir").map_err(|f| LabError::sql("asking for the data directory", &f))?;
    let Some(directory) = rows.single().map(PathBuf::from) else { return Ok(()) };
    // A server of another user may hide its directory; then the server will say when it is full.
    let Ok(free) = disk_free(&directory) else { return Ok(()) };
    let wanted = (tables.iter().map(|table| table.bytes).sum::<u64>() as f64 * DISK_MARGIN) as u64;
    if wanted > free {
        return Err(LabError::Environment(format!(
            "the data need about {} MiB and {} has {} MiB free: free some, or load fewer rows",
            wanted >> 20,
            directory.display(),
            free >> 20
        )));
    }
    Ok(())
}

/// One table with what is left to do.
struct TableProgress {
    table: Table,
    /// First rows of chunks that are not begun, in descending order.
    chunks: Vec<u64>,
    under_way: usize,
    indexes: Vec<usize>,
    /// Workers that have taken this table for their own.
    workers: usize,
}

struct Work {
    tables: Vec<TableProgress>,
}

enum Task {
    Chunk { table: usize, first: u64, last: u64 },
    Index { table: usize, index: usize },
}

impl Work {
    fn new(dataset: &dyn Dataset, done: &BTreeSet<String>) -> Work {
        let progress = |table: Table| {
            let firsts = (1..=table.rows).step_by(CHUNK_ROWS as usize);
            let mut chunks: Vec<u64> = firsts.filter(|first| !done.contains(&chunk_part(&table, *first))).collect();
            chunks.reverse();
            let mut indexes: Vec<usize> =
                (0..table.after.len()).filter(|index| !done.contains(&index_part(&table, *index))).collect();
            indexes.reverse();
            TableProgress { table, chunks, under_way: 0, indexes, workers: 0 }
        };
        Work { tables: dataset.tables().into_iter().map(progress).collect() }
    }

    fn rows_left(&self) -> u64 {
        let left = |progress: &TableProgress| {
            let rows = |first: &u64| (progress.table.rows - first + 1).min(CHUNK_ROWS);
            progress.chunks.iter().map(rows).sum::<u64>()
        };
        self.tables.iter().map(left).sum()
    }

    /// What to do next: the indexes of a table that has all its rows, then the worker's own table, then one that
    /// nobody has begun, then whichever has most left. A worker stays with its table, so rows come in order.
    fn next(&mut self, own: &mut Option<usize>) -> Option<Task> {
        let ready = |progress: &TableProgress| progress.chunks.is_empty() && progress.under_way == 0;
        let index = self.tables.iter().position(|progress| ready(progress) && !progress.indexes.is_empty());
        if let Some(table) = index {
            let index = self.tables[table].indexes.pop()?;
            return Some(Task::Index { table, index });
        }
        let has_rows = |table: &usize| !self.tables[*table].chunks.is_empty();
        let table = own.filter(has_rows).or_else(|| {
            let all = (0..self.tables.len()).filter(has_rows);
            all.min_by_key(|table| (self.tables[*table].workers, usize::MAX - self.tables[*table].chunks.len()))
        })?;
        if *own != Some(table) {
            *own = Some(table);
            self.tables[table].workers += 1;
        }
        let progress = &mut self.tables[table];
        let first = progress.chunks.pop()?;
        progress.under_way += 1;
        Some(Task::Chunk { table, first, last: (first + CHUNK_ROWS - 1).min(progress.table.rows) })
    }
}

fn chunk_part(table: &Table, first: u64) -> String {
    format!("{} rows {first}-{}", table.name, (first + CHUNK_ROWS - 1).min(table.rows))
}

fn index_part(table: &Table, index: usize) -> String {
    format!("{} after {index}", table.name)
}

struct Shared<'d> {
    dataset: &'d dyn Dataset,
    endpoint: Endpoint,
    work: Mutex<Work>,
    rows: AtomicU64,
    stop: AtomicBool,
    /// LOAD DATA LOCAL was refused.
    inserts: AtomicBool,
}

impl Shared<'_> {
    fn worker(&self) -> Result<(), LabError> {
        let result = self.work_until_done();
        if result.is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        result
    }

    fn work_until_done(&self) -> Result<(), LabError> {
        let mut control = self.connect()?;
        let mut own = None;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let (task, table) = {
                let mut work = self.work.lock().map_err(|_| died())?;
                let Some(task) = work.next(&mut own) else {
                    // Others may still be at chunks whose indexes come after.
                    if work.tables.iter().all(|p| p.under_way == 0 && p.indexes.is_empty()) {
                        return Ok(());
                    }
                    std::mem::drop(work);
                    std::thread::sleep(Duration::from_millis(2));
                    continue;
                };
                let (Task::Chunk { table, .. } | Task::Index { table, .. }) = &task;
                let table = work.tables[*table].table.clone();
                (task, table)
            };
            match task {
                Task::Chunk { table: number, first, last } => {
                    self.chunk(&mut control, number, &table, first, last)?;
                    self.work.lock().map_err(|_| died())?.tables[number].under_way -= 1;
                }
                Task::Index { index, .. } => self.index(&mut control, &table, index)?,
            }
        }
    }

    fn connect(&self) -> Result<Control, LabError> {
        let failed = |failure: Failure| LabError::sql("connecting to load", &failure);
        let mut control = Control::open(&self.endpoint).map_err(failed)?;
        control.set_limit(STATEMENT_LIMIT);
        // What makes a load fast and loses nothing: the rows are ours, and unique by construction.
        control
            .run("SET SESSION unique_checks = 0, foreign_key_checks = 0, autocommit = 0")
            .map_err(|failure| LabError::sql("preparing the session to load", &failure))?;
        Ok(control)
    }

    fn chunk(
        &self,
        control: &mut Control,
        number: usize,
        table: &Table,
        first: u64,
        last: u64,
    ) -> Result<(), LabError> {
        let failed =
            |failure: &Failure| LabError::sql(&format!("loading rows {first} to {last} of {}", table.name), failure);
        if !self.inserts.load(Ordering::Relaxed) {
            match self.load_data(control, number, table, first, last) {
                Err(Failure::Server(message)) if LOCAL_REFUSED.contains(&message.code) => {
                    self.inserts.store(true, Ordering::Relaxed);
                }
                other => {
                    other.map_err(|failure| failed(&failure))?;
                    return self.mark(control, table, &chunk_part(table, first));
                }
            }
        }
        self.insert(control, number, table, first, last).map_err(|failure| failed(&failure))?;
        self.mark(control, table, &chunk_part(table, first))
    }

    fn load_data(
        &self,
        control: &mut Control,
        number: usize,
        table: &Table,
        first: u64,
        last: u64,
    ) -> Result<(), Failure> {
        let mut next = first;
        let mut counted = first;
        control.load_data(&table.load_data, |out| {
            while next <= last && out.len() < PIECE_BYTES {
                self.dataset.row_tsv(number, next, out);
                next += 1;
            }
            self.rows.fetch_add(next - counted, Ordering::Relaxed);
            counted = next;
            next <= last
        })?;
        Ok(())
    }

    fn insert(
        &self,
        control: &mut Control,
        number: usize,
        table: &Table,
        first: u64,
        last: u64,
    ) -> Result<(), Failure> {
        let mut statement = Vec::with_capacity(INSERT_BYTES + 1024);
        let mut since = first;
        for id in first..=last {
            statement.extend_from_slice(if statement.is_empty() { table.insert.as_bytes() } else { b"," });
            self.dataset.row_values(number, id, &mut statement);
            if statement.len() >= INSERT_BYTES || id == last {
                // Rows are ASCII by construction.
                control.run(std::str::from_utf8(&statement).unwrap_or_default())?;
                statement.clear();
                self.rows.fetch_add(id + 1 - since, Ordering::Relaxed);
                since = id + 1;
            }
        }
        Ok(())
    }

    fn index(&self, control: &mut Control, table: &Table, index: usize) -> Result<(), LabError> {
        match control.run(&table.after[index]) {
            Err(Failure::Server(message)) if message.code == INDEX_EXISTS => {}
            Err(failure) => return Err(LabError::sql(&format!("indexing {}", table.name), &failure)),
            Ok(_) => {}
        }
        self.mark(control, table, &index_part(table, index))
    }

    /// Marks a part as done and commits it with its mark.
    fn mark(&self, control: &mut Control, table: &Table, part: &str) -> Result<(), LabError> {
        for statement in [dataset::part_done(self.dataset.family(), part).as_str(), "COMMIT"] {
            let doing = || format!("committing {}", table.name);
            control.run(statement).map_err(|failure| LabError::sql(&doing(), &failure))?;
        }
        Ok(())
    }
}
