//! The SQL data plane: event loops, connections, and the one measuring loop.
//!
//! One thread is one loop; a loop owns its connections, generators and histograms, and shares nothing while
//! it runs but one tally per second. It knows no workload: those are values that implement
//! [`workload::Workload`]. It never writes a file and never prints.
//!
//! Begin with [`measure`], the measuring loop; then [`due`] and [`turns`] (when a connection
//! has something to do), [`session`] (what a workload sees), [`connection`] (the
//! protocol on a stream), [`executor`] (how one thread drives thousands of them) and [`run`] (loops as threads).

mod alarm;
pub mod catalogue;
pub mod client;
pub mod commit_log;
pub mod connection;
pub mod context;
pub mod control;
pub mod due;
pub mod endpoint;
pub mod error;
pub mod event;
pub mod exchanges;
pub mod executor;
pub mod helper;
pub mod measure;
pub mod meter;
pub mod password_key;
pub mod run;
pub mod scheduling;
pub mod session;
mod source;
pub mod spec;
pub mod statement;
pub mod stream;
pub mod tls;
pub mod trust;
pub mod turns;
pub mod workload;

pub use client::{Connector, LoadClient};
pub use commit_log::{CommitLog, LoggedCommit};
pub use endpoint::{Address, Endpoint};
pub use error::{Failure, Reason};
pub use event::LoopEvent;
pub use run::Run;
pub use session::Session;
pub use spec::RunSpec;
pub use statement::{Protocol, Statement};
pub use workload::{DeclaredWorkload, Workload};
