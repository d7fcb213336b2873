//! How long transactions took.

use super::{busiest, label};
use crate::document::{Block, Section};
use crate::figure::latency;
use crate::subject::{Latency, Recorded, Trial};

/// Of the load points of a run.
pub fn section(recorded: &Recorded) -> Option<Section> {
    let measured: Vec<&Trial> = recorded.trials.iter().filter(|trial| trial.latency.is_some()).collect();
    let lines: Vec<(String, &Latency)> =
        measured.iter().filter_map(|trial| Some((label(trial, recorded), trial.latency.as_ref()?))).collect();
    let most = busiest(measured);
    of(&lines, most.and_then(|trial| Some((label(trial, recorded), trial.latency.as_ref()?))))
}

/// A line for each, and second by second the one that carried most.
pub fn of(lines: &[(String, &Latency)], heat: Option<(String, &Latency)>) -> Option<Section> {
    let caption = "The longest that the given percentage of all transactions took.";
    let percentiles = latency::percentiles("percentiles", lines, caption);
    let heat = heat.and_then(|(label, latency)| {
        let caption = format!(
            "How many transactions took how long in each second, at {label}: the stronger the colour, the more."
        );
        latency::heat_map("heat-map", latency, &caption)
    });
    let blocks = percentiles.into_iter().chain(heat).map(Block::Figure).collect();
    Section::of("latency", "Latency", blocks)
}
