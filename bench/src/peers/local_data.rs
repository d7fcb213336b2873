//! `LOAD DATA LOCAL` of files that were made beforehand, then the indexes: as fast as this server takes rows from
//! anybody, since generating them costs nothing any more.

use crate::arena::Arena;
use anyhow::Context;
use plimsoll_engine::Endpoint;
use plimsoll_engine::control::Control;
use plimsoll_workloads::dataset::{Dataset, Table};
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// One file is one transaction. Whole tables at once are slower on MariaDB.
const FILE_ROWS: usize = 50_000;
const PIECE_BYTES: u64 = 64 << 10;
const LIMIT: Duration = Duration::from_secs(1200);

/// Tables with the files of each.
pub struct Files {
    tables: Vec<(Table, Vec<PathBuf>)>,
}

impl Files {
    /// Writes the files, with the very rows that Plimsoll loads.
    pub fn make(arena: &Arena, dataset: &dyn Dataset) -> anyhow::Result<Files> {
        let write = |(number, table): (usize, Table)| {
            let mut paths = Vec::new();
            for first in (1..=table.rows).step_by(FILE_ROWS) {
                arena.go_on()?;
                let path = arena.scratch().join(format!("{}-{first}", table.name));
                let mut file = BufWriter::with_capacity(1 << 20, File::create(&path)?);
                let mut row = Vec::new();
                for id in first..=table.rows.min(first + FILE_ROWS as u64 - 1) {
                    row.clear();
                    dataset.row_tsv(number, id, &mut row);
                    file.write_all(&row)?;
                }
                file.flush()?;
                paths.push(path);
            }
            Ok((table, paths))
        };
        let tables: anyhow::Result<Vec<_>> = dataset.tables().into_iter().enumerate().map(write).collect();
        Ok(Files { tables: tables.context("writing the files")? })
    }

    /// Loads them into `database`, which is empty; how long it took from the first connection on.
    pub fn load(&self, arena: &Arena, database: &str, threads: usize) -> anyhow::Result<Duration> {
        let endpoint = arena.endpoint(database);
        let next = AtomicUsize::new(0);
        let started = Instant::now();
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| self.work(&endpoint, &next))).collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("a loading thread panicked"))
        })?;
        arena.go_on()?;
        Ok(started.elapsed())
    }

    /// Takes one table after the other, as long as there are any.
    fn work(&self, endpoint: &Endpoint, next: &AtomicUsize) -> anyhow::Result<()> {
        let mut control = Control::open(endpoint)?;
        control.set_limit(LIMIT);
        control.run("SET SESSION unique_checks = 0, foreign_key_checks = 0")?;
        while let Some((table, paths)) = self.tables.get(next.fetch_add(1, Ordering::Relaxed)) {
            control.run(&table.create)?;
            for path in paths {
                send(&mut control, &table.load_data, path).with_context(|| path.display().to_string())?;
            }
            for index in &table.after {
                control.run(index)?;
            }
        }
        Ok(())
    }
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
