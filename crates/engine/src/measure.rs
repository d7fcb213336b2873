//! The measuring loop, written once: arrivals × stop × workload × transport are independent values.
//!
//! Each connection runs [`drive`]: wait for a turn, run the transaction, retry it if the server asks for that,
//! count what came of it.

use crate::error::{Failure, Reason};
use crate::executor::{Reactor, Slot};
use crate::run::{LoopEvent, RunSpec};
use crate::session::{Catalogue, Session};
use crate::workload::{Input, Workload};
use plimsoll_load::arrivals::Schedule;
use plimsoll_load::recorder::Recorder;
use plimsoll_load::seed::Rng;
use plimsoll_load::tally::Tally;
use std::cell::{Cell, RefCell, RefMut};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

/// Deadlock, lock wait timeout, record changed since read, refused by group certification.
const RETRYABLE: [u16; 4] = [1213, 1205, 1020, 3101];
/// Shutdown in progress, connection killed (MariaDB, MySQL), idle for too long.
const FAREWELLS: [u16; 4] = [1053, 1927, 3169, 4031];
const TRIES: u32 = 10;
const BACKOFF_MS_MAX: u64 = 100;
const RECONNECT_NS: u64 = 100_000_000;
const LOOK_AGAIN_NS: u64 = 100_000_000;
/// Streams of warm-up and of back-off, apart from those of the measured transactions.
const WARMUP_STREAM: u64 = 1 << 63;
const BACKOFF_STREAM: u64 = 1 << 62;

/// The recorder of a loop, and the way its intervals go out.
pub struct Meter {
    recorder: RefCell<Option<Recorder>>,
    reactor: Rc<Reactor>,
    outbox: Sender<LoopEvent>,
    recycled: Arc<Mutex<Vec<Tally>>>,
}

impl Meter {
    pub fn new(
        recorder: Recorder,
        reactor: Rc<Reactor>,
        outbox: Sender<LoopEvent>,
        recycled: Arc<Mutex<Vec<Tally>>>,
    ) -> Meter {
        Meter { recorder: RefCell::new(Some(recorder)), reactor, outbox, recycled }
    }

    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.reactor.now_ns()
    }

    /// The recorder, with all intervals closed that ended by `now`.
    #[inline]
    pub fn at(&self, now_ns: u64) -> RefMut<'_, Recorder> {
        let mut recorder = RefMut::map(self.recorder.borrow_mut(), |recorder| {
            recorder.as_mut().expect("nothing is counted after the loop has finished")
        });
        if now_ns >= recorder.interval_end_ns() {
            self.close_intervals(&mut recorder, now_ns);
        }
        recorder
    }

    #[cold]
    fn close_intervals(&self, recorder: &mut Recorder, now_ns: u64) {
        recorder.lagged(self.reactor.take_lag_ns());
        if let Ok(mut recycled) = self.recycled.lock() {
            recycled.drain(..).for_each(|tally| recorder.recycle(tally));
        }
        recorder.roll(now_ns, thread_cpu_ns, |tally| self.send(tally));
    }

    fn send(&self, tally: Tally) {
        // The controller hangs up only when it no longer wants to know.
        let _ = self.outbox.send(LoopEvent::Interval(Box::new(tally)));
    }

    pub fn end_window(&self) {
        let now = self.now_ns();
        let tally = self.at(now).end_window(now, thread_cpu_ns());
        if let Some(tally) = tally {
            self.send(tally);
        }
    }

    /// Sends what is left and takes the recorder away.
    pub fn finish(&self) {
        let now = self.now_ns();
        drop(self.at(now));
        if let Some(recorder) = self.recorder.borrow_mut().take() {
            let (last, totals) = recorder.finish(now, thread_cpu_ns());
            self.send(last);
            let _ = self.outbox.send(LoopEvent::Drained(totals));
        }
    }
}

