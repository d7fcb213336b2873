//! `/api/…`: what the pages show as the JSON that the commands print; `/metrics`: what is running now, for collectors.

use crate::catalogue::RecordingCatalogue;
use crate::page::Refused;
use crate::shown::{LiveSample, ShownState};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use plimsoll_record::labels::Labels;
use plimsoll_record::listed::ListedRecording;
use plimsoll_record::read::State;
use plimsoll_render::{Format, render};
use plimsoll_report::document::Document;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// OpenMetrics 1.0, "Data Model and Exposition Format".
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The families of metrics, with their help.
const FAMILIES: [(&str, &str); 7] = [
    ("plimsoll_recordings", "Recordings by their state."),
    ("plimsoll_phase", "1 for the phase that a running recording is in."),
    ("plimsoll_trials_begun", "Trials of a running recording that have begun."),
    ("plimsoll_trials_planned", "About how many trials a running recording will have."),
    ("plimsoll_transactions_per_second", "Transactions in the last second; of storage: operations."),
    ("plimsoll_latency_seconds", "Latency in the last second; response time where transactions have a due time."),
    ("plimsoll_cpus_busy", "CPUs busy in the last second."),
];

/// As `recordings list --json`.
///
/// # Errors
/// If the recordings cannot be listed.
pub fn recordings(catalogue: &RecordingCatalogue) -> Result<Response, Refused> {
    let listing = catalogue.list()?;
    let row = |entry| ListedRecording::new(entry, Labels::of(&entry.directory).unwrap_or_default());
    json(&listing.recordings.iter().map(row).collect::<Vec<_>>())
}

/// As `report --format json`.
///
/// # Errors
/// If it cannot be written.
pub fn document(document: &Document) -> Result<Response, Refused> {
    let text = render(document, Format::Json).map_err(|error| Refused::failed(&error.to_string()))?;
    Ok(typed(text))
}

/// A value as JSON.
///
/// # Errors
/// If it cannot be written.
pub fn json(value: &impl Serialize) -> Result<Response, Refused> {
    serde_json::to_string(value).map(typed).map_err(|error| Refused::failed(&error.to_string()))
}

fn typed(json: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], json).into_response()
}

/// How many recordings there are, by their states, and what is running now.
pub fn metrics(states: &[State], running: &[Arc<ShownState>]) -> Response {
    let mut by_state: BTreeMap<&str, f64> = BTreeMap::new();
    for state in [State::Running, State::Done, State::Interrupted, State::Failed, State::Killed] {
        by_state.insert(state.word(), 0.0);
    }
    for state in states {
        *by_state.entry(state.word()).or_default() += 1.0;
    }
    let counted = by_state.into_iter().map(|(state, count)| LiveSample {
        family: "plimsoll_recordings",
        labels: vec![("state", state.to_owned())],
        value: count,
    });
    let all: Vec<LiveSample> = counted.chain(running.iter().flat_map(|shown| shown.samples.clone())).collect();
    ([(header::CONTENT_TYPE, OPEN_METRICS)], exposed(&all)).into_response()
}

/// The families in their order, each with its samples together, as the format wants it.
fn exposed(samples: &[LiveSample]) -> String {
    let mut text = String::new();
    for (family, help) in FAMILIES {
        let mut of_family = samples.iter().filter(|sample| sample.family == family).peekable();
        if of_family.peek().is_some() {
            // Writing into a String does not fail.
            let _ = writeln!(text, "# TYPE {family} gauge\n# HELP {family} {help}");
        }
        for sample in of_family {
            let labels: Vec<String> =
                sample.labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
            let _ = writeln!(text, "{family}{{{}}} {}", labels.join(","), sample.value);
        }
    }
    text + "# EOF\n"
}

/// The value of a label: names of recordings and variants come from files of anybody.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_stay_together_and_labels_are_escaped() {
        let sample = |family, of: &str, value| LiveSample { family, labels: vec![("recording", of.to_owned())], value };
        let text = exposed(&[
            sample("plimsoll_trials_begun", "a", 1.0),
            sample("plimsoll_transactions_per_second", "a", 12.5),
            sample("plimsoll_trials_begun", "evil\"\n\\", 2.0),
        ]);
        assert_eq!(
            text,
            "# TYPE plimsoll_trials_begun gauge\n\
             # HELP plimsoll_trials_begun Trials of a running recording that have begun.\n\
             plimsoll_trials_begun{recording=\"a\"} 1\n\
             plimsoll_trials_begun{recording=\"evil\\\"\\n\\\\\"} 2\n\
             # TYPE plimsoll_transactions_per_second gauge\n\
             # HELP plimsoll_transactions_per_second Transactions in the last second; of storage: operations.\n\
             plimsoll_transactions_per_second{recording=\"a\"} 12.5\n\
             # EOF\n"
        );
    }
}
