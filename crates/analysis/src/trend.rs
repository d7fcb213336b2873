//! The recordings of a name over time, from their summaries alone.

use crate::{AnalysisError, find};
use plimsoll_measures::trend::{TrendPoint, of_lab, of_run, trend as of_points};
use plimsoll_model::summary::Summary;
use plimsoll_model::trend::{Trend, TrendRecording};
use plimsoll_plan::lab::Variant;
use plimsoll_plan::{LabPlan, Plan};
use plimsoll_record::labels::Labels;
use plimsoll_record::read::{Entry, FoundRecording, Listing, State, lab_summary, summary};
use std::collections::BTreeMap;
use std::fmt::Display;

/// Workload and parameters in words, by variant; a run has one without a name.
type Work = BTreeMap<String, String>;

/// What the finished recordings of a name show, oldest first. Those that did not come to their end are left out, and
/// those that did other work than the latest.
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
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    for entry in &entries {
        match point(entry)? {
            Ok(point) => found.push(point),
            Err(why) => left_out.push(format!("{}: {why}", entry.id())),
        }
    }
    let latest = found.last().map(|(work, _)| work.clone()).unwrap_or_default();
    let mut points = Vec::new();
    for (work, point) in found {
        match other_work(&work, &latest) {
            None => points.push(point),
            Some(why) => left_out.push(format!("{}: {why}", point.recording.id)),
        }
    }
    let name = entries.first().map_or(name, |entry| entry.manifest.name.as_str());
    Ok(of_points(name, points, left_out))
}

/// What a recording did and measured, or why it is left out.
fn point(entry: &Entry) -> Result<Result<(Work, TrendPoint), String>, AnalysisError> {
    if entry.state() != State::Done {
        return Ok(Err(format!("it is {}", entry.state().word())));
    }
    let found = match &entry.manifest.plan {
        Plan::Run(_) | Plan::Quickstart(_) | Plan::Sysbench(_) => {
            summary(&entry.directory)?.map(|summary| (work_of_run(&summary), of_run(&summary)))
        }
        Plan::Lab(plan) => lab_summary(&entry.directory)?.map(|summary| (work_of_lab(plan), of_lab(&summary))),
        Plan::Storage(_) => return Ok(Err("it is a storage evaluation".to_owned())),
    };
    let Some((work, measured)) = found else { return Ok(Err("it has no summary".to_owned())) };
    let Labels { tags, note, .. } = Labels::of(&entry.directory)?;
    let started = entry.manifest.started.strftime("%Y-%m-%d %H:%M").to_string();
    Ok(Ok((work, TrendPoint { recording: TrendRecording { id: entry.id(), started, tags, note }, measured })))
}

fn work_of_run(summary: &Summary) -> Work {
    Work::from([(String::new(), in_words(&summary.workload, &summary.params))])
}

fn work_of_lab(plan: &LabPlan) -> Work {
    let of = |variant: &Variant| {
        let workload = &variant.workload;
        (variant.name.clone(), in_words(&workload.name(), &workload.params))
    };
    plan.variants.iter().map(of).collect()
}

/// `oltp_read_write with table_size=10000, tables=1`.
fn in_words(workload: &str, params: &BTreeMap<String, impl Display>) -> String {
    let params: Vec<String> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if params.is_empty() { workload.to_owned() } else { format!("{workload} with {}", params.join(", ")) }
}

/// How a recording differs from the latest in what it did. Variants that only one of the two has have lines of their
/// own.
fn other_work(work: &Work, latest: &Work) -> Option<String> {
    let (variant, did) = work.iter().find(|(variant, did)| latest.get(*variant).is_some_and(|now| now != *did))?;
    let of = if variant.is_empty() { String::new() } else { format!(" in {variant}") };
    Some(format!("it did other work than the latest{of}: {did}, not {}", latest.get(variant)?))
}
