//! What a lab found: its answer, and what it rests on.
//!
//! Begin with [`document()`], which lists the sections in their order; [`figures`] chooses the main figure by the kind
//! of plan.

mod answer;
pub mod crashes;
mod document;
mod effects;
mod figures;
mod limits;
pub(crate) mod more_cpus;
mod numbers;
mod peaks;
pub(crate) mod places;
pub(crate) mod published;
mod safety;
pub mod storage;
mod tables;
mod terminal;
mod trials;
pub mod tuned;

pub use answer::{answer, whole};
pub use document::{document, with_latency};
pub use terminal::terminal;
pub use trials::with_series;
