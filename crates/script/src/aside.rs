//! A script beside the load: its commands, what it does before and after a run, its reports. There it may take the time it
//! likes, so its questions are answered one after the other, on a loop of its own.

use crate::coroutine::ScriptCoroutine;
use crate::lua_value::told;
use crate::script::Script;
use crate::thread::ScriptThread;
use crate::vm::Vm;
use crate::workload::Scripted;
use mlua::{IntoLuaMulti, Lua, Value};
use plimsoll_engine::executor::{Executor, Slot};
use plimsoll_engine::meter::Meter;
use plimsoll_engine::{Connector, Endpoint, Failure, Protocol};
use plimsoll_load::recorder::Recorder;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A state of the script's that is no thread of a run.
pub struct Aside {
    executor: Executor<'static>,
    slot: Rc<Slot>,
    vm: Rc<Vm>,
    routine: ScriptCoroutine,
}

/// Which state it is: the number that the script reads as its own, of how many threads, and what decides its draws.
#[derive(Clone, Debug)]
pub struct AsidePlace {
    pub tid: usize,
    pub threads: usize,
    pub seed: u64,
    pub drawn: Arc<AtomicU64>,
}

impl Aside {
    /// A state in which nothing of the script has run yet.
    ///
    /// # Errors
    /// [`Failure::Script`] if it is not Lua; [`Failure::Setup`] if the machine has no room for a loop.
    pub fn new(
        script: &Arc<Script>,
        endpoint: Endpoint,
        protocol: Protocol,
        place: AsidePlace,
    ) -> Result<Aside, Failure> {
        let executor = Executor::new(Instant::now())
            .map_err(|error| Failure::Setup(format!("an event loop cannot be made: {error}")))?;
        let (reactor, slot) = (executor.reactor(), executor.reactor().slot(0));
        let catalogue = Rc::new(Scripted::counts());
        let recorder = Recorder::new(1, catalogue.names.shape(), false, false);
        // Nobody asks what was sent aside.
        let (outbox, _) = channel();
        let meter = Rc::new(Meter::new(recorder, reactor.clone(), outbox, Arc::new(Mutex::default())));
        let connector = Rc::new(Connector { endpoint, catalogue, protocol, seed: place.seed, meter, reactor });
        let thread = Rc::new(ScriptThread::new(place.tid, script, &place.drawn, &connector, &slot));
        let vm = Vm::unwatched(script, true).map_err(|error| Failure::Script(told(&error)))?;
        let vm = Rc::new(vm);
        let routine = ScriptCoroutine::new(&vm, script, &thread, place.threads)?;
        Ok(Aside { executor, slot, vm, routine })
    }

    /// The machine, to make arguments for [`Aside::call`].
    pub fn lua(&self) -> &Lua {
        &self.vm.lua
    }

    /// Calls a function of the script and waits until it has returned; `None` if it is not defined.
    ///
    /// # Errors
    /// As [`ScriptCoroutine::call`].
    pub fn call(&mut self, function: &str, arguments: impl IntoLuaMulti) -> Result<Option<Value>, Failure> {
        let calling = self.routine.call_with(function, arguments);
        let called = self.executor.block_on(&self.slot, calling, u64::MAX, u64::MAX);
        called.map_err(|error| Failure::Setup(format!("waiting for the server failed: {error}")))?
    }
}
