//! What a report of a recording is made from. Whoever fills it in may be handed anything by a server: no field needs to be
//! clean.

use plimsoll_model::diagnosis::{Cost, Diagnosis, StorageUse};
use plimsoll_model::durability::Risks;
use plimsoll_model::io::IoSummary;
use plimsoll_model::lab::{LabSummary, PhaseSpan, Proof, Restored, TrialStatus};
use plimsoll_model::samples::{CollectorSample, HostSample, Interval, ServerSample, StatusSample, StorageSample};
use plimsoll_model::scaling::Scaling;
use plimsoll_model::summary::{Point, Summary};
use plimsoll_model::{Caveat, Estimate};
use serde::Serialize;
use std::collections::BTreeMap;

/// Everything that a report shows of one recording.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Names the experiment, for the page's head: a plan's title.
    pub title: String,
    pub subject: Subject,
    /// How far it came, of one that is still being written: `still running: trial 5 of 12`.
    pub state: Option<String>,
    /// Why it ended before its plan did: `the server has gone away`.
    pub ended_early: Option<String>,
    /// What was asked for, and what it was: workload, its parameters, procedure. Two recordings are alike in what they
    /// measured if these are.
    pub asked: Vec<(String, String)>,
    /// In the order in which they ran.
    pub trials: Vec<Trial>,
    /// What the costs of a transaction say to the gains that were found.
    pub corroboration: Vec<Corroboration>,
    /// What the load points of a lab's variants tell together, by variant.
    pub scaling: Vec<(String, Scaling)>,
    pub environment: Environment,
    /// What the source printed.
    pub published: Vec<Published>,
    /// What it did not print: what, and what the plan chose and why.
    pub chosen: Vec<(String, String)>,
    /// What is not there and should be, of a recording that was cut short: a sentence each.
    pub missing: Vec<String>,
    /// A command line.
    pub how_to_repeat: String,
    /// When and by what the report was made.
    pub generated: String,
}

impl Recorded {
    /// What is known where nothing but the summary of a run was kept.
    pub fn of_run(title: &str, summary: Summary) -> Recorded {
        Recorded::of(title, Subject::Run(Box::new(summary)))
    }

    /// What is known where nothing but the summary was kept.
    pub fn of(title: &str, subject: Subject) -> Recorded {
        Recorded {
            title: title.to_owned(),
            subject,
            state: None,
            ended_early: None,
            asked: Vec::new(),
            trials: Vec::new(),
            corroboration: Vec::new(),
            scaling: Vec::new(),
            environment: Environment::default(),
            published: Vec::new(),
            chosen: Vec::new(),
            missing: Vec::new(),
            how_to_repeat: String::new(),
            generated: String::new(),
        }
    }
}

/// What was recorded.
#[derive(Clone, Debug)]
pub enum Subject {
    Run(Box<Summary>),
    Lab(Box<LabSummary>),
    Storage(Box<IoSummary>),
}

/// One trial, as far as it came.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Place in the plan, from 1.
    pub index: u32,
    /// Label of the variant; of a ladder `fc/pool-6g/with`.
    pub variant: String,
    /// The variant of the plan that it belongs to: `fc`.
    pub base: String,
    /// `oltp_read_write`; `io` of storage.
    pub workload: String,
    /// Those of the workload, by name, defaults filled in.
    pub parameters: BTreeMap<String, String>,
    /// CPUs that the server was given, where it was not given all.
    pub cpus: Option<usize>,
    pub connections: usize,
    pub rate_offered: Option<f64>,
    /// From 1.
    pub round: u32,
    pub status: TrialStatus,
    /// Why it is not done.
    pub why: Option<String>,
    pub caveats: Vec<Caveat>,
    pub point: Option<Point>,
    /// Of a storage trial.
    pub io: Option<Box<IoSummary>>,
    pub diagnosis: Option<Diagnosis>,
    pub cost: Cost,
    /// What a network lane below its data did.
    pub storage: Option<StorageUse>,
    pub phases: Vec<PhaseSpan>,
    pub restored: Option<Restored>,
    pub recovery_seconds: Option<f64>,
    pub proofs: Vec<Proof>,
    /// Settings as requested and in effect.
    pub settings: Vec<SettingRow>,
    /// The settings that decide what a commit survives, by name.
    pub durability: BTreeMap<String, Durable>,
    /// `t_ns` counts from the trial's start in all of them.
    pub series: Series,
    /// None without histograms.
    pub latency: Option<Latency>,
}

