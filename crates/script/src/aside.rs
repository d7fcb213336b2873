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

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::Address;
    use plimsoll_engine::endpoint::{Password, Resolved};
    use plimsoll_engine::tls::Tls;
    use plimsoll_workloads::distribution::Distribution;
    use std::path::PathBuf;

    /// A state whose script has been run, and which connects to nothing.
    fn loaded(text: &str) -> Aside {
        let endpoint = Endpoint {
            address: Address::Unix(PathBuf::new()),
            resolved: Resolved::Unix(PathBuf::new()),
            user: String::new(),
            password: Password::default(),
            database: None,
            tls: Arc::new(Tls::disabled()),
            local_files: false,
        };
        let script = Arc::new(Script::from_text("test.lua", text.as_bytes().to_vec(), Distribution::Uniform));
        let place = AsidePlace { tid: 0, threads: 1, seed: 1, drawn: Arc::default() };
        let mut aside = Aside::new(&script, endpoint, Protocol::Text, place).unwrap();
        aside.call("load", ()).unwrap();
        aside
    }

    fn text(aside: &mut Aside, function: &str) -> String {
        aside.call(function, ()).unwrap().unwrap().to_string().unwrap()
    }

    #[test]
    fn what_a_script_adds_to_string_is_a_method_of_texts() {
        let mut aside = loaded(
            r#"function string.trim(text) return (text:gsub("^%s+", ""):gsub("%s+$", "")) end
            function trimmed() return ("  x "):trim() .. ("y"):upper() end
            function in_a_coroutine() return coroutine.wrap(function() return (" z"):trim() end)() end
            function absent() return tostring(("x").nothing) end"#,
        );
        assert_eq!(text(&mut aside, "trimmed"), "xY");
        assert_eq!(text(&mut aside, "in_a_coroutine"), "z");
        assert_eq!(text(&mut aside, "absent"), "nil");
    }

    #[test]
    fn a_module_in_c_is_named_as_what_cannot_be_loaded() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("native.so"), "").unwrap();
        let mut aside = loaded(&format!(
            r#"package.cpath = "{}/?.so"
            local function why(name) return (select(2, pcall(require, name))) end
            function native() return why("native") end
            function absent() return why("absent") end"#,
            directory.path().display()
        ));
        let native = text(&mut aside, "native");
        assert!(native.contains("native.so' cannot be loaded"), "{native}");
        let absent = text(&mut aside, "absent");
        assert!(absent.contains("module 'absent' not found") && !absent.contains("cannot be loaded"), "{absent}");
    }
}
