//! Pure numbers: from histograms and series to what a report says.
//!
//! Nothing here knows MySQL, reads a clock or does I/O; every function is one from values to values.
//! Begin with [`mod@knee`], the answer of a sweep; [`latency`] and [`fairness`] are what a load point needs.

pub mod fairness;
pub mod knee;
pub mod latency;

pub use knee::{Knee, knee};
