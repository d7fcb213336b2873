//! What recordings of one name show over time.

use crate::estimate::Estimate;
use crate::metric::Metric;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

pub const SCHEMA_VERSION: u32 = 1;

/// The recordings of a name, oldest first, and what each place of them shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    pub schema_version: u32,
    pub name: String,
    pub recordings: Vec<TrendRecording>,
    pub lines: Vec<TrendLine>,
    /// So many recordings can show a change at the least, with as many lines as there are.
    pub fewest: usize,
    /// Recordings of the name that are not among them, each with the reason.
    pub left_out: Vec<String>,
}

/// A recording as a place on the axis of time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrendRecording {
    /// The name of its directory.
    pub id: String,
    /// In UTC: `2026-11-20 02:00`.
    pub started: String,
    pub tags: BTreeSet<String>,
    pub note: Option<String>,
}

/// One metric in one place, recording by recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrendLine {
    /// The load point; of a lab the variant with it: `base at 16 connections`.
    pub at: String,
    pub metric: Metric,
    /// As many as there are recordings; `null` where one did not measure it.
    pub values: Vec<Option<Estimate>>,
    /// In the order of time.
    pub changes: Vec<LevelChange>,
}

/// The first recording of a new level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelChange {
    /// Its place among the recordings, from 0.
    pub recording: usize,
    /// Mean since the change before, in the unit of the metric.
    pub before: f64,
    /// Mean up to the next change.
    pub after: f64,
    /// Roughly the probability that chance alone makes such a change somewhere in the line.
    pub p_value: f64,
}

impl LevelChange {
    /// Its size: −0.1 is 10 % less than before.
    pub fn share(&self) -> f64 {
        self.after / self.before - 1.0
    }
}

impl TrendLine {
    /// Whether a change of it is for the worse.
    pub fn is_worse(&self, change: &LevelChange) -> bool {
        (change.after > change.before) != self.metric.more_is_better()
    }
}
