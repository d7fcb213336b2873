//! What a workload sees of a connection: its statements, by number, and what came of them.

use crate::catalogue::Catalogue;
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::error::Failure;
use crate::executor::{Reactor, Slot};
use crate::meter::Meter;
use crate::statement::Protocol;
use plimsoll_load::recorder::Effect;
use plimsoll_model::StatementKind;
use plimsoll_wire::cells::{Cells, ColumnDefinition, ReceivedRow};
use plimsoll_wire::response::{Discard, ResponseTotals};
use plimsoll_wire::rows::TextRows;
use plimsoll_wire::{Value, command};
use std::rc::Rc;

/// A statement as the server knows it on one connection.
#[derive(Clone, Default)]
struct Handle {
    id: u32,
    /// Types of the parameters last sent; 0 before the first execution.
    signature: u64,
    /// Of its result, as the server told last.
    columns: Vec<ColumnDefinition>,
}

impl Handle {
    /// The statement's id, and whether the server has to be told the types of these values.
    #[inline]
    fn bind(&mut self, values: &[Value<'_>]) -> (u32, bool) {
        let signature = command::signature(values);
        (self.id, std::mem::replace(&mut self.signature, signature) != signature)
    }
}

/// What a server's refusal of `sql` means: the run cannot begin.
fn refused(sql: &str, how: &str, failure: Failure) -> Failure {
    match failure {
        Failure::Server(message) => Failure::Setup(format!("the statement `{sql}` {how}: {message}")),
        other => other,
    }
}

pub struct Session {
    connection: Connection,
    catalogue: Rc<Catalogue>,
    handles: Vec<Handle>,
    protocol: Protocol,
    meter: Rc<Meter>,
    /// The rows that [`Session::select`] asked for last.
    cells: Cells,
    /// The statement sent last, for messages.
    last: Option<usize>,
    answered_ns: u64,
    /// Nothing has been waited for since the last answer, so its time is the time.
    fresh: bool,
    open: bool,
}

impl Session {
    pub async fn open(
        endpoint: &Endpoint,
        catalogue: Rc<Catalogue>,
        protocol: Protocol,
        meter: Rc<Meter>,
        reactor: Rc<Reactor>,
        slot: Rc<Slot>,
    ) -> Result<Session, Failure> {
        let connection = Connection::open(endpoint, reactor, slot).await?;
        let handles = vec![Handle::default(); catalogue.statements.len()];
        let mut session = Session {
            connection,
            catalogue,
            handles,
            protocol,
            meter,
            cells: Cells::default(),
            last: None,
            answered_ns: 0,
            fresh: false,
            open: false,
        };
        session.set_up().await?;
        if protocol == Protocol::Prepared {
            session.prepare_all().await?;
        }
        session.last = None;
        Ok(session)
    }

