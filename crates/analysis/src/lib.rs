//! From recordings to what a report shows, and to comparisons. It reads files and can start nothing.
//!
//! Begin with [`recorded()`], everything that a report shows of one recording. [`mod@compare`] sets the trials of two
//! against each other, [`find`] says which recording somebody means, [`reach()`] what a plan
//! would show, [`trend()`] how the recordings of a name change over time. [`replay`] tells a schedule what was recorded.

pub mod advice;
mod asked;
mod caveats;
mod circumstances;
pub mod compare;
mod environment;
pub mod error;
pub mod find;
mod found;
mod latency;
mod missing;
mod plan;
mod published;
mod reach;
mod recorded;
mod repeat;
pub mod replay;
mod run;
mod scaling;
mod storage;
mod trend;
pub mod trial;
mod unfinished;

pub use error::AnalysisError;
pub use plan::summary_of;
pub use reach::reach;
pub use recorded::recorded;
pub use repeat::ParametersOf;
pub use trend::trend;
