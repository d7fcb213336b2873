//! Watches whether a script computes for long without asking anything: it holds up all connections of its loop, and one
//! that never ends would hold up the end of the run too.
//!
//! A thread looks at every machine ten times a second. Where the same slice has run for longer than [`LONGEST`], it sets a
//! hook, which raises an error at the line that runs then, or names it. That is the one function of Lua's interface which another thread
//! may call; compiled code does not look at hooks, so the compiler is off (LuaJIT, *Extensions*; `lua_sethook`) but where
//! the script is named without its line.

use mlua::{Lua, ffi};
use std::ffi::CStr;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// How long a script may compute without asking anything.
pub const LONGEST: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(100);

/// Counts the slices of a machine: odd while one runs.
#[derive(Debug, Default)]
pub struct Slices(AtomicU64);

impl Slices {
    /// A slice begins, or ends.
    #[inline]
    fn turn(&self) {
        // Its machine's thread alone writes.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    fn running(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|count| count % 2 == 1)
    }
}

/// A machine that is watched until this is dropped, which is before the machine is.
pub struct SliceWatch {
    slices: Arc<Slices>,
}

/// What becomes of a slice that takes too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overdue {
    /// It ends with an error.
    Ends,
    /// It goes on, and its line is told on standard error.
    IsNamed,
    /// The same without its line, which is not known of compiled code: the script of this name.
    IsNamedAlone(String),
}

impl SliceWatch {
    pub fn begin(lua: &Lua, overdue: Overdue) -> SliceWatch {
        static THREAD: OnceLock<()> = OnceLock::new();
        let slices = Arc::<Slices>::default();
        let watched = Watched { state: state_of(lua), overdue, slices: slices.clone(), seen: None, named: None };
        machines(|all| all.push(watched));
        THREAD.get_or_init(|| {
            // Without it nothing is watched, which is no reason not to run.
            let _ = thread::Builder::new().name("script-watch".to_owned()).spawn(look_again_and_again);
        });
        SliceWatch { slices }
    }

    /// Runs a slice of the script.
    #[inline]
    pub fn slice<T>(&self, run: impl FnOnce() -> T) -> T {
        self.slices.turn();
        let done = run();
        self.slices.turn();
        done
    }
}

impl Drop for SliceWatch {
    fn drop(&mut self) {
        machines(|all| all.retain(|watched| !Arc::ptr_eq(&watched.slices, &self.slices)));
    }
}

struct Watched {
    state: State,
    overdue: Overdue,
    slices: Arc<Slices>,
    /// The slice that ran at the last look, and since when.
    seen: Option<(u64, Instant)>,
    /// The slice that was named last.
    named: Option<u64>,
}

impl Watched {
    /// Interrupts a slice that takes too long, or returns what is to be told of it.
    fn look(&mut self) -> Option<String> {
        let running = self.slices.running();
        match (running, self.seen) {
            (Some(now), Some((before, since))) if now == before => {
                if since.elapsed() > LONGEST && self.named != running {
                    self.named = running.filter(|_| self.overdue != Overdue::Ends);
                    match &self.overdue {
                        Overdue::Ends => self.state.interrupt(raise),
                        Overdue::IsNamed => self.state.interrupt(name),
                        Overdue::IsNamedAlone(script) => return Some(script.clone()),
                    }
                }
            }
            (Some(now), _) => self.seen = Some((now, Instant::now())),
            (None, _) => self.seen = None,
        }
        None
    }
}

/// Does something with all machines that are watched.
fn machines<T>(task: impl FnOnce(&mut Vec<Watched>) -> T) -> T {
    static MACHINES: Mutex<Vec<Watched>> = Mutex::new(Vec::new());
    task(&mut MACHINES.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

fn look_again_and_again() {
    loop {
        thread::sleep(LOOK);
        let overdue: Vec<String> = machines(|all| all.iter_mut().filter_map(Watched::look).collect());
        overdue.iter().for_each(|script| warn(script));
    }
}

type Hook = unsafe extern "C-unwind" fn(*mut ffi::lua_State, *mut ffi::lua_Debug);

/// A machine's state, for the one call that another thread may make.
struct State(*mut ffi::lua_State);

// SAFETY: nothing is done with it but `lua_sethook`, which is made for being called while the machine runs.
#[allow(unsafe_code)]
unsafe impl Send for State {}

#[allow(unsafe_code)]
fn state_of(lua: &Lua) -> State {
    // SAFETY: the state is only looked at; its stack is as it was.
    let found =
        unsafe { lua.exec_raw::<mlua::LightUserData>((), |state| ffi::lua_pushlightuserdata(state, state.cast())) };
    State(found.map_or(std::ptr::null_mut(), |found| found.0.cast()))
}

impl State {
    #[allow(unsafe_code)]
    fn interrupt(&self, hook: Hook) {
        if !self.0.is_null() {
            // SAFETY: a machine is taken off the list, under the same lock, before its state is closed.
            unsafe { ffi::lua_sethook(self.0, Some(hook), ffi::LUA_MASKCOUNT, 1) };
        }
    }
}

/// Raises an error at the line that runs, once.
#[allow(unsafe_code)]
unsafe extern "C-unwind" fn raise(state: *mut ffi::lua_State, debug: *mut ffi::lua_Debug) {
    // SAFETY: called by Lua, with its own state and record; nothing here has to be dropped when the error is raised.
    unsafe {
        ffi::lua_sethook(state, None, 0, 0);
        ffi::lua_getinfo(state, c"Sl".as_ptr(), debug);
        let (file, line) = ((*debug).short_src.as_ptr(), (*debug).currentline);
        ffi::luaL_error(
            state,
            c"%s:%d: it computes for longer than a second without asking anything".as_ptr(),
            file,
            line,
        );
    }
}

/// Tells the line that runs, once.
#[allow(unsafe_code)]
unsafe extern "C-unwind" fn name(state: *mut ffi::lua_State, debug: *mut ffi::lua_Debug) {
    // SAFETY: called by Lua, with its own state and record, whose text ends with a zero.
    let (file, line) = unsafe {
        ffi::lua_sethook(state, None, 0, 0);
        ffi::lua_getinfo(state, c"Sl".as_ptr(), debug);
        (CStr::from_ptr((*debug).short_src.as_ptr()), (*debug).currentline)
    };
    warn(&format!("{}:{line}", file.to_string_lossy()));
}

fn warn(place: &str) {
    // Where nobody reads it, the script goes on all the same.
    let _ = writeln!(
        std::io::stderr(),
        "WARNING: {place}: it computes for longer than a second without asking anything; no other thread goes on"
    );
}
