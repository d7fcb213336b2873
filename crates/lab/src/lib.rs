//! Executes a plan: trials and their phases, settings applied and verified, telemetry, all of it recorded.
//!
//! It tells a [`plimsoll_watch::Watcher`] what happens as it happens and never prints. Begin with [`load_point`], one load
//! point from the first connection to the last answer; then [`run`], a list of them, and [`trial`], one trial of a
//! plan.

pub mod adapter;
pub mod apart;
pub mod calibrate;
mod command;
pub mod error;
pub mod execute;
pub mod fleet;
pub mod journal;
mod limits;
pub mod listening;
pub mod load_point;
pub mod load_spec;
pub mod login;
pub mod null_server;
pub mod options;
mod order_entry;
pub mod own_lanes;
pub mod planned_script;
pub mod preflight;
pub mod quiet;
pub mod run;
pub mod run_record;
pub mod settings;
mod storage_plan;
pub mod telemetry;
pub mod trial;
pub mod validate;
pub mod verification;
pub mod watched;
pub mod witnessed;

pub use error::LabError;
