//! What a script's thread has: its connections, their statements, its parameters and its generator. It answers what takes
//! time on the event loop.

use crate::bulk::BulkInsert;
use crate::results::Results;
use crate::statement::{self, Parameter, ScriptStatement};
use plimsoll_engine::catalogue::Catalogue;
use plimsoll_engine::connection::Connection;
use plimsoll_engine::exchanges::Exchanges;
use plimsoll_engine::executor::{Slot, SlotBeside};
use plimsoll_engine::measure::{FAREWELLS, RETRYABLE};
use plimsoll_engine::{Connector, Failure, Protocol};
use plimsoll_load::seed::Rng;
use plimsoll_model::StatementKind;
use plimsoll_wire::response::{Discard, ResponseTotals};
use plimsoll_wire::rows::TextRows;
use plimsoll_wire::{ServerMessage, Value};
use plimsoll_workloads::distribution::Distribution;
use plimsoll_workloads::unique::Unique;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A script that asks in vain again and again lets others have their turn for so long.
const VAIN_NS: u64 = 1_000_000;

/// A connection of a script, with what belongs to it.
struct Held {
    /// Closed before its slot is given back.
    connection: Connection,
    beside: SlotBeside,
    statements: Vec<Option<ScriptStatement>>,
    results: Results,
    bulk: BulkInsert,
}

/// How much of a statement is kept for messages, bytes.
const SHOWN_BYTES: usize = 1024;

/// The stream of what is drawn before the first event, apart from those of the events.
const SET_UP_STREAM: u64 = 1 << 59;

/// The thread of a script, in sysbench's sense: one of those that send load.
pub struct ScriptThread {
    pub tid: usize,
    pub rng: RefCell<Rng>,
    /// Drawn from `math.random`, whose seed is the script's affair.
    pub own_rng: RefCell<Rng>,
    pub parameters: RefCell<Vec<Parameter>>,
    /// An event is under way.
    pub in_event: Cell<bool>,
    /// What `sysbench.rand.default` draws from.
    pub distribution: Distribution,
    unique: Unique,
    /// How many numbers all threads have drawn of those that do not repeat.
    drawn: Arc<AtomicU64>,
    exchanges: RefCell<Exchanges>,
    connector: Rc<Connector>,
    slot: Rc<Slot>,
    connections: RefCell<Vec<Option<Box<Held>>>>,
    last: RefCell<Last>,
    /// Why the last exchange failed, until it is asked.
    failure: RefCell<Option<Failure>>,
    peer_pid: Cell<Option<u32>>,
}

/// The statement that was sent last.
#[derive(Default)]
struct Last {
    kind: Option<StatementKind>,
    text: Vec<u8>,
}

/// Whose coroutine is running.
pub type Current = Rc<RefCell<Option<Rc<ScriptThread>>>>;

/// Rows and columns of a result.
pub type Size = (usize, usize);

/// Why an exchange did not succeed, as the script is told.
#[derive(Debug)]
pub enum RefusedExchange {
    /// The connection was closed by the script, or never there.
    Closed,
    /// The run is over.
    Over,
    /// The server's error, or one of the client's with sysbench's number for it. True if the event is to begin again.
    Error(ServerMessage, bool),
}

/// Whether an event that meets this error begins again, unless its script says otherwise.
pub fn begins_again(message: &ServerMessage) -> bool {
    [&RETRYABLE, &FAREWELLS].iter().any(|codes| codes.contains(&message.code))
}

impl ScriptThread {
    pub fn new(
        tid: usize,
        distribution: Distribution,
        drawn: &Arc<AtomicU64>,
        connector: &Rc<Connector>,
        slot: &Rc<Slot>,
    ) -> ScriptThread {
        let (seed, stream) = (connector.seed, tid as u64 | SET_UP_STREAM);
        ScriptThread {
            tid,
            rng: RefCell::new(Rng::new(seed, stream, 0)),
            own_rng: RefCell::new(Rng::new(seed, stream, 1)),
            parameters: RefCell::default(),
            in_event: Cell::default(),
            distribution,
            unique: Unique::new(seed),
            drawn: drawn.clone(),
            exchanges: RefCell::new(Exchanges::new(connector.meter.clone())),
            connector: connector.clone(),
            slot: slot.clone(),
            connections: RefCell::default(),
            last: RefCell::default(),
            failure: RefCell::default(),
            peer_pid: Cell::default(),
        }
    }

