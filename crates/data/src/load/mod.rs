//! Loads a dataset: tables, then rows in chunks by several connections, then indexes, then foreign keys. Each chunk and
//! its mark are one transaction, so a killed load can continue where it stopped.

pub mod chunk;
mod prepare;
mod work;
mod worker;

use crate::DataError;
use crate::dataset::{self, DatasetState};
use crate::instance::{self, put_back};
use crate::target::OpenTarget;
use chunk::{Chunk, ChunkWriter, STATEMENT_LIMIT};
use plimsoll_watch::{Event, LoadProgress, Watcher};
use plimsoll_wire::text::identifiers;
use plimsoll_workloads::dataset::Dataset;
use prepare::{PreparedLoad, prepare};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use work::LoadWork;
use worker::LoadShared;

/// Tables of one ANALYZE TABLE or CHECKSUM TABLE. An answer that has begun has to end soon, whatever the limit of its
/// statement; a server begins it when some hundred tables have filled a buffer.
pub(crate) const TABLES_AT_ONCE: usize = 100;
const TICK: Duration = Duration::from_millis(100);
/// "Duplicate key name": an index that was built before a kill and not marked.
const INDEX_EXISTS: u16 = 1061;

/// Writes a chunk elsewhere; how many rows it has.
pub type LoadHand<'h> = dyn FnMut(&Chunk, &dyn Fn() -> bool) -> Result<u64, DataError> + Send + 'h;

/// Makes hands elsewhere; it is told whether an earlier load is continued, and asks whether it is interrupted.
pub type MakeHands<'h> = dyn Fn(bool, &dyn Fn() -> bool) -> Result<Vec<Box<LoadHand<'h>>>, DataError> + 'h;

/// Who writes the chunks of a load. Indexes and keys are made here.
pub enum LoadHands<'h> {
    /// So many connections of this process.
    Here(usize),
    /// Elsewhere; their hands are made once the tables are there.
    Elsewhere(&'h MakeHands<'h>),
}

/// What loading did.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadSummary {
    /// Rows that exist now.
    pub rows: u64,
    /// How many of them an earlier load left; approximate if one id makes several rows.
    pub rows_before: u64,
    pub elapsed: Duration,
    pub resumed: bool,
    /// `LOAD DATA LOCAL`, or `INSERT` where the server refuses that.
    pub method: &'static str,
    /// Why the stored procedures are missing, in the server's words, if it refused to create them.
    pub without_routines: Option<String>,
}

impl LoadSummary {
    /// Rows of this load per second, indexes included.
    pub fn rows_per_second(&self) -> f64 {
        (self.rows - self.rows_before) as f64 / self.elapsed.as_secs_f64().max(1e-3)
    }
}

/// Loads `dataset` over `threads` connections of this process, as [`load_with`].
///
/// # Errors
/// As [`load_with`].
pub fn load(
    target: &mut OpenTarget,
    dataset: &dyn Dataset,
    threads: usize,
    watcher: &mut dyn Watcher,
) -> Result<LoadSummary, DataError> {
    load_with(target, dataset, &LoadHands::Here(threads), watcher)
}

/// Loads `dataset` with these `hands`. A private server has different settings meanwhile.
///
/// # Errors
/// [`DataError::Refused`] if the data, or tables of others, are there already; [`DataError::Environment`] if the server
/// fails, the disk is too small or a setting cannot be restored; [`DataError::Interrupted`], and then the next load
/// continues.
pub fn load_with(
    target: &mut OpenTarget,
    dataset: &dyn Dataset,
    hands: &LoadHands<'_>,
    watcher: &mut dyn Watcher,
) -> Result<LoadSummary, DataError> {
    let started = Instant::now();
    put_back(target)?;
    let prepared = prepare(target, dataset)?;
    let loaded = match instance::change(target, dataset.family()) {
        Ok(()) => fill(target, dataset, hands, prepared, started, watcher),
        Err(error) => Err(error),
    };
    // It was idle meanwhile, perhaps for longer than the server's `wait_timeout`.
    target.keep_control();
    let loaded = match (loaded, put_back(target)) {
        (Err(DataError::Environment(text)), _) if target.epitaph().is_some() => return Err(explained(target, text)),
        (Err(DataError::Environment(text)), Err(error)) => Err(DataError::Environment(format!("{text}; and {error}"))),
        (_, Err(error)) => Err(error),
        (loaded, Ok(())) => loaded,
    }?;
    analyze(target, dataset, watcher)?;
    dataset::set_state(&mut target.control, dataset.family(), DatasetState::Loaded)?;
    Ok(LoadSummary { elapsed: started.elapsed(), ..loaded })
}

