//! A test without a server as a workload of the engine.

use crate::general::General;
use plimsoll_engine::catalogue::Catalogue;
use plimsoll_engine::endpoint::{Endpoint, Password, Resolved};
use plimsoll_engine::executor::{Reactor, Slot};
use plimsoll_engine::meter::Meter;
use plimsoll_engine::tls::Tls;
use plimsoll_engine::workload::{Input, Who};
use plimsoll_engine::{Address, Connector, Failure, LoadClient, Protocol, RunSpec, Workload};
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::recorder::End;
use plimsoll_load::seed::Rng;
use plimsoll_load::source::Peer;
use plimsoll_script::dialect::Budget;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// What the threads of a test do.
pub trait BuiltinTask: Send + Sync + 'static {
    /// Its threads end by themselves, whatever `--events` says.
    const HAS_ITS_OWN_END: bool = false;
    /// What a thread keeps from one event to the next.
    type State: 'static;

    fn state(&self, thread: usize) -> Self::State;

    /// Whether there is another event for this thread.
    fn has_more(&self, state: &Self::State) -> bool {
        let _ = state;
        true
    }

    fn event(&self, state: &mut Self::State, rng: &mut Rng);
}

/// A task with what ends it.
pub struct Alone<T> {
    pub task: T,
    pub budget: Budget,
}

/// A thread that speaks to nobody.
pub struct Nobody {
    meter: Rc<Meter>,
    reactor: Rc<Reactor>,
    slot: Rc<Slot>,
}

impl<T: BuiltinTask> Workload for Alone<T> {
    type Client = Nobody;
    type Shared = ();
    type State = T::State;

    fn catalogue(&self) -> Catalogue {
        Catalogue::undeclared(&["event"], &[])
    }

    fn shared(&self) {}

    fn state(&self, (): &(), who: Who) -> Result<T::State, Failure> {
        Ok(self.task.state(who.connection))
    }

    async fn connect(&self, _: &mut T::State, connector: &Rc<Connector>, slot: &Rc<Slot>) -> Result<Nobody, Failure> {
        let Connector { meter, reactor, .. } = &**connector;
        Ok(Nobody { meter: meter.clone(), reactor: reactor.clone(), slot: slot.clone() })
    }

    async fn transaction(&self, state: &mut T::State, client: &mut Nobody, input: &mut Input) -> Result<End, Failure> {
        let now_ns = client.meter.now_ns();
        let window = client.meter.at(now_ns).window();
        if !self.task.has_more(state) || !self.budget.take(now_ns, window) {
            return Ok(End::Stopped);
        }
        self.task.event(state, &mut input.rng);
        // The loop has its seconds to tell.
        if client.reactor.has_had_its_share(now_ns) {
            client.reactor.give_way(&client.slot).await;
        }
        Ok(End::Committed)
    }
}

impl LoadClient for Nobody {
    fn now_ns(&self) -> u64 {
        self.meter.now_ns()
    }

    fn waited(&mut self) {}

    fn answered_ns(&self) -> u64 {
        self.meter.now_ns()
    }

    fn needs_rollback(&self) -> bool {
        false
    }

    async fn rollback(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn is_committing(&self) -> bool {
        false
    }

    fn last_statement(&self) -> String {
        String::new()
    }

    fn peer(&self) -> Peer {
        Peer::default()
    }

    async fn ask(&mut self, _: &str) -> Result<Vec<(String, String)>, Failure> {
        Ok(Vec::new())
    }

    async fn quit(self) {}
}

/// A run of so many events without a server, each of whose threads has a loop of its own; of 0 events for any number.
pub fn spec(general: &General, events: u64) -> RunSpec {
    let nowhere = PathBuf::new();
    RunSpec {
        endpoint: Endpoint {
            address: Address::Unix(nowhere.clone()),
            resolved: Resolved::Unix(nowhere),
            user: String::new(),
            password: Password::default(),
            database: None,
            tls: Arc::new(Tls::disabled()),
            local_files: false,
        },
        connections: general.threads,
        loops: general.threads,
        arrivals: match general.rate {
            0 => Arrivals::Closed,
            rate => Arrivals::Poisson { rate: rate as f64 },
        },
        limit: general.limit(events),
        warmup_ns: general.warmup * 1_000_000_000,
        seed: general.seed,
        protocol: Protocol::Text,
        outage_limit_ns: u64::MAX / 8,
        ignore_errors: Vec::new(),
        private: false,
        ask: None,
        part: None,
        commits: None,
    }
}
