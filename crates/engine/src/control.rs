//! Control statements: a blocking face over the same protocol, one connection on a loop of its own.

use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::error::Failure;
use crate::executor::{Executor, Slot};
use plimsoll_model::Flavour;
use plimsoll_wire::response::{Discard, Outcome, Sink};
use plimsoll_wire::rows::TextRows;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Logging in, and control statements on a healthy server, take less.
const LIMIT: Duration = Duration::from_secs(30);

/// A connection whose calls return when the server has answered.
pub struct Control {
    connection: Connection,
    executor: Executor<'static>,
    slot: Rc<Slot>,
    limit: Duration,
    /// After an exchange that broke off, what comes next could be the rest of its answer.
    usable: bool,
}

impl Control {
    /// Connects and logs in.
    ///
    /// # Errors
    /// [`Failure::Lost`] if there is no server, [`Failure::Server`] if it refuses, [`Failure::Silent`] if it
    /// does not answer within 30 s.
    pub fn open(endpoint: &Endpoint) -> Result<Control, Failure> {
        let mut executor = Executor::new(Instant::now()).map_err(setup)?;
        let (reactor, slot) = (executor.reactor(), executor.reactor().slot(0));
        let until_ns = reactor.now_ns() + LIMIT.as_nanos() as u64;
        let opening = Connection::open(endpoint, reactor, slot.clone());
        let connection = executor.block_on(&slot, opening, until_ns).map_err(setup)?.map_err(|f| silent(f, LIMIT))?;
        Ok(Control { connection, executor, slot, limit: LIMIT, usable: true })
    }

    /// How long a statement may take from now on.
    pub fn set_limit(&mut self, limit: Duration) {
        self.limit = limit;
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
    pub fn run(&mut self, sql: &str) -> Result<Outcome, Failure> {
        self.send(sql, &mut Discard)
    }

    /// Time to an answer that costs the server nothing: the way there and back.
    pub fn ping(&mut self) -> Result<Duration, Failure> {
        let until_ns = self.deadline()?;
        let begun = Instant::now();
        let pinging = self.connection.ping();
        let result = self.executor.block_on(&self.slot, pinging, until_ns).map_err(setup)?;
        let taken = begun.elapsed();
        self.checked(result).map(|()| taken)
    }

    fn send<S: Sink>(&mut self, sql: &str, sink: &mut S) -> Result<Outcome, Failure> {
        let until_ns = self.deadline()?;
        let sending = self.connection.query(sql.as_bytes(), sink);
        let result = self.executor.block_on(&self.slot, sending, until_ns).map_err(setup)?;
        self.checked(result)
    }

    /// Runs a LOAD DATA LOCAL; `fill` produces its content piece by piece and returns false at the end.
    pub fn load_data(&mut self, sql: &str, fill: impl FnMut(&mut Vec<u8>) -> bool) -> Result<Outcome, Failure> {
        let until_ns = self.deadline()?;
        let loading = self.connection.load_data(sql, fill);
        let result = self.executor.block_on(&self.slot, loading, until_ns).map_err(setup)?;
        self.checked(result)
    }

    fn deadline(&self) -> Result<u64, Failure> {
        if !self.usable {
            return Err(Failure::Lost("the connection was given up after an answer that broke off".to_owned()));
        }
        Ok(self.executor.reactor().now_ns() + self.limit.as_nanos() as u64)
    }

    fn checked<T>(&mut self, result: Result<T, Failure>) -> Result<T, Failure> {
        self.usable = matches!(result, Ok(_) | Err(Failure::Server(_)));
        result.map_err(|failure| silent(failure, self.limit))
    }
}

fn silent(failure: Failure, limit: Duration) -> Failure {
    match failure {
        Failure::Cancelled => Failure::Silent(limit.as_secs_f64()),
        other => other,
    }
}

fn setup(error: std::io::Error) -> Failure {
    Failure::Setup(format!("waiting for the server failed: {error}"))
}
