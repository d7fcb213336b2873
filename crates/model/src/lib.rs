//! The words that every part of Plimsoll shares: what was asked, what was counted, what came out.
//!
//! Plain data only. This crate never does I/O, never reads a clock and never starts anything.
//! Begin with [`summary::Summary`], the document that `run --json` prints.

pub mod advice;
pub mod agreed;
pub mod build;
pub mod caveat;
pub mod comparison;
pub mod crash;
pub mod device;
pub mod diagnosis;
pub mod durability;
pub mod estimate;
pub mod explained;
pub mod filesystem;
pub mod flavour;
pub mod gate;
pub mod io;
pub mod io_comparison;
pub mod lab;
pub mod layout;
pub mod load_point;
pub mod metric;
pub mod number;
pub mod opening;
pub mod operation;
pub mod origin;
pub mod probe_metric;
pub mod published;
pub mod samples;
pub mod scalar;
pub mod scaling;
pub mod secrets;
pub mod series;
pub mod statements;
pub mod stopping;
pub mod summary;
pub mod text;
pub mod trend;
pub mod tune;
mod value;

pub use build::Build;
pub use caveat::Caveat;
pub use crash::FaultKind;
pub use durability::Class;
pub use estimate::{Estimate, Refusal};
pub use flavour::Flavour;
pub use load_point::LoadPoint;
pub use metric::Metric;
pub use opening::OpeningStep;
pub use operation::OpKind;
pub use probe_metric::ProbeMetric;
pub use scalar::{NamedScalars, Scalar};
pub use statements::{StatementCounts, StatementKind, total};
