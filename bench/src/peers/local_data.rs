//! `LOAD DATA LOCAL` of files that were made beforehand, then the indexes: as fast as this server takes rows from
//! anybody, since generating them costs nothing any more.

use crate::arena::Arena;
use anyhow::Context;
use plimsoll_engine::control::Control;
use plimsoll_engine::{Endpoint, Failure};
use plimsoll_workloads::dataset::{Dataset, DatasetTable};
use std::cmp::Reverse;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const PIECE_BYTES: u64 = 64 << 10;
const LIMIT: Duration = Duration::from_secs(1200);
/// Deadlock.
const DEADLOCK: u16 = 1213;
const TRIES: u32 = 20;
/// The parts of the data that one connection loads at a time, per connection: a table that is larger than a part is
/// loaded by several connections, each at its own place in it.
const PARTS: u64 = 2;

/// Tables with the files of each; one file is one transaction. Whole tables at once are slower on MariaDB.
pub struct TableFiles {
    tables: Vec<(DatasetTable, Vec<PathBuf>)>,
    after_all: Vec<String>,
}

/// Files of one table that follow each other.
struct Part<'f> {
    table: usize,
    files: &'f [PathBuf],
}

impl TableFiles {
    /// Writes the files, with the very rows that Plimsoll loads.
    pub fn make(arena: &Arena, dataset: &dyn Dataset) -> anyhow::Result<TableFiles> {
        let write = |(number, table): (usize, DatasetTable)| {
            let mut paths = Vec::new();
            for first in (1..=table.ids).step_by(table.chunk as usize) {
                arena.go_on()?;
                let path = arena.scratch().join(format!("{}-{first}", table.name));
                let mut file = BufWriter::with_capacity(1 << 20, File::create(&path)?);
                let mut rows = Vec::new();
                for id in first..=table.ids.min(first + table.chunk - 1) {
                    rows.clear();
                    dataset.append_tsv(number, id, &mut rows);
                    file.write_all(&rows)?;
                }
                file.flush()?;
                paths.push(path);
            }
            Ok((table, paths))
        };
        let tables: anyhow::Result<Vec<_>> = dataset.tables().into_iter().enumerate().map(write).collect();
        let mut tables = tables.context("writing the files")?;
        // The largest first, so that nobody is left alone with it.
        tables.sort_by_key(|(table, _)| Reverse(table.bytes));
        Ok(TableFiles { tables, after_all: dataset.after_all() })
    }

    /// Loads them into `database`, which is empty; how long it took from the first connection on.
    pub fn load(&self, arena: &Arena, database: &str, threads: usize) -> anyhow::Result<Duration> {
        let endpoint = arena.endpoint(database);
        let parts = self.parts(threads as u64);
        let left: Vec<AtomicUsize> = (0..self.tables.len())
            .map(|table| AtomicUsize::new(parts.iter().filter(|part| part.table == table).count()))
            .collect();
        let next = AtomicUsize::new(0);
        let started = Instant::now();
        let mut control = connect(&endpoint)?;
        for (table, _) in &self.tables {
            for statement in std::iter::once(&table.create).chain(&table.before) {
                control.run(statement)?;
            }
        }
        std::thread::scope(|scope| {
            let work = || self.work(&endpoint, &parts, &next, &left);
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("a loading thread panicked"))
        })?;
        for statement in &self.after_all {
            control.run(statement)?;
        }
        arena.go_on()?;
        Ok(started.elapsed())
    }

    fn parts(&self, threads: u64) -> Vec<Part<'_>> {
        let bytes: u64 = self.tables.iter().map(|(table, _)| table.bytes).sum();
        let of_table = |(number, (table, files)): (usize, &'_ (DatasetTable, Vec<PathBuf>))| {
            let parts = (table.bytes * threads * PARTS).div_ceil(bytes.max(1)).max(1) as usize;
            (number, files.len().div_ceil(parts).max(1))
        };
        let sizes = self.tables.iter().enumerate().map(of_table);
        let cut =
            |(table, size): (usize, usize)| self.tables[table].1.chunks(size).map(move |files| Part { table, files });
        sizes.flat_map(cut).collect()
    }

    /// Takes one part after the other, as long as there are any; whoever has the last one of a table indexes it.
    fn work(
        &self,
        endpoint: &Endpoint,
        parts: &[Part],
        next: &AtomicUsize,
        left: &[AtomicUsize],
    ) -> anyhow::Result<()> {
        let mut control = connect(endpoint)?;
        while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let table = &self.tables[part.table].0;
            for path in part.files {
                // MariaDB reports a deadlock where two connections begin the same empty table; the file is taken back whole.
                let mut tries = 0;
                while let Err(error) = send(&mut control, &table.load_data, path) {
                    tries += 1;
                    if !is_deadlock(&error) || tries == TRIES {
                        return Err(error.context(path.display().to_string()));
                    }
                }
            }
            if left[part.table].fetch_sub(1, Ordering::AcqRel) == 1 {
                for index in &table.after {
                    control.run(index)?;
                }
            }
        }
        Ok(())
    }
}

fn is_deadlock(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<Failure>(), Some(Failure::Server(message)) if message.code == DEADLOCK)
}

fn connect(endpoint: &Endpoint) -> anyhow::Result<Control> {
    let mut control = Control::open(endpoint)?;
    control.set_limit(LIMIT);
    control.run("SET SESSION unique_checks = 0, foreign_key_checks = 0")?;
    Ok(control)
}

/// Sends one file, piece by piece.
fn send(control: &mut Control, statement: &str, path: &Path) -> anyhow::Result<()> {
    let mut file = File::open(path)?;
    let mut failed = None;
    control.load_data(statement, |out| match (&mut file).take(PIECE_BYTES).read_to_end(out) {
        Ok(bytes) => bytes > 0,
        Err(error) => {
            failed = Some(error);
            false
        }
    })?;
    Ok(failed.map_or(Ok(()), Err)?)
}