/// CPU time of the calling thread.
pub fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What the tasks of one loop share.
pub struct Context<W> {
    pub workload: Arc<W>,
    pub spec: Arc<RunSpec>,
    pub catalogue: Rc<Catalogue>,
    pub meter: Rc<Meter>,
    pub reactor: Rc<Reactor>,
    pub schedule: RefCell<Option<Schedule>>,
    /// Slots of connections that wait for an arrival.
    pub idle: RefCell<VecDeque<usize>>,
    /// Connections, and the pacer, that have not finished.
    pub driving: Cell<usize>,
    pub in_flight: Cell<usize>,
    /// Set when no connection may begin another transaction.
    pub stopping: Cell<bool>,
    pub reason: RefCell<Option<Reason>>,
}

/// One transaction to run.
struct Turn {
    due_ns: u64,
    /// When the turn came, and with it the first statement.
    sent_ns: u64,
    stream: u64,
    number: u64,
}

/// What a connection has begun so far, by phase.
#[derive(Default)]
struct Begun {
    warmup: u64,
    measured: u64,
}

impl<W: Workload> Context<W> {
    /// Ends the run for a reason; the first one is kept.
    pub fn give_up(&self, reason: Reason) {
        self.stopping.set(true);
        self.reason.borrow_mut().get_or_insert(reason);
        self.release_idle();
    }

    /// Ends the run because an exchange failed.
    fn give_up_for(&self, session: &Session, failure: &Failure) {
        match failure {
            // Not an end in itself: the run is over, or another connection has told why.
            Failure::Cancelled => {}
            Failure::Server(message) => self.give_up(Reason::Statement {
                statement: session.last_statement().to_owned(),
                message: message.to_string(),
            }),
            other => self.give_up(Reason::Lost(other.to_string())),
        }
    }

    /// From here to [`Context::end_exchange`] a server that keeps silent is noticed.
    fn begin_exchange(&self, now_ns: u64) {
        self.in_flight.set(self.in_flight.get() + 1);
        if self.in_flight.get() == 1 {
            self.reactor.begin_waiting(now_ns);
        }
    }

    fn end_exchange(&self) {
        self.in_flight.set(self.in_flight.get() - 1);
    }

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
    async fn turn(&self, slot: &Slot, session: &mut Session, connection: usize, begun: &mut Begun) -> Option<Turn> {
        if self.spec.arrivals.rate().is_some() {
            session.waited();
            return self.arrival(slot).await;
        }
        let now = session.now_ns();
        if slot.is_cancelled() || self.over(now) {
            return None;
        }
        let stream = connection as u64;
        if now < self.meter.at(now).window().w0_ns {
            begun.warmup += 1;
            return Some(Turn { due_ns: now, sent_ns: now, stream: stream | WARMUP_STREAM, number: begun.warmup - 1 });
        }
        let quota = self.spec.limit.quota(connection, self.spec.connections);
        if quota.is_some_and(|quota| begun.measured >= quota) {
            return None;
        }
        begun.measured += 1;
        Some(Turn { due_ns: now, sent_ns: now, stream, number: begun.measured - 1 })
    }

    async fn arrival(&self, slot: &Slot) -> Option<Turn> {
        loop {
            let now = self.meter.now_ns();
            if slot.is_cancelled() || self.over(now) {
                return None;
            }
            self.advance_schedule(now);
            if let Some(arrival) = self.schedule.borrow_mut().as_mut().and_then(Schedule::take) {
                return Some(Turn { due_ns: arrival.due_ns, sent_ns: now, stream: arrival.number, number: 0 });
            }
            if self.schedule_is_over() {
                return None;
            }
            self.idle.borrow_mut().push_back(slot.id());
            slot.nudged().await;
        }
    }

    fn schedule_is_over(&self) -> bool {
        self.schedule.borrow().as_ref().is_none_or(Schedule::is_over)
    }

    fn advance_schedule(&self, now_ns: u64) {
        if let Some(schedule) = self.schedule.borrow_mut().as_mut() {
            let mut recorder = self.meter.at(now_ns);
            schedule.advance(now_ns, |arrival| recorder.dropped(arrival.due_ns));
        }
    }
}

