//! Why an exchange did not succeed, as a script is told; and, as sysbench is told to run it, as everybody is.

use crate::dialect::Dialect;
use plimsoll_engine::Failure;
use plimsoll_engine::measure::{FAREWELLS, RETRYABLE};
use plimsoll_wire::ServerMessage;

/// The client's own numbers: for a server that cannot be reached, one that has gone away, one that was lost.
const UNREACHABLE: u16 = 2002;
const GONE: u16 = 2006;
const LOST: u16 = 2013;

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

/// What was done when an error came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// To the server at this place.
    Connect(usize),
    Query,
    Prepare,
    Execute,
}

/// Whether an event that meets this error begins again, unless its script says otherwise.
pub fn begins_again(message: &ServerMessage) -> bool {
    [&RETRYABLE, &FAREWELLS].iter().any(|codes| codes.contains(&message.code))
}

/// What a failure is to a script.
pub fn of(failure: &Failure, exchange: Exchange, dialect: Option<&Dialect>) -> RefusedExchange {
    let is_connecting = matches!(exchange, Exchange::Connect(_));
    let own = |code, text: String| ServerMessage { code, state: *b"HY000", text };
    match (failure, dialect) {
        (Failure::Cancelled, _) => RefusedExchange::Over,
        (Failure::Server(message), None) => RefusedExchange::Error(message.clone(), begins_again(message)),
        (Failure::Server(message), Some(dialect)) => {
            RefusedExchange::Error(message.clone(), dialect.ignored.has(message.code))
        }
        (other, None) => RefusedExchange::Error(own(GONE, other.to_string()), true),
        (other, Some(dialect)) => {
            let message = match other {
                unsent if unsent.is_unsent() => own(GONE, "Server has gone away".to_owned()),
                Failure::Lost(_) if !is_connecting => own(LOST, "Lost connection to server during query".to_owned()),
                other => own(LOST, other.to_string()),
            };
            let is_ignored = dialect.ignored.has(message.code);
            RefusedExchange::Error(message, is_ignored)
        }
    }
}

/// Says on the standard output what sysbench says there of an error that it does not ignore.
pub fn tell(dialect: &Dialect, message: &ServerMessage, exchange: Exchange, sql: &str) {
    let ServerMessage { code, text, .. } = message;
    match exchange {
        Exchange::Query => {
            dialect.fatal(&format!("mysql_drv_query() returned error {code} ({text}) for query '{sql}'"))
        }
        Exchange::Execute => {
            dialect.fatal(&format!("mysql_stmt_execute() returned error {code} ({text}) for query '{sql}'"));
        }
        Exchange::Prepare => {
            dialect.fatal("mysql_stmt_prepare() failed");
            dialect.fatal(&format!("MySQL error: {code} \"{text}\""));
        }
        Exchange::Connect(server) => {
            let place = dialect.servers.shown.get(server).map_or("no host", String::as_str);
            let code = if *code == LOST || *code == GONE { UNREACHABLE } else { *code };
            dialect.fatal(&format!("unable to connect to MySQL server on {place}, aborting..."));
            dialect.fatal(&format!("error {code}: {text}"));
        }
    }
}
