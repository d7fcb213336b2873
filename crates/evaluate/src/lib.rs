//! Evaluations of storage: the steps of a suite one after the other, in one recording; then the sheet.
//!
//! It knows no server: what servers reach beside what is predicted, a [`Validator`] measures. Begin with [`evaluate`], then
//! `measure`, one measurement from its files to its probe.

mod asked;
mod counting;
pub mod error;
mod evaluation;
mod findings;
mod limits;
mod measure;
mod plan;
mod published;
mod seconds;
mod surroundings;
mod telemetry;

pub use asked::{IoPlan, What};
pub use error::EvaluateError;
pub use evaluation::{Finished, Unvalidated, Validator, about, evaluate, evaluate_into, is_possible};
