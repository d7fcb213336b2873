//! What the report of a recording is made from. A server may have sent anything: no field needs to be clean.

use plimsoll_model::crash::CrashOutcome;
use plimsoll_model::diagnosis::{Cost, Diagnosis, StorageUse};
use plimsoll_model::durability::Risks;
use plimsoll_model::io::IoSummary;
use plimsoll_model::lab::{LabSummary, PhaseSpan, Restored, TrialStatus, Verification};
use plimsoll_model::scaling::Scaling;
use plimsoll_model::series::Series;
use plimsoll_model::summary::{Point, Summary};
use plimsoll_model::{Caveat, Estimate, LoadPoint};
use serde::Serialize;
use std::collections::BTreeMap;

/// Everything that a report shows of one recording.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Names the experiment, for the page's head: a plan's title.
    pub title: String,
    pub subject: Subject,
    /// How far a recording that is still being written has come: `still running: trial 5 of 12`.
    pub state: Option<String>,
    /// Why it ended before its plan did: `the server has gone away`.
    pub ended_early: Option<String>,
    /// What was asked for: workload, its parameters, procedure. Two recordings measured the same if these are equal.
    pub asked: Vec<(String, String)>,
    /// In the order in which they ran.
    pub trials: Vec<Trial>,
    /// What the cost of a transaction shows about the gains that were found.
    pub corroboration: Vec<CostCorroboration>,
    /// What the load points of each variant of a lab show together.
    pub scaling: Vec<(String, Scaling)>,
    pub environment: Environment,
    /// When, on which machine, with how much data and how durable, for the first screen: a few words each.
    pub circumstances: Vec<String>,
    /// What the source printed.
    pub published: Vec<Published>,
    /// What the source did not print, and what the plan chose instead and why.
    pub chosen: Vec<(String, String)>,
    /// What should be there and is not, in a recording that was cut short: a sentence each.
    pub missing: Vec<String>,
    /// A command line.
    pub how_to_repeat: String,
    /// When and by what the report was made.
    pub generated: String,
}

impl Recorded {
    /// What is known if only the summary of a run was kept.
    pub fn of_run(title: &str, summary: Summary) -> Recorded {
        Recorded::of(title, Subject::Run(Box::new(summary)))
    }

    /// What is known if only the summary was kept.
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
            circumstances: Vec::new(),
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

/// One trial, as far as it got.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Place in the plan, from 1.
    pub index: u32,
    /// Label of the variant; in a ladder `fc/pool-6g/with`.
    pub variant: String,
    /// The variant of the plan that it belongs to: `fc`.
    pub base: String,
    /// `oltp_read_write`; `io` for storage.
    pub workload: String,
    /// Parameters of the workload, by name, defaults filled in.
    pub parameters: BTreeMap<String, String>,
    /// The CPUs that the server was given, if it was not given all.
    pub cpus: Option<usize>,
    pub load: LoadPoint,
    /// From 1.
    pub round: u32,
    pub status: TrialStatus,
    /// Why it was not completed.
    pub why: Option<String>,
    /// What its samples say against what it measured; the summary of the whole tells them with its own.
    pub caveats: Vec<Caveat>,
    pub point: Option<Point>,
    /// The evaluation of a storage trial.
    pub io: Option<Box<IoSummary>>,
    pub diagnosis: Option<Diagnosis>,
    pub cost: Cost,
    /// What the network lane below its data did.
    pub storage: Option<StorageUse>,
    pub phases: Vec<PhaseSpan>,
    pub restored: Option<Restored>,
    pub recovery_seconds: Option<f64>,
    /// What a fault did, in a crash trial.
    pub crash: Option<Box<CrashOutcome>>,
    pub verifications: Vec<Verification>,
    /// Settings as requested and in effect.
    pub settings: Vec<SettingRow>,
    /// The settings that decide what a commit survives, by name.
    pub durability: BTreeMap<String, DurableSetting>,
    /// What memory cost its server.
    pub memory: MemoryRates,
    /// Something of it was sampled second by second.
    pub has_seconds: bool,
    /// What was sampled, where a page draws it.
    pub series: Series,
    /// Where a page shows it; `None` without histograms.
    pub latency: Option<Latency>,
}

/// What the cost of a transaction shows about the difference of two sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CostCorroboration {
    /// What is compared, the first one first: two variants, or in a ladder the variant and a rung.
    pub a: String,
    pub b: String,
    /// The load point whose costs were compared.
    #[serde(flatten)]
    pub load: LoadPoint,
    pub corroborated: bool,
    pub sentence: String,
}

/// The value of a setting in effect, and what that costs in durability.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DurableSetting {
    pub value: String,
    pub risks: Risks,
}

/// One server setting as it was requested and as the running server reported it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingRow {
    pub name: String,
    pub requested: Option<String>,
    pub effective: Option<String>,
    pub origin: String,
    /// The requested value is not in effect, by the same judgement as in a verification.
    pub differs: bool,
}

/// What too little memory costs, as rates over the measured window of a trial; `None` for what was not sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemoryRates {
    /// The memory of the server's control group has a limit.
    pub is_limited: bool,
    /// The server's faults that had to wait for a device, per second.
    pub major_faults: Option<f64>,
    /// Of the whole host, MiB per second.
    pub swapped_in: Option<f64>,
    pub swapped_out: Option<f64>,
    /// Pages of the server's control group, its page cache included, per second.
    pub refaults: Option<f64>,
    /// How often the group met its limit, per second.
    pub limit_hits: Option<f64>,
}

/// How long the measured transactions took; response times if they had due times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latency {
    /// Share of transactions (0 to 1, rising) and the latency that so many did not exceed, milliseconds.
    pub percentiles: Vec<(f64, f64)>,
    /// Upper ends of the rows of `columns`, milliseconds, rising.
    pub bins_ms: Vec<f64>,
    /// By second of the measured window, how many transactions fell into each bin; in a long window, by
    /// [`Latency::width`] seconds.
    pub columns: Vec<Vec<u64>>,
    /// Seconds of a column, from 1.
    pub width: usize,
    /// Seconds of the measured window.
    pub seconds: usize,
}

/// Where it was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Environment {
    /// Names and values, in the order in which they are shown.
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
    /// A box for each path that data go to: one for each variant, if they differ, or for redo and data.
    pub storage: Vec<Vec<String>>,
    /// The load generator and the server are on one machine.
    pub same_machine: bool,
    /// The storage is the server's own, not another machine's.
    pub storage_is_local: bool,
}

/// What was measured over all its rounds: a variant at a load point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredAt {
    /// As [`Trial::variant`] has it.
    pub variant: String,
    pub workload: String,
    pub load: LoadPoint,
}

/// A statement of a source, and what was measured here to compare it with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Published {
    pub printed: plimsoll_model::published::Printed,
    /// Where the same was measured; `None` for a change, for an ordering, and if it was not measured.
    pub at: Option<MeasuredAt>,
    /// The same measured here, if it was.
    pub measured: Option<Estimate>,
    /// Whether an ordering or a range holds here; `None` if that was not measured or is not certain.
    pub holds: Option<bool>,
    /// Why it is not known.
    pub unknown: Option<String>,
}
