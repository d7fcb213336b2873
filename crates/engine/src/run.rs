//! Loops as threads, from the first connection to the last answer.
//!
//! A run is steered from outside in three steps: every loop reports [`LoopEvent::Ready`], then
//! [`Run::start`]; every loop reports [`LoopEvent::Drained`], then [`Run::finish`]. Between those the
//! connections stay open, so that the server can be asked what it counted. Who follows a load takes it as a
//! [`plimsoll_load::source::LoadSource`].

use crate::client::{Connector, LoadClient};
use crate::context::Context;
use crate::due::Due;
use crate::error::{Failure, Reason};
use crate::event::LoopEvent;
use crate::executor::{Executor, Slot};
use crate::measure::{self, ENDLESS, ReadyConnection};
use crate::meter::{Meter, thread_cpu_ns};
use crate::scheduling;
use crate::spec::RunSpec;
use crate::turns;
use crate::workload::{Who, Workload};
use mio::Waker;
use plimsoll_load::recorder::Recorder;
use plimsoll_load::source::{LoadFacts, Peer, Readiness};
use plimsoll_load::tally::Tally;
use plimsoll_load::window::{Limit, Window};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Transactions under way when the window ends are waited for this long.
const DRAIN_NS: u64 = 5_000_000_000;
/// A loop looks after itself at least this often.
const TURN_NS: u64 = 200_000_000;
/// Connections that a loop makes at the same time.
const CONNECTING: usize = 32;
/// Between the order to start and the start, so that all loops hear it before.
const START_IN_NS: u64 = 5_000_000;
const NOT_STARTED: u64 = u64::MAX;

struct Shared {
    start_ns: AtomicU64,
    stop: AtomicBool,
    finish: AtomicBool,
    wakers: Mutex<Vec<Arc<Waker>>>,
}

/// A run under way.
pub struct Run {
    epoch: Instant,
    shared: Arc<Shared>,
    events: Receiver<LoopEvent>,
    recycled: Arc<Mutex<Vec<Tally>>>,
    threads: Vec<JoinHandle<()>>,
    pub facts: LoadFacts,
}

impl Run {
    /// Starts the loops, which connect and prepare.
    pub fn begin<W: Workload>(mut spec: RunSpec, workload: Arc<W>) -> Run {
        spec.loops = spec.loops.clamp(1, spec.connections.max(1));
        let part = spec.part.clone().unwrap_or(0..spec.loops);
        let spec = Arc::new(spec);
        let epoch = Instant::now();
        if let Some(log) = &spec.commits {
            log.begin(epoch);
        }
        let shared = Arc::new(Shared {
            start_ns: AtomicU64::new(NOT_STARTED),
            stop: AtomicBool::new(false),
            finish: AtomicBool::new(false),
            wakers: Mutex::default(),
        });
        let recycled = Arc::new(Mutex::default());
        let (sender, events) = channel();
        let facts = LoadFacts {
            names: workload.catalogue().names,
            loops: part.len(),
            tellers: part.len(),
            open_loop: spec.is_open_loop(&*workload),
            warmup_ns: spec.warmup_ns,
            limit: spec.limit,
        };
        let threads = part.filter_map(|index| {
            let outbox = sender.clone();
            let (spec, workload, shared, sender) = (spec.clone(), workload.clone(), shared.clone(), sender.clone());
            let recycled = Arc::clone(&recycled);
            let name = format!("loop-{index}");
            let body = move || {
                let failed = match EventLoop::new(spec, workload, index, epoch, shared, sender.clone(), recycled) {
                    Ok(event_loop) => event_loop.run(),
                    Err(error) => Err(Reason::Setup(format!("an event loop cannot be made: {error}"))),
                };
                if let Err(reason) = failed {
                    let _ = sender.send(LoopEvent::Failed(reason));
                }
            };
            match std::thread::Builder::new().name(name).spawn(body) {
                Ok(thread) => Some(thread),
                Err(error) => {
                    let reason = Reason::Setup(format!("the thread of an event loop cannot be started: {error}"));
                    let _ = outbox.send(LoopEvent::Failed(reason));
                    None
                }
            }
        });
        let threads = threads.collect();
        Run { epoch, shared, events, recycled, threads, facts }
    }

