//! What a script's thread has: its connections, their statements, its parameters and its generator. It answers what takes
//! time on the event loop.

mod time;

use crate::bulk::BulkInsert;
use crate::connections::HeldConnections;
use crate::dialect::Dialect;
use crate::held::Held;
use crate::refusal::{self, Exchange, RefusedExchange};
use crate::results::Results;
use crate::script::Script;
use crate::statement::{self, Parameter};
use plimsoll_engine::catalogue::Catalogue;
use plimsoll_engine::error::SENDING;
use plimsoll_engine::exchanges::Exchanges;
use plimsoll_engine::executor::Slot;
use plimsoll_engine::measure::FAREWELLS;
use plimsoll_engine::{Connector, Failure};
use plimsoll_load::recorder::Recorder;
use plimsoll_load::seed::Rng;
use plimsoll_load::source::Peer;
use plimsoll_load::window::Window;
use plimsoll_model::StatementKind;
use plimsoll_wire::response::ResponseTotals;
use plimsoll_workloads::unique::Unique;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A script that asks in vain again and again lets others have their turn for so long.
const VAIN_NS: u64 = 1_000_000;

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
    pub script: Arc<Script>,
    unique: Unique,
    /// How many numbers all threads have drawn of those that do not repeat.
    drawn: Arc<AtomicU64>,
    exchanges: RefCell<Exchanges>,
    connector: Rc<Connector>,
    slot: Rc<Slot>,
    connections: HeldConnections,
    last: RefCell<Last>,
    /// Why the last exchange failed, until it is asked.
    failure: RefCell<Option<Failure>>,
    /// Of the first of its connections.
    peer: RefCell<Peer>,
    has_asked: Cell<bool>,
    /// How long it has computed since that was counted, and the longest time without a question.
    computed_ns: Cell<(u64, u64)>,
    /// Statements of a dry run that are still to be counted.
    nothing: Cell<u64>,
}

/// The statement that was sent last.
#[derive(Default)]
struct Last {
    /// None once it has been answered.
    kind: Option<StatementKind>,
    text: Vec<u8>,
}

/// Whose coroutine is running.
pub type Current = Rc<RefCell<Option<Rc<ScriptThread>>>>;

/// Rows and columns of a result.
pub type Size = (usize, usize);

