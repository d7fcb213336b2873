//! A worker of a load: chunks, here or by a hand elsewhere, then indexes, and what comes last.

use super::chunk::{Chunk, ChunkWriter, connect, keep};
use super::work::{LoadWork, Next, Task};
use super::{INDEX_EXISTS, LoadHand, died};
use crate::DataError;
use plimsoll_engine::control::Control;
use plimsoll_engine::{Endpoint, Failure};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a worker checks whether the others have done what it waits for.
const LOOKS: Duration = Duration::from_millis(2);
/// "Duplicate key in table", "duplicate foreign key constraint name": one that was created before a kill and not
/// marked.
const KEY_EXISTS: [u16; 3] = [INDEX_EXISTS, 1022, 1826];
/// MariaDB's "cannot create table", and what it adds for a foreign key that exists.
const CANNOT_CREATE: u16 = 1005;
const DUPLICATE: &str = "errno: 121";

/// What the workers share.
pub struct LoadShared<'d> {
    pub writer: ChunkWriter<'d>,
    pub after_all: Vec<String>,
    pub endpoint: Endpoint,
    pub work: Mutex<LoadWork<'d>>,
    pub stop: AtomicBool,
}

impl LoadShared<'_> {
    /// Works until nothing is left, a worker failed, or loading is to stop.
    pub fn worker(&self, hand: Option<&mut LoadHand<'_>>) -> Result<(), DataError> {
        let result = self.work_until_done(hand);
        if result.is_err() {
            self.stop.store(true, Ordering::Relaxed);
        }
        result
    }

    fn work_until_done(&self, mut hand: Option<&mut LoadHand<'_>>) -> Result<(), DataError> {
        let mut control = connect(&self.endpoint)?;
        let mut own = None;
        while !self.stop.load(Ordering::Relaxed) {
            let next = self.work.lock().map_err(|_| died())?.next(&mut own);
            match next {
                Next::Do(task) => {
                    match self.perform(&mut control, &task, hand.as_deref_mut()) {
                        // Whoever said so has the reason.
                        Err(DataError::Interrupted) => break,
                        performed => performed?,
                    }
                    self.work.lock().map_err(|_| died())?.done(&task);
                }
                Next::Wait => std::thread::sleep(LOOKS),
                Next::End => break,
            }
        }
        Ok(())
    }

    fn perform(&self, control: &mut Control, task: &Task, hand: Option<&mut LoadHand<'_>>) -> Result<(), DataError> {
        let tables = self.writer.tables;
        if !matches!(task, Task::Chunk { .. }) {
            // It was idle while hands elsewhere wrote the chunks, or others their part.
            keep(control, &self.endpoint)?;
        }
        match (task, hand) {
            (Task::Chunk { table, first, last }, None) => {
                return self.writer.write(control, &Chunk { table: *table, first: *first, last: *last });
            }
            (Task::Chunk { table, first, last }, Some(hand)) => {
                let chunk = Chunk { table: *table, first: *first, last: *last };
                let rows = hand(&chunk, &|| self.stop.load(Ordering::Relaxed))?;
                self.writer.rows.fetch_add(rows, Ordering::Relaxed);
                return Ok(());
            }
            (Task::Index { table, index }, _) => {
                let table = &tables[*table];
                self.key(control, &table.after[*index], &format!("indexing {}", table.name))?;
            }
            (Task::Last(number), _) => self.key(control, &self.after_all[*number], "adding the foreign keys")?,
        }
        self.writer.mark(control, &task.part(tables))
    }

    /// Creates an index or a foreign key, unless an earlier load has.
    fn key(&self, control: &mut Control, statement: &str, doing: &str) -> Result<(), DataError> {
        match control.run(statement) {
            Err(Failure::Server(message))
                if self.writer.resumed
                    && (KEY_EXISTS.contains(&message.code)
                        || message.code == CANNOT_CREATE && message.text.contains(DUPLICATE)) => {}
            Err(failure) => return Err(DataError::sql(doing, &failure)),
            Ok(_) => {}
        }
        Ok(())
    }
}
