//! Control statements: a blocking face over the same protocol, one connection on a loop of its own.

use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::error::Failure;
use crate::executor::{Executor, Slot};
use plimsoll_model::Flavour;
use plimsoll_wire::response::{Discard, ResponseTotals, Sink};
use plimsoll_wire::rows::TextRows;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Logging in, and control statements on a healthy server, take less.
const LIMIT: Duration = Duration::from_secs(30);
/// However long a server thinks about a statement, its answer does not take longer from the first byte to the last.
const ANSWER_LIMIT: Duration = Duration::from_secs(600);

/// A connection whose calls return when the server has answered.
pub struct Control {
    connection: Connection,
    executor: Executor<'static>,
    slot: Rc<Slot>,
    limit: Duration,
    answer_limit: Duration,
    /// After an exchange that broke off, what comes next could be the rest of its answer.
    usable: bool,
}

impl Control {
    /// Connects and logs in.
    ///
    /// # Errors
    /// [`Failure::Lost`] if there is no server, [`Failure::Server`] if it refuses, [`Failure::Endless`] if it does not
    /// let us in within 30 s, whatever it sends meanwhile.
    pub fn open(endpoint: &Endpoint) -> Result<Control, Failure> {
        Control::open_within(endpoint, LIMIT)
    }

    /// The same with another limit.
    pub fn open_within(endpoint: &Endpoint, limit: Duration) -> Result<Control, Failure> {
        let mut executor = Executor::new(Instant::now()).map_err(setup)?;
        let (reactor, slot) = (executor.reactor(), executor.reactor().slot(0));
        let until_ns = reactor.now_ns() + ns(limit);
        let opening = Connection::open(endpoint, reactor, slot.clone());
        let opened = executor.block_on(&slot, opening, until_ns, u64::MAX).map_err(setup)?;
        let connection = opened.map_err(|failure| match failure {
            Failure::Cancelled => Failure::Endless { what: "the login", seconds: limit.as_secs_f64() },
            other => other,
        })?;
        Ok(Control { connection, executor, slot, limit: LIMIT, answer_limit: ANSWER_LIMIT, usable: true })
    }

    /// How long a statement may take from now on.
    pub fn set_limit(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// Does `ask` with another limit of a statement; afterwards the limit is what it was.
    pub fn within<T>(&mut self, limit: Duration, ask: impl FnOnce(&mut Control) -> T) -> T {
        let before = std::mem::replace(&mut self.limit, limit);
        let answered = ask(self);
        self.limit = before;
        answered
    }

    /// This connection with the limits of another.
    pub fn limited_as(self, other: &Control) -> Control {
        Control { limit: other.limit, answer_limit: other.answer_limit, ..self }
    }

    /// How long the answer to a statement may take from its first byte to its last, within what the statement may.
    pub fn set_answer_limit(&mut self, limit: Duration) {
        self.answer_limit = limit;
    }

    pub fn flavour(&self) -> Flavour {
        self.connection.greeting().flavour()
    }

    /// The server's version as it greets.
    pub fn version(&self) -> &str {
        &self.connection.greeting().version
    }

    /// The local process that serves this connection, if it came over a Unix socket.
    pub fn peer_pid(&self) -> Option<u32> {
        self.connection.peer_pid()
    }

    /// Sends a statement and reads its rows.
    pub fn rows(&mut self, sql: &str) -> Result<TextRows, Failure> {
        let mut rows = TextRows::default();
        self.send(sql, &mut rows)?;
        Ok(rows)
    }

    /// Sends a statement without caring for rows.
    pub fn run(&mut self, sql: &str) -> Result<ResponseTotals, Failure> {
        self.send(sql, &mut Discard)
    }

    /// Time to an answer that costs the server nothing: the way there and back.
    pub fn ping(&mut self) -> Result<Duration, Failure> {
        let until_ns = self.deadline()?;
        let begun = Instant::now();
        let pinging = self.connection.ping();
        let result = self.executor.block_on(&self.slot, pinging, until_ns, ns(self.answer_limit)).map_err(setup)?;
        let taken = begun.elapsed();
        self.checked(result).map(|()| taken)
    }

    fn send<S: Sink>(&mut self, sql: &str, sink: &mut S) -> Result<ResponseTotals, Failure> {
        let until_ns = self.deadline()?;
        let sending = self.connection.query(sql.as_bytes(), sink);
        let result = self.executor.block_on(&self.slot, sending, until_ns, ns(self.answer_limit)).map_err(setup)?;
        self.checked(result)
    }

    /// Runs a LOAD DATA LOCAL; `fill` produces its content piece by piece and returns false at the end.
    pub fn load_data(&mut self, sql: &str, fill: impl FnMut(&mut Vec<u8>) -> bool) -> Result<ResponseTotals, Failure> {
        let until_ns = self.deadline()?;
        let loading = self.connection.load_data(sql, fill);
        let result = self.executor.block_on(&self.slot, loading, until_ns, ns(self.answer_limit)).map_err(setup)?;
        self.checked(result)
    }

    fn deadline(&self) -> Result<u64, Failure> {
        if !self.usable {
            return Err(Failure::Lost("the connection was given up after an answer that broke off".to_owned()));
        }
        Ok(self.executor.reactor().now_ns().saturating_add(ns(self.limit)))
    }

    fn checked<T>(&mut self, result: Result<T, Failure>) -> Result<T, Failure> {
        self.usable = matches!(result, Ok(_) | Err(Failure::Server(_)));
        result.map_err(|failure| match failure {
            Failure::Cancelled if self.slot.is_answering() => {
                let seconds = self.limit.min(self.answer_limit).as_secs_f64();
                Failure::Endless { what: "its answer", seconds }
            }
            Failure::Cancelled => Failure::Silent(self.limit.as_secs_f64()),
            other => other,
        })
    }
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX >> 1)
}

fn setup(error: std::io::Error) -> Failure {
    Failure::Setup(format!("waiting for the server failed: {error}"))
}
