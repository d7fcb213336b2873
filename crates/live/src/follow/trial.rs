//! One trial that is being followed, and its result.

use super::series::LiveSeries;
use super::tail::FileTail;
use jiff::Timestamp;
use plimsoll_model::lab::{TrialOutcome, TrialStatus};
use plimsoll_model::samples::{AgentSample, HostSample, Interval, Phase, ServerSample};
use plimsoll_record::TrialFacts;
use plimsoll_record::lines::read_json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a trial measured.
#[derive(Clone, Debug)]
pub struct MeasuredTrial {
    pub variant: String,
    pub point: String,
    /// Transactions (of storage: operations) per second of the measured window; none before its first second.
    pub throughput: Option<f64>,
    /// Milliseconds; only for a completed trial of a lab.
    pub p99_ms: Option<f64>,
    /// Why it did not complete, if it did not.
    pub failed: Option<String>,
}

/// More are not shown: a file may say anything.
const MOST_AGENTS: usize = 4096;

/// The trial under way.
#[derive(Debug)]
pub struct FollowedTrial {
    directory: PathBuf,
    pub facts: TrialFacts,
    /// Seconds after the recording's start.
    began: f64,
    intervals: FileTail,
    host: FileTail,
    server: FileTail,
    agents_file: FileTail,
    /// What each agent of a fleet told last.
    pub agents: BTreeMap<String, AgentSample>,
    transactions: u64,
    seconds: f64,
    /// The phase of the last second, and since when, seconds after the recording's start.
    pub phase: Option<(Phase, f64)>,
    /// For a completed trial of a lab.
    outcome: Option<TrialOutcome>,
    /// Its seconds are not read: it ended before anybody looked, and its outcome says everything.
    skipped: bool,
}

impl FollowedTrial {
    /// The trial in a directory of a recording that started at `started`; none before it has its first file. For a
    /// trial that is not the newest, its outcome is enough, if it has one.
    pub fn open(directory: &Path, started: Timestamp, newest: bool) -> Option<FollowedTrial> {
        let facts: TrialFacts = read_json(&directory.join("trial.json")).ok()?;
        let outcome: Option<TrialOutcome> = read_json(&directory.join("outcome.json")).ok();
        let tail = |name: &str| FileTail::new(directory.join(name));
        Some(FollowedTrial {
            directory: directory.to_owned(),
            began: facts.started.duration_since(started).as_secs_f64(),
            facts,
            intervals: tail("intervals.ndjson"),
            host: tail("host.ndjson"),
            server: tail("server.ndjson"),
            agents_file: tail("agents.ndjson"),
            agents: BTreeMap::new(),
            transactions: 0,
            seconds: 0.0,
            phase: None,
            skipped: outcome.is_some() && !newest,
            outcome,
        })
    }

    /// Seconds after the recording's start.
    pub fn began(&self) -> f64 {
        self.began
    }

    /// Reads what was written since the previous look.
    pub fn look(&mut self, series: &mut LiveSeries) {
        if self.skipped {
            return;
        }
        for interval in self.intervals.look::<Interval>() {
            if interval.phase == Phase::Measure {
                self.transactions = self.transactions.saturating_add(interval.transactions);
                self.seconds += interval.seconds;
            }
            if self.phase.is_none_or(|(phase, _)| phase != interval.phase) {
                self.phase = Some((interval.phase, self.began + interval.t_ns as f64 / 1e9));
            }
            series.interval(self.began, &interval);
        }
        for sample in self.host.look::<HostSample>() {
            series.host(self.began, &sample);
        }
        for sample in self.server.look::<ServerSample>() {
            series.server(self.began, &sample);
        }
        for sample in self.agents_file.look::<AgentSample>() {
            self.agent(sample);
        }
        if self.outcome.is_none() {
            self.outcome = read_json(&self.directory.join("outcome.json")).ok();
        }
    }

    /// One that is lost keeps what was known of it.
    fn agent(&mut self, sample: AgentSample) {
        if self.agents.len() == MOST_AGENTS && !self.agents.contains_key(&sample.agent) {
            return;
        }
        let known = self.agents.entry(sample.agent.clone()).or_default();
        *known = match sample.lost {
            Some(_) => AgentSample { transactions: 0, lost: sample.lost, ..std::mem::take(known) },
            None => sample,
        };
    }

    /// What it measured up to now; for a completed trial of a lab, what its outcome says.
    pub fn measured(&self) -> MeasuredTrial {
        let facts = &self.facts;
        let measured = MeasuredTrial {
            variant: facts.variant.clone(),
            point: facts.point.clone(),
            throughput: (self.seconds > 0.0).then(|| self.transactions as f64 / self.seconds),
            p99_ms: None,
            failed: None,
        };
        match &self.outcome {
            Some(outcome) => measured.ended(outcome),
            None => measured,
        }
    }
}

impl MeasuredTrial {
    fn ended(self, outcome: &TrialOutcome) -> MeasuredTrial {
        let point = outcome.point.as_ref();
        let latency = point.map(|point| point.response_ms.as_ref().unwrap_or(&point.latency_ms));
        let why = || outcome.why.clone().unwrap_or_else(|| "it did not complete".to_owned());
        MeasuredTrial {
            throughput: point.and_then(|point| point.transactions_per_second).or(self.throughput),
            p99_ms: latency.and_then(|latency| latency.p99),
            failed: (outcome.status != TrialStatus::Done).then(why),
            ..self
        }
    }
}
