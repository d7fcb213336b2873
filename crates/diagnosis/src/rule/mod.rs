//! One file for each bottleneck, all of the same shape: [`Signals`] in, a [`Candidate`] out if there is anything to
//! say.

mod client;
mod commit_sync;
mod cpu;
mod memory;
mod network;
mod page_flush;
pub(crate) mod queue;
mod read_io;
mod row_locks;
mod threads;
mod throttled;
mod writing;

use crate::signals::Signals;
use plimsoll_model::diagnosis::{Bottleneck, Candidate, Evidence};

/// Weighs one bottleneck.
pub type Rule = fn(&Signals) -> Option<Candidate>;

/// All of them, in the order of [`Bottleneck::ALL`](plimsoll_model::diagnosis::Bottleneck::ALL).
pub const RULES: [Rule; 10] = [
    client::weigh,
    cpu::weigh,
    read_io::weigh,
    commit_sync::weigh,
    page_flush::weigh,
    row_locks::weigh,
    threads::weigh,
    network::weigh,
    memory::weigh,
    throttled::weigh,
];

/// A bottleneck with its share, if it has one.
fn candidate(bottleneck: Bottleneck, share: f64, evidence: Vec<Evidence>) -> Option<Candidate> {
    (share > 0.0).then(|| Candidate { bottleneck, share: share.min(1.0), evidence })
}

/// A clause with the number in it, and the file and field of the recording that it comes from.
fn evidence(statement: String, value: f64, unit: &str, source: &str) -> Evidence {
    Evidence { statement, value, unit: unit.to_owned(), source: source.to_owned() }
}

/// One CPU, or several.
pub(crate) fn cpus(count: f64) -> String {
    if count == 1.0 { "1 CPU".to_owned() } else { format!("{} CPUs", round(count)) }
}

/// Three digits, or all that stand before the point, without zeros at the end.
pub(crate) fn round(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        _ => format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}
