//! What speaks to the server for a connection of the run, as far as the loop has to know it.

use crate::catalogue::Catalogue;
use crate::endpoint::Endpoint;
use crate::error::Failure;
use crate::executor::Reactor;
use crate::meter::Meter;
use crate::statement::Protocol;
use plimsoll_load::source::Peer;
use std::future::Future;
use std::rc::Rc;

/// What all clients of a loop are made from.
pub struct Connector {
    pub endpoint: Endpoint,
    pub catalogue: Rc<Catalogue>,
    pub protocol: Protocol,
    pub seed: u64,
    pub meter: Rc<Meter>,
    pub reactor: Rc<Reactor>,
}

/// One connection of the run, which may be none to the server, or several.
pub trait LoadClient: Sized + 'static {
    /// The time. Between an answer and the next statement of the same task next to none passes, so the clock
    /// is looked at once per exchange.
    fn now_ns(&self) -> u64;

    /// Says that something was waited for since the last answer.
    fn waited(&mut self);

    /// When the last answer came, which is when a transaction that needed it ended.
    fn answered_ns(&self) -> u64;

    /// Whether a transaction is open that a failed attempt would leave behind.
    fn needs_rollback(&self) -> bool;

    /// Ends the transaction without its effects.
    fn rollback(&mut self) -> impl Future<Output = Result<(), Failure>>;

    /// Whether the statement sent last commits: a COMMIT, or a write in no transaction.
    fn is_committing(&self) -> bool;

    /// The text of the statement sent last.
    fn last_statement(&self) -> String;

    /// What serves it.
    fn peer(&self) -> Peer;

    /// Asks something that is not load: the first two columns of each row of the answer.
    fn ask(&mut self, sql: &str) -> impl Future<Output = Result<Vec<(String, String)>, Failure>>;

    /// Says good-bye.
    fn quit(self) -> impl Future<Output = ()>;
}
