//! A storage evaluation as people read it: the sheet first, then what it rests on.
//!
//! [`answer`] finds the one sentence, [`tables`] what both renderings show, [`figure`] draws; [`comparison`] sets two
//! evaluations side by side.

pub mod answer;
pub mod comparison;
pub mod figure;
mod page;
mod tables;
mod terminal;

pub use page::page;
pub use terminal::terminal;
