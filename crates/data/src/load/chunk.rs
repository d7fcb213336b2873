//! Chunks: some rows of one table, and their mark, in one transaction, so that a load that is killed goes on where it
//! stopped, whoever writes them.

use super::work::Task;
use crate::DataError;
use crate::dataset;
use plimsoll_engine::control::Control;
use plimsoll_engine::{Endpoint, Failure};
use plimsoll_wire::text::identifier;
use plimsoll_workloads::dataset::{Dataset, DatasetTable};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The size of the pieces of a LOAD DATA.
const PIECE_BYTES: usize = 64 << 10;
/// Size of an INSERT if LOAD DATA is refused; all servers accept 1 MiB.
const INSERT_BYTES: usize = 512 << 10;
/// One statement of a load: what reads or writes a whole table takes hours where the table is large.
pub(super) const STATEMENT_LIMIT: Duration = Duration::from_secs(24 * 3600);
/// A server that takes longer to say that it is there has lost the connection.
const PONG_LIMIT: Duration = Duration::from_secs(30);
/// Error codes of servers that do not allow LOAD DATA LOCAL.
const LOCAL_REFUSED: [u16; 4] = [1148, 3948, 4166, 3950];
/// Deadlock, lock wait timeout. MariaDB locks a whole table for the transaction that fills it first.
const LOCKED: [u16; 2] = [1213, 1205];
/// How often a chunk is retried because of that.
const RETRIES: u32 = 20;

/// Rows of these ids of a table, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    pub table: usize,
    pub first: u64,
    pub last: u64,
}

/// Writes chunks of a dataset.
pub struct ChunkWriter<'d> {
    pub dataset: &'d dyn Dataset,
    pub tables: &'d [DatasetTable],
    /// Rows sent, including those of an earlier load.
    pub rows: AtomicU64,
    /// LOAD DATA LOCAL was refused.
    pub inserts: AtomicBool,
    /// There may be something that an earlier load created and did not mark.
    pub resumed: bool,
}

impl<'d> ChunkWriter<'d> {
    pub fn new(
        dataset: &'d dyn Dataset,
        tables: &'d [DatasetTable],
        rows_before: u64,
        resumed: bool,
    ) -> ChunkWriter<'d> {
        ChunkWriter { dataset, tables, rows: AtomicU64::new(rows_before), inserts: AtomicBool::new(false), resumed }
    }

    /// Writes a chunk and its mark.
    ///
    /// # Errors
    /// Those of the server.
    pub fn write(&self, control: &mut Control, chunk: &Chunk) -> Result<(), DataError> {
        let Chunk { table, first, last } = *chunk;
        let part = Task::Chunk { table, first, last }.part(self.tables);
        match self.rows(control, chunk).and_then(|()| self.mark(control, &part)) {
            // Hands of a load whose coordinator was killed may have been at it still. Without a key the mark shows it.
            Err(_) if self.is_marked(control, &part) => Ok(()),
            written => written,
        }
    }

    /// Gives up what was begun; whether somebody else has written this part meanwhile.
    fn is_marked(&self, control: &mut Control, part: &str) -> bool {
        if control.run("ROLLBACK").is_err() {
            return false;
        }
        let marker = dataset::marker(control, self.dataset.family()).ok().flatten();
        marker.is_some_and(|marker| marker.done.contains(part))
    }

    /// Commits what was done, with the mark of a part.
    pub fn mark(&self, control: &mut Control, part: &str) -> Result<(), DataError> {
        let mark = dataset::part_done(self.dataset.family(), part);
        for statement in [mark.as_str(), "COMMIT"] {
            control.run(statement).map_err(|failure| DataError::sql("committing a part of the load", &failure))?;
        }
        Ok(())
    }

    fn rows(&self, control: &mut Control, chunk: &Chunk) -> Result<(), DataError> {
        let Chunk { table: number, first, last } = *chunk;
        let name = &self.tables[number].name;
        let failed = |failure: Failure| DataError::sql(&format!("loading {first} to {last} of {name}"), &failure);
        if let Some(column) = self.tables[number].doubles.filter(|_| self.resumed) {
            let clear = format!("DELETE FROM {} WHERE {column} BETWEEN {first} AND {last}", identifier(name));
            control.run(&clear).map_err(failed)?;
        }
        let mut retries = 0;
        let (sent, taken) = loop {
            let inserts = self.inserts.load(Ordering::Relaxed);
            let result = match inserts {
                true => self.insert(control, number, first, last),
                false => self.load_data(control, number, first, last),
            };
            match result {
                Ok(counts) => break counts,
                Err(Failure::Server(message)) if !inserts && LOCAL_REFUSED.contains(&message.code) => {
                    self.inserts.store(true, Ordering::Relaxed);
                }
                Err(Failure::Server(message)) if LOCKED.contains(&message.code) && retries < RETRIES => {
                    retries += 1;
                    control.run("ROLLBACK").map_err(failed)?;
                }
                Err(failure) => return Err(failed(failure)),
            }
        };
        let left_behind = self.resumed && !self.tables[number].rolls_back;
        if sent != taken && !left_behind {
            return Err(DataError::Environment(format!(
                "loading {first} to {last} of {name}: of {sent} rows the server took {taken}; there may have been \
                 other rows before: `plimsoll drop` the data and load them again"
            )));
        }
        Ok(())
    }

    /// Rows sent, and rows that the server says it took.
    fn load_data(&self, control: &mut Control, number: usize, first: u64, last: u64) -> Result<(u64, u64), Failure> {
        let mut next = first;
        let mut sent = 0;
        let result = control.load_data(&self.tables[number].load_data, |out| {
            let before = sent;
            while next <= last && out.len() < PIECE_BYTES {
                sent += self.dataset.append_tsv(number, next, out);
                next += 1;
            }
            self.rows.fetch_add(sent - before, Ordering::Relaxed);
            next <= last
        });
        self.counted(sent, result.map(|outcome| outcome.affected_rows))
    }

    /// The same by INSERT.
    fn insert(&self, control: &mut Control, number: usize, first: u64, last: u64) -> Result<(u64, u64), Failure> {
        let prefix = self.tables[number].insert.as_bytes();
        let mut statement = Vec::with_capacity(INSERT_BYTES + 4096);
        let (mut sent, mut taken) = (0, Ok(0));
        for id in first..=last {
            statement.extend_from_slice(if statement.is_empty() { prefix } else { b"," });
            let rows = self.dataset.append_values(number, id, &mut statement);
            sent += rows;
            self.rows.fetch_add(rows, Ordering::Relaxed);
            if statement.len() >= INSERT_BYTES || id == last {
                // Rows are ASCII by construction.
                let outcome = control.run(std::str::from_utf8(&statement).unwrap_or_default());
                taken = taken.and_then(|taken| Ok(taken + outcome?.affected_rows));
                statement.clear();
            }
            if taken.is_err() {
                break;
            }
        }
        self.counted(sent, taken)
    }

    /// Subtracts rows that failed.
    fn counted(&self, sent: u64, taken: Result<u64, Failure>) -> Result<(u64, u64), Failure> {
        if taken.is_err() {
            self.rows.fetch_sub(sent, Ordering::Relaxed);
        }
        Ok((sent, taken?))
    }
}