/// What the costs of a transaction say to what two sides differ by.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Corroboration {
    /// What is compared, the first one first: variants; of a ladder the variant and a rung.
    pub a: String,
    pub b: String,
    /// Of the load point whose costs were looked at.
    pub connections: usize,
    pub rate_offered: Option<f64>,
    pub corroborated: bool,
    pub sentence: String,
}

/// The value of a setting in effect, and what that costs in durability.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durable {
    pub value: String,
    pub risks: Risks,
}

/// One server setting as it was asked for and as the running server reported it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingRow {
    pub name: String,
    pub requested: Option<String>,
    pub effective: Option<String>,
    pub origin: String,
    /// What was asked for is not in effect, by the judgement that proofs are made with.
    pub differs: bool,
}

/// What was sampled second by second.
#[derive(Clone, Debug, Default)]
pub struct Series {
    pub intervals: Vec<Interval>,
    pub host: Vec<HostSample>,
    pub server: Vec<ServerSample>,
    pub status: Vec<StatusSample>,
    /// Of network lanes only.
    pub storage: Vec<StorageSample>,
    pub collectors: Vec<CollectorSample>,
}

/// How long the measured transactions took; response times where they were due.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latency {
    /// Share of transactions (0 to 1, rising) and the latency that so many did not exceed, milliseconds.
    pub percentiles: Vec<(f64, f64)>,
    /// Upper ends of the rows of `columns`, milliseconds, rising.
    pub bins_ms: Vec<f64>,
    /// By second of the measured window, how many transactions fell into each bin; of a long window, by so many seconds
    /// as [`Latency::width`] says.
    pub columns: Vec<Vec<u64>>,
    /// Seconds of a column, from 1.
    pub width: usize,
    /// Seconds of the measured window.
    pub seconds: usize,
}

/// Where it was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Environment {
    /// What, and what it is, in the order it is to be shown.
    pub facts: Vec<(String, String)>,
    /// What the tool could not see and the plan described.
    pub described: Vec<(String, String)>,
    /// By variant: its name and what sets it apart.
    pub variants: Vec<(String, Vec<(String, String)>)>,
    pub diagram: Diagram,
}

/// Where load came from and where data went: the boxes of the diagram, from left to right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagram {
    /// The load generator: lines of text, the first its name.
    pub client: Vec<String>,
    /// How the two are connected: `Unix socket`, `TCP`.
    pub connection: String,
    pub server: Vec<String>,
    /// A box for each path that data go to: by variant, where they differ, or for redo and data.
    pub storage: Vec<Vec<String>>,
    /// The load generator and the server are on one machine.
    pub same_machine: bool,
    /// The storage is the server's own, not another machine's.
    pub storage_is_local: bool,
}

/// Of what something was measured, over all its rounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredAt {
    /// As [`Trial::variant`] has it.
    pub variant: String,
    pub workload: String,
    pub connections: usize,
    pub rate_offered: Option<f64>,
}

/// A statement of a source, and what was measured of it here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Published {
    pub printed: plimsoll_model::published::Published,
    /// Where the same was measured; none of a change, of an ordering, and where it was not.
    pub at: Option<MeasuredAt>,
    /// The same measured here, if it was.
    pub measured: Option<Estimate>,
    /// Of an ordering or a range: whether it holds here; none where that was not measured or is not sure.
    pub holds: Option<bool>,
    /// Why it is not known.
    pub unknown: Option<String>,
}
