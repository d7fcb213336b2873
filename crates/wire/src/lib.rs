//! The MySQL client/server protocol as pure functions and state machines: bytes in, packets out.
//!
//! Nothing here opens a socket, waits or reads a clock. The hot path, [`response::ResponseReader`], neither copies nor
//! allocates per query; the memory of all connections together is bounded ([`budget`]). Everything that a server sends
//! is checked before it is trusted: a hostile one gets a [`WireError`], never a panic and never an unbounded buffer.
//!
//! Begin with [`frame`] (how packets are cut), then [`handshake`] and [`auth`] (how a connection begins), [`command`]
//! (what is asked) and [`response`] (what comes back). [`server`] is the other side, for tests and for the null server
//! of `calibrate`.
//!
//! Source of every layout: "MySQL Internals, Client/Server Protocol" and the MariaDB Knowledge Base,
//! "Clientserver Protocol".

pub mod auth;
pub mod budget;
pub mod bytes;
pub mod capability;
pub mod cells;
pub mod command;
pub mod error;
pub mod frame;
pub mod handshake;
pub mod response;
pub mod rows;
pub mod server;
pub mod text;
pub mod value;

pub use error::{ServerMessage, WireError};
pub use value::Value;