    /// The next event, or `None` after `timeout`.
    pub fn next(&self, timeout: Duration) -> Option<LoopEvent> {
        self.events.recv_timeout(timeout).ok()
    }

    /// Loops that have ended although nobody told them to: after they failed, or by a panic.
    pub fn ended(&self) -> usize {
        self.threads.iter().filter(|thread| thread.is_finished()).count()
    }

    /// Lets all connections begin; so long from now.
    pub fn start(&self) -> Duration {
        let begins_in = Duration::from_nanos(START_IN_NS);
        self.start_at(Instant::now() + begins_in);
        begins_in
    }

    /// Lets all connections begin at this time, or at once if it has passed.
    pub fn start_at(&self, at: Instant) {
        let start_ns = at.saturating_duration_since(self.epoch).as_nanos() as u64;
        self.shared.start_ns.store(start_ns, Ordering::Release);
        self.wake();
    }

    /// Ends the window now.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Release);
        self.wake();
    }

    /// Gives the memory of a tally back to the loops.
    pub fn recycle(&self, tally: Tally) {
        if let Ok(mut recycled) = self.recycled.lock() {
            recycled.push(tally);
        }
    }

    /// Closes the connections and ends the loops.
    pub fn finish(self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.finish.store(true, Ordering::Release);
        self.wake();
        for thread in self.threads {
            // A panic has been printed by its thread.
            let _ = thread.join();
        }
    }

    fn wake(&self) {
        if let Ok(wakers) = self.shared.wakers.lock() {
            for waker in wakers.iter() {
                // It wakes by itself soon anyway.
                let _ = waker.wake();
            }
        }
    }
}

/// One loop: its executor and what its tasks share.
struct EventLoop<W: Workload> {
    executor: Executor<'static>,
    context: Rc<Context<W>>,
    gate: Rc<Gate>,
    shared: Arc<Shared>,
    index: usize,
    outbox: Sender<LoopEvent>,
    slots: Vec<usize>,
}

/// Who is connecting, who is ready, and whether to go.
#[derive(Default)]
struct Gate {
    connecting: Cell<usize>,
    waiting: RefCell<VecDeque<usize>>,
    ready: Cell<usize>,
    server: RefCell<Peer>,
    answer: RefCell<Vec<(String, String)>>,
    go: Cell<bool>,
    leave: Cell<bool>,
}

impl<W: Workload> EventLoop<W> {
    fn new(
        spec: Arc<RunSpec>,
        workload: Arc<W>,
        index: usize,
        epoch: Instant,
        shared: Arc<Shared>,
        outbox: Sender<LoopEvent>,
        recycled: Arc<Mutex<Vec<Tally>>>,
    ) -> std::io::Result<EventLoop<W>> {
        let executor = Executor::new(epoch)?;
        if let Ok(mut wakers) = shared.wakers.lock() {
            wakers.push(executor.waker());
        }
        let reactor = executor.reactor();
        let catalogue = Rc::new(workload.catalogue());
        let numbers: Vec<usize> = (index..spec.connections).step_by(spec.loops).collect();
        if numbers.len() >= scheduling::MANY {
            scheduling::do_not_preempt();
        }
        let by_start = !matches!(spec.limit, Limit::Time(_));
        let open_loop = spec.is_open_loop(&*workload);
        let recorder = Recorder::new(numbers.len(), catalogue.names.shape(), by_start, open_loop);
        let meter = Rc::new(Meter::new(recorder, reactor.clone(), outbox.clone(), recycled));
        let connector = Rc::new(Connector {
            endpoint: spec.endpoint.clone(),
            catalogue,
            protocol: spec.protocol,
            seed: spec.seed,
            meter: meter.clone(),
            reactor: reactor.clone(),
        });
        let context = Rc::new(Context {
            shared: workload.shared(),
            workload,
            spec,
            connector,
            meter,
            reactor,
            due: RefCell::default(),
            pacer: Cell::new(None),
            queued: RefCell::default(),
            idle: RefCell::default(),
            driving: Cell::new(numbers.len()),
            stopping: Cell::new(false),
            reason: RefCell::default(),
        });
        let gate = Rc::new(Gate::default());
        let mut event_loop = EventLoop { executor, context, gate, shared, index, outbox, slots: Vec::new() };
        for (local, connection) in numbers.into_iter().enumerate() {
            let connections = event_loop.context.spec.connections;
            event_loop.spawn_connection(Who { connection, connections, local });
        }
        Ok(event_loop)
    }