/// Wakes idle connections as arrivals become due, and at the window's end drops those that still wait.
pub async fn pace<W: Workload>(context: Rc<Context<W>>, slot: Rc<Slot>) {
    loop {
        let now = context.meter.now_ns();
        if context.over(now) || slot.is_cancelled() {
            break;
        }
        context.advance_schedule(now);
        if context.schedule_is_over() {
            break;
        }
        let (waiting, next) = match context.schedule.borrow().as_ref() {
            Some(schedule) => (schedule.waiting(), schedule.next_due_ns()),
            None => return,
        };
        for _ in 0..waiting {
            let Some(id) = context.idle.borrow_mut().pop_front() else { break };
            context.reactor.nudge(id);
        }
        let end = context.meter.at(now).window().w1_ns.unwrap_or(u64::MAX);
        // The window can also be ended from outside.
        context.reactor.sleep_until(&slot, next.min(end).min(now + LOOK_AGAIN_NS)).await;
    }
    let now = context.meter.now_ns();
    let end = context.meter.at(now).window().w1_ns.unwrap_or(now);
    context.advance_schedule(end.min(now).saturating_sub(1));
    if let Some(schedule) = context.schedule.borrow_mut().as_mut() {
        while let Some(arrival) = schedule.take() {
            context.meter.at(now).dropped(arrival.due_ns);
        }
    }
    context.driving.set(context.driving.get() - 1);
    context.release_idle();
}

/// Runs transactions on one connection until there is none left to begin. `local` is its place in this loop.
pub async fn drive<W: Workload>(context: &Context<W>, slot: &Rc<Slot>, session: &mut Session, who: Who) {
    let mut state = context.workload.state(who.connection, context.spec.connections);
    let mut begun = Begun::default();
    while let Some(turn) = context.turn(slot, session, who.connection, &mut begun).await {
        context.begin_exchange(turn.sent_ns);
        let outcome = transact(context, slot, session, &mut state, who, &turn).await;
        context.end_exchange();
        if outcome.is_err() {
            return;
        }
    }
    context.begin_exchange(session.now_ns());
    let finished = context.workload.finish(state, session).await;
    context.end_exchange();
    if let Err(failure) = finished {
        context.give_up_for(session, &failure);
    }
}

/// Which connection: its number in the run and its place in the loop.
#[derive(Clone, Copy, Debug)]
pub struct Who {
    pub connection: usize,
    pub local: usize,
}

/// This connection runs no more transactions; why stands in the context.
struct Ended;

