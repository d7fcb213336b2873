//! What a workload is to the engine.

use crate::catalogue::Catalogue;
use crate::error::Failure;
use crate::session::Session;
use crate::statement::Statement;
use plimsoll_load::recorder::End;
use plimsoll_load::seed::Rng;
use std::future::Future;

/// What a transaction is made from. The same values give the same statements, whatever the number of loops.
#[derive(Clone, Debug)]
pub struct Input {
    pub rng: Rng,
    /// Which connection this is, and of how many.
    pub connection: usize,
    pub connections: usize,
    /// Whose transaction it is: a connection's in a closed loop, else that of an arrival or a terminal.
    pub stream: u64,
    /// Number of the transaction within its stream.
    pub number: u64,
    /// Whether this is the work of a transaction that ended as [`End::Queued`].
    pub queued: bool,
    /// Which of [`Workload::transactions`] it is: for the workload to say before its first statement.
    pub transaction: usize,
}

/// A workload: its statements and its transactions. It sees a session and a generator, never a socket, a clock
/// or a histogram; retries are the loop's business and repeat a transaction with the same input.
pub trait Workload: Send + Sync + 'static {
    /// What a connection keeps from one transaction to the next, its buffers above all.
    type State: 'static;

    fn statements(&self) -> Vec<Statement>;

    /// Names of its kinds of transactions.
    fn transactions(&self) -> &'static [&'static str] {
        &["transaction"]
    }

    /// Names of what it counts itself, with [`Session::count`].
    fn counters(&self) -> &'static [&'static str] {
        &[]
    }

    /// SET statements that every connection sends before it prepares the others.
    fn session_setup(&self) -> Vec<String> {
        Vec::new()
    }

    /// Its statements, numbered.
    fn catalogue(&self) -> Catalogue {
        Catalogue::new(self.statements(), self.transactions(), self.counters(), self.session_setup())
    }

    /// The terminals that pace themselves; `None` where connections send as fast as they are answered, or at a rate.
    fn terminals(&self) -> Option<u64> {
        None
    }

    /// Nanoseconds that a terminal waits between the answer to one transaction and the next, which are told by their
    /// generators; `None` before its first. What is random about it is drawn from `rng`.
    fn pause_ns(&self, done: Option<Rng>, next: Rng, rng: &mut Rng) -> u64 {
        let _ = (done, next, rng);
        0
    }

    fn state(&self, connection: usize, connections: usize) -> Self::State;

    fn transaction(
        &self,
        state: &mut Self::State,
        session: &mut Session,
        input: &mut Input,
    ) -> impl Future<Output = Result<End, Failure>>;

    /// Sends what transactions have left in the state, after the last one of a connection. What it sends counts
    /// as sent, and belongs to no transaction.
    fn finish(&self, state: Self::State, session: &mut Session) -> impl Future<Output = Result<(), Failure>> {
        let _ = (state, session);
        std::future::ready(Ok(()))
    }
}