    fn spawn_connection(&mut self, who: Who) {
        let (context, gate) = (self.context.clone(), self.gate.clone());
        self.slots.push(who.local);
        self.executor.spawn(move |slot| async move {
            connect_and_drive(&context, &gate, slot, who).await;
        });
    }

    fn run(mut self) -> Result<(), Reason> {
        self.until(|this| this.gate.ready.get() == this.slots.len())?;
        let (server, answer) = (self.gate.server.take(), self.gate.answer.take());
        let _ = self.outbox.send(LoopEvent::Ready(Readiness { server, answer }));
        self.until(|this| this.shared.start_ns.load(Ordering::Acquire) != NOT_STARTED)?;
        self.start();
        self.measure();
        // Why, before what was counted: who has heard that all are drained need not listen any longer.
        if let Some(reason) = self.context.reason.borrow_mut().take() {
            let _ = self.outbox.send(LoopEvent::Failed(reason));
        }
        self.context.meter.finish();
        self.leave();
        Ok(())
    }

    /// Turns until `done`, before the run has started; gives up when the run does.
    fn until(&mut self, done: impl Fn(&Self) -> bool) -> Result<(), Reason> {
        while !done(self) {
            if let Some(reason) = self.context.reason.borrow_mut().take() {
                return Err(reason);
            }
            if self.shared.stop.load(Ordering::Acquire) {
                return Err(Reason::Lost("stopped before the start".to_owned()));
            }
            let connecting = self.gate.ready.get() < self.slots.len();
            if connecting && self.is_silent() {
                return Err(Reason::Lost(self.silence()));
            }
            self.turn(u64::MAX);
        }
        Ok(())
    }

    fn turn(&mut self, until_ns: u64) {
        let now = self.context.meter.now_ns();
        if let Err(error) = self.executor.turn(until_ns.min(now + TURN_NS)) {
            self.context.give_up(Reason::Setup(format!("waiting for the server failed: {error}")));
            self.context.reactor.cancel_all();
        }
        // With no task left to wait for, do not spin.
        if self.executor.live() == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether the server is silent. A loop that was stopped itself for so long looks first at what came meanwhile.
    fn is_silent(&mut self) -> bool {
        if self.silent() {
            self.turn(0);
        }
        self.silent()
    }

    fn silent(&self) -> bool {
        let quiet_ns = self.context.meter.now_ns().saturating_sub(self.context.reactor.last_arrival_ns());
        quiet_ns > self.context.spec.outage_limit_ns
    }

    /// Whether the server sends something and answers nothing. A loop that was stopped itself looks first at what came.
    fn is_endless(&mut self) -> bool {
        if self.endless() {
            self.turn(0);
        }
        self.endless()
    }

    fn endless(&self) -> bool {
        let quiet_ns = self.context.meter.now_ns().saturating_sub(self.context.reactor.last_answer_ns());
        quiet_ns > self.context.spec.outage_limit_ns.saturating_mul(ENDLESS)
    }

    fn endlessness(&self) -> String {
        let seconds = self.context.spec.outage_limit_ns as f64 * ENDLESS as f64 / 1e9;
        Failure::Endless { what: "its answer", seconds }.to_string()
    }

    fn silence(&self) -> String {
        Failure::Silent(self.context.spec.outage_limit_ns as f64 / 1e9).to_string()
    }

    fn start(&mut self) {
        let agreed_ns = self.shared.start_ns.load(Ordering::Acquire);
        let spec = self.context.spec.clone();
        while self.context.meter.now_ns() < agreed_ns && !self.shared.stop.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_micros(100));
        }
        // One that is stopped before has an empty window now.
        let start_ns = agreed_ns.min(self.context.meter.now_ns());
        self.context.reactor.forget_lag();
        let window = Window::new(start_ns, spec.warmup_ns, spec.limit);
        self.context.meter.at(start_ns).begin(window, thread_cpu_ns());
        if let Some(due) = Due::new(&*self.context.workload, &spec, (self.index, spec.loops), start_ns) {
            *self.context.due.borrow_mut() = Some(due);
            let context = self.context.clone();
            context.driving.set(context.driving.get() + 1);
            self.executor.spawn(move |slot| turns::pace(context, slot));
        }
        self.gate.go.set(true);
        self.nudge_all();
    }

    fn measure(&mut self) {
        let mut cancelled = false;
        while self.context.driving.get() > 0 {
            let now = self.context.meter.now_ns();
            let (interval_end, window) = {
                let recorder = self.context.meter.at(now);
                (recorder.interval_end_ns(), recorder.window())
            };
            if self.shared.stop.load(Ordering::Acquire) || self.context.stopping.get() {
                self.context.meter.end_window();
                self.context.release_idle();
            }
            let ends = window.w1_ns.unwrap_or(u64::MAX);
            if now >= ends {
                self.context.release_idle();
            }
            if self.context.reactor.is_asking() && self.is_silent() && self.context.reason.borrow().is_none() {
                self.context.give_up(Reason::Lost(self.silence()));
            }
            if self.context.reactor.is_asking() && self.is_endless() && self.context.reason.borrow().is_none() {
                self.context.give_up(Reason::Lost(self.endlessness()));
            }
            let waited = now.saturating_sub(ends) > DRAIN_NS;
            let gone = self.context.reason.borrow().is_some() && self.context.spec.private;
            if !cancelled
                && (waited || gone || self.context.reason.borrow().is_some() && (self.silent() || self.endless()))
            {
                cancelled = true;
                self.context.reactor.cancel_all();
            }
            self.turn(interval_end);
        }
        self.context.drop_queued();
        // Fixed work: the window ends with its last transaction.
        self.context.meter.end_window();
    }

    /// Keeps the connections open until the controller has what it wants, then closes them.
    fn leave(&mut self) {
        while !self.shared.finish.load(Ordering::Acquire) {
            self.turn(u64::MAX);
        }
        self.gate.leave.set(true);
        self.nudge_all();
        let give_up_at = self.context.meter.now_ns() + DRAIN_NS;
        while self.executor.live() > 0 && self.context.meter.now_ns() < give_up_at {
            self.turn(u64::MAX);
        }
    }

    fn nudge_all(&self) {
        self.slots.iter().for_each(|id| self.context.reactor.nudge(*id));
    }
}

