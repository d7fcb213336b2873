//! From what was measured to what people read: a document, its figures, its renderings, a table in the terminal.
//!
//! Everything is a pure function of what was [recorded](subject::Recorded); nothing here reads a file, a clock or the
//! environment, and a page needs neither a network nor JavaScript. Text from a server is hostile: a [`document`] holds
//! it as it came, and whatever shows it passes it through [`text`] first. Numbers get their units and digits in
//! [`format`](mod@format) only, and all renderings show the same [`table::Table`].
//!
//! Begin with [`fn@document`], then [`run::document`], which lists the sections in their order; [`section`] has those
//! that runs and labs share, [`figure`] draws, [`mod@render`] writes the result as HTML, Markdown, JSON, CSV or SVG.
//! [`sweep`] finds the answer of a run and [`sentence`] words it; [`interval`] says how far a number can be trusted,
//! [`scaling`] what a sweep shows as a whole; [`order_entry`] has what only order entry reports; [`svg`] is the one
//! writer of all figures.

pub mod comparison;
pub mod document;
pub mod figure;
pub mod interval;
pub mod io;
pub mod lab;
pub mod order_entry;
pub mod points;
pub mod render;
pub mod run;
mod run_view;
pub mod scale;
pub mod scaling;
pub mod script;
pub mod section;
pub mod sentence;
pub mod sparkline;
pub mod subject;
pub mod svg;
pub mod sweep;
pub mod systems;
pub mod table;
pub mod terminal;
pub mod text;

pub use subject::SettingRow;

use document::{Document, Finding};
use subject::{Recorded, Subject};

/// The report of a recording.
pub fn document(recorded: &Recorded) -> Document {
    let mut document = match &recorded.subject {
        Subject::Run(summary) => run::document(recorded, summary),
        Subject::Lab(summary) => lab::document(recorded, summary),
        Subject::Storage(summary) => io::document(recorded, summary),
    };
    document.findings.splice(..0, ended_early(recorded));
    document
}

/// Why it ended before its plan did, which a reader has to know first.
fn ended_early(recorded: &Recorded) -> Option<Finding> {
    let why = recorded.ended_early.as_ref()?;
    Some(Finding::labelled("Ended early", text::sentence(why)))
}

/// The answer alone, for a list.
pub fn answer(recorded: &Recorded) -> String {
    match &recorded.subject {
        Subject::Run(summary) => sentence::answer(&run_view::ShownRun { summary, recorded }),
        Subject::Lab(summary) => lab::answer(summary),
        Subject::Storage(summary) => io::answer::answer(summary),
    }
}

/// The same in short for a terminal; ends with a line break.
pub fn terminal(recorded: &Recorded, look: terminal::TextLook) -> String {
    let told = match &recorded.subject {
        Subject::Run(summary) => run::terminal(recorded, summary, look),
        Subject::Lab(summary) => lab::terminal(summary, look),
        Subject::Storage(summary) => io::terminal(summary, look),
    };
    let early =
        ended_early(recorded).map(|finding| look.wrapped(&text::clean(&finding.to_string())).join("\n") + "\n\n");
    early.unwrap_or_default() + &told + &terminal::unfinished(recorded, look)
}
