//! What a lab leaves: of each trial an outcome, of the whole a summary.

use crate::caveat::Caveat;
use crate::comparison::{Design, Difference, Row, unlike_in_words};
use crate::crash::{CrashCell, CrashOutcome};
use crate::durability::{Class, Risks};
use crate::estimate::Estimate;
use crate::explained::Explained;
use crate::load_point::LoadPoint;
use crate::metric::Metric;
use crate::samples::Phase;
use crate::stopping::{Stopping, restarted_label};
use crate::summary::Point;
use crate::tune::TuneSummary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const SCHEMA_VERSION: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialStatus {
    Done,
    Failed,
    Interrupted,
}

/// `outcome.json`, the last file that a trial writes: without it a trial did not come to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialOutcome {
    pub schema_version: u32,
    pub status: TrialStatus,
    /// Why it is not done.
    pub why: Option<String>,
    /// What was measured; also of a trial that failed after it.
    pub point: Option<Point>,
    /// Of a trial that measures storage the answer of its evaluation, one sentence; `io.json` has the figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<String>,
    pub phases: Vec<PhaseSpan>,
    /// How fast the CPUs were before the server was started and after it was stopped, the mean: steps of fixed work per second
    /// of CPU time. Measured where it may explain how trials differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_speed: Option<f64>,
    /// How long a commit of fixed work took where the data are, likewise, microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_us: Option<f64>,
    pub restored: Option<Restored>,
    /// How a warm-up that decides itself decided.
    pub warm_up: Option<String>,
    pub recovery: Option<Recovery>,
    /// Of a crash trial: what its fault did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<CrashOutcome>,
    /// Every requested setting.
    pub verifications: Vec<Verification>,
    /// The classes above [`Class::I`] of what is in effect.
    pub risks: Risks,
    pub caveats: Vec<Caveat>,
}

impl TrialOutcome {
    /// Of which nothing but its status is known yet.
    pub fn new(status: TrialStatus) -> TrialOutcome {
        TrialOutcome {
            schema_version: SCHEMA_VERSION,
            status,
            why: None,
            point: None,
            storage: None,
            phases: Vec::new(),
            cpu_speed: None,
            commit_us: None,
            restored: None,
            warm_up: None,
            recovery: None,
            crash: None,
            verifications: Vec::new(),
            risks: Risks::new(),
            caveats: Vec::new(),
        }
    }

    /// From the beginning of its first phase to the end of its last, seconds.
    pub fn seconds(&self) -> f64 {
        let begun = self.phases.iter().map(|span| span.t_ns).min().unwrap_or(0);
        self.phases.iter().map(|span| (span.t_ns - begun) as f64 / 1e9 + span.seconds).fold(0.0, f64::max)
    }
}

/// When a phase began, since the trial's start, and how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseSpan {
    pub phase: Phase,
    pub t_ns: u64,
    pub seconds: f64,
}

/// The data that a trial started from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Restored {
    /// Id of the dataset; none for data that were loaded anew or left as they were.
    pub dataset: Option<String>,
    /// `reflink`, `btrfs-snapshot`, `image-clone`, `copy`, `commands`, `reload`, `none`.
    pub method: String,
    pub seconds: f64,
    /// Size of the data, bytes.
    pub bytes: u64,
    /// Checksums of the tables before the measurement, where they were asked for.
    pub checksums: BTreeMap<String, String>,
}

/// A crash under load and the way back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// From the start of the killed server to its first answer to a query.
    pub seconds: f64,
    /// Redo between the last checkpoint and the end of the log when it was killed, where the server tells.
    pub redo_bytes: Option<u64>,
    /// Invariants of the data that do not hold after it.
    pub broken: Vec<String>,
}

/// What became of a requested setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerificationVerdict {
    /// Read back as requested, and what it does, where that shows, agrees.
    InEffect,
    /// The server has another value, or does not behave accordingly.
    NotApplied,
    /// This version has no such setting any more.
    Removed,
}

