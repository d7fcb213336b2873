//! Evaluations of storage: the steps of a suite one after the other, in one recording; then the sheet.
//!
//! It knows no server: a [`Validator`] measures what servers reach compared with the predictions. Begin with
//! [`evaluate`], then `measure`, one measurement from its files to its probe.

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
pub use evaluation::{FinishedEvaluation, Unvalidated, Validator, about, evaluate, evaluate_into, is_possible};
