//! What a workload sees of a connection: its statements, by number, and what came of them.

use crate::catalogue::Catalogue;
use crate::client::{Connector, LoadClient};
use crate::connection::Connection;
use crate::error::Failure;
use crate::exchanges::Exchanges;
use crate::executor::Slot;
use crate::statement::{PreparedHandle, Protocol};
use plimsoll_load::source::Peer;
use plimsoll_model::StatementKind;
use plimsoll_wire::Value;
use plimsoll_wire::cells::{Cells, ColumnDefinition, ReceivedRow};
use plimsoll_wire::response::{Discard, ResponseTotals};
use plimsoll_wire::rows::TextRows;
use std::rc::Rc;

/// A statement as the server knows it on one connection.
#[derive(Clone, Default)]
struct Handle {
    prepared: PreparedHandle,
    /// Of its result, as the server told last.
    columns: Vec<ColumnDefinition>,
    /// The server cannot prepare it.
    is_text: bool,
}

/// The server's code for a statement that it can execute and not prepare (ER_UNSUPPORTED_PS).
pub const NOT_PREPARABLE: u16 = 1295;

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
    exchanges: Exchanges,
    /// The rows that [`Session::select`] asked for last.
    cells: Cells,
    /// The statement sent last, for messages.
    last: Option<usize>,
    open: bool,
}

impl Session {
    /// Connects, logs in and prepares what is declared.
    pub async fn open(connector: &Connector, slot: &Rc<Slot>) -> Result<Session, Failure> {
        let connection = Connection::open(&connector.endpoint, connector.reactor.clone(), slot.clone()).await?;
        let catalogue = connector.catalogue.clone();
        let handles = vec![Handle::default(); catalogue.statements.len()];
        let mut session = Session {
            connection,
            catalogue,
            handles,
            protocol: connector.protocol,
            exchanges: Exchanges::new(connector.meter.clone()),
            cells: Cells::default(),
            last: None,
            open: false,
        };
        session.set_up().await?;
        if session.protocol == Protocol::Prepared {
            session.prepare_all().await?;
        }
        session.last = None;
        Ok(session)
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
                if matches!(&prepared, Err(Failure::Server(message)) if message.code == NOT_PREPARABLE) {
                    self.handles[number].is_text = true;
                    continue;
                }
                let prepared = prepared.map_err(|failure| refused(&statement.sql, "cannot be prepared", failure))?;
                self.handles[number].prepared = PreparedHandle::new(prepared.statement);
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
        let is_prepared = statement.prepared && self.protocol == Protocol::Prepared;
        let result = if is_prepared && !self.handles[number].is_text {
            let (id, types) = self.handles[number].prepared.bind(values);
            self.connection.execute(id, values, types, &mut Discard).await
        } else {
            self.connection.execute_text(template, values, &mut Discard).await
        };
        self.exchanges.answered(self.catalogue.operations[number], sent_ns, &result);
        result
    }

    /// Executes statement `number` of the catalogue and keeps the rows of its result: see [`Session::row`].
    pub async fn select(&mut self, number: usize, values: &[Value<'_>]) -> Result<ResponseTotals, Failure> {
        let sent_ns = self.sending(self.catalogue.statements[number].0.kind, Some(number));
        let (statement, template) = &self.catalogue.statements[number];
        self.cells.clear();
        self.cells.binary = statement.prepared && self.protocol == Protocol::Prepared && !self.handles[number].is_text;
        let result = if self.cells.binary {
            let handle = &mut self.handles[number];
            let (id, types) = handle.prepared.bind(values);
            self.cells.columns.clone_from(&handle.columns);
            let result = self.connection.execute(id, values, types, &mut self.cells).await;
            if self.cells.columns != handle.columns {
                handle.columns.clone_from(&self.cells.columns);
            }
            result
        } else {
            self.connection.execute_text(template, values, &mut self.cells).await
        };
        self.exchanges.answered(self.catalogue.operations[number], sent_ns, &result);
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

    /// Counts something of the workload's own, by its place in [`crate::DeclaredWorkload::counters`]. To be called after
    /// the last statement of a transaction, so that only what was done is counted, once.
    #[inline]
    pub fn count(&mut self, counter: usize, by: u64) {
        self.exchanges.meter.at(self.exchanges.answered_ns()).counted(counter, by);
    }

    /// Sends text that the workload made itself as statement `number` of the catalogue, whose name and kind it has.
    pub async fn query(&mut self, number: usize, sql: &[u8]) -> Result<ResponseTotals, Failure> {
        let kind = self.catalogue.statements[number].0.kind;
        let sent_ns = self.sending(kind, Some(number));
        let result = self.connection.query(sql, &mut Discard).await;
        self.exchanges.answered(self.catalogue.operations[number], sent_ns, &result);
        result
    }

    #[inline]
    fn sending(&mut self, kind: StatementKind, number: Option<usize>) -> u64 {
        self.last = number;
        match kind {
            StatementKind::Begin => self.open = true,
            StatementKind::Commit | StatementKind::Rollback => self.open = false,
            _ => {}
        }
        self.exchanges.sent(Some(kind))
    }
}

impl LoadClient for Session {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.exchanges.now_ns()
    }

    fn waited(&mut self) {
        self.exchanges.waited();
    }

    fn answered_ns(&self) -> u64 {
        self.exchanges.answered_ns()
    }

    fn needs_rollback(&self) -> bool {
        self.open || self.connection.in_transaction()
    }

    async fn rollback(&mut self) -> Result<(), Failure> {
        let sent_ns = self.sending(StatementKind::Rollback, None);
        let result = self.connection.query(b"ROLLBACK", &mut Discard).await;
        self.exchanges.answered(self.catalogue.rollback, sent_ns, &result);
        result.map(drop)
    }

    fn is_committing(&self) -> bool {
        let Some(number) = self.last else { return false };
        let kind = self.catalogue.statements[number].0.kind;
        kind == StatementKind::Commit || kind.changes_data() && !self.needs_rollback()
    }

    fn last_statement(&self) -> String {
        self.last.map_or("ROLLBACK", |number| self.catalogue.statements[number].0.sql.as_str()).to_owned()
    }

    fn peer(&self) -> Peer {
        self.connection.peer()
    }

    async fn ask(&mut self, sql: &str) -> Result<Vec<(String, String)>, Failure> {
        let mut rows = TextRows::default();
        self.connection
            .query(sql.as_bytes(), &mut rows)
            .await
            .map_err(|failure| refused(sql, "is refused", failure))?;
        Ok(rows.pairs().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    async fn quit(self) {
        self.connection.quit().await;
    }
}