/// How far a requested setting was verified to be in effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    pub name: String,
    pub requested: String,
    /// `plan.toml, line 7`, `netapp.cnf, line 3`, `plimsoll`.
    pub origin: String,
    /// Global value of the running server, in a connection of its own.
    pub effective: Option<String>,
    /// What a connection of the load's own has.
    pub load: Option<String>,
    pub verdict: VerificationVerdict,
    pub class: Class,
    /// Lines of the error log that speak of it.
    pub log: Vec<String>,
    /// What it does, where that shows: `1.02 syncs per commit, at least 1 expected`.
    pub behaviour: Option<String>,
    /// What there is to say: the name it has today, the version that removed it.
    pub remark: Option<String>,
}

/// `lab.json`: what a plan found, and what `lab --json` prints. Added fields do not raise [`SCHEMA_VERSION`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabSummary {
    pub schema_version: u32,
    pub name: String,
    pub title: Option<String>,
    pub source: Option<String>,
    pub preset: Option<String>,
    pub recording: Option<String>,
    /// The answer in one sentence.
    pub headline: String,
    pub trials: TrialCounts,
    /// How data were put back between trials, by method.
    #[serde(default)]
    pub restores: Vec<Restores>,
    /// By variant and load point, in the order of the plan; without variants whose trials look for a load line.
    pub cells: Vec<Cell>,
    /// Each variant against the first.
    pub comparisons: Vec<VariantComparison>,
    /// One for each variant, where the plan has rungs.
    pub ladders: Vec<Ladder>,
    /// One for each variant and number of connections, where the plan asks for it.
    pub load_lines: Vec<LoadLine>,
    /// By variant and fault, in the order of the plan, where it asks for faults.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crashes: Vec<CrashCell>,
    /// Where the plan searches for better settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tune: Option<TuneSummary>,
    pub caveats: Vec<Caveat>,
    /// Trials of the plan are left that were not run to their end.
    pub interrupted: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialCounts {
    pub done: usize,
    pub failed: usize,
    /// Those done that something else on the machine disturbed; a search says itself which of its own were.
    #[serde(default)]
    pub disturbed: usize,
}

/// What one way of putting data back took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Restores {
    /// As of [`Restored::method`].
    pub method: String,
    pub trials: usize,
    /// Median.
    pub seconds: f64,
    /// Of the largest data; 0 where that is not known.
    pub bytes: u64,
}

/// What one variant does at one load point, over its rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    pub variant: String,
    #[serde(flatten)]
    pub load: LoadPoint,
    pub rounds: usize,
    pub failed: usize,
    /// Geometric mean over the rounds with its interval; none if no round was done.
    pub transactions_per_second: Option<Estimate>,
    pub nopm: Option<Estimate>,
    pub p99_ms: Option<Estimate>,
    pub server_cpu_us_per_transaction: Option<Estimate>,
    pub recovery_seconds: Option<Estimate>,
    /// Classes above [`Class::I`] that some of its trials ran with.
    pub risks: Risks,
}

/// One variant against the first one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VariantComparison {
    pub a: String,
    pub b: String,
    pub design: Design,
    /// A change of up to this share counts as no difference: what the plan says (`decide`), else the floor, but at least 1 %
    /// and at most 10 %.
    pub equivalence: f64,
    /// Over all load points together, then by metric and load point.
    pub rows: Vec<Row>,
    /// What two rounds of the first one differ by, by chance; none with too few rounds.
    pub floor: Option<Estimate>,
    /// In words, if the two are not equally safe: then they are not ranked without it.
    pub unlike: Option<String>,
    /// Parameters of the workload that are not the same: the two did not do the same work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlike_work: Vec<Difference>,
    /// Where rounds ended when the first row was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopping: Option<Stopping>,
    /// What the change of the first row was corrected by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explained: Option<Explained>,
}

