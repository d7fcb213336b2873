//! One trial of a recording while it is being written.

use crate::Result;
use crate::directory::{attach, make_private};
use crate::latency::LatencyLog;
use crate::lines::{LineFile, replace_file, replace_json};
use crate::manifest::{SCHEMA_VERSION, file_name};
use crate::series::{
    self, AGENTS_SCHEMA, COLLECTORS_SCHEMA, DEVICE_SCHEMA, HOST_SCHEMA, INTERVALS_SCHEMA, SERVER_SCHEMA, STATUS_SCHEMA,
    STORAGE_SCHEMA,
};
use crate::settings::{RecordedSetting, option_file_without_secrets, without_secrets};
use crate::surroundings::Surroundings;
use hdrhistogram::Histogram;
use jiff::Timestamp;
use plimsoll_model::io::IoSummary;
use plimsoll_model::lab::TrialOutcome;
use plimsoll_model::samples::{
    AgentSample, CollectorSample, DeviceSample, HostSample, Interval, ServerSample, StatusSample, StorageSample,
};
use plimsoll_model::{LoadPoint, NamedScalars};
use plimsoll_plan::lab::TrialPlan;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// `trial.json`: which trial of the plan this is, and when it began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialFacts {
    /// Place in the plan, from 1.
    pub index: u32,
    /// Both match `[a-z0-9][a-z0-9./+-]*`.
    pub variant: String,
    pub point: String,
    /// From 1.
    pub round: u32,
    /// Wall-clock time of `t_ns` 0 in every series of the trial.
    pub started: Timestamp,
    pub parameters: Parameters,
}

/// What decides a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Parameters {
    /// A trial of a run or of a lab.
    Load(Box<LoadParameters>),
    /// A measurement of a storage evaluation.
    Probe(ProbeParameters),
}

/// What decides a trial of a run or of a lab.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadParameters {
    /// `oltp_read_write`; `io` of a lab's storage trial.
    pub workload: String,
    /// Those of the workload, by name, defaults filled in.
    pub params: NamedScalars,
    pub point: LoadPoint,
    pub seed: u64,
    /// Of a lab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<TrialPlan>,
    #[serde(default)]
    pub surroundings: Surroundings,
}

/// What decides a measurement of a storage evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeParameters {
    /// The number of its probe.
    pub probe: u8,
    pub id: String,
    pub params: NamedScalars,
    pub seed: u64,
    pub engine: String,
    pub depth: u32,
    /// Operations offered per second; none in a closed loop.
    pub rate: Option<f64>,
    pub files: u32,
    pub bytes_per_file: u64,
    pub allocation: String,
    pub direct: bool,
}

impl TrialFacts {
    /// Of a run or of a lab.
    pub fn load(&self) -> Option<&LoadParameters> {
        match &self.parameters {
            Parameters::Load(load) => Some(load),
            Parameters::Probe(_) => None,
        }
    }
}

#[derive(Serialize)]
struct TrialFile<'a> {
    schema_version: u32,
    #[serde(flatten)]
    facts: &'a TrialFacts,
}

/// Writes the files of one trial; each call is one flushed line or one whole file.
#[derive(Debug)]
pub struct TrialWriter {
    directory: PathBuf,
    intervals: LineFile,
    host: LineFile,
    server: LineFile,
    /// Made with its first line: only storage trials have one.
    device: Option<LineFile>,
    /// The same: only servers that are ours are asked.
    status: Option<LineFile>,
    /// The same: only network lanes have two sides to look at.
    storage: Option<LineFile>,
    /// The same: only a load of several machines has agents.
    agents: Option<LineFile>,
    latency: LatencyLog,
}

/// `collectors.ndjson`, which is written beside the other series: collectors have their own times.
#[derive(Debug)]
pub struct CollectorLog {
    lines: LineFile,
}

impl CollectorLog {
    pub fn append(&mut self, sample: &CollectorSample) -> Result<()> {
        self.lines.append_json(sample)
    }
}

