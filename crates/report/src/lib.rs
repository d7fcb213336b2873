//! From what was measured to what people read: a document, its figures, a table in the terminal.
//!
//! Everything is a pure function of what was [recorded](subject::Recorded); nothing here reads a file, a clock or the
//! environment. Text from a server is hostile: a [`document`] holds
//! it as it came, and whatever shows it passes it through [`text`] first. Numbers get their units and digits in
//! [`format`](mod@format) only, and all renderings show the same [`table::Table`].
//!
//! Begin with [`fn@document`], then [`run::document`], which lists the sections in their order; [`section`] has those
//! that runs and labs share, [`figure`] draws; the crate `render` writes the result as HTML, Markdown, JSON, CSV or SVG.
//! [`sweep`] finds the answer of a run and [`sentence`] words it; [`interval`] says how far a number can be trusted,
//! [`scaling`] what a sweep shows as a whole; [`order_entry`] has what only order entry reports; [`svg`] is the one
//! writer of all figures.

pub mod comparison;
pub mod figure;
mod found;
pub mod io;
pub mod lab;
pub mod order_entry;
pub mod points;
pub mod run;
mod run_view;
pub mod scaling;
pub mod section;
pub mod sentence;
pub mod subject;
pub mod sweep;
pub mod systems;
pub mod terminal;
pub mod trend;

pub use plimsoll_document::{document, interval, scale, svg, table};
pub use subject::SettingRow;

use document::{Block, Document, Finding};
use plimsoll_model::layout;
use subject::{Recorded, Subject};

/// The report of a recording.
pub fn document(recorded: &Recorded) -> Document {
    let mut document = match &recorded.subject {
        Subject::Run(summary) => run::document(recorded, summary),
        Subject::Lab(summary) => lab::document(recorded, summary),
        Subject::Storage(summary) => io::document(recorded, summary),
    };
    document.findings.splice(..0, ended_early(recorded));
    document.facts.extend(recorded.circumstances.iter().cloned());
    let words = stamp(recorded);
    let blocks = document.sections.iter_mut().flat_map(|section| &mut section.blocks);
    for block in blocks.filter(|_| !words.is_empty()) {
        if let Block::Figure(figure) = block {
            figure.stamp(&words);
        }
    }
    document
}

/// Server, CPUs and storage in short, and when: `MariaDB 10.11.14, 2 × Xeon, ext4 on /dev/vda1, 2026-11-21 19:30 UTC`.
fn stamp(recorded: &Recorded) -> String {
    let of = |name: &'static str| recorded.environment.facts.iter().filter(move |(known, _)| known == name);
    // What a vendor appends to a version, and what stands in brackets, is for the page.
    let servers = of("Server").map(|(_, server)| server.split('-').next().unwrap_or(server).to_owned());
    let cpus = of("CPUs").map(|(_, cpus)| cpus.split(" (").next().unwrap_or(cpus).to_owned());
    let storage = of("Storage").map(|(_, storage)| storage.clone());
    let when = recorded.circumstances.first().cloned();
    let words = plimsoll_model::text::each_once(servers.chain(cpus).chain(storage).chain(when));
    layout::clean(&words.join(", "))
}

/// Why it ended before its plan did, which a reader has to know first.
fn ended_early(recorded: &Recorded) -> Option<Finding> {
    let why = recorded.ended_early.as_ref()?;
    Some(Finding::labelled("Ended early", layout::sentence(why)))
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
        ended_early(recorded).map(|finding| look.wrapped(&layout::clean(&finding.to_string())).join("\n") + "\n\n");
    early.unwrap_or_default() + &told + &terminal::unfinished(recorded, look)
}