/// Fresh statistics of all tables, so that query plans do not depend on how far the server's own sampling has come.
fn analyze(target: &mut OpenTarget, dataset: &dyn Dataset, watcher: &dyn Watcher) -> Result<(), DataError> {
    let names: Vec<String> = dataset.tables().into_iter().map(|table| table.name).collect();
    for some in names.chunks(TABLES_AT_ONCE) {
        if watcher.interrupted() {
            return Err(DataError::Interrupted);
        }
        let statement = format!("ANALYZE TABLE {}", identifiers(some));
        target
            .control
            .within(STATEMENT_LIMIT, |control| control.rows(&statement))
            .map_err(|failure| DataError::sql("updating the statistics of the tables", &failure))?;
    }
    Ok(())
}

fn fill(
    target: &OpenTarget,
    dataset: &dyn Dataset,
    hands: &LoadHands<'_>,
    prepared: PreparedLoad,
    started: Instant,
    watcher: &mut dyn Watcher,
) -> Result<LoadSummary, DataError> {
    let tables = dataset.tables();
    let after_all = dataset.after_all();
    let work = LoadWork::new(&tables, after_all.len(), &prepared.done);
    let (rows_before, rows_total) = (work.rows_done, tables.iter().map(|table| table.rows).sum());
    let shared = LoadShared {
        writer: ChunkWriter::new(dataset, &tables, rows_before, prepared.resumed),
        after_all,
        endpoint: target.load_endpoint(),
        work: Mutex::new(work),
        stop: AtomicBool::new(false),
    };
    let mut workers: Vec<Option<Box<LoadHand<'_>>>> = match hands {
        LoadHands::Here(threads) => (0..(*threads).max(1)).map(|_| None).collect(),
        LoadHands::Elsewhere(of) => of(prepared.resumed, &|| watcher.interrupted())?.into_iter().map(Some).collect(),
    };
    let failure = std::thread::scope(|scope| {
        let workers: Vec<_> =
            workers.iter_mut().map(|hand| scope.spawn(|| shared.worker(hand.as_deref_mut()))).collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::sleep(TICK);
            if watcher.interrupted() {
                shared.stop.store(true, Ordering::Relaxed);
            }
            let doing = shared.work.lock().map_or("rows", |work| work.doing());
            // What was there before is an estimate.
            let rows = shared.writer.rows.load(Ordering::Relaxed).min(rows_total);
            watcher.tell(Event::Load(LoadProgress {
                doing,
                rows,
                rows_before,
                rows_total,
                elapsed: started.elapsed(),
            }));
        }
        let ends = workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Err(died())));
        // All threads are joined before the first failure is reported.
        ends.collect::<Vec<_>>().into_iter().find_map(Result::err)
    });
    match failure {
        Some(error) => Err(error),
        None if watcher.interrupted() => Err(DataError::Interrupted),
        None => Ok(LoadSummary {
            rows: shared.writer.rows.into_inner(),
            rows_before,
            elapsed: started.elapsed(),
            resumed: prepared.resumed,
            method: if shared.writer.inserts.into_inner() { "INSERT" } else { "LOAD DATA LOCAL" },
            without_routines: prepared.without_routines,
        }),
    }
}

fn died() -> DataError {
    DataError::Environment("a loading thread died; this is a bug".to_owned())
}

fn explained(target: &OpenTarget, text: String) -> DataError {
    match target.epitaph() {
        Some(words) => DataError::Environment(format!("{text}; the server is gone; {words}")),
        None => DataError::Environment(text),
    }
}