impl TrialWriter {
    pub(crate) fn create(trials: &Path, facts: &TrialFacts) -> Result<TrialWriter> {
        let (variant, point) = (file_name("variant", &facts.variant)?, file_name("load point", &facts.point)?);
        let directory = trials.join(format!("{:04}-{variant}-{point}-r{}", facts.index, facts.round));
        make_private(&directory)?;
        replace_json(&directory.join("trial.json"), &TrialFile { schema_version: SCHEMA_VERSION, facts })?;
        Ok(TrialWriter {
            intervals: LineFile::create_json(directory.join("intervals.ndjson"), INTERVALS_SCHEMA)?,
            host: LineFile::create_json(directory.join("host.ndjson"), HOST_SCHEMA)?,
            server: LineFile::create_json(directory.join("server.ndjson"), SERVER_SCHEMA)?,
            device: None,
            status: None,
            storage: None,
            agents: None,
            latency: LatencyLog::create(directory.join("latency.hlog"), facts.started)?,
            directory,
        })
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub fn interval(&mut self, interval: &Interval) -> Result<()> {
        self.intervals.append_json(interval)
    }

    pub fn host(&mut self, sample: &HostSample) -> Result<()> {
        self.host.append_json(sample)
    }

    pub fn server(&mut self, sample: &ServerSample) -> Result<()> {
        self.server.append_json(sample)
    }

    pub fn device(&mut self, sample: &DeviceSample) -> Result<()> {
        made(&mut self.device, &self.directory, "device.ndjson", DEVICE_SCHEMA)?.append_json(sample)
    }

    pub fn status(&mut self, sample: &StatusSample) -> Result<()> {
        made(&mut self.status, &self.directory, "status.ndjson", STATUS_SCHEMA)?.append_json(sample)
    }

    pub fn storage(&mut self, sample: &StorageSample) -> Result<()> {
        made(&mut self.storage, &self.directory, "storage.ndjson", STORAGE_SCHEMA)?.append_json(sample)
    }

    pub fn agent(&mut self, sample: &AgentSample) -> Result<()> {
        made(&mut self.agents, &self.directory, "agents.ndjson", AGENTS_SCHEMA)?.append_json(sample)
    }

    /// Makes `collectors.ndjson`, once.
    pub fn collectors(&self) -> Result<CollectorLog> {
        let lines = LineFile::create_json(self.directory.join("collectors.ndjson"), COLLECTORS_SCHEMA)?;
        Ok(CollectorLog { lines })
    }

    /// Appends what was recorded in one interval under one tag: `txn.<name>.<service|response>` or `stmt.<name>`.
    /// `values` are nanoseconds, `start_ns` counts from the trial's start.
    pub fn append_histogram(
        &mut self,
        tag: &str,
        start_ns: u64,
        length_ns: u64,
        values: &Histogram<u64>,
    ) -> Result<()> {
        self.latency.append(tag, start_ns, length_ns, values)
    }

    /// Writes `variables.json` by setting name; values of possible secrets are left out.
    pub fn settings(&self, settings: &BTreeMap<String, RecordedSetting>) -> Result<()> {
        replace_json(&self.directory.join("variables.json"), &without_secrets(settings))
    }

    /// Keeps the server's option file; values of possible secrets are left out.
    pub fn my_cnf(&self, text: &str) -> Result<()> {
        replace_file(&self.directory.join("my.cnf"), option_file_without_secrets(text).as_bytes())
    }

    /// Writes `outcome.json`, after everything else: a trial without it did not come to its end. What the series hold is on
    /// disk before, and `series.json` says how long each was, so that a power cut cannot leave an outcome with less than
    /// it was made from.
    pub fn outcome(&self, outcome: &TrialOutcome) -> Result<()> {
        replace_json(&self.directory.join("series.json"), &series::synced(&self.directory)?)?;
        replace_json(&self.directory.join("outcome.json"), outcome)
    }

    /// Writes `io.json`, which a storage trial of a lab has.
    pub fn io_summary(&self, summary: &IoSummary) -> Result<()> {
        replace_json(&self.directory.join("io.json"), summary)
    }

    /// Writes a file of text beside the others, and says where.
    pub fn attach(&self, name: &str, text: &str) -> Result<PathBuf> {
        attach(&self.directory, name, text)
    }

    /// Keeps the server's error log.
    pub fn error_log(&self, text: &str) -> Result<()> {
        replace_file(&self.directory.join("error.log"), text.as_bytes())
    }
}

/// The file, made now if it is not there yet.
fn made<'f>(file: &'f mut Option<LineFile>, directory: &Path, name: &str, schema: &str) -> Result<&'f mut LineFile> {
    match file {
        Some(file) => Ok(file),
        None => Ok(file.insert(LineFile::create_json(directory.join(name), schema)?)),
    }
}
