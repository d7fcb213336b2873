//! From what was measured to what people read: one HTML page, its figures, a table in the terminal.
//!
//! Everything is a pure function of a [`Report`]; nothing here reads a file, a clock or the environment, and the
//! page needs neither a network nor JavaScript. Text from a server is hostile: it passes through
//! [`text::clean`] or [`text::escape`] before it is shown. Numbers get their units and digits in
//! [`format`](mod@format) only, and both renderings show the same [`table::Table`].
//!
//! Begin with [`html::page`], which lists the sections in their order; [`sweep`] finds the answer and
//! [`sentence`] words it; [`interval`] says how far a number can be trusted, [`scaling`] what a sweep tells as a whole;
//! [`order_entry`] has what only such a run tells; [`svg`] is the one writer of all figures.

pub mod comparison;
pub mod figure;
pub mod format;
pub mod html;
pub mod input;
pub mod interval;
pub mod io;
pub mod lab;
pub mod order_entry;
pub mod points;
pub mod scale;
pub mod scaling;
pub mod sentence;
pub mod svg;
pub mod sweep;
pub mod table;
pub mod terminal;
pub mod text;

pub use html::page as html;
pub use input::{Limit, PointSeries, Report, SettingRow};
pub use sentence::answer;
pub use terminal::terminal_table;
