//! Recording directories, written and read: the directory that a run leaves is the only truth about it.
//!
//! A [`Recording`] is created before the first trial and each [`TrialWriter`] appends one flushed line per second
//! and series, so that killing the tool loses the current second at most. [`read`] opens what is there, finished
//! or not; viewers use nothing else. This crate never interprets a number, and no failed write stays unsaid: every
//! one comes back as a [`RecordError`] that names the file.
//!
//! Begin with [`recording`], then [`trial`]; the file formats are in [`lines`] and [`latency`]. What somebody says of a
//! recording afterwards is in [`labels`].

pub mod bounds;
mod directory;
mod ended;
pub mod error;
pub mod event;
pub mod file;
pub mod labels;
pub mod latency;
pub mod lines;
pub mod listed;
pub mod manifest;
mod memory;
pub mod read;
pub mod recording;
mod series;
pub mod settings;
pub mod surroundings;
mod tally;
pub mod trial;

pub use ended::EarlyEnd;
pub use error::RecordError;
pub use event::Happening;
pub use labels::Labels;
pub use manifest::{Manifest, Status};
pub use recording::Recording;
pub use settings::RecordedSetting;
pub use trial::{CollectorLog, LoadParameters, Parameters, ProbeParameters, TrialFacts, TrialWriter};

pub type Result<T> = std::result::Result<T, RecordError>;
