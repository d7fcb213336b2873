//! People's own Lua scripts as a workload, with the interface that sysbench gives them.
//!
//! A loop has a virtual machine for about each hundred of its connections, and in it every connection has an environment
//! and a coroutine of its own ([`vm`], [`coroutine`]). What takes time in a script is a question that its coroutine yields
//! ([`asked`]); it is answered on the event loop ([`thread`]), and the coroutine resumed. What takes none is a function of
//! ours that the script calls ([`host`]). The interface itself is Lua (`prelude/`), and so are the modules that scripts
//! `require`.
//!
//! Names, options and the order of calls are those of sysbench 1.0 and 1.1, as scripts know them; all code is our own.

pub mod aside;
pub mod asked;
pub mod bulk;
pub mod bundled;
mod connections;
pub mod coroutine;
pub mod dialect;
#[cfg(target_env = "musl")]
mod frames;
mod held;
pub mod host;
pub mod last_event;
pub mod lua_value;
pub mod refusal;
pub mod results;
pub mod script;
mod shell;
pub mod statement;
pub mod thread;
pub mod vm;
pub mod watch;
pub mod workload;

pub use script::Script;
pub use workload::Scripted;
