//! A script as a workload: each connection of the run is a thread of the script's.

use crate::coroutine::ScriptCoroutine;
use crate::last_event::LastEvent;
use crate::lua_value::told;
use crate::script::Script;
use crate::thread::ScriptThread;
use crate::vm::{ENVIRONMENTS, Vm};
use mlua::Value;
use plimsoll_engine::catalogue::Catalogue;
use plimsoll_engine::executor::Slot;
use plimsoll_engine::workload::{Input, Who};
use plimsoll_engine::{Connector, Failure, LoadClient, Workload};
use plimsoll_load::recorder::End;
use plimsoll_load::source::Peer;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A script to be run. Numbers that do not repeat do not repeat among clones either.
#[derive(Clone)]
pub struct Scripted {
    pub script: Arc<Script>,
    /// How many numbers all threads have drawn of those that do not repeat.
    pub drawn: Arc<AtomicU64>,
    /// Where the events that begin are counted for another process.
    pub last_event: Option<Arc<LastEvent>>,
}

impl Scripted {
    pub fn new(script: Script) -> Scripted {
        Scripted::of(Arc::new(script), Arc::default())
    }

    /// The same of a script that others draw numbers for too.
    pub fn of(script: Arc<Script>, drawn: Arc<AtomicU64>) -> Scripted {
        Scripted { script, drawn, last_event: None }
    }

    /// What is counted of any script.
    pub fn counts() -> Catalogue {
        Catalogue::undeclared(&["event"], &[])
    }
}

/// The machines of a loop; one is added when all that there are have their environments.
#[derive(Default)]
pub struct Machines {
    all: RefCell<Vec<Rc<Vm>>>,
}

impl Machines {
    fn of(&self, local: usize, script: &Script) -> mlua::Result<Rc<Vm>> {
        let mut all = self.all.borrow_mut();
        let is_alone = script.dialect.as_ref().is_some_and(|dialect| dialect.is_isolated);
        let place = if is_alone { local } else { local / ENVIRONMENTS };
        while all.len() <= place {
            all.push(Rc::new(Vm::new(script)?));
        }
        Ok(all[place].clone())
    }
}

/// What a connection of the run keeps.
pub struct ScriptState {
    vm: Rc<Vm>,
    who: Who,
    routine: Option<ScriptCoroutine>,
    /// The script has a `thread_run` of its own.
    runs_itself: bool,
}

/// A thread of the script's as the loop knows it.
pub struct ScriptClient {
    thread: Rc<ScriptThread>,
}

impl Workload for Scripted {
    type Client = ScriptClient;
    type Shared = Machines;
    type State = ScriptState;

    fn catalogue(&self) -> Catalogue {
        Scripted::counts()
    }

    fn shared(&self) -> Machines {
        Machines::default()
    }

    fn state(&self, machines: &Machines, who: Who) -> Result<ScriptState, Failure> {
        let vm = machines.of(who.local, &self.script).map_err(|error| Failure::Script(told(&error)))?;
        Ok(ScriptState { vm, who, routine: None, runs_itself: false })
    }

    /// The script's top level, then its `thread_init`, which connects. After a lost connection in a new environment:
    /// nobody knows what the old one still refers to.
    async fn connect(
        &self,
        state: &mut ScriptState,
        connector: &Rc<Connector>,
        slot: &Rc<Slot>,
    ) -> Result<ScriptClient, Failure> {
        let thread = Rc::new(ScriptThread::new(state.who.connection, &self.script, &self.drawn, connector, slot));
        let routine = ScriptCoroutine::new(&state.vm, &self.script, &thread, state.who.connections)?;
        for function in ["load", "thread_init"] {
            routine.call(function).await.map_err(|failure| match failure {
                Failure::Server(message) => {
                    Failure::Setup(format!("the statement `{}` failed: {message}", thread.last_statement()))
                }
                other => thread.told(function, other),
            })?;
        }
        state.runs_itself = match &self.script.dialect {
            Some(_) => routine.call("runs_itself").await? == Some(Value::Boolean(true)),
            None => false,
        };
        state.routine = Some(routine);
        thread.count_setup();
        Ok(ScriptClient { thread })
    }

    async fn transaction(
        &self,
        state: &mut ScriptState,
        client: &mut ScriptClient,
        input: &mut Input,
    ) -> Result<End, Failure> {
        let ScriptClient { thread } = client;
        thread.rng.replace(input.rng.clone());
        let Some(routine) = &state.routine else { return Err(Failure::Script("no script is loaded".to_owned())) };
        if let Some(page) = &self.last_event {
            page.begin();
        }
        thread.in_event.set(true);
        let ended = match &self.script.dialect {
            None => event(routine, &self.script).await,
            Some(_) if state.runs_itself => own_event(routine).await,
            Some(_) => event_of_sysbench(routine, thread).await,
        };
        thread.in_event.set(false);
        thread.count_event();
        if ended.is_err() && thread.compatible().is_none() {
            thread.put_event_back();
        }
        if !thread.take_has_asked() {
            thread.give_way().await;
        }
        ended.map_err(|failure| thread.told("thread_run", failure))
    }

    async fn finish(&self, state: ScriptState, client: &mut ScriptClient) -> Result<(), Failure> {
        match state.routine {
            Some(routine) => {
                let done = match routine.see_through("thread_run").await {
                    Ok(()) => {
                        let done = routine.call("thread_done").await.map(drop);
                        done.map_err(|failure| client.thread.told("thread_done", failure))
                    }
                    Err(failure) => Err(client.thread.told("thread_run", failure)),
                };
                client.thread.count_event();
                // sysbench tells it, and ends well.
                if client.thread.compatible().is_some() { Ok(()) } else { done }
            }
            None => Ok(()),
        }
    }
}