    /// A number that no thread of the run has drawn before.
    pub fn unique(&self) -> u32 {
        self.unique.at(self.drawn.fetch_add(1, Ordering::Relaxed))
    }

    pub fn now_ns(&self) -> u64 {
        self.exchanges.borrow().now_ns()
    }

    /// The script has computed, or waited: the time is no longer that of the last answer.
    pub fn waited(&self) {
        self.exchanges.borrow_mut().waited();
    }

    pub fn peer_pid(&self) -> Option<u32> {
        self.peer_pid.get()
    }

    /// Why the last exchange failed, if it did.
    pub fn take_failure(&self) -> Option<Failure> {
        self.failure.take()
    }

    async fn open(&self) -> Result<Box<Held>, Failure> {
        let Connector { endpoint, reactor, .. } = &*self.connector;
        let beside = reactor.slot_beside(&self.slot);
        let connection = Connection::open(endpoint, reactor.clone(), beside.slot.clone()).await?;
        self.peer_pid.set(self.peer_pid.get().or_else(|| connection.peer_pid()));
        let (statements, results, bulk) = (Vec::new(), Results::default(), BulkInsert::default());
        Ok(Box::new(Held { connection, beside, statements, results, bulk }))
    }

    /// A further connection: its number.
    ///
    /// # Errors
    /// As [`ScriptThread::query`].
    pub async fn connect(&self) -> Result<usize, RefusedExchange> {
        match self.open().await {
            Ok(held) => {
                let mut connections = self.connections.borrow_mut();
                connections.push(Some(held));
                Ok(connections.len() - 1)
            }
            Err(failure) => Err(self.refused(failure)),
        }
    }

    /// Closes a connection; false if it was closed before.
    pub async fn disconnect(&self, number: usize) -> bool {
        let Some(held) = self.take(number) else { return false };
        let Held { connection, beside, .. } = *held;
        connection.quit().await;
        drop(beside);
        true
    }

    /// Connects anew under the same number; statements are gone.
    ///
    /// # Errors
    /// As [`ScriptThread::query`].
    pub async fn reconnect(&self, number: usize) -> Result<(), RefusedExchange> {
        self.disconnect(number).await;
        let held = self.open().await.map_err(|failure| self.refused(failure))?;
        self.put(number, held);
        let meter = &self.connector.meter;
        meter.at(meter.now_ns()).reconnected();
        Ok(())
    }

    fn take(&self, number: usize) -> Option<Box<Held>> {
        self.connections.borrow_mut().get_mut(number)?.take()
    }

    fn put(&self, number: usize, held: Box<Held>) {
        if let Some(place) = self.connections.borrow_mut().get_mut(number) {
            *place = Some(held);
        }
    }

    fn note(&self, kind: Option<StatementKind>, text: &[u8]) {
        let mut last = self.last.borrow_mut();
        last.kind = kind;
        last.text.clear();
        last.text.extend_from_slice(&text[..text.len().min(SHOWN_BYTES)]);
    }

    fn sent(&self, kind: Option<StatementKind>, text: &[u8]) -> u64 {
        self.note(kind, text);
        self.exchanges.borrow_mut().sent(kind)
    }

    fn answered(&self, sent_ns: u64, result: &Result<ResponseTotals, Failure>) {
        let operation = Catalogue::operation_of(self.last.borrow().kind);
        self.exchanges.borrow_mut().answered(operation, sent_ns, result);
    }

    /// Sends a statement as text; its rows are kept: see [`ScriptThread::with_results`]. How many rows and columns its
    /// result has, if it has one.
    ///
    /// # Errors
    /// What the script is told; the failure itself waits in [`ScriptThread::take_failure`].
    pub async fn query(&self, number: usize, sql: &[u8]) -> Result<Option<Size>, RefusedExchange> {
        let Some(mut held) = self.take(number) else { return Err(self.closed().await) };
        held.results.clear();
        let sent_ns = self.sent(statement::kind(sql), sql);
        let result = held.connection.query(sql, &mut held.results).await;
        self.answered(sent_ns, &result);
        let size = held.results.size();
        self.settle(number, held, result).map(|_| size)
    }

