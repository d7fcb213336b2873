//! How one thread drives thousands of connections: tasks polled over readiness, without wakers.
//!
//! Every task owns one slot, and as many more as it has further sockets; a slot has at most one. A task that has to
//! wait returns `Pending` after noting in a slot what it waits for; the loop polls it again when that has come. Readiness
//! is edge-triggered and remembered in the slot, so a statement costs one send, one receive and its share of
//! a wait.

mod slot;

use crate::alarm::Alarm;
use mio::{Events, Interest, Poll, Registry, Token, Waker};
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{self, Context};
use std::time::{Duration, Instant};

pub use slot::Slot;
use slot::wait;

const EVENTS: usize = 1024;
const MILLISECOND_NS: u64 = 1_000_000;
const WAKE: Token = Token(usize::MAX);

/// In so long all tasks that wait for nothing have their turn.
const ROUND_NS: u64 = 100_000_000;
/// A turn is not shorter, however many they are.
const SHORTEST_TURN_NS: u64 = 20_000;

/// The loop as its tasks see it.
pub struct Reactor {
    registry: Registry,
    epoch: Instant,
    slots: RefCell<Vec<Rc<Slot>>>,
    /// Slots beside those of tasks that nobody has at present.
    released: RefCell<Vec<usize>>,
    queue: RefCell<VecDeque<usize>>,
    timers: RefCell<BinaryHeap<Reverse<(u64, usize)>>>,
    /// When tasks give up what they are at, unlike timers taken back when that is done.
    deadlines: RefCell<BTreeSet<(u64, usize)>>,
    /// Transactions under way that wait for the server.
    in_flight: Cell<usize>,
    last_arrival_ns: Cell<u64>,
    last_answer_ns: Cell<u64>,
    lag_ns: Cell<u64>,
    /// When the loop last looked at its sockets.
    looked_ns: Cell<u64>,
    /// When a task that gave way left its turn to the next, or the loop looked last.
    turn_ns: Cell<u64>,
    /// Up to when its delays have been taken.
    taken_ns: Cell<u64>,
}

impl Reactor {
    /// Nanoseconds since the epoch that all loops of a run share.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    /// Whether a task that waits for nothing has had its share of a round, in which all tasks of the loop have their turn.
    pub fn has_had_its_share(&self, now_ns: u64) -> bool {
        let tasks = self.slots.borrow().len().max(1) as u64;
        now_ns.saturating_sub(self.turn_ns.get()) > (ROUND_NS / tasks).clamp(SHORTEST_TURN_NS, MILLISECOND_NS)
    }

    /// When a socket last became ready, on any connection of this loop, or something was first waited for.
    pub fn last_arrival_ns(&self) -> u64 {
        self.last_arrival_ns.get()
    }

    /// When a statement was last answered to its end, on any connection of this loop, or something was first waited for.
    pub fn last_answer_ns(&self) -> u64 {
        self.last_answer_ns.get()
    }

    /// Remembers that a statement has been answered.
    #[inline]
    pub fn answered(&self, now_ns: u64) {
        self.last_answer_ns.set(now_ns);
    }

    /// The largest delay since it was last asked: of a timer, of the end of a wait, or of the next look at the sockets.
    /// Whatever stops the loop itself shows here, since answers that came meanwhile were not looked at.
    pub fn take_lag_ns(&self) -> u64 {
        let now_ns = self.now_ns();
        self.late(self.looked_ns.get(), now_ns);
        self.taken_ns.set(now_ns);
        self.lag_ns.replace(0)
    }

    /// What delayed the loop so far does not count.
    pub fn forget_lag(&self) {
        self.take_lag_ns();
    }

    /// Notes that something is done at `now_ns` that was to be done at `due_ns`. No time is told twice.
    fn late(&self, due_ns: u64, now_ns: u64) {
        let since_ns = due_ns.max(self.taken_ns.get());
        self.lag_ns.set(self.lag_ns.get().max(now_ns.saturating_sub(since_ns)));
    }