/// A connection that loads.
///
/// # Errors
/// The server does not let it in.
pub fn connect(endpoint: &Endpoint) -> Result<Control, DataError> {
    let failed = |failure: Failure| DataError::sql("connecting to load", &failure);
    let mut control = Control::open(endpoint).map_err(failed)?;
    control.set_limit(STATEMENT_LIMIT);
    // This makes loading fast and is safe: the rows are ours, and unique by construction.
    control
        .run("SET SESSION unique_checks = 0, foreign_key_checks = 0, autocommit = 0")
        .map_err(|failure| DataError::sql("preparing the session to load", &failure))?;
    Ok(control)
}

/// Connects again if the server has closed the connection while it was idle. Nothing may be begun on it.
///
/// # Errors
/// As [`connect`].
pub(super) fn keep(control: &mut Control, endpoint: &Endpoint) -> Result<(), DataError> {
    if control.within(PONG_LIMIT, Control::ping).is_err() {
        *control = connect(endpoint)?;
    }
    Ok(())
}

/// Chunks of a load that somebody else has prepared, each written over a connection of its own.
pub struct ChunkJob {
    dataset: Box<dyn Dataset>,
    tables: Vec<DatasetTable>,
    endpoint: Endpoint,
    resumed: bool,
}

impl ChunkJob {
    pub fn new(dataset: Box<dyn Dataset>, endpoint: Endpoint, resumed: bool) -> ChunkJob {
        ChunkJob { tables: dataset.tables(), dataset, endpoint, resumed }
    }

    /// Writes a chunk; how many rows it has.
    ///
    /// # Errors
    /// There is no such chunk; those of the server.
    pub fn write(&self, chunk: &Chunk) -> Result<u64, DataError> {
        let Chunk { table, first, last } = *chunk;
        let is_there = self.tables.get(table).is_some_and(|table| 1 <= first && first <= last && last <= table.ids);
        if !is_there {
            return Err(DataError::Refused(format!(
                "ids {first} to {last} of table {table}, which these data do not have"
            )));
        }
        let mut control = connect(&self.endpoint)?;
        let writer = ChunkWriter::new(self.dataset.as_ref(), &self.tables, 0, self.resumed);
        writer.write(&mut control, chunk)?;
        Ok(writer.rows.into_inner())
    }
}
