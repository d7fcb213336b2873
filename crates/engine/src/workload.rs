//! What a workload is to the engine.

use crate::catalogue::Catalogue;
use crate::client::{Connector, LoadClient};
use crate::error::Failure;
use crate::executor::Slot;
use crate::session::Session;
use crate::statement::Statement;
use plimsoll_load::recorder::End;
use plimsoll_load::seed::Rng;
use std::future::Future;
use std::rc::Rc;

/// Which connection: its number in the run, of how many, and its place in its loop.
#[derive(Clone, Copy, Debug)]
pub struct Who {
    pub connection: usize,
    pub connections: usize,
    pub local: usize,
}

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
    /// What a log of commits calls it: its number, unless the workload says something else before its last statement.
    pub entry: u64,
    /// Whether this is the work of a transaction that ended as [`End::Queued`].
    pub queued: bool,
    /// Which of [`DeclaredWorkload::transactions`] it is: for the workload to say before its first statement.
    pub transaction: usize,
}

/// What the loop runs: where transactions come from, how a connection is made ready for them, and one of them. It sees
/// a client and a generator, never a socket, a clock or a histogram; retries are the loop's business and repeat a
/// transaction with the same input. Most workloads know their statements beforehand: those are [`DeclaredWorkload`]s.
pub trait Workload: Send + Sync + 'static {
    /// What a transaction speaks to the server through.
    type Client: LoadClient;
    /// What the connections of one loop share.
    type Shared: 'static;
    /// What a connection keeps from one transaction to the next, its buffers above all.
    type State: 'static;

    /// Its statements, numbered, and the names of all that is counted.
    fn catalogue(&self) -> Catalogue;

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

    /// Made once in the thread of each loop.
    fn shared(&self) -> Self::Shared;

    /// What this connection keeps.
    ///
    /// # Errors
    /// Why it cannot be made ready.
    fn state(&self, shared: &Self::Shared, who: Who) -> Result<Self::State, Failure>;

    /// Connects, before the first transaction and again whenever the connection is lost.
    fn connect(
        &self,
        state: &mut Self::State,
        connector: &Rc<Connector>,
        slot: &Rc<Slot>,
    ) -> impl Future<Output = Result<Self::Client, Failure>>;

    fn transaction(
        &self,
        state: &mut Self::State,
        client: &mut Self::Client,
        input: &mut Input,
    ) -> impl Future<Output = Result<End, Failure>>;

    /// Sends what transactions have left in the state, after the last one of a connection. What it sends counts
    /// as sent, and belongs to no transaction.
    fn finish(&self, state: Self::State, client: &mut Self::Client) -> impl Future<Output = Result<(), Failure>> {
        let _ = (state, client);
        std::future::ready(Ok(()))
    }
}

/// A workload whose statements are known before it begins, so that every connection prepares them once and a transaction
/// names them by number.
pub trait DeclaredWorkload: Send + Sync + 'static {
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

    /// As [`Workload::terminals`].
    fn terminals(&self) -> Option<u64> {
        None
    }

    /// As [`Workload::pause_ns`].
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

    /// As [`Workload::finish`].
    fn finish(&self, state: Self::State, session: &mut Session) -> impl Future<Output = Result<(), Failure>> {
        let _ = (state, session);
        std::future::ready(Ok(()))
    }
}

impl<D: DeclaredWorkload> Workload for D {
    type Client = Session;
    type Shared = ();
    type State = D::State;

    fn catalogue(&self) -> Catalogue {
        Catalogue::new(self.statements(), self.transactions(), self.counters(), self.session_setup())
    }

    fn terminals(&self) -> Option<u64> {
        DeclaredWorkload::terminals(self)
    }

    fn pause_ns(&self, done: Option<Rng>, next: Rng, rng: &mut Rng) -> u64 {
        DeclaredWorkload::pause_ns(self, done, next, rng)
    }

    fn shared(&self) {}

    fn state(&self, (): &(), who: Who) -> Result<D::State, Failure> {
        Ok(DeclaredWorkload::state(self, who.connection, who.connections))
    }

    async fn connect(&self, _: &mut D::State, connector: &Rc<Connector>, slot: &Rc<Slot>) -> Result<Session, Failure> {
        Session::open(connector, slot).await
    }

    #[inline]
    fn transaction(
        &self,
        state: &mut D::State,
        session: &mut Session,
        input: &mut Input,
    ) -> impl Future<Output = Result<End, Failure>> {
        DeclaredWorkload::transaction(self, state, session, input)
    }

    fn finish(&self, state: D::State, session: &mut Session) -> impl Future<Output = Result<(), Failure>> {
        DeclaredWorkload::finish(self, state, session)
    }
}