/// The whole life of one connection.
async fn connect_and_drive<W: Workload>(context: &Rc<Context<W>>, gate: &Gate, slot: Rc<Slot>, who: Who) {
    while gate.connecting.get() >= CONNECTING {
        gate.waiting.borrow_mut().push_back(slot.id());
        slot.nudged().await;
    }
    gate.connecting.set(gate.connecting.get() + 1);
    let ready = make_ready(context, &slot, who).await;
    gate.connecting.set(gate.connecting.get() - 1);
    if let Some(id) = gate.waiting.borrow_mut().pop_front() {
        context.reactor.nudge(id);
    }
    let mut ready = match ready {
        Ok(ready) => ready,
        Err(failure) => return context.give_up(setup_reason(failure)),
    };
    if gate.server.borrow().is_nobody() {
        gate.server.replace(ready.client.peer());
    }
    if let (0, Some(question)) = (who.local, context.spec.ask) {
        match ready.client.ask(question).await {
            Ok(answer) => gate.answer.replace(answer),
            Err(failure) => return context.give_up(setup_reason(failure)),
        };
    }
    gate.ready.set(gate.ready.get() + 1);
    while !gate.go.get() && !slot.is_cancelled() {
        slot.nudged().await;
    }
    let client = measure::drive(context, &slot, ready).await;
    context.done_driving(&slot);
    while !gate.leave.get() && !slot.is_cancelled() {
        slot.nudged().await;
    }
    client.quit().await;
}

async fn make_ready<W: Workload>(
    context: &Context<W>,
    slot: &Rc<Slot>,
    who: Who,
) -> Result<ReadyConnection<W>, Failure> {
    let mut state = context.workload.state(&context.shared, who)?;
    let client = measure::connect(context, slot, &mut state).await?;
    Ok(ReadyConnection { client, state, who })
}

fn setup_reason(failure: Failure) -> Reason {
    match failure {
        Failure::Lost(text) => Reason::Lost(text),
        endless @ Failure::Endless { .. } => Reason::Lost(endless.to_string()),
        Failure::Script(text) => Reason::Script(text),
        other => Reason::Setup(other.to_string()),
    }
}
