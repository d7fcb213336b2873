//! A storage evaluation as people read it: the sheet first, then what it rests on.
//!
//! [`answer`] finds the one sentence, [`tables`] has what both page and terminal show, [`figure`] draws, and
//! [`comparison`] sets two evaluations side by side.

pub mod answer;
pub mod comparison;
mod document;
pub mod figure;
pub(crate) mod tables;
mod terminal;

pub use document::document;
pub use terminal::terminal;
