//! Transactions that are due: a connection's own, an arrival's, a terminal's.

use crate::spec::RunSpec;
use crate::workload::{Input, Who, Workload};
use plimsoll_load::arrivals::{Arrival, ArrivalSchedule};
use plimsoll_load::seed::Rng;
use plimsoll_load::terminals::Terminals;

/// Streams of warm-up, of queued work and of pauses, apart from those of the measured transactions.
const WARMUP_STREAM: u64 = 1 << 63;
const QUEUED_STREAM: u64 = 1 << 61;
const PAUSE_STREAM: u64 = 1 << 60;

/// One transaction to run.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    pub due_ns: u64,
    /// When the turn came, and with it the first statement.
    pub sent_ns: u64,
    /// The connection, arrival or terminal that it belongs to.
    pub stream: u64,
    pub number: u64,
    pub warmup: bool,
    pub queued: bool,
}

impl Turn {
    /// What decides its random draws, together with the seed and the number.
    pub fn random_stream(&self) -> u64 {
        let flag = |on: bool, bit: u64| if on { bit } else { 0 };
        self.stream | flag(self.warmup, WARMUP_STREAM) | flag(self.queued, QUEUED_STREAM)
    }

    /// What the transaction is made from.
    pub fn input(&self, seed: u64, who: Who) -> Input {
        Input {
            rng: Rng::new(seed, self.random_stream(), self.number),
            connection: who.connection,
            connections: who.connections,
            stream: self.stream,
            number: self.number,
            entry: self.number,
            queued: self.queued,
            transaction: 0,
        }
    }
}

/// What a connection has begun so far, by phase.
#[derive(Default)]
pub struct Begun {
    pub warmup: u64,
    pub measured: u64,
}

/// Where transactions come from that are due at a time of their own.
pub enum Due {
    Arrivals(ArrivalSchedule),
    Terminals(Terminals),
}

impl Due {
    /// `share` is (this loop's index, number of loops). `None` in a closed loop.
    pub fn new<W: Workload>(workload: &W, spec: &RunSpec, share: (usize, usize), start_ns: u64) -> Option<Due> {
        let events = spec.limit.events(spec.connections).unwrap_or(u64::MAX);
        let Some(terminals) = workload.terminals() else {
            return ArrivalSchedule::new(spec.arrivals, events, spec.seed, start_ns, share).map(Due::Arrivals);
        };
        let first_due_ns = |terminal| start_ns + pause_ns(workload, spec.seed, terminal, None);
        let events = events.saturating_sub(share.0 as u64).div_ceil(share.1 as u64);
        Some(Due::Terminals(Terminals::new(terminals, share, events, first_due_ns)))
    }

    pub fn advance(&mut self, now_ns: u64, dropped: impl FnMut(Arrival)) {
        match self {
            Due::Arrivals(schedule) => schedule.advance(now_ns, dropped),
            Due::Terminals(terminals) => terminals.advance(now_ns),
        }
    }

    pub fn take(&mut self) -> Option<Arrival> {
        match self {
            Due::Arrivals(schedule) => schedule.take(),
            Due::Terminals(terminals) => terminals.take(),
        }
    }

    pub fn waiting(&self) -> usize {
        match self {
            Due::Arrivals(schedule) => schedule.waiting(),
            Due::Terminals(terminals) => terminals.waiting(),
        }
    }

    pub fn next_due_ns(&self) -> u64 {
        match self {
            Due::Arrivals(schedule) => schedule.next_due_ns(),
            Due::Terminals(terminals) => terminals.next_due_ns(),
        }
    }

    pub fn is_over(&self) -> bool {
        match self {
            Due::Arrivals(schedule) => schedule.is_over(),
            Due::Terminals(terminals) => terminals.is_over(),
        }
    }
}

/// How long a terminal waits before the transaction that follows number `done`; before its first if that is `None`.
pub fn pause_ns<W: Workload>(workload: &W, seed: u64, terminal: u64, done: Option<u64>) -> u64 {
    let next = done.map_or(0, |done| done + 1);
    let transaction = |number| Rng::new(seed, terminal, number);
    let mut rng = Rng::new(seed, terminal | PAUSE_STREAM, next);
    workload.pause_ns(done.map(transaction), transaction(next), &mut rng)
}