impl ScriptThread {
    pub fn new(
        tid: usize,
        script: &Arc<Script>,
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
            script: script.clone(),
            unique: Unique::new(seed),
            drawn: drawn.clone(),
            exchanges: RefCell::new(Exchanges::new(connector.meter.clone())),
            connector: connector.clone(),
            slot: slot.clone(),
            connections: HeldConnections::default(),
            last: RefCell::default(),
            failure: RefCell::default(),
            peer: RefCell::default(),
            has_asked: Cell::default(),
            computed_ns: Cell::default(),
            nothing: Cell::default(),
        }
    }

    /// A number that no thread of the run has drawn before.
    pub fn unique(&self) -> u32 {
        self.unique.at(self.drawn.fetch_add(1, Ordering::Relaxed))
    }

    pub fn now_ns(&self) -> u64 {
        self.exchanges.borrow().now_ns()
    }

    pub fn peer(&self) -> Peer {
        self.peer.borrow().clone()
    }

    /// Why the last exchange failed, if it did.
    pub fn take_failure(&self) -> Option<Failure> {
        self.failure.take()
    }

    /// What sysbench would do otherwise, if the script is run as sysbench runs it.
    pub fn dialect(&self) -> Option<&Dialect> {
        self.script.dialect.as_deref()
    }

    /// The same where its errors are sysbench's too.
    pub fn compatible(&self) -> Option<&Dialect> {
        self.dialect().filter(|dialect| dialect.is_compatible)
    }

    /// A failure of one of the script's functions, which sysbench tells on its standard output when it comes.
    pub fn told(&self, function: &str, failure: Failure) -> Failure {
        if let (Some(dialect), Failure::Script(text)) = (self.compatible(), &failure) {
            match function {
                // The script's own text: nothing was called.
                "load" => dialect.fatal(text),
                function => dialect.fatal(&format!("`{function}' function failed: {text}")),
            }
        }
        failure
    }

    /// Whether something was asked of a server since this was called last.
    pub fn take_has_asked(&self) -> bool {
        self.has_asked.take()
    }

    /// Whether a script that is run as sysbench runs it may begin another event.
    pub fn has_more_events(&self) -> bool {
        let now_ns = self.now_ns();
        self.dialect().is_none_or(|dialect| dialect.budget.take(now_ns, self.window(now_ns)))
    }

    /// Lets an event that has failed be taken again.
    pub fn put_event_back(&self) {
        if let Some(dialect) = self.dialect() {
            let now_ns = self.now_ns();
            dialect.budget.put_back(now_ns, self.window(now_ns));
        }
    }

    async fn open(&self, server: usize) -> Result<Box<Held>, Failure> {
        let held = Held::open(&self.connector, &self.slot, self.dialect(), server).await?;
        if self.peer.borrow().is_nobody() {
            self.peer.replace(held.peer());
        }
        Ok(held)
    }

    /// A further connection: its number.
    ///
    /// # Errors
    /// As [`ScriptThread::query`].
    pub async fn connect(&self) -> Result<usize, RefusedExchange> {
        let server = self.dialect().map_or(0, |dialect| dialect.servers.next());
        match self.open(server).await {
            Ok(held) => Ok(self.connections.add(held)),
            Err(failure) => Err(self.refused(failure, Exchange::Connect(server))),
        }
    }

    /// Closes a connection; false if it was closed before.
    pub async fn disconnect(&self, number: usize) -> bool {
        let Some(held) = self.connections.take(number) else { return false };
        held.quit().await;
        true
    }

    /// Connects anew under the same number; statements are gone.
    ///
    /// # Errors
    /// As [`ScriptThread::query`].
    pub async fn reconnect(&self, number: usize) -> Result<(), RefusedExchange> {
        let server = self.connections.with(number, |held| held.server).unwrap_or_default();
        self.disconnect(number).await;
        let held = self.open(server).await.map_err(|failure| self.refused(failure, Exchange::Connect(server)))?;
        self.connections.put(number, held);
        self.count(|recorder| recorder.reconnected());
        Ok(())
    }

    fn note(&self, kind: Option<StatementKind>, text: &[u8]) {
        let mut last = self.last.borrow_mut();
        last.kind = kind;
        last.text.clear();
        last.text.extend_from_slice(&text[..text.len().min(SHOWN_BYTES)]);
    }

    fn sent(&self, kind: Option<StatementKind>, text: &[u8]) -> u64 {
        self.note(kind, text);
        self.has_asked.set(true);
        let counted = kind.filter(|_| self.counts());
        self.exchanges.borrow_mut().sent(counted)
    }

    fn answered(&self, sent_ns: u64, result: &Result<ResponseTotals, Failure>) {
        let (operation, counts) = (Catalogue::operation_of(self.last.borrow().kind), self.counts());
        let mut exchanges = self.exchanges.borrow_mut();
        if counts {
            exchanges.answered(operation, sent_ns, result);
        } else {
            exchanges.answered_uncounted(result);
        }
        // What fails after this leaves nothing open.
        if matches!(result, Ok(_) | Err(Failure::Server(_))) {
            self.last.borrow_mut().kind = None;
        }
    }

    /// Whether what is asked counts: `thread_init` before the load begins is none of it, except for sysbench.
    fn counts(&self) -> bool {
        self.dialect().is_some() || self.connector.meter.has_begun()
    }

    /// Sends a statement as text; its rows are kept: see [`ScriptThread::with_results`]. How many rows and columns its
    /// result has, if it has one.
    ///
    /// # Errors
    /// What the script is told; the failure itself waits in [`ScriptThread::take_failure`].
    pub async fn query(&self, number: usize, sql: &[u8]) -> Result<Option<Size>, RefusedExchange> {
        let Some(mut held) = self.connections.take(number) else { return Err(self.closed(number).await) };
        let sent_ns = self.sent(statement::kind(sql), sql);
        let result = held.query(sql).await;
        self.answered(sent_ns, &result);
        // A dry run pretends that there is a result, without rows.
        let size = if held.is_dry() { Some((0, 0)) } else { held.results.size() };
        self.settle(number, held, result, Exchange::Query).await.map(|_| size)
    }

    /// Prepares a statement: its number on the connection. What the server cannot prepare is sent as text.
    ///
    /// # Errors
    /// As [`ScriptThread::query`].
    pub async fn prepare(&self, number: usize, sql: &str) -> Result<usize, RefusedExchange> {
        let Some(mut held) = self.connections.take(number) else { return Err(self.closed(number).await) };
        let kind = statement::kind(sql.as_bytes());
        match held.prepare(sql, kind, self.connector.protocol).await {
            Ok(statement) => {
                self.connections.put(number, held);
                Ok(statement)
            }
            Err(failure) => {
                // To prepare a statement has no effect.
                self.note(None, sql.as_bytes());
                self.settle(number, held, Err(failure), Exchange::Prepare).await.map(|_| 0)
            }
        }
    }

    /// Says which parameters, by their numbers with this thread, the placeholders of a statement are; false if there is
    /// no such statement.
    pub fn bind(&self, number: usize, statement: usize, parameters: Vec<usize>) -> bool {
        let bound =
            self.connections.with(number, |held| held.statement(statement).map(|found| found.parameters = parameters));
        bound.flatten().is_some()
    }

    /// Executes a prepared statement with the values that its parameters have. Its rows are counted, not kept, as in
    /// every version of sysbench.
    ///
    /// # Errors
    /// As [`ScriptThread::query`].
    pub async fn execute(&self, number: usize, statement: usize) -> Result<Option<Size>, RefusedExchange> {
        let Some(mut held) = self.connections.take(number) else { return Err(self.closed(number).await) };
        let Some((kind, columns)) = held.statement(statement).map(|found| (found.kind, found.columns)) else {
            self.connections.put(number, held);
            return Err(RefusedExchange::Closed);
        };
        let parameters = self.parameters.take();
        let sent_ns = self.sent(kind, PREPARED);
        let result = held.execute(statement, &parameters).await;
        self.parameters.replace(parameters);
        self.answered(sent_ns, &result);
        if result.is_err() && self.compatible().is_some() {
            let sql = held.statement(statement).map(|found| found.sql.clone());
            let open = self.last.borrow().kind;
            self.note(open, sql.unwrap_or_default().as_bytes());
        }
        let is_dry = held.is_dry();
        let totals = self.settle(number, held, result, Exchange::Execute).await?;
        Ok((is_dry || totals.result_sets > 0).then_some((totals.rows as usize, columns)))
    }

    /// Closes a statement, with the server too.
    pub async fn close(&self, number: usize, statement: usize) {
        let Some(mut held) = self.connections.take(number) else { return };
        held.close(statement).await;
        self.connections.put(number, held);
    }

    /// Does something with what a bulk insert has collected on a connection; `None` if that is closed.
    pub fn with_bulk<T>(&self, number: usize, task: impl FnOnce(&mut BulkInsert) -> T) -> Option<T> {
        self.connections.with(number, |held| task(&mut held.bulk))
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
        self.connections.with(number, |held| task(&mut held.results))
    }

    /// Puts a connection back after an exchange, unless it is lost. sysbench connects anew at once where such an error is
    /// one of those that it ignores.
    async fn settle(
        &self,
        number: usize,
        held: Box<Held>,
        result: Result<ResponseTotals, Failure>,
        exchange: Exchange,
    ) -> Result<ResponseTotals, RefusedExchange> {
        let is_good = match &result {
            Ok(_) => true,
            Err(Failure::Server(message)) => self.compatible().is_some() || !FAREWELLS.contains(&message.code),
            Err(_) => false,
        };
        let server = held.server;
        if is_good {
            self.connections.put(number, held);
        } else {
            drop(held);
            self.connections.lose(number);
        }
        let refusal = match result {
            Ok(totals) => return Ok(totals),
            Err(failure) => self.refused(failure, exchange),
        };
        if !is_good && matches!(refusal, RefusedExchange::Error(_, true)) && self.compatible().is_some() {
            self.connect_again(number, server).await?;
        }
        Err(refusal)
    }

    /// Connects anew until that succeeds, as sysbench does: to the same server, every millisecond.
    async fn connect_again(&self, number: usize, server: usize) -> Result<(), RefusedExchange> {
        loop {
            let reactor = &self.connector.reactor;
            match self.open(server).await {
                Ok(held) => {
                    self.connections.put(number, held);
                    self.waited();
                    self.count(|recorder| recorder.reconnected());
                    return Ok(());
                }
                Err(Failure::Cancelled) => return Err(RefusedExchange::Over),
                Err(_) => {}
            }
            if !reactor.sleep_until(&self.slot, reactor.now_ns() + VAIN_NS).await {
                return Err(RefusedExchange::Over);
            }
        }
    }

    /// Counts something.
    pub fn count(&self, count: impl FnOnce(&mut Recorder)) {
        let meter = &self.connector.meter;
        count(&mut meter.at(meter.now_ns()));
    }

    /// The window that is measured.
    fn window(&self, now_ns: u64) -> Window {
        self.connector.meter.at(now_ns).window()
    }

    /// What the script is told of a failure, which is kept.
    fn refused(&self, failure: Failure, exchange: Exchange) -> RefusedExchange {
        let refusal = refusal::of(&failure, exchange, self.compatible());
        if let (RefusedExchange::Error(message, false), Some(dialect)) = (&refusal, self.compatible()) {
            refusal::tell(dialect, message, exchange, &self.last_statement());
        }
        self.failure.replace(Some(failure));
        refusal
    }

    /// A connection that is not there; a script that goes on asking must not keep the loop to itself.
    async fn closed(&self, number: usize) -> RefusedExchange {
        let reactor = &self.connector.reactor;
        if !reactor.sleep_until(&self.slot, reactor.now_ns() + VAIN_NS).await {
            return RefusedExchange::Over;
        }
        self.waited();
        match self.compatible() {
            Some(_) if self.connections.is_lost(number) => {
                self.refused(Failure::Lost(SENDING.to_owned()), Exchange::Query)
            }
            Some(dialect) => {
                (dialect.say)("ALERT: attempt to use an already closed connection");
                RefusedExchange::Closed
            }
            None => RefusedExchange::Closed,
        }
    }

    /// The text of the statement that was sent last, for messages.
    pub fn last_statement(&self) -> String {
        String::from_utf8_lossy(&self.last.borrow().text).into_owned()
    }

    /// Whether a transaction is open on one of its connections.
    pub fn needs_rollback(&self) -> bool {
        self.connections.in_transaction()
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
        let count = self.connections.count();
        for number in 0..count {
            let open = self.connections.with(number, |held| held.in_transaction());
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
        let mut held = self.open(0).await?;
        let asked = held.ask(sql).await;
        held.quit().await;
        Ok(asked?.pairs().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Says good-bye on every connection.
    pub async fn quit(&self) {
        let count = self.connections.count();
        for number in 0..count {
            self.disconnect(number).await;
        }
    }
}

/// What scripts read as the text of a prepared statement.
const PREPARED: &[u8] = b"<prepared statement>";