    /// Prepares a statement: its number on the connection. What the server cannot prepare is sent as text.
    ///
    /// # Errors
    /// As [`ScriptThread::query`].
    pub async fn prepare(&self, number: usize, sql: &str) -> Result<usize, RefusedExchange> {
        let Some(mut held) = self.take(number) else { return Err(self.closed().await) };
        let kind = statement::kind(sql.as_bytes());
        let answer = match self.connector.protocol {
            Protocol::Text => None,
            Protocol::Prepared => match held.connection.prepare(sql, &mut Discard).await {
                Ok(answer) => Some(answer),
                Err(Failure::Server(message)) if message.code == NOT_PREPARABLE => None,
                Err(failure) => {
                    self.note(kind, sql.as_bytes());
                    return self.settle(number, held, Err(failure)).map(|_| 0);
                }
            },
        };
        held.statements.push(Some(ScriptStatement::new(sql, kind, answer)));
        let statement = held.statements.len() - 1;
        self.put(number, held);
        Ok(statement)
    }

    /// Says which parameters, by their numbers with this thread, the placeholders of a statement are; false if there is
    /// no such statement.
    pub fn bind(&self, number: usize, statement: usize, parameters: Vec<usize>) -> bool {
        let bound = self.with_held(number, |held| {
            let statement = held.statements.get_mut(statement)?.as_mut()?;
            statement.parameters = parameters;
            Some(())
        });
        bound.flatten().is_some()
    }

    /// Does something with a connection that is at rest; `None` if it is closed.
    fn with_held<T>(&self, number: usize, task: impl FnOnce(&mut Held) -> T) -> Option<T> {
        self.connections.borrow_mut().get_mut(number)?.as_mut().map(|held| task(held))
    }

    /// Executes a prepared statement with the values that its parameters have. Its rows are counted, not kept, as in
    /// every version of sysbench.
    ///
    /// # Errors
    /// As [`ScriptThread::query`].
    pub async fn execute(&self, number: usize, statement: usize) -> Result<Option<Size>, RefusedExchange> {
        let Some(mut held) = self.take(number) else { return Err(self.closed().await) };
        let Held { connection, statements, results, .. } = &mut *held;
        let Some(Some(prepared)) = statements.get_mut(statement) else {
            self.put(number, held);
            return Err(RefusedExchange::Closed);
        };
        let parameters = self.parameters.take();
        let value = |place: &usize| parameters.get(*place).map_or(Value::Null, |parameter| parameter.value.as_value());
        let values: Vec<Value<'_>> = prepared.parameters.iter().map(value).collect();
        let sent_ns = self.sent(prepared.kind, PREPARED);
        results.clear();
        let result = match &mut prepared.handle {
            Some(handle) => {
                let (id, types) = handle.bind(&values);
                connection.execute(id, &values, types, &mut Discard).await
            }
            None => connection.execute_text(&prepared.template, &values, &mut Discard).await,
        };
        let columns = prepared.columns;
        self.parameters.replace(parameters);
        self.answered(sent_ns, &result);
        let totals = self.settle(number, held, result)?;
        Ok((totals.result_sets > 0).then_some((totals.rows as usize, columns)))
    }

    /// Closes a statement, with the server too.
    pub async fn close(&self, number: usize, statement: usize) {
        let Some(mut held) = self.take(number) else { return };
        let closed = held.statements.get_mut(statement).and_then(Option::take);
        if let Some(handle) = closed.and_then(|closed| closed.handle) {
            // Nothing is answered to it; what is wrong with the connection shows at the next exchange.
            let _ = held.connection.close_statement(handle.id()).await;
        }
        self.put(number, held);
    }

    /// Does something with what a bulk insert has collected on a connection; `None` if that is closed.
    pub fn with_bulk<T>(&self, number: usize, task: impl FnOnce(&mut BulkInsert) -> T) -> Option<T> {
        self.with_held(number, |held| task(&mut held.bulk))
    }

    /// Sends what a bulk insert has collected, if anything.
    ///
    /// # Errors
    /// As [`ScriptThread::query`].
    pub async fn flush_bulk(&self, number: usize) -> Result<Option<Size>, RefusedExchange> {
        let text = self.with_bulk(number, BulkInsert::take).unwrap_or_default();
        if text.is_empty() {
            return Ok(None);
        }
        let sent = self.query(number, &text).await;
        self.with_bulk(number, |bulk| bulk.put_back(text));
        sent
    }

