//! Executes a plan: what is to be checked before anything starts, then trial after trial, recorded as they come.

pub mod dry_run;
mod journal;
pub mod own_lanes;
pub mod preflight;
pub mod resume;

use crate::course::summary::summary;
use crate::course::{self, Course, Prospects};
use crate::error::LabError;
use crate::procedure::Bench;
use crate::trial::Ended;
use crate::watch::{Event, LabEvent, Watcher};
use dry_run::Estimate;
use jiff::Timestamp;
pub use journal::Journal;
use plimsoll_model::Caveat;
use plimsoll_model::lab::{LabSummary, TrialStatus};
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Procedure, WarmUp};
use plimsoll_plan::plan::Measure;
use plimsoll_record::{Manifest, Recording};
use plimsoll_server::Home;
use plimsoll_server::host::host_facts;
use preflight::Machine;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How a plan is executed.
#[derive(Clone, Debug)]
pub struct Options {
    /// Commands of the plan may be run.
    pub allow_commands: bool,
    /// A recording to go on with.
    pub resume: Option<PathBuf>,
    /// Who we are, for another Plimsoll that finds a server in use: the command line.
    pub holder: String,
    pub tool_version: String,
    /// Connections that load data.
    pub threads: usize,
}

/// A plan that came to an end, whichever.
#[derive(Debug)]
pub struct Finished {
    pub summary: LabSummary,
    pub recording: PathBuf,
    pub ended: Option<Ended>,
}

/// Executes `plan`, which for a recording that is gone on with is the one of [`resume::plan_of`].
///
/// # Errors
/// [`LabError::Refused`] or [`LabError::Plan`] before anything was started; [`LabError::Record`] if nothing can be
/// recorded. Everything else is a [`Finished`] that says why it ended.
pub fn execute(
    home: &Home,
    plan: &LabPlan,
    options: &Options,
    watcher: &mut dyn Watcher,
) -> Result<Finished, LabError> {
    let mut machine = Machine::new(home);
    let prospects = machine.check(plan, options)?;
    let Estimate { trials, seconds, bytes, .. } = dry_run::estimate(plan, &prospects)?;
    watcher.tell(Event::Lab(LabEvent::Planned { trials, seconds, bytes }));
    let mut lab = Lab::open(home, plan, options, prospects)?;
    let mut bench = Bench::new(home, plan, options, machine);
    watcher.tell(Event::Lab(lab.planned()?));
    let ended = lab.all(&mut bench, watcher);
    let tidied = bench.finish();
    Ok(lab.finish(ended.and(tidied)))
}

/// A plan under way.
struct Lab<'a> {
    plan: &'a LabPlan,
    prospects: Prospects,
    course: Box<dyn Course>,
    journal: Journal,
    ended: Vec<course::Ended>,
    caveats: Vec<Caveat>,
}

impl<'a> Lab<'a> {
    /// Makes a recording, or opens the one to go on with.
    fn open(home: &Home, plan: &'a LabPlan, options: &Options, prospects: Prospects) -> Result<Lab<'a>, LabError> {
        let mut course = course::of(plan, &prospects);
        let host = serde_json::to_value(host_facts(home.path())).unwrap_or_default();
        let (journal, ended, caveats) = match &options.resume {
            Some(directory) => {
                let resumed = resume::resume(directory, options, &host, course.as_mut())?;
                (resumed.journal, resumed.ended, resumed.caveats)
            }
            None => (Journal::begin(recording(home, plan, options, host)?), Vec::new(), Vec::new()),
        };
        Ok(Lab { plan, prospects, course, journal, ended, caveats })
    }

    /// What lies ahead: trials and their time, and the most that the data of a variant take.
    fn planned(&self) -> Result<LabEvent<'static>, LabError> {
        let trials = self.course.about().saturating_sub(self.ended.len());
        let seconds = about(&self.plan.procedure).as_secs_f64() * trials as f64;
        let bytes = self.plan.variants.iter().map(preflight::data_bytes).collect::<Result<Vec<u64>, LabError>>()?;
        Ok(LabEvent::Planned { trials, seconds, bytes: bytes.into_iter().max().unwrap_or(0) })
    }

