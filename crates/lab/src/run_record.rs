//! The recording of a run while it is written, and what its load points come to.

use crate::error::LabError;
use crate::load_point;
use jiff::Timestamp;
use plimsoll_host::Home;
use plimsoll_host::facts::{HostFacts, host_facts};
use plimsoll_measures::caveats::PointCaveat;
use plimsoll_measures::{caveats, rounds, scaling};
use plimsoll_model::summary::{Point, SCHEMA_VERSION, ServerTotals, Summary, TargetFacts, Totals};
use plimsoll_model::{Caveat, LoadPoint, NamedScalars};
use plimsoll_plan::{Plan, RunPlan};
use plimsoll_record::surroundings::Surroundings;
use plimsoll_record::{
    EarlyEnd, Happening, LoadParameters, Manifest, Parameters, RecordedSetting, Recording, Status, TrialFacts,
    TrialWriter,
};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

/// The name of a run in its recording.
#[derive(Clone, Debug)]
pub struct Naming<'a> {
    pub recording: &'a str,
    /// The command that it is a run of: [`Plan::Run`], [`Plan::Quickstart`] or [`Plan::Sysbench`].
    pub kind: fn(RunPlan) -> Plan,
    pub tool_version: &'a str,
}

/// A run that came to an end of any kind.
pub struct FinishedRun {
    pub summary: Summary,
    pub recording: PathBuf,
    pub settings: BTreeMap<String, RecordedSetting>,
    pub host: HostFacts,
    /// Why it ended early, if it did.
    pub ended: Option<EarlyEnd>,
}

/// A load point in one round.
#[derive(Clone)]
pub struct MeasuredRound {
    pub point: Point,
    pub caveats: Vec<PointCaveat>,
}

/// What is known of a run before its first load point.
pub struct RunFacts {
    pub params: NamedScalars,
    pub target: TargetFacts,
    /// What the server has set, and what was requested of it.
    pub settings: BTreeMap<String, RecordedSetting>,
    pub caveats: Vec<Caveat>,
}

/// A run that is being recorded.
pub struct RunRecord {
    recording: Recording,
    begun: Instant,
    /// How many trials have begun.
    pub trials: u32,
    /// Without the load points, which may still be measured again.
    pub summary: Summary,
    /// The rounds so far of each load point.
    pub measured: Vec<Vec<MeasuredRound>>,
    pub ended: Option<EarlyEnd>,
    settings: BTreeMap<String, RecordedSetting>,
}

impl RunRecord {
    /// Makes the recording.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(home: &Home, plan: &RunPlan, naming: &Naming, facts: RunFacts) -> Result<RunRecord, LabError> {
        let asked = (naming.kind)(plan.clone());
        let host = host_facts(home.path());
        let manifest = Manifest::new(naming.recording, naming.tool_version, Timestamp::now(), asked, host);
        let RunFacts { params, target, settings, caveats } = facts;
        Ok(RunRecord {
            recording: Recording::create(&home.recordings(), manifest)?,
            begun: Instant::now(),
            trials: 0,
            summary: Summary {
                schema_version: SCHEMA_VERSION,
                workload: plan.workload.clone(),
                params,
                target,
                seed: plan.seed,
                points: Vec::new(),
                scaling: None,
                totals: Totals::default(),
                server: ServerTotals::default(),
                caveats,
                checks: None,
                recording: None,
                interrupted: false,
            },
            measured: vec![Vec::new(); plan.points.len()],
            ended: None,
            settings,
        })
    }

    fn event(&mut self, what: Happening) -> Result<(), LabError> {
        let t_ns = self.begun.elapsed().as_nanos() as u64;
        Ok(self.recording.event(t_ns, what)?)
    }

    /// Begins the trial of a load point of `plan`, with the server's settings in it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn trial(&mut self, plan: &RunPlan, point: LoadPoint, round: u32) -> Result<TrialWriter, LabError> {
        self.event(Happening::Point { point: point.label() })?;
        self.trials += 1;
        let facts = TrialFacts {
            index: self.trials,
            variant: "run".to_owned(),
            point: point.label(),
            round,
            started: Timestamp::now(),
            parameters: Parameters::Load(Box::new(LoadParameters {
                workload: plan.workload.clone(),
                params: self.summary.params.clone(),
                point,
                seed: plan.seed,
                trial: None,
                surroundings: Surroundings::default(),
            })),
        };
        let writer = self.recording.trial(&facts)?;
        writer.settings(&self.settings)?;
        Ok(writer)
    }

    /// Counts what was sent, and decides what is kept of a load point.
    pub fn add(&mut self, outcome: load_point::Outcome) -> MeasuredRound {
        let load_point::Outcome { mut point, sent, counted: _, caveats, answer: _, ended } = outcome;
        point.trial = Some(self.trials);
        self.summary.totals.statements += sent;
        if let Some(counted) = point.server.as_ref().and_then(|server| server.statements) {
            *self.summary.server.statements.get_or_insert_default() += counted;
        }
        self.ended = ended;
        let caveats = caveats::of_point(&point).into_iter().chain(caveats).collect();
        MeasuredRound { point, caveats }
    }

    /// Closes the recording of a run of which nothing was measured.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn fails(&mut self, error: &LabError) -> Result<(), LabError> {
        self.recording.fails(&error.to_string());
        Ok(self.recording.finish(Status::Failed, Timestamp::now())?)
    }

    /// Closes the recording. If something can no longer be written, the summary still is returned.
    pub fn finish(mut self) -> FinishedRun {
        let directory = self.recording.directory().to_owned();
        let mut found = Vec::new();
        for rounds in std::mem::take(&mut self.measured) {
            let (points, of_rounds) = rounds.into_iter().map(|round| (round.point, round.caveats)).unzip();
            self.summary.points.extend(rounds::pooled(points));
            found.extend(caveats::of_rounds(of_rounds));
        }
        self.summary.recording = Some(directory.display().to_string());
        self.summary.interrupted = self.ended.is_some();
        self.summary.scaling = scaling::of(&self.summary.points);
        self.summary.caveats.extend(caveats::together(found));
        if let Err(error) = self.close() {
            self.summary.interrupted = true;
            self.ended.get_or_insert(EarlyEnd::Failed(error.to_string()));
        }
        FinishedRun {
            summary: self.summary,
            recording: directory,
            settings: self.settings,
            host: self.recording.manifest().host.clone(),
            ended: self.ended,
        }
    }

    fn close(&mut self) -> Result<(), LabError> {
        if let Some(EarlyEnd::Failed(why)) = self.ended.clone() {
            self.recording.fails(&why);
            self.event(Happening::Failed { id: None, why })?;
        }
        self.event(Happening::Caveats(self.summary.caveats.clone()))?;
        self.recording.summary(&self.summary)?;
        Ok(self.recording.finish(EarlyEnd::status(self.ended.as_ref()), Timestamp::now())?)
    }
}
