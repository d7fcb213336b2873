//! Evaluates storage for MySQL: file I/O engines, and the probes of an evaluation.
//!
//! Works only below a directory that it creates itself, and never opens a device or an existing file for writing.
//! It never connects to a server and never prints.
//!
//! Begin with [`job::Job`], what one measurement does: files × access × engine × arrivals × limit, all independent
//! values. [`run`] runs it as threads around the one measuring loop of [`measure`]; [`engine`] has the ways to do an
//! operation, [`stream`] decides which comes next. A [`probe::ProbeStep`] is a job with the number of the probe it belongs
//! to, [`suite`] the order of steps, [`mod@sheet`] what a DBA learns from their results. [`place`] and [`layout`]
//! create and remove files, [`device`] reads what the kernel counts.

pub mod buffer;
pub mod clock;
pub mod commit;
pub mod commit_time;
pub mod device;
pub mod disturbance;
pub mod engine;
pub mod error;
pub mod files;
pub mod job;
pub mod layout;
pub mod measure;
pub mod op;
pub mod percona;
pub mod place;
pub mod probe;
pub mod run;
pub mod sector;
pub mod share;
pub mod sheet;
pub mod stream;
pub mod suite;
pub mod turns;
pub mod verify;

pub use error::StorageError;
pub use job::Job;
pub use place::EvaluationDirectory;
pub use run::JobRun;
pub use share::RunEvent;
