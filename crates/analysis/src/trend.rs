//! The recordings of a name over time, from their summaries alone.

use crate::{AnalysisError, find};
use plimsoll_measures::trend::{TrendPoint, of_lab, of_run, trend as of_points};
use plimsoll_model::trend::{Trend, TrendRecording};
use plimsoll_plan::Plan;
use plimsoll_record::labels::Labels;
use plimsoll_record::read::{Entry, FoundRecording, Listing, State, lab_summary, summary};

/// What the finished recordings of a name show, oldest first. Those that did not come to their end are left out.
///
/// # Errors
/// [`AnalysisError::Refused`] if no recordings are called so, [`AnalysisError::Record`] if a summary cannot be read.
pub fn trend(listing: &Listing, name: &str) -> Result<Trend, AnalysisError> {
    let entries = match listing.find(name) {
        FoundRecording::Name(entries) => entries,
        // One of them stands for all.
        FoundRecording::Directory(entry) => {
            listing.recordings.iter().filter(|of| of.manifest.name == entry.manifest.name).collect()
        }
        FoundRecording::Several(entries) => return Err(find::several(name, &entries)),
        FoundRecording::Nothing => return Err(find::nothing(listing, name)),
    };
    let (mut points, mut left_out) = (Vec::new(), Vec::new());
    for entry in &entries {
        match point(entry)? {
            Ok(point) => points.push(point),
            Err(why) => left_out.push(format!("{}: {why}", entry.id())),
        }
    }
    let name = entries.first().map_or(name, |entry| entry.manifest.name.as_str());
    Ok(of_points(name, points, left_out))
}

/// What a recording measured, or why it is left out.
fn point(entry: &Entry) -> Result<Result<TrendPoint, String>, AnalysisError> {
    if entry.state() != State::Done {
        return Ok(Err(format!("it is {}", entry.state().word())));
    }
    let measured = match &entry.manifest.plan {
        Plan::Run(_) | Plan::Quickstart(_) | Plan::Sysbench(_) => summary(&entry.directory)?.as_ref().map(of_run),
        Plan::Lab(_) => lab_summary(&entry.directory)?.as_ref().map(of_lab),
        Plan::Storage(_) => return Ok(Err("it is a storage evaluation".to_owned())),
    };
    let Some(measured) = measured else { return Ok(Err("it has no summary".to_owned())) };
    let Labels { tags, note, .. } = Labels::of(&entry.directory)?;
    let started = entry.manifest.started.strftime("%Y-%m-%d %H:%M").to_string();
    Ok(Ok(TrendPoint { recording: TrendRecording { id: entry.id(), started, tags, note }, measured }))
}