impl VariantComparison {
    /// `, of other work (table_size 100000 and 250000)`; empty if both did the same.
    pub fn other_work(&self) -> String {
        match self.unlike_work.as_slice() {
            [] => String::new(),
            all => format!(", of other work ({})", unlike_in_words(all)),
        }
    }
}

/// A staircase: rungs one after the other, each on top of those that were kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ladder {
    pub variant: String,
    /// What decides; a guard metric can only keep a rung from being kept.
    pub metric: Metric,
    /// Share by which two equal trials differ here by chance in 19 of 20 cases: pairs of the base against itself.
    pub floor: Option<Estimate>,
    pub steps: Vec<LadderStep>,
    /// All kept rungs together against the base, as a share.
    pub gain: Option<Estimate>,
}

impl Ladder {
    /// What the trials that count of one side of a rung, `with` or `without`, are called.
    pub fn label(&self, step: &LadderStep, side: &str) -> String {
        let label = format!("{}/{}/{side}", self.variant, step.rung);
        let flips = step.stopping.as_ref().and_then(|of| of.switchback.as_ref());
        if flips.is_some_and(|of| of.restarted) { restarted_label(&label) } else { label }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LadderStep {
    pub rung: String,
    pub verdict: RungVerdict,
    /// The sentence that goes with the verdict.
    pub why: String,
    /// With the rung ÷ without − 1, as a share, at its place.
    pub change: Option<Estimate>,
    /// The ladder's metric with the rung: geometric mean over its rounds and load points.
    pub with: Option<f64>,
    pub without: Option<f64>,
    /// Classes that the rung's values add.
    pub risks: Risks,
    /// What leaving it out at the end costs, as a share; of kept rungs.
    pub worth: Option<Estimate>,
    /// Where its pairs ended when it was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopping: Option<Stopping>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RungVerdict {
    Kept,
    NoEffect,
    /// It makes throughput or a guard metric worse.
    Worse,
    /// The noise of this machine hides whatever effect it has.
    NotMeasurableHere,
    NotApplied,
    RemovedOnThisServer,
    RefusedForSafety,
}

impl RungVerdict {
    pub const ALL: [RungVerdict; 7] = [
        RungVerdict::Kept,
        RungVerdict::NoEffect,
        RungVerdict::Worse,
        RungVerdict::NotMeasurableHere,
        RungVerdict::NotApplied,
        RungVerdict::RemovedOnThisServer,
        RungVerdict::RefusedForSafety,
    ];

    pub fn words(self) -> &'static str {
        match self {
            RungVerdict::Kept => "kept",
            RungVerdict::NoEffect => "no effect",
            RungVerdict::Worse => "worse",
            RungVerdict::NotMeasurableHere => "not measurable here",
            RungVerdict::NotApplied => "not applied",
            RungVerdict::RemovedOnThisServer => "removed on this server",
            RungVerdict::RefusedForSafety => "refused for safety",
        }
    }
}

/// The highest rate that keeps an objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadLine {
    pub variant: String,
    pub connections: usize,
    /// `p99 < 20ms`.
    pub objective: String,
    /// What the objective's percentile may be, milliseconds; none in recordings that do not have it.
    #[serde(default)]
    pub limit_ms: Option<f64>,
    /// Arrivals per second; none if no rate was found that keeps it and was confirmed.
    pub rate: Option<Estimate>,
    /// Why there is no rate, and what would tell.
    pub why_not: Option<String>,
    /// Trials on a busy machine count as well.
    #[serde(default)]
    pub noisy_host: bool,
    /// Every rate that was tried, in order.
    pub tried: Vec<Tried>,
}

/// One trial of a search for the load line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Arrivals per second.
    pub rate: f64,
    pub kept: bool,
    /// Run again to confirm the line.
    pub confirmation: bool,
    /// The objective's percentile over all arrivals, milliseconds; none where too few of them were answered to have it.
    #[serde(default)]
    pub measured_ms: Option<f64>,
    /// The machine was busy with other work, as [`Point::is_disturbed`] says.
    #[serde(default)]
    pub disturbed: bool,
}
