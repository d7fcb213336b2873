//! Private MySQL-family servers: find a build, initialise a data directory, configure, start, stop, and clean up after
//! a killed run.
//!
//! Plimsoll may do to a private server what it never does to any other: create, restart, kill. So every path to a kill
//! or a removal here asks for proof first: the process is named by pid, start time and boot, its command line names our
//! `my.cnf`, the directory has our marker and its lock is ours. This crate never sends SQL and never generates load;
//! settings are read back elsewhere.
//!
//! Begin with [`instance::PrivateServer::open`], then [`directory`] (what is on disk), [`process`] (who may be
//! signalled) and [`registry`] (`server list|stop`, `clean`). [`settings`] is the baseline, [`template`] the cache of
//! fresh data directories.

mod ask;
pub mod bootstrap;
pub mod confine;
pub mod directory;
pub mod error;
pub mod find;
pub mod freeze;
mod heard;
pub mod instance;
mod last_words;
mod memory_group;
pub mod opening;
pub mod options;
mod plan_lock;
pub mod process;
pub mod registry;
pub mod settings;
pub mod snapshot;
mod stand_still;
pub mod template;
pub mod trial_directory;

pub use confine::{Confinement, Pinned};
pub use error::ServerError;
pub use find::{Selector, find};
pub use instance::PrivateServer;
pub use opening::Opening;
pub use plan_lock::PlanLock;
pub use process::Ending;
pub use settings::{ServerSetting, Settings, baseline};
pub use trial_directory::TrialDirectory;
