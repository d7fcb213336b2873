//! When a connection has something to do: at once after an answer, when an arrival or a terminal is due, or when a
//! transaction has queued work.

use crate::executor::Slot;
use crate::measure::Context;
use crate::run::RunSpec;
use crate::session::Session;
use crate::workload::{Input, Workload};
use plimsoll_load::arrivals::{Arrival, Schedule};
use plimsoll_load::seed::Rng;
use plimsoll_load::terminals::Terminals;
use std::rc::Rc;

const LOOK_AGAIN_NS: u64 = 100_000_000;
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
    stream: u64,
    pub number: u64,
    warmup: bool,
    queued: bool,
}

impl Turn {
    /// What decides its random draws, together with the seed and the number.
    pub fn random_stream(&self) -> u64 {
        let flag = |on: bool, bit: u64| if on { bit } else { 0 };
        self.stream | flag(self.warmup, WARMUP_STREAM) | flag(self.queued, QUEUED_STREAM)
    }

    /// What the transaction is made from.
    pub fn input(&self, seed: u64, connection: usize, connections: usize) -> Input {
        Input {
            rng: Rng::new(seed, self.random_stream(), self.number),
            connection,
            connections,
            stream: self.stream,
            number: self.number,
            queued: self.queued,
            transaction: 0,
        }
    }
}

/// What a connection has begun so far, by phase.
#[derive(Default)]
pub struct Begun {
    warmup: u64,
    measured: u64,
}

/// Where transactions come from that are due at a time of their own.
pub enum Source {
    Arrivals(Schedule),
    Terminals(Terminals),
}

impl Source {
    /// `share` is (this loop's index, number of loops). `None` in a closed loop.
    pub fn new<W: Workload>(workload: &W, spec: &RunSpec, share: (usize, usize), start_ns: u64) -> Option<Source> {
        let events = spec.limit.events(spec.connections).unwrap_or(u64::MAX);
        let Some(terminals) = workload.terminals() else {
            return Schedule::new(spec.arrivals, events, spec.seed, start_ns, share).map(Source::Arrivals);
        };
        let first_due_ns = |terminal| start_ns + pause_ns(workload, spec.seed, terminal, None);
        let events = events.saturating_sub(share.0 as u64).div_ceil(share.1 as u64);
        Some(Source::Terminals(Terminals::new(terminals, share, events, first_due_ns)))
    }

    fn advance(&mut self, now_ns: u64, dropped: impl FnMut(Arrival)) {
        match self {
            Source::Arrivals(schedule) => schedule.advance(now_ns, dropped),
            Source::Terminals(terminals) => terminals.advance(now_ns),
        }
    }

    fn take(&mut self) -> Option<Arrival> {
        match self {
            Source::Arrivals(schedule) => schedule.take(),
            Source::Terminals(terminals) => terminals.take(),
        }
    }

    fn waiting(&self) -> usize {
        match self {
            Source::Arrivals(schedule) => schedule.waiting(),
            Source::Terminals(terminals) => terminals.waiting(),
        }
    }

    fn next_due_ns(&self) -> u64 {
        match self {
            Source::Arrivals(schedule) => schedule.next_due_ns(),
            Source::Terminals(terminals) => terminals.next_due_ns(),
        }
    }

    fn is_over(&self) -> bool {
        match self {
            Source::Arrivals(schedule) => schedule.is_over(),
            Source::Terminals(terminals) => terminals.is_over(),
        }
    }
}

/// How long a terminal waits before the transaction that follows number `done`; before its first if that is `None`.
fn pause_ns<W: Workload>(workload: &W, seed: u64, terminal: u64, done: Option<u64>) -> u64 {
    let next = done.map_or(0, |done| done + 1);
    let transaction = |number| Rng::new(seed, terminal, number);
    let mut rng = Rng::new(seed, terminal | PAUSE_STREAM, next);
    workload.pause_ns(done.map(transaction), transaction(next), &mut rng)
}

impl<W: Workload> Context<W> {
    /// Lets idle connections look again.
    pub fn release_idle(&self) {
        for id in self.idle.borrow_mut().drain(..) {
            self.reactor.nudge(id);
        }
    }

    fn over(&self, now_ns: u64) -> bool {
        self.stopping.get() || self.meter.at(now_ns).window().is_over(now_ns)
    }