    /// Does all trials that are left.
    ///
    /// # Errors
    /// What ends the whole lab: an interrupt, a recording that cannot be written.
    fn all(&mut self, bench: &mut Bench<'_>, watcher: &mut dyn Watcher) -> Result<(), LabError> {
        let (begun, done_before) = (Instant::now(), self.ended.len());
        while let Some(trial) = self.course.next() {
            let (place, of) = (self.ended.len() + 1, self.course.about().max(self.ended.len() + 1));
            let done = self.ended.len() - done_before;
            let left = match u32::try_from(done) {
                Ok(done) if done > 0 => begun.elapsed() / done,
                _ => about(&self.plan.procedure),
            };
            let left = left.saturating_mul(u32::try_from(of + 1 - place).unwrap_or(u32::MAX));
            watcher.tell(Event::Lab(LabEvent::TrialBegins { place, of, trial: &trial, left }));
            self.journal.event("trial_begins", json!({ "trial": trial.index, "variant": trial.label }))?;
            let outcome = bench.trial(&trial, &mut self.journal, watcher)?;
            watcher.tell(Event::Lab(LabEvent::TrialEnds { trial: &trial, outcome: &outcome }));
            let detail = json!({ "trial": trial.index, "status": outcome.status, "why": outcome.why });
            self.journal.event("trial_ends", detail)?;
            if outcome.status == TrialStatus::Interrupted {
                return Err(LabError::Interrupted);
            }
            let ended = course::Ended { trial, outcome };
            self.course.tell(ended.clone());
            self.ended.push(ended);
            if watcher.interrupted() {
                return Err(LabError::Interrupted);
            }
        }
        Ok(())
    }

    /// Sums up and closes the recording. What cannot be written any more does not take the summary with it.
    fn finish(mut self, ended: Result<(), LabError>) -> Finished {
        let mut ended = ended.err().map(|error| Ended::of(&error));
        let directory = self.journal.recording.directory().to_owned();
        let mut summary = summary(self.plan, &self.prospects, &self.ended);
        if ended.is_none() && summary.trials.done == 0 {
            let first = self.ended.iter().find_map(|ended| ended.outcome.why.clone()).unwrap_or_default();
            ended = Some(Ended::Failed(format!("no trial was done; the first failed: {first}")));
        }
        summary.recording = Some(directory.display().to_string());
        summary.caveats.append(&mut self.caveats);
        summary.interrupted = ended.is_some();
        if let Err(error) = self.close(&summary, ended.as_ref()) {
            summary.interrupted = true;
            ended.get_or_insert(Ended::Failed(error.to_string()));
        }
        Finished { summary, recording: directory, ended }
    }

    fn close(&mut self, summary: &LabSummary, ended: Option<&Ended>) -> Result<(), LabError> {
        if let Some(Ended::Failed(why)) = ended {
            self.journal.event("failed", json!({ "why": why }))?;
        }
        self.journal.event("caveats", serde_json::to_value(&summary.caveats).unwrap_or_default())?;
        self.journal.recording.lab_summary(summary)?;
        Ok(self.journal.finish(Ended::status(ended))?)
    }
}

fn recording(home: &Home, plan: &LabPlan, options: &Options, host: Value) -> Result<Recording, LabError> {
    let resolved = serde_json::to_value(plan).unwrap_or_default();
    let manifest = Manifest::new(&plan.name, &options.tool_version, Timestamp::now(), plan.seed, resolved, host);
    Ok(Recording::create(&home.recordings(), manifest)?)
}

/// About how long a trial takes, before any is done.
fn about(procedure: &Procedure) -> Duration {
    /// Restoring, starting, verifying and stopping a server.
    const AROUND: f64 = 10.0;
    /// A warm-up that decides itself, and fixed work.
    const UNKNOWN: f64 = 60.0;
    let warmup = match procedure.warmup {
        WarmUp::Seconds(seconds) => seconds,
        WarmUp::Auto => UNKNOWN,
    };
    let measure = match procedure.measure {
        Measure::Seconds(seconds) => seconds,
        Measure::Events(_) | Measure::EventsPerConnection(_) => UNKNOWN,
    };
    Duration::try_from_secs_f64(AROUND + warmup + measure + procedure.pause_seconds).unwrap_or_default()
}