    /// Does something with the results of the last statement of a connection.
    pub fn with_results<T>(&self, number: usize, task: impl FnOnce(&mut Results) -> T) -> Option<T> {
        self.with_held(number, |held| task(&mut held.results))
    }

    /// Puts a connection back after an exchange, unless it is lost.
    fn settle(
        &self,
        number: usize,
        held: Box<Held>,
        result: Result<ResponseTotals, Failure>,
    ) -> Result<ResponseTotals, RefusedExchange> {
        let is_good = match &result {
            Ok(_) => true,
            Err(Failure::Server(message)) => !FAREWELLS.contains(&message.code),
            Err(_) => false,
        };
        if is_good {
            self.put(number, held);
        }
        result.map_err(|failure| self.refused(failure))
    }

    /// What the script is told of a failure, which is kept.
    fn refused(&self, failure: Failure) -> RefusedExchange {
        let refusal = match &failure {
            Failure::Server(message) => RefusedExchange::Error(message.clone(), begins_again(message)),
            Failure::Cancelled => RefusedExchange::Over,
            other => {
                RefusedExchange::Error(ServerMessage { code: GONE, state: *b"HY000", text: other.to_string() }, true)
            }
        };
        self.failure.replace(Some(failure));
        refusal
    }

    /// A connection that is not there; a script that goes on asking must not keep the loop to itself.
    async fn closed(&self) -> RefusedExchange {
        let reactor = &self.connector.reactor;
        let slept = reactor.sleep_until(&self.slot, reactor.now_ns() + VAIN_NS).await;
        if slept { RefusedExchange::Closed } else { RefusedExchange::Over }
    }

    /// Waits for so long; false if the run ends meanwhile.
    pub async fn sleep(&self, seconds: f64) -> bool {
        let reactor = &self.connector.reactor;
        let wait_ns = (seconds.max(0.0) * 1e9).min(1e18) as u64;
        // Nothing is asked of the server meanwhile.
        if self.in_event.get() {
            reactor.end_exchange();
        }
        let slept = reactor.sleep_until(&self.slot, reactor.now_ns() + wait_ns).await;
        if self.in_event.get() {
            reactor.begin_exchange(reactor.now_ns());
        }
        self.waited();
        slept
    }

    /// The text of the statement that was sent last, for messages.
    pub fn last_statement(&self) -> String {
        String::from_utf8_lossy(&self.last.borrow().text).into_owned()
    }

    /// Whether a transaction is open on one of its connections.
    pub fn needs_rollback(&self) -> bool {
        self.connections.borrow().iter().flatten().any(|held| held.connection.in_transaction())
    }

    pub fn is_committing(&self) -> bool {
        let Some(kind) = self.last.borrow().kind else { return false };
        kind == StatementKind::Commit || kind.changes_data() && !self.needs_rollback()
    }

    /// Rolls back wherever a transaction is open.
    ///
    /// # Errors
    /// Those of the exchange.
    pub async fn rollback(&self) -> Result<(), Failure> {
        let count = self.connections.borrow().len();
        for number in 0..count {
            let open = self.with_held(number, |held| held.connection.in_transaction());
            if open == Some(true) && self.query(number, b"ROLLBACK").await.is_err() {
                return self.take_failure().map_or(Ok(()), Err);
            }
        }
        Ok(())
    }

    /// Asks something that is not load, on a connection of its own.
    ///
    /// # Errors
    /// Those of connecting and of the exchange.
    pub async fn ask(&self, sql: &str) -> Result<Vec<(String, String)>, Failure> {
        let Held { mut connection, beside, .. } = *self.open().await?;
        let mut rows = TextRows::default();
        let asked = connection.query(sql.as_bytes(), &mut rows).await;
        connection.quit().await;
        drop(beside);
        asked?;
        Ok(rows.pairs().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Says good-bye on every connection.
    pub async fn quit(&self) {
        let count = self.connections.borrow().len();
        for number in 0..count {
            self.disconnect(number).await;
        }
    }
}

/// The server does not support the statement in the protocol of prepared statements.
const NOT_PREPARABLE: u16 = 1295;
/// The client's own number for a server that has gone away.
const GONE: u16 = 2006;
/// What scripts read as the text of a prepared statement.
const PREPARED: &[u8] = b"<prepared statement>";