    /// The next transaction of a connection; `None` when there is none left to begin.
    pub async fn turn(&self, slot: &Slot, session: &mut Session, connection: usize, begun: &mut Begun) -> Option<Turn> {
        if self.source.borrow().is_some() {
            session.waited();
            return self.due(slot).await;
        }
        let now = session.now_ns();
        if slot.is_cancelled() || self.over(now) {
            return None;
        }
        if let Some(turn) = self.take_queued(now) {
            return Some(turn);
        }
        let warmup = now < self.meter.at(now).window().w0_ns;
        let count = if warmup { &mut begun.warmup } else { &mut begun.measured };
        let quota = self.spec.limit.quota(connection, self.spec.connections);
        if !warmup && quota.is_some_and(|quota| *count >= quota) {
            return None;
        }
        *count += 1;
        let (stream, number) = (connection as u64, *count - 1);
        Some(Turn { due_ns: now, sent_ns: now, stream, number, warmup, queued: false })
    }

    /// Waits for queued work, an arrival or a terminal that is due.
    async fn due(&self, slot: &Slot) -> Option<Turn> {
        loop {
            let now = self.meter.now_ns();
            if slot.is_cancelled() || self.over(now) {
                return None;
            }
            if let Some(turn) = self.take_queued(now) {
                return Some(turn);
            }
            self.advance(now);
            if let Some(Arrival { stream, number, due_ns }) = self.take() {
                return Some(Turn { due_ns, sent_ns: now, stream, number, warmup: false, queued: false });
            }
            if self.source_is_over() {
                return None;
            }
            self.idle.borrow_mut().push_back(slot.id());
            slot.nudged().await;
        }
    }

    fn take(&self) -> Option<Arrival> {
        self.source.borrow_mut().as_mut().and_then(Source::take)
    }

    fn source_is_over(&self) -> bool {
        self.source.borrow().as_ref().is_none_or(Source::is_over)
    }

    fn advance(&self, now_ns: u64) {
        if let Some(source) = self.source.borrow_mut().as_mut() {
            let mut recorder = self.meter.at(now_ns);
            source.advance(now_ns, |arrival| recorder.dropped(arrival.due_ns));
        }
    }

    fn take_queued(&self, now_ns: u64) -> Option<Turn> {
        let turn = self.queued.borrow_mut().pop_front()?;
        Some(Turn { sent_ns: now_ns, ..turn })
    }

    /// Takes on the work that the transaction of `turn` has queued.
    pub fn queue(&self, turn: &Turn, now_ns: u64) {
        self.queued.borrow_mut().push_back(Turn { due_ns: now_ns, queued: true, ..*turn });
        if let Some(id) = self.idle.borrow_mut().pop_front() {
            self.reactor.nudge(id);
        }
    }

    /// Counts as dropped what is still queued when the run ends.
    pub fn drop_queued(&self) {
        let now = self.meter.now_ns();
        self.queued.borrow_mut().drain(..).for_each(|turn| self.meter.at(now).dropped(turn.due_ns));
    }

    /// A transaction has ended, whichever way: its terminal pauses.
    pub fn answered(&self, turn: &Turn) {
        if turn.queued {
            return;
        }
        if let Some(Source::Terminals(terminals)) = self.source.borrow_mut().as_mut() {
            let pause_ns = pause_ns(&*self.workload, self.spec.seed, turn.stream, Some(turn.number));
            let due_ns = self.meter.now_ns() + pause_ns;
            if due_ns < terminals.next_due_ns()
                && let Some(pacer) = self.pacer.get()
            {
                self.reactor.nudge(pacer);
            }
            terminals.answered(turn.stream, due_ns);
        }
    }
}

/// Wakes idle connections as transactions become due, and at the window's end drops those that still wait.
pub async fn pace<W: Workload>(context: Rc<Context<W>>, slot: Rc<Slot>) {
    context.pacer.set(Some(slot.id()));
    loop {
        let now = context.meter.now_ns();
        if context.over(now) || slot.is_cancelled() {
            break;
        }
        context.advance(now);
        if context.source_is_over() {
            break;
        }
        let (waiting, next) = match context.source.borrow().as_ref() {
            Some(source) => (source.waiting(), source.next_due_ns()),
            None => return,
        };
        for _ in 0..waiting {
            let Some(id) = context.idle.borrow_mut().pop_front() else { break };
            context.reactor.nudge(id);
        }
        let end = context.meter.at(now).window().w1_ns.unwrap_or(u64::MAX);
        // The window can also be ended from outside.
        context.reactor.doze_until(&slot, next.min(end).min(now + LOOK_AGAIN_NS)).await;
    }
    let now = context.meter.now_ns();
    let end = context.meter.at(now).window().w1_ns.unwrap_or(now);
    context.advance(end.min(now).saturating_sub(1));
    while let Some(arrival) = context.take() {
        context.meter.at(now).dropped(arrival.due_ns);
    }
    context.driving.set(context.driving.get() - 1);
    context.release_idle();
}
