//! Executes a plan: opens the target, loads data, runs trials, records and sums up what happened.
//!
//! It tells a [`Watcher`] what happens as it happens and never prints. Begin with [`trial`], one load point from
//! the first connection to the last answer; then [`run`] (a list of them), [`target`] and [`load`].

pub mod analysis;
pub mod calibrate;
mod caveats;
pub mod check;
pub mod client;
mod command;
pub mod compare;
pub mod course;
pub mod dataset;
pub mod datasets;
pub mod drop;
pub mod error;
mod estimates;
pub mod execute;
pub mod io;
pub mod load;
pub mod null_server;
mod order_entry;
pub mod preflight;
pub mod procedure;
pub mod proof;
pub mod quiet;
pub mod recordings;
pub mod run;
mod scaling;
pub mod settings;
pub mod starting_data;
pub mod subject;
pub mod summarise;
pub mod target;
pub mod telemetry;
pub mod text_file;
pub mod trial;
pub mod watch;

pub use error::LabError;
pub use target::{OpenTarget, TargetSpec};
pub use watch::{Event, Watcher};
