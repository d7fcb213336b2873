//! A connection that loads: chunks, each in one transaction with its mark, then indexes, and what comes last.

use super::work::{LoadWork, Next, Task};
use super::{INDEX_EXISTS, died};
use crate::DataError;
use crate::dataset;
use plimsoll_engine::control::Control;
use plimsoll_engine::{Endpoint, Failure};
use plimsoll_workloads::dataset::{Dataset, DatasetTable};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The size of the pieces of a LOAD DATA.
const PIECE_BYTES: usize = 64 << 10;
/// Size of an INSERT if LOAD DATA is refused; all servers accept 1 MiB.
const INSERT_BYTES: usize = 512 << 10;
const STATEMENT_LIMIT: Duration = Duration::from_secs(24 * 3600);
/// How often a worker checks whether the others have done what it waits for.
const LOOKS: Duration = Duration::from_millis(2);
/// Error codes of servers that do not allow LOAD DATA LOCAL.
const LOCAL_REFUSED: [u16; 4] = [1148, 3948, 4166, 3950];
/// Deadlock, lock wait timeout. MariaDB locks a whole table for the transaction that fills it first.
const LOCKED: [u16; 2] = [1213, 1205];
/// How often a chunk is retried because of that.
const RETRIES: u32 = 20;
/// "Duplicate key in table", "duplicate foreign key constraint name": one that was created before a kill and not
/// marked.
const KEY_EXISTS: [u16; 3] = [INDEX_EXISTS, 1022, 1826];
/// MariaDB's "cannot create table", and what it adds for a foreign key that exists.
const CANNOT_CREATE: u16 = 1005;
const DUPLICATE: &str = "errno: 121";

/// What the workers share.
pub struct LoadShared<'d> {
    pub dataset: &'d dyn Dataset,
    pub tables: &'d [DatasetTable],
    pub after_all: Vec<String>,
    pub endpoint: Endpoint,
    pub work: Mutex<LoadWork<'d>>,
    /// Rows sent, including those of an earlier load.
    pub rows: AtomicU64,
    pub stop: AtomicBool,
    /// LOAD DATA LOCAL was refused.
    pub inserts: AtomicBool,
    /// There may be something that an earlier load created and did not mark.
    pub resumed: bool,
}

impl LoadShared<'_> {
    /// Works until nothing is left, a worker failed, or loading is to stop.
    pub fn worker(&self) -> Result<(), DataError> {
        let result = self.work_until_done();
        if result.is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        result
    }

    fn work_until_done(&self) -> Result<(), DataError> {
        let mut control = self.connect()?;
        let mut own = None;
        while !self.stop.load(Ordering::Relaxed) {
            let next = self.work.lock().map_err(|_| died())?.next(&mut own);
            match next {
                Next::Do(task) => {
                    self.perform(&mut control, &task)?;
                    self.work.lock().map_err(|_| died())?.done(&task);
                }
                Next::Wait => std::thread::sleep(LOOKS),
                Next::End => break,
            }
        }
        Ok(())
    }

    fn connect(&self) -> Result<Control, DataError> {
        let failed = |failure: Failure| DataError::sql("connecting to load", &failure);
        let mut control = Control::open(&self.endpoint).map_err(failed)?;
        control.set_limit(STATEMENT_LIMIT);
        // This makes loading fast and is safe: the rows are ours, and unique by construction.
        control
            .run("SET SESSION unique_checks = 0, foreign_key_checks = 0, autocommit = 0")
            .map_err(|failure| DataError::sql("preparing the session to load", &failure))?;
        Ok(control)
    }

    fn perform(&self, control: &mut Control, task: &Task) -> Result<(), DataError> {
        match task {
            Task::Chunk { table, first, last } => self.chunk(control, *table, *first, *last)?,
            Task::Index { table, index } => {
                let table = &self.tables[*table];
                self.key(control, &table.after[*index], &format!("indexing {}", table.name))?;
            }
            Task::Last(number) => self.key(control, &self.after_all[*number], "adding the foreign keys")?,
        }
        // A part is committed with its mark.
        let mark = dataset::part_done(self.dataset.family(), &task.part(self.tables));
        for statement in [mark.as_str(), "COMMIT"] {
            control.run(statement).map_err(|failure| DataError::sql("committing a part of the load", &failure))?;
        }
        Ok(())
    }

    /// Creates an index or a foreign key, unless an earlier load has.
    fn key(&self, control: &mut Control, statement: &str, doing: &str) -> Result<(), DataError> {
        match control.run(statement) {
            Err(Failure::Server(message))
                if self.resumed
                    && (KEY_EXISTS.contains(&message.code)
                        || message.code == CANNOT_CREATE && message.text.contains(DUPLICATE)) => {}
            Err(failure) => return Err(DataError::sql(doing, &failure)),
            Ok(_) => {}
        }
        Ok(())
    }

    fn chunk(&self, control: &mut Control, number: usize, first: u64, last: u64) -> Result<(), DataError> {
        let name = &self.tables[number].name;
        let failed = |failure: Failure| DataError::sql(&format!("loading {first} to {last} of {name}"), &failure);
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