/// One event: what it returns decides whether the thread goes on.
async fn event(routine: &ScriptCoroutine, script: &Script) -> Result<End, Failure> {
    match routine.call("event").await? {
        None => Err(Failure::Script(format!("cannot find the event() function in {}", script.name))),
        Some(Value::Nil | Value::Boolean(false)) => Ok(End::Committed),
        Some(_) => Ok(End::Stopped),
    }
}

/// An event as sysbench has it: as long as there are any, and again from its beginning whenever it is to be, at once and
/// without an end.
async fn event_of_sysbench(routine: &ScriptCoroutine, thread: &ScriptThread) -> Result<End, Failure> {
    if !thread.has_more_events() {
        return Ok(End::Stopped);
    }
    loop {
        match event(routine, &thread.script).await {
            Err(Failure::Again) => thread.give_way().await,
            ended => return ended,
        }
    }
}

/// An event of a script that runs them itself.
async fn own_event(routine: &ScriptCoroutine) -> Result<End, Failure> {
    Ok(if routine.next_event("thread_run").await? { End::Committed } else { End::Stopped })
}

impl LoadClient for ScriptClient {
    fn now_ns(&self) -> u64 {
        self.thread.now_ns()
    }

    fn waited(&mut self) {
        self.thread.waited();
    }

    /// What an event computes or waits for after its last answer is part of it.
    fn answered_ns(&self) -> u64 {
        self.thread.now_ns()
    }

    fn needs_rollback(&self) -> bool {
        self.thread.needs_rollback()
    }

    async fn rollback(&mut self) -> Result<(), Failure> {
        self.thread.rollback().await
    }

    fn is_committing(&self) -> bool {
        self.thread.is_committing()
    }

    fn last_statement(&self) -> String {
        self.thread.last_statement()
    }

    fn peer(&self) -> Peer {
        self.thread.peer()
    }

    async fn ask(&mut self, sql: &str) -> Result<Vec<(String, String)>, Failure> {
        match self.thread.dialect() {
            // Neither a script without a server nor one whose server answers nothing ends by that.
            Some(_) if self.thread.peer().is_nobody() => Ok(Vec::new()),
            Some(_) => Ok(self.thread.ask(sql).await.unwrap_or_default()),
            None => self.thread.ask(sql).await,
        }
    }

    async fn quit(self) {
        self.thread.quit().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::endpoint::Password;
    use plimsoll_engine::tls::Tls;
    use plimsoll_engine::{Address, Endpoint, LoopEvent, Protocol, Run, RunSpec};
    use plimsoll_load::arrivals::Arrivals;
    use plimsoll_load::recorder::LoopTotals;
    use plimsoll_load::window::Limit;
    use plimsoll_testkit::fake::{Fake, FakePlace, Talk};
    use plimsoll_workloads::distribution::Distribution;
    use std::time::Duration;

    /// What is counted of a script with so many threads that have three events each, and how many statements were answered.
    fn conducted(threads: usize, text: &str) -> (LoopTotals, u64) {
        let fake = Fake::unix(Talk::behave);
        let FakePlace::Unix(path) = fake.place.clone() else { panic!("a Unix socket") };
        let address = Address::Unix(path);
        let endpoint = Endpoint {
            resolved: address.resolve().unwrap(),
            address,
            user: "root".to_owned(),
            password: Password::default(),
            database: None,
            tls: Arc::new(Tls::disabled()),
            local_files: false,
        };
        let spec = RunSpec {
            endpoint,
            connections: threads,
            loops: 1,
            arrivals: Arrivals::Closed,
            limit: Limit::EventsPerConnection(3),
            warmup_ns: 0,
            seed: 1,
            protocol: Protocol::Text,
            outage_limit_ns: 20_000_000_000,
            ignore_errors: Vec::new(),
            private: true,
            ask: None,
            part: None,
            commits: None,
        };
        let script = Script::from_text("test.lua", text.as_bytes().to_vec(), Distribution::Uniform);
        let run = Run::begin(spec, Arc::new(Scripted::new(script)));
        let mut queries = 0;
        let totals = loop {
            match run.next(Duration::from_secs(30)).expect("the run goes on") {
                LoopEvent::Ready(_) => {
                    run.start();
                }
                LoopEvent::Interval(tally) => queries += tally.counters.queries,
                LoopEvent::Drained(totals) => break totals,
                LoopEvent::Failed(_) => {}
            }
        };
        run.finish();
        (totals, queries)
    }

    #[test]
    fn what_a_thread_asks_before_the_load_is_none_of_it() {
        let (totals, queries) = conducted(
            2,
            "function thread_init() con = sysbench.sql.driver():connect() con:query('SELECT 1') end\n\
             function event() con:query('SELECT 2') end",
        );
        assert_eq!((totals.counts.finished, totals.sent.select, queries), (6, 6, 6));
    }

    #[test]
    fn a_commit_that_was_answered_is_known_whatever_the_script_does_then() {
        // Another thread would be cut off, perhaps before its answer came.
        let (totals, _) = conducted(
            1,
            "function thread_init() con = sysbench.sql.driver():connect() end\n\
             function event() con:query('COMMIT') error('it ends here') end",
        );
        assert!(totals.sent.commit > 0);
        assert_eq!(totals.unknown, 0);
    }
}
