//! Files that a recording should have and has not.

use plimsoll_record::read::{self, RecordingView};
use std::path::Path;

/// What every trial leaves, as soon as it begins.
const OF_A_TRIAL: [&str; 5] = ["intervals.ndjson", "host.ndjson", "server.ndjson", "latency.hlog", "variables.json"];

/// A sentence for each trial that lacks files of its own, or for all that lack the same, and for what lies beside them.
pub fn files(view: &RecordingView) -> Vec<String> {
    if view.being_written {
        return Vec::new();
    }
    let mut missing: Vec<String> = Vec::new();
    missing.extend(absent(&view.directory, &["events.ndjson"]));
    let of_server = view.trials.iter().any(|trial| trial.directory.join("variables.json").exists());
    // Storage has no variables.
    let expected = if of_server { &OF_A_TRIAL[..] } else { &OF_A_TRIAL[..4] };
    missing.extend(of_trials(view, expected));
    let begun = read::trial_directories(&view.directory).unwrap_or_default();
    let unknown = begun.iter().filter(|directory| !view.trials.iter().any(|trial| trial.directory == **directory));
    missing.extend(unknown.filter_map(|directory| absent(directory, &["trial.json"])));
    missing
}

/// Trials that lack the same files together, in the order in which these came first.
fn of_trials(view: &RecordingView, expected: &[&str]) -> Vec<String> {
    let mut alike: Vec<(Vec<String>, Vec<&Path>)> = Vec::new();
    for directory in view.trials.iter().map(|trial| trial.directory.as_path()) {
        let absent: Vec<String> =
            expected.iter().filter(|name| !directory.join(name).exists()).map(|name| (*name).to_owned()).collect();
        match alike.iter_mut().find(|(known, _)| *known == absent) {
            Some((_, directories)) => directories.push(directory),
            None => alike.push((absent, vec![directory])),
        }
    }
    let told = |(absent, directories): &(Vec<String>, Vec<&Path>)| match directories.as_slice() {
        _ if absent.is_empty() => None,
        [only] => Some(format!("{} has no {}", name(only), absent.join(", "))),
        all => Some(format!("{} of {} trials have no {}", all.len(), view.trials.len(), absent.join(", "))),
    };
    alike.iter().filter_map(told).collect()
}

/// `0003-fc-c64-r1 has no host.ndjson, server.ndjson`.
fn absent(directory: &Path, names: &[&str]) -> Option<String> {
    let absent: Vec<&str> = names.iter().copied().filter(|name| !directory.join(name).exists()).collect();
    (!absent.is_empty()).then(|| format!("{} has no {}", name(directory), absent.join(", ")))
}

fn name(directory: &Path) -> String {
    directory.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
