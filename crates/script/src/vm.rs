//! A virtual machine: LuaJIT with its libraries, our interface, and the script's text, shared by the environments of some
//! connections. One for about a hundred of them: each of its own would cost five times the CPU, and one for all pauses
//! for tens of milliseconds to collect garbage.

use crate::asked::QuestionKind;
use crate::bundled;
use crate::host;
use crate::lua_value::told;
use crate::script::Script;
use crate::thread::Current;
use crate::watch::{Overdue, SliceWatch};
use mlua::{Function, Lua, LuaOptions, StdLib, Value};

/// Environments of one machine.
pub const ENVIRONMENTS: usize = 100;

const PRELUDE: [(&str, &str); 8] = [
    ("libraries", include_str!("prelude/libraries.lua")),
    ("random", include_str!("prelude/random.lua")),
    ("sql", include_str!("prelude/sql.lua")),
    ("legacy", include_str!("prelude/legacy.lua")),
    ("foreign", include_str!("prelude/foreign.lua")),
    ("reports", include_str!("prelude/reports.lua")),
    ("cmdline", include_str!("prelude/cmdline.lua")),
    ("environment", include_str!("prelude/environment.lua")),
];

pub struct Vm {
    /// Ends before the machine does. None where a script may compute for as long as it likes.
    watch: Option<SliceWatch>,
    pub lua: Lua,
    pub current: Current,
    /// Makes an environment and the function that its coroutine runs.
    environment: Function,
    /// The script's text as a function, made anew for each environment.
    script: Function,
}

impl Vm {
    /// A machine that has read the script and run nothing of it. What runs in it is watched.
    ///
    /// # Errors
    /// The script is not Lua.
    pub fn new(script: &Script) -> mlua::Result<Vm> {
        let is_dry = script.dialect.as_ref().is_some_and(|dialect| dialect.is_dry);
        // A dry run only computes, so it is compiled; compiled code does not say which line it is at.
        let vm = Vm::unwatched(script, is_dry)?;
        // sysbench lets a script compute for as long as it likes.
        let overdue = match &script.dialect {
            None => Overdue::Ends,
            Some(_) if is_dry => Overdue::IsNamedAlone(script.name.clone()),
            Some(_) => Overdue::IsNamed,
        };
        Ok(Vm { watch: Some(SliceWatch::begin(&vm.lua, overdue)), ..vm })
    }

    /// A machine in which the script may compute for as long as it likes, as it does when it prepares data: compiled,
    /// unless it is going to be watched.
    ///
    /// # Errors
    /// As [`Vm::new`].
    pub fn unwatched(script: &Script, is_compiled: bool) -> mlua::Result<Vm> {
        merge_at_once();
        let lua = unrestricted();
        let current = Current::default();
        let host = host::table(&lua, &current)?;
        host.set("IS_COMPILED", is_compiled)?;
        host.set("IS_SYSBENCH", script.dialect.is_some())?;
        host.set("IS_DRY", script.dialect.as_ref().is_some_and(|dialect| dialect.is_dry))?;
        let interface = lua.create_table()?;
        interface.set("modules", lua.create_table_from(bundled::MODULES)?)?;
        for (name, text) in PRELUDE {
            let chunk = lua.load(text).set_name(format!("=plimsoll.{name}"));
            chunk.call::<()>((host.clone(), interface.clone()))?;
        }
        let environment = interface.get("new_environment")?;
        let script = compiled(&lua, script)?;
        Ok(Vm { watch: None, lua, current, environment, script })
    }

    /// Runs a slice of the script.
    #[inline]
    pub fn slice<T>(&self, run: impl FnOnce() -> T) -> T {
        match &self.watch {
            Some(watch) => watch.slice(run),
            None => run(),
        }
    }

    /// An environment of its own for a thread, in which nothing has run yet: the function that its coroutine runs.
    ///
    /// # Errors
    /// Those of memory alone.
    pub fn environment(&self, script: &Script, tid: usize, threads: usize) -> mlua::Result<Function> {
        let facts = self.lua.create_table()?;
        facts.set("tid", tid)?;
        facts.set("threads", threads)?;
        facts.set("path", script.name.as_str())?;
        facts.set("directory", script.directory.display().to_string())?;
        facts.set("options", self.lua.create_table_from(script.options.iter().cloned())?)?;
        if let Some(dialect) = &script.dialect {
            facts.set("command", dialect.command.as_deref())?;
            facts.set("path", dialect.path.as_deref())?;
        }
        self.environment.call((facts, self.script.clone()))
    }
}

/// Runs the top level of a script for once, where nothing can be asked, so that what is wrong with it or with its options
/// is known before anything is started. What it asks at its top level is not known until then.
///
/// # Errors
/// What is wrong: file, line and what it says.
pub fn look_at(script: &Script) -> Result<(), String> {
    let failed = (|| {
        let vm = Vm::new(script)?;
        let coroutine = vm.lua.create_thread(vm.environment(script, 0, 1)?)?;
        let (_, asked, _, _, text): (Value, Value, Value, Value, Value) = vm.slice(|| coroutine.resume(("load", 0)))?;
        let failed = asked.as_i64() == Some(QuestionKind::Failed as i64);
        failed.then(|| text.to_string()).transpose()
    })();
    match failed.map_err(|error| told(&error))? {
        Some(text) if !text.contains(host::ONLY_WHILE_RUN) => Err(text),
        _ => Ok(()),
    }
}

/// What runs the scripts, with its version.
pub fn lua_version() -> String {
    let told = Lua::new().load("return jit.version").eval::<String>();
    told.unwrap_or_else(|_| "LuaJIT".to_owned())
}

/// Has freed memory merged when it is freed: glibc would do it now and then for all machines together, and take tens of
/// milliseconds in which no connection has its turn (mallopt(3), `M_MXFAST`).
#[allow(unsafe_code)]
fn merge_at_once() {
    #[cfg(target_env = "gnu")]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        // SAFETY: it may be called at any time; where it is refused, all is as before.
        ONCE.call_once(|| _ = unsafe { libc::mallopt(libc::M_MXFAST, 0) });
    }
}

/// A script may do what its user may: it has all libraries, the foreign function interface too.
#[allow(unsafe_code)]
fn unrestricted() -> Lua {
    // SAFETY: what a script does to its process with `ffi` or `debug` is the affair of whoever runs it.
    unsafe { Lua::unsafe_new_with(StdLib::ALL, LuaOptions::new()) }
}

/// A function that returns the script as a function. What that defines has the environment that it is given then, while
/// its code is there once. The text stays on its lines.
fn compiled(lua: &Lua, script: &Script) -> mlua::Result<Function> {
    let name = format!("@{}", script.name);
    // Compiled alone first, so that an error is the script's own.
    lua.load(script.text.as_slice()).set_name(name.as_str()).into_function()?;
    let text = [b"return function(...) ".as_slice(), &script.text, b"\nend"].concat();
    lua.load(text).set_name(name).into_function()
}