    pub fn slot(&self, id: usize) -> Rc<Slot> {
        let mut slots = self.slots.borrow_mut();
        while slots.len() <= id {
            let id = slots.len();
            slots.push(Rc::new(Slot { id, owner: id, ..Slot::default() }));
        }
        slots[id].clone()
    }

    /// A slot for one more socket of the task that owns `slot`.
    pub fn slot_beside(self: &Rc<Reactor>, slot: &Slot) -> SlotBeside {
        let mut slots = self.slots.borrow_mut();
        let free = self.released.borrow_mut().pop();
        let id = free.unwrap_or(slots.len());
        let beside = Slot { id, owner: slot.owner, cancelled: slot.cancelled.clone(), ..Slot::default() };
        let beside = Rc::new(beside);
        match free {
            Some(id) => slots[id] = beside.clone(),
            None => slots.push(beside.clone()),
        }
        SlotBeside { slot: beside, reactor: self.clone() }
    }

    pub fn register(&self, socket: &mut impl mio::event::Source, slot: &Slot) -> io::Result<()> {
        slot.readable.set(false);
        slot.writable.set(false);
        slot.ended.set(false);
        // Interest in writing would wake the loop each time the server reads what we sent.
        self.registry.register(socket, Token(slot.id), Interest::READABLE)
    }

    pub fn watch_writing(&self, socket: &mut impl mio::event::Source, slot: &Slot, on: bool) -> io::Result<()> {
        let interest = if on { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        slot.writable.set(false);
        self.registry.reregister(socket, Token(slot.id), interest)
    }

    /// Queues a task to be polled in this turn.
    pub fn nudge(&self, id: usize) {
        let slot = self.slots.borrow()[id].clone();
        slot.nudged.set(true);
        self.enqueue(&slot);
    }

    /// Makes every wait of every task fail.
    pub fn cancel_all(&self) {
        for slot in self.slots.borrow().iter() {
            slot.cancelled.set(true);
            self.enqueue(slot);
        }
    }

    #[inline]
    fn enqueue(&self, slot: &Slot) {
        if !slot.queued.replace(true) {
            self.queue.borrow_mut().push_back(slot.id);
        }
    }

    fn set_timer(&self, slot: &Slot, at_ns: u64) {
        self.timers.borrow_mut().push(Reverse((at_ns, slot.id)));
    }

    /// Lets the loop look after itself as soon as what is queued has run.
    pub fn look_soon(&self, slot: &Slot) {
        self.set_timer(slot, self.now_ns());
    }

    /// Lets everybody else run once, and the loop look after itself.
    pub async fn give_way(&self, slot: &Slot) {
        let now_ns = self.now_ns();
        self.set_timer(slot, now_ns);
        self.turn_ns.set(now_ns);
        let mut given = false;
        wait(|| std::mem::replace(&mut given, true)).await;
    }

    /// From here to [`Reactor::end_exchange`] a server that keeps silent is noticed.
    pub fn begin_exchange(&self, now_ns: u64) {
        self.in_flight.set(self.in_flight.get() + 1);
        if self.in_flight.get() == 1 {
            self.begin_waiting(now_ns);
        }
    }

    pub fn end_exchange(&self) {
        self.in_flight.set(self.in_flight.get() - 1);
    }

    /// Whether the server is asked anything at present.
    pub fn is_asking(&self) -> bool {
        self.in_flight.get() > 0
    }

    /// Remembers that something is waited for from now on.
    pub fn begin_waiting(&self, now_ns: u64) {
        self.last_arrival_ns.set(now_ns);
        self.last_answer_ns.set(now_ns);
    }

    /// What comes of `doing`, or nothing if it has no end by `until_ns`, however much comes meanwhile.
    pub async fn within<T>(&self, slot: &Slot, until_ns: u64, doing: impl Future<Output = T>) -> Option<T> {
        let mut doing = std::pin::pin!(doing);
        self.deadlines.borrow_mut().insert((until_ns, slot.id));
        let done = std::future::poll_fn(|context| match doing.as_mut().poll(context) {
            task::Poll::Ready(value) => task::Poll::Ready(Some(value)),
            task::Poll::Pending if self.now_ns() >= until_ns => task::Poll::Ready(None),
            task::Poll::Pending => task::Poll::Pending,
        });
        let done = done.await;
        self.deadlines.borrow_mut().remove(&(until_ns, slot.id));
        done
    }

    /// When something is due by itself.
    fn next_due_ns(&self) -> Option<u64> {
        let timer = self.timers.borrow().peek().map(|Reverse((at, _))| *at);
        let deadline = self.deadlines.borrow().first().map(|(at, _)| *at);
        [timer, deadline].into_iter().flatten().min()
    }

    /// Waits until `at_ns`; returns early, with false, if the loop is being cancelled.
    pub async fn sleep_until(&self, slot: &Slot, at_ns: u64) -> bool {
        self.set_timer(slot, at_ns);
        wait(|| slot.cancelled.get() || self.now_ns() >= at_ns).await;
        !slot.cancelled.get()
    }

    /// Waits until `at_ns`, to be nudged or cancelled.
    pub async fn doze_until(&self, slot: &Slot, at_ns: u64) {
        self.set_timer(slot, at_ns);
        wait(|| slot.nudged.replace(false) || slot.cancelled.get() || self.now_ns() >= at_ns).await;
    }
}

/// A slot of a task that has several. Another socket may have it once this is dropped, which is after its own is closed.
pub struct SlotBeside {
    pub slot: Rc<Slot>,
    reactor: Rc<Reactor>,
}

impl Drop for SlotBeside {
    fn drop(&mut self) {
        self.reactor.released.borrow_mut().push(self.slot.id);
    }
}

type Task<'t> = Pin<Box<dyn Future<Output = ()> + 't>>;

/// One event loop.
pub struct Executor<'t> {
    poll: Poll,
    events: Events,
    reactor: Rc<Reactor>,
    tasks: Vec<Option<Task<'t>>>,
    alarm: Alarm,
    waker: Arc<Waker>,
    live: usize,
}