async fn transact<W: Workload>(
    context: &Context<W>,
    slot: &Rc<Slot>,
    session: &mut Session,
    state: &mut W::State,
    who: Who,
    turn: &Turn,
) -> Result<(), Ended> {
    let sent_ns = turn.sent_ns;
    context.meter.at(sent_ns).started(turn.due_ns, sent_ns);
    let mut tries = 0;
    loop {
        let mut input = Input {
            rng: Rng::new(context.spec.seed, turn.stream, turn.number),
            connection: who.connection,
            connections: context.spec.connections,
            number: turn.number,
        };
        let mut failure = match context.workload.transaction(state, session, &mut input).await {
            Ok(end) => {
                // A transaction may have sent nothing.
                let ended_ns = session.answered_ns().max(sent_ns);
                context.meter.at(ended_ns).finished(who.local, end, turn.due_ns, sent_ns, ended_ns);
                return Ok(());
            }
            Err(failure) => failure,
        };
        tries += 1;
        let again = after_failure(context, &failure, tries);
        let rolls_back = again == Next::Retry || again == Next::Skip && session.needs_rollback();
        if rolls_back && let Err(second) = session.rollback().await {
            failure = second;
        }
        match after_failure(context, &failure, tries) {
            Next::Reconnect => reconnect(context, slot, session).await?,
            Next::GiveUp => return give_up(context, session, turn, &failure),
            _ if again == Next::Retry => {
                context.meter.at(context.meter.now_ns()).retried();
                back_off(context, slot, turn, tries).await?;
                session.waited();
            }
            Next::Skip | Next::Retry => {
                context.meter.at(context.meter.now_ns()).failed(turn.due_ns);
                return Ok(());
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Retry,
    Skip,
    Reconnect,
    GiveUp,
}

/// Whether the connection is gone, or its server has just said that it will be.
fn lost(failure: &Failure) -> bool {
    match failure {
        Failure::Lost(_) => true,
        Failure::Server(message) => FAREWELLS.contains(&message.code),
        _ => false,
    }
}

fn after_failure<W>(context: &Context<W>, failure: &Failure, tries: u32) -> Next {
    match failure {
        _ if lost(failure) && !context.spec.private => Next::Reconnect,
        Failure::Server(message) if RETRYABLE.contains(&message.code) && tries < TRIES => Next::Retry,
        Failure::Server(message) if RETRYABLE.contains(&message.code) => Next::Skip,
        Failure::Server(message) if context.spec.ignore_errors.contains(&message.code) => Next::Skip,
        _ => Next::GiveUp,
    }
}

fn give_up<W: Workload>(context: &Context<W>, session: &Session, turn: &Turn, failure: &Failure) -> Result<(), Ended> {
    if matches!(failure, Failure::Server(_)) {
        context.meter.at(context.meter.now_ns()).failed(turn.due_ns);
    }
    context.give_up_for(session, failure);
    Err(Ended)
}

/// 0, 1, 2, 4 … 100 ms, each with jitter from a stream of its own.
async fn back_off<W: Workload>(context: &Context<W>, slot: &Slot, turn: &Turn, tries: u32) -> Result<(), Ended> {
    let ms = if tries <= 1 { 0 } else { (1 << (tries - 2)).min(BACKOFF_MS_MAX) };
    if ms == 0 {
        return Ok(());
    }
    let mut rng = Rng::new(context.spec.seed, turn.stream | BACKOFF_STREAM, turn.number ^ u64::from(tries) << 48);
    let wait_ns = (ms as f64 * 1e6 * (0.5 + rng.unit() / 2.0)) as u64;
    match context.reactor.sleep_until(slot, context.meter.now_ns() + wait_ns).await {
        true => Ok(()),
        false => Err(Ended),
    }
}

/// Connects anew, again and again until the outage limit is reached.
async fn reconnect<W: Workload>(context: &Context<W>, slot: &Rc<Slot>, session: &mut Session) -> Result<(), Ended> {
    let since = context.meter.now_ns();
    loop {
        if context.stopping.get() || !context.reactor.sleep_until(slot, context.meter.now_ns() + RECONNECT_NS).await {
            return Err(Ended);
        }
        let last = match open_session(context, slot).await {
            Ok(fresh) => {
                *session = fresh;
                context.meter.at(context.meter.now_ns()).reconnected();
                return Ok(());
            }
            Err(Failure::Cancelled) => return Err(Ended),
            Err(failure) => failure.to_string(),
        };
        let now = context.meter.now_ns();
        // Being refused is no silence: how long that may go on is decided here.
        context.reactor.begin_waiting(now);
        if now - since > context.spec.outage_limit_ns {
            let seconds = context.spec.outage_limit_ns as f64 / 1e9;
            context.give_up(Reason::Lost(format!("the server was gone for {seconds:.0} s (--outage-limit): {last}")));
            return Err(Ended);
        }
    }
}

pub async fn open_session<W: Workload>(context: &Context<W>, slot: &Rc<Slot>) -> Result<Session, Failure> {
    Session::open(
        &context.spec.endpoint,
        context.catalogue.clone(),
        context.spec.protocol,
        context.meter.clone(),
        context.reactor.clone(),
        slot.clone(),
    )
    .await
}
