//! Files that a recording should have and has not.

use plimsoll_record::read::{self, RecordingView};
use std::path::Path;

/// What every trial leaves, as soon as it begins.
const OF_A_TRIAL: [&str; 5] = ["intervals.ndjson", "host.ndjson", "server.ndjson", "latency.hlog", "variables.json"];

/// A sentence for each trial that lacks files of its own, and for what lies beside the trials.
pub fn files(view: &RecordingView) -> Vec<String> {
    if view.being_written {
        return Vec::new();
    }
    let mut missing: Vec<String> = Vec::new();
    missing.extend(absent(&view.directory, &["events.ndjson"]));
    let of_server = view.trials.iter().any(|trial| trial.directory.join("variables.json").exists());
    // Storage has no variables.
    let expected = if of_server { &OF_A_TRIAL[..] } else { &OF_A_TRIAL[..4] };
    missing.extend(view.trials.iter().filter_map(|trial| absent(&trial.directory, expected)));
    let begun = read::trial_directories(&view.directory).unwrap_or_default();
    let unknown = begun.iter().filter(|directory| !view.trials.iter().any(|trial| trial.directory == **directory));
    missing.extend(unknown.filter_map(|directory| absent(directory, &["trial.json"])));
    missing
}

/// `0003-fc-c64-r1 has no host.ndjson, server.ndjson`.
fn absent(directory: &Path, names: &[&str]) -> Option<String> {
    let absent: Vec<&str> = names.iter().copied().filter(|name| !directory.join(name).exists()).collect();
    let of = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    (!absent.is_empty()).then(|| format!("{of} has no {}", absent.join(", ")))
}