impl<'t> Executor<'t> {
    pub fn new(epoch: Instant) -> io::Result<Executor<'t>> {
        let poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let waker = Arc::new(Waker::new(&registry, WAKE)?);
        let alarm = Alarm::new(&registry)?;
        let reactor = Rc::new(Reactor {
            registry,
            epoch,
            slots: RefCell::default(),
            released: RefCell::default(),
            queue: RefCell::default(),
            timers: RefCell::default(),
            deadlines: RefCell::default(),
            in_flight: Cell::default(),
            last_arrival_ns: Cell::new(epoch.elapsed().as_nanos() as u64),
            last_answer_ns: Cell::new(epoch.elapsed().as_nanos() as u64),
            lag_ns: Cell::new(0),
            looked_ns: Cell::new(epoch.elapsed().as_nanos() as u64),
            turn_ns: Cell::default(),
            taken_ns: Cell::new(0),
        });
        Ok(Executor { poll, events: Events::with_capacity(EVENTS), reactor, tasks: Vec::new(), alarm, waker, live: 0 })
    }

    pub fn reactor(&self) -> Rc<Reactor> {
        self.reactor.clone()
    }

    /// Wakes this loop from another thread.
    pub fn waker(&self) -> Arc<Waker> {
        self.waker.clone()
    }

    /// Starts a task that owns the slot with the next free number, which `make` is given.
    pub fn spawn<F: Future<Output = ()> + 't>(&mut self, make: impl FnOnce(Rc<Slot>) -> F) {
        let next = self.reactor.slots.borrow().len();
        let slot = self.reactor.slot(next);
        self.tasks.resize_with(slot.id, || None);
        self.tasks.push(Some(Box::pin(make(slot.clone()))));
        self.live += 1;
        self.reactor.enqueue(&slot);
    }

    /// Tasks that are not done.
    pub fn live(&self) -> usize {
        self.live
    }

    /// Runs what can run, then waits for something to happen, at the longest until `until_ns`.
    pub fn turn(&mut self, until_ns: u64) -> io::Result<()> {
        self.run_queued();
        if self.live == 0 {
            return Ok(());
        }
        self.wait(until_ns)?;
        self.run_queued();
        Ok(())
    }

    /// Runs one future of the slot's to its end; what it waits for fails when `until_ns` has passed, or an answer that
    /// has begun has no end within `answer_ns`.
    pub fn block_on<T>(
        &mut self,
        slot: &Slot,
        future: impl Future<Output = T>,
        until_ns: u64,
        answer_ns: u64,
    ) -> io::Result<T> {
        let mut future = std::pin::pin!(future);
        let mut context = Context::from_waker(task::Waker::noop());
        slot.cancelled.set(false);
        slot.answered();
        loop {
            if let task::Poll::Ready(value) = future.as_mut().poll(&mut context) {
                return Ok(value);
            }
            let answer_by = |since: u64| until_ns.min(since.saturating_add(answer_ns));
            let until_ns = slot.answering_since_ns.get().map_or(until_ns, answer_by);
            self.wait(until_ns)?;
            self.reactor.queue.borrow_mut().clear();
            slot.queued.set(false);
            if self.reactor.now_ns() >= until_ns {
                slot.cancelled.set(true);
            }
        }
    }

    fn run_queued(&mut self) {
        let mut context = Context::from_waker(task::Waker::noop());
        loop {
            let Some(id) = self.reactor.queue.borrow_mut().pop_front() else { return };
            let owner = {
                let slots = self.reactor.slots.borrow();
                slots[id].queued.set(false);
                slots[id].owner
            };
            let Some(task) = &mut self.tasks[owner] else { continue };
            if task.as_mut().poll(&mut context).is_ready() {
                self.tasks[owner] = None;
                self.live -= 1;
            }
        }
    }

    fn wait(&mut self, until_ns: u64) -> io::Result<()> {
        let due_ns = self.reactor.next_due_ns();
        let until_ns = due_ns.map_or(until_ns, |at| at.min(until_ns));
        let begun_ns = self.reactor.now_ns();
        self.reactor.late(self.reactor.looked_ns.get(), begun_ns);
        let timeout = self.arm(until_ns, begun_ns)?;
        let polled = self.poll.poll(&mut self.events, timeout);
        let now = self.reactor.now_ns();
        self.reactor.late(until_ns.max(begun_ns), now);
        self.reactor.looked_ns.set(now);
        self.reactor.turn_ns.set(now);
        match polled {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            other => other?,
        }
        let slots = self.reactor.slots.borrow();
        let mut arrived = false;
        for event in &self.events {
            let Some(slot) = slots.get(event.token().0) else { continue };
            arrived = true;
            if event.is_readable() || event.is_read_closed() || event.is_error() {
                slot.readable.set(true);
            }
            if event.is_read_closed() || event.is_error() {
                slot.ended.set(true);
            }
            if event.is_writable() || event.is_write_closed() || event.is_error() {
                slot.writable.set(true);
            }
            self.reactor.enqueue(slot);
        }
        if arrived {
            self.reactor.last_arrival_ns.set(now);
        }
        let mut timers = self.reactor.timers.borrow_mut();
        while let Some(Reverse((at, id))) = timers.peek().copied().filter(|Reverse((at, _))| *at <= now) {
            timers.pop();
            self.reactor.late(at, now);
            self.reactor.enqueue(&slots[id]);
        }
        let mut deadlines = self.reactor.deadlines.borrow_mut();
        while let Some((_, id)) = deadlines.first().copied().filter(|(at, _)| *at <= now) {
            deadlines.pop_first();
            self.reactor.enqueue(&slots[id]);
        }
        Ok(())
    }

    /// How long to wait. Waiting in milliseconds would make every arrival up to one late, so the last one is
    /// left to the alarm, which is precise; to set it at every turn would cost a system call each.
    fn arm(&mut self, until_ns: u64, now_ns: u64) -> io::Result<Option<Duration>> {
        let left = until_ns.saturating_sub(now_ns);
        if left >= MILLISECOND_NS {
            return Ok(Some(Duration::from_millis(left / MILLISECOND_NS)));
        }
        if left > 0 {
            self.alarm.set(until_ns, left)?;
        }
        Ok(Some(Duration::from_nanos(left)))
    }
}