    /// Asks something that is not load: the first two columns of each row of the answer.
    pub(crate) async fn ask(&mut self, sql: &str) -> Result<Vec<(String, String)>, Failure> {
        let mut rows = TextRows::default();
        self.connection
            .query(sql.as_bytes(), &mut rows)
            .await
            .map_err(|failure| refused(sql, "is refused", failure))?;
        Ok(rows.pairs().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    async fn set_up(&mut self) -> Result<(), Failure> {
        for sql in &self.catalogue.session_setup {
            self.connection
                .query(sql.as_bytes(), &mut Discard)
                .await
                .map_err(|failure| refused(sql, "is refused", failure))?;
        }
        Ok(())
    }

    async fn prepare_all(&mut self) -> Result<(), Failure> {
        let catalogue = self.catalogue.clone();
        for (number, (statement, _)) in catalogue.statements.iter().enumerate() {
            if statement.prepared {
                self.last = Some(number);
                self.cells.clear();
                let prepared = self.connection.prepare(&statement.sql, &mut self.cells).await;
                let prepared = prepared.map_err(|failure| refused(&statement.sql, "cannot be prepared", failure))?;
                self.handles[number].id = prepared.statement;
                self.handles[number].columns.clone_from(&self.cells.columns);
            }
        }
        Ok(())
    }

    /// Executes statement `number` of the catalogue; rows are counted, not kept.
    #[inline]
    pub async fn execute(&mut self, number: usize, values: &[Value<'_>]) -> Result<ResponseTotals, Failure> {
        let sent_ns = self.sending(self.catalogue.statements[number].0.kind, Some(number));
        let (statement, template) = &self.catalogue.statements[number];
        let result = if statement.prepared && self.protocol == Protocol::Prepared {
            let (id, types) = self.handles[number].bind(values);
            self.connection.execute(id, values, types, &mut Discard).await
        } else {
            self.connection.execute_text(template, values, &mut Discard).await
        };
        self.received(self.catalogue.operations[number], sent_ns, &result);
        result
    }

    /// Executes statement `number` of the catalogue and keeps the rows of its result: see [`Session::row`].
    pub async fn select(&mut self, number: usize, values: &[Value<'_>]) -> Result<ResponseTotals, Failure> {
        let sent_ns = self.sending(self.catalogue.statements[number].0.kind, Some(number));
        let (statement, template) = &self.catalogue.statements[number];
        self.cells.clear();
        self.cells.binary = statement.prepared && self.protocol == Protocol::Prepared;
        let result = if self.cells.binary {
            let handle = &mut self.handles[number];
            let (id, types) = handle.bind(values);
            self.cells.columns.clone_from(&handle.columns);
            let result = self.connection.execute(id, values, types, &mut self.cells).await;
            if self.cells.columns != handle.columns {
                handle.columns.clone_from(&self.cells.columns);
            }
            result
        } else {
            self.connection.execute_text(template, values, &mut self.cells).await
        };
        self.received(self.catalogue.operations[number], sent_ns, &result);
        result
    }

    /// Row `number`, from 0, of the last [`Session::select`].
    #[inline]
    pub fn row(&self, number: usize) -> Option<ReceivedRow<'_>> {
        self.cells.get(number)
    }

    /// How many rows the last [`Session::select`] gave.
    pub fn rows(&self) -> usize {
        self.cells.len()
    }

    /// Counts something of the workload's own, by its place in [`Workload::counters`]. To be called after the last
    /// statement of a transaction, so that only what was done is counted, once.
    #[inline]
    pub fn count(&mut self, counter: usize, by: u64) {
        self.meter.at(self.answered_ns).counted(counter, by);
    }

    /// Sends text that the workload made itself as statement `number` of the catalogue, whose name and kind it has.
    pub async fn query(&mut self, number: usize, sql: &[u8]) -> Result<ResponseTotals, Failure> {
        let kind = self.catalogue.statements[number].0.kind;
        let sent_ns = self.sending(kind, Some(number));
        let result = self.connection.query(sql, &mut Discard).await;
        self.received(self.catalogue.operations[number], sent_ns, &result);
        result
    }

    /// Ends the transaction without its effects.
    pub async fn rollback(&mut self) -> Result<ResponseTotals, Failure> {
        let sent_ns = self.sending(StatementKind::Rollback, None);
        let result = self.connection.query(b"ROLLBACK", &mut Discard).await;
        self.received(self.catalogue.rollback, sent_ns, &result);
        result
    }

    /// The time. Between an answer and the next statement of the same task next to none passes, so the clock
    /// is looked at once per exchange.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        if self.fresh { self.answered_ns } else { self.meter.now_ns() }
    }

    /// Says that something was waited for since the last answer.
    pub fn waited(&mut self) {
        self.fresh = false;
    }

    /// When the last answer came, which is when a transaction that needed it ended.
    pub fn answered_ns(&self) -> u64 {
        self.answered_ns
    }

    /// Whether a transaction is open that a failed attempt would leave behind.
    pub fn needs_rollback(&self) -> bool {
        self.open || self.connection.in_transaction()
    }

    /// Whether the statement sent last commits: a COMMIT, or a write in no transaction.
    pub fn is_committing(&self) -> bool {
        let Some(number) = self.last else { return false };
        match self.catalogue.statements[number].0.kind {
            StatementKind::Commit => true,
            StatementKind::Insert | StatementKind::Update | StatementKind::Delete | StatementKind::Call => {
                !self.needs_rollback()
            }
            StatementKind::Begin | StatementKind::Rollback | StatementKind::Select => false,
        }
    }

    /// The text of the statement sent last.
    pub fn last_statement(&self) -> &str {
        self.last.map_or("ROLLBACK", |number| self.catalogue.statements[number].0.sql.as_str())
    }

    /// Says good-bye.
    pub async fn quit(self) {
        self.connection.quit().await;
    }

    /// The local process that serves this session.
    pub fn peer_pid(&self) -> Option<u32> {
        self.connection.peer_pid()
    }

    #[inline]
    fn sending(&mut self, kind: StatementKind, number: Option<usize>) -> u64 {
        self.last = number;
        match kind {
            StatementKind::Begin => self.open = true,
            StatementKind::Commit | StatementKind::Rollback => self.open = false,
            _ => {}
        }
        let now = self.now_ns();
        self.fresh = false;
        self.meter.at(now).sent(kind);
        now
    }

    #[inline]
    fn received(&mut self, operation: usize, sent_ns: u64, result: &Result<ResponseTotals, Failure>) {
        let now = self.meter.now_ns();
        self.answered_ns = now;
        self.fresh = true;
        if !matches!(result, Err(Failure::Cancelled | Failure::Lost(_))) {
            self.meter.answered(now);
        }
        match result {
            Ok(outcome) => {
                let effect = if outcome.result_sets > 0 {
                    Effect::Read
                } else if outcome.affected_rows > 0 {
                    Effect::Write
                } else {
                    Effect::Other
                };
                self.meter.at(now).answered(operation, effect, now - sent_ns);
            }
            Err(Failure::Server(message)) => self.meter.at(now).error(operation, message.code),
            Err(_) => {}
        }
    }
}
