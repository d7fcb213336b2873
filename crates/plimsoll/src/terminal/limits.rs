//! What is printed below a result: what limited it.

use super::{note, tty};
use plimsoll_report::section::{busiest, label};
use plimsoll_report::subject::{Recorded, Subject, Trial};
use plimsoll_report::terminal::wrapped;

/// Notes what limited each variant at the load point with the highest throughput, one line for each that was judged.
pub fn what_limited(recorded: &Recorded) {
    for name in variants(recorded) {
        let Some(trial) = busiest(of_variant(recorded, name)) else { continue };
        if let Some(diagnosis) = &trial.diagnosis {
            let text = format!("limit at {}: {}", label(trial, recorded), diagnosis.sentence);
            // If a program reads it, a line stays one line.
            let shown =
                tty::columns(&std::io::stderr()).map_or(text.clone(), |columns| wrapped(&text, columns).join("\n"));
            note(&shown);
        }
    }
}

/// Each variant once, in the order of the plan; a run has one.
fn variants(recorded: &Recorded) -> Vec<&str> {
    let Subject::Lab(summary) = &recorded.subject else { return vec!["run"] };
    let measured = summary.cells.iter().map(|cell| cell.variant.as_str());
    let climbed = summary.ladders.iter().map(|ladder| ladder.variant.as_str());
    let sought = summary.load_lines.iter().map(|line| line.variant.as_str());
    let mut names = Vec::new();
    for name in measured.chain(climbed).chain(sought) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The trials of a variant; if it was only climbed, those of its rungs.
fn of_variant<'a>(recorded: &'a Recorded, name: &str) -> Vec<&'a Trial> {
    let is_rung = |trial: &&Trial| trial.variant.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
    let own: Vec<&Trial> = recorded.trials.iter().filter(|trial| trial.variant == name).collect();
    if own.is_empty() { recorded.trials.iter().filter(is_rung).collect() } else { own }
}
