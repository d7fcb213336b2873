//! Executes a plan: the checks before anything starts, then trial after trial, each recorded as it comes.

pub mod dry_run;
pub mod resume;

use crate::error::LabError;
use crate::fleet;
use crate::journal::Journal;
use crate::listening::Listening;
use crate::options::Options;
use crate::preflight::{Machine, permission};
use crate::quiet;
use crate::trial::TrialRunner;
use dry_run::PlanEstimate;
use jiff::Timestamp;
use plimsoll_host::Home;
use plimsoll_host::facts::{HostFacts, host_facts};
use plimsoll_measures::lab::summary;
use plimsoll_model::Caveat;
use plimsoll_model::lab::{LabSummary, TrialOutcome, TrialStatus};
use plimsoll_plan::lab::{PlannedTrial, TrialPlan};
use plimsoll_plan::{LabPlan, Plan};
use plimsoll_record::{EarlyEnd, Happening, Manifest, Recording, read};
use plimsoll_schedule::{EndedTrial, Prospect, Prospects, Schedule};
use plimsoll_server::PlanLock;
use plimsoll_watch::{Event, LabEvent, Watcher};
use resume::LeftLoad;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A plan that came to an end of any kind.
#[derive(Debug)]
pub struct Finished {
    pub summary: LabSummary,
    pub recording: PathBuf,
    pub ended: Option<EarlyEnd>,
    /// The trials that failed, and the first line of the reason.
    pub failed: Vec<(TrialPlan, String)>,
    /// The trials whose data were damaged after a crash, and what no longer holds.
    pub broken: Vec<(TrialPlan, String)>,
    /// Trials are left, which a resumed lab would do.
    pub goes_on: bool,
}

/// Executes `plan`, which is the one of [`resume::plan_of`] if a recording is resumed.
///
/// # Errors
/// [`LabError::Refused`] or [`LabError::Plan`] before anything was started; [`LabError::Server`] if another lab has the
/// plan; [`LabError::Record`] if nothing can be recorded. Everything else is a [`Finished`] that says why it ended.
pub fn execute(
    home: &Home,
    plan: &LabPlan,
    options: &Options,
    watcher: &mut dyn Watcher,
) -> Result<Finished, LabError> {
    // Without permission, nothing that the plan names is run for an inspection; then it shows that there is nothing to
    // run.
    let mut machine = match options.allow_commands {
        true => Machine::new(home),
        false => Machine::dry(home, &options.given),
    };
    let prospects = machine.check(plan)?;
    let plan = &machine.with_search_space(plan)?;
    permission::check(plan, options)?;
    options.login.check(plan)?;
    let estimate = dry_run::estimate(plan, &prospects)?;
    let listening = Listening::of(plan.fleet.as_ref(), home)?;
    let _lock = PlanLock::take(home, &plan.name, &options.holder)?;
    if quiet::is_needed(plan, options) {
        quiet::wait(options.wait_quiet, watcher)?;
    }
    let fleet = fleet::join(plan.fleet.as_ref())?;
    let mut lab = Lab::open(&mut machine, home, plan, options, prospects, estimate)?;
    for note in machine.notes(plan)? {
        watcher.tell(Event::Lab(LabEvent::Note { text: &note }));
    }
    let mut runner = TrialRunner::new(home, plan, options, machine, fleet.as_ref(), listening.as_ref());
    watcher.tell(Event::Lab(lab.planned()));
    let ended = lab.all(&mut runner, watcher);
    let tidied = runner.finish();
    Ok(lab.finish(ended.and(tidied)))
}

/// A plan under way.
struct Lab<'a> {
    plan: &'a LabPlan,
    prospects: Prospects,
    schedule: Box<dyn Schedule>,
    estimate: PlanEstimate,
    /// The trials that are known before any has ended.
    ahead: Vec<PlannedTrial>,
    journal: Journal,
    ended: Vec<EndedTrial>,
    caveats: Vec<Caveat>,
    /// What the agents of a fleet were at when the lab was killed.
    left: Option<LeftLoad>,
}

impl<'a> Lab<'a> {
    /// Makes a recording, or opens the one to resume.
    fn open(
        machine: &mut Machine<'_>,
        home: &Home,
        plan: &'a LabPlan,
        options: &Options,
        prospects: Prospects,
        estimate: PlanEstimate,
    ) -> Result<Lab<'a>, LabError> {
        let mut schedule = plimsoll_schedule::of(plan, &prospects);
        let (ahead, _) = dry_run::trials(plan, &prospects);
        let host = host_facts(home.path());
        let (journal, ended, caveats, left) = match &options.resume {
            Some(directory) => {
                let resumed = resume::resume(directory, options, &host, machine, plan, schedule.as_mut())?;
                (resumed.journal, resumed.ended, resumed.caveats, resumed.left)
            }
            None => (begun(recording(home, plan, options, host)?, &prospects)?, Vec::new(), Vec::new(), None),
        };
        Ok(Lab { plan, prospects, schedule, estimate, ahead, journal, ended, caveats, left })
    }

    /// What lies ahead: the part of the whole plan that was not done before.
    fn planned(&self) -> LabEvent<'a> {
        let trials = self.schedule.about().trials().saturating_sub(self.ended.len());
        LabEvent::Planned { plan: self.plan, trials, seconds: self.each() * trials as f64, bytes: self.estimate.bytes }
    }

    /// About how long a trial takes, seconds, before any is done.
    fn each(&self) -> f64 {
        self.estimate.seconds / self.estimate.trials.max(1) as f64
    }

    /// Does all trials that are left.
    ///
    /// # Errors
    /// Whatever ends the whole lab: an interrupt, or a recording that cannot be written.
    fn all(&mut self, runner: &mut TrialRunner<'_>, watcher: &mut dyn Watcher) -> Result<(), LabError> {
        let (begun, done_before) = (Instant::now(), self.ended.len());
        // For anyone who follows the recording: what comes next.
        let complete = self.ahead.len() >= self.schedule.about().trials();
        self.journal.event(Happening::Planned { trials: self.ahead.clone(), complete })?;
        self.tell_so_far(watcher);
        while let Some(trial) = self.schedule.next() {
            let before = self.ended.last().and_then(|ended| ended.outcome.point.as_ref());
            if quiet::is_needed(self.plan, runner.options) && before.is_some_and(quiet::was_missing) {
                quiet::wait(runner.options.wait_quiet, watcher)?;
            }
            let (place, of) = (self.ended.len() + 1, self.schedule.about().trials().max(self.ended.len() + 1));
            let done = self.ended.len() - done_before;
            let left = match u32::try_from(done) {
                Ok(done) if done > 0 => begun.elapsed() / done,
                _ => Duration::try_from_secs_f64(self.each()).unwrap_or_default(),
            };
            let left = left.saturating_mul(u32::try_from(of + 1 - place).unwrap_or(u32::MAX));
            let next = self.ahead.get(trial.index as usize);
            watcher.tell(Event::Lab(LabEvent::TrialBegins { place, of, trial: &trial, left, next }));
            self.journal.event(Happening::TrialBegins {
                trial: trial.index,
                variant: trial.label.clone(),
                place,
                of,
                left_seconds: left.as_secs_f64(),
            })?;
            let outcome = self.trial(&trial, runner, watcher)?;
            watcher.tell(Event::Lab(LabEvent::TrialEnds { trial: &trial, outcome: &outcome }));
            let (status, why) = (outcome.status, outcome.why.clone());
            self.journal.event(Happening::TrialEnds { trial: trial.index, status, why })?;
            if outcome.status == TrialStatus::Interrupted {
                return Err(LabError::Interrupted);
            }
            let ended = EndedTrial { trial, outcome };
            self.schedule.tell(ended.clone());
            self.ended.push(ended);
            self.tell_so_far(watcher);
            if watcher.interrupted() {
                return Err(LabError::Interrupted);
            }
        }
        Ok(())
    }

    /// Does a trial, or collects it.
    fn trial(
        &mut self,
        trial: &TrialPlan,
        runner: &mut TrialRunner<'_>,
        watcher: &mut dyn Watcher,
    ) -> Result<TrialOutcome, LabError> {
        let left = self.left.take().filter(|left| left.trial == trial.index && trial.variant.target.is_some());
        if let Some(LeftLoad { load, .. }) = left {
            let outcome = runner.trial(trial, Some(&load), &mut self.journal, watcher)?;
            if outcome.status != TrialStatus::Failed {
                return Ok(outcome);
            }
            let why = outcome.why.as_deref().and_then(|why| why.lines().next()).unwrap_or_default();
            let text = format!(
                "what the agents have kept of trial {} cannot be used, and it is done again: {why}",
                trial.index
            );
            watcher.tell(Event::Lab(LabEvent::Note { text: &text }));
            self.discard_last()?;
        }
        runner.trial(trial, None, &mut self.journal, watcher)
    }

    fn discard_last(&self) -> Result<(), LabError> {
        let recording = &self.journal.recording;
        let last = read::trial_directories(recording.directory())?.pop();
        last.map_or(Ok(()), |last| Ok(recording.discard(&last)?))
    }

    fn tell_so_far(&self, watcher: &mut dyn Watcher) {
        if !self.ended.is_empty() {
            let summary = &summary(self.plan, &self.prospects, &self.ended);
            watcher.tell(Event::Lab(LabEvent::SoFar { summary }));
        }
    }

    /// Sums up and closes the recording. If something can no longer be written, the summary still is returned.
    fn finish(mut self, ended: Result<(), LabError>) -> Finished {
        let mut ended = ended.err().map(|error| EarlyEnd::from(&error));
        let directory = self.journal.recording.directory().to_owned();
        let mut summary = summary(self.plan, &self.prospects, &self.ended);
        // A ladder whose rungs cannot be tried here has no trials, and that is its answer.
        if ended.is_none() && summary.trials.done == 0 && summary.trials.failed > 0 {
            ended = Some(EarlyEnd::Failed("no trial was completed".to_owned()));
        }
        summary.recording = Some(directory.display().to_string());
        summary.caveats.append(&mut self.caveats);
        if let Err(error) = self.close(&summary, ended.as_ref()) {
            ended.get_or_insert(EarlyEnd::Failed(error.to_string()));
        }
        Finished {
            summary,
            recording: directory,
            ended,
            failed: self.ended.iter().filter_map(failure).collect(),
            broken: self.ended.iter().filter_map(damage).collect(),
            goes_on: self.schedule.has_next(),
        }
    }

    fn close(&mut self, summary: &LabSummary, ended: Option<&EarlyEnd>) -> Result<(), LabError> {
        if let Some(EarlyEnd::Failed(why)) = ended {
            self.journal.recording.fails(why);
            self.journal.event(Happening::Failed { id: None, why: why.clone() })?;
        }
        self.journal.event(Happening::Caveats(summary.caveats.clone()))?;
        self.journal.recording.lab_summary(summary)?;
        Ok(self.journal.finish(EarlyEnd::status(ended))?)
    }
}

/// A trial that failed, and the first line of the reason.
fn failure(ended: &EndedTrial) -> Option<(TrialPlan, String)> {
    let EndedTrial { trial, outcome } = ended;
    let why = outcome.why.as_ref().and_then(|why| why.lines().next()).unwrap_or_default();
    (outcome.status == TrialStatus::Failed).then(|| (trial.clone(), why.to_owned()))
}

/// A trial whose data were damaged after a crash, and what no longer holds.
fn damage(ended: &EndedTrial) -> Option<(TrialPlan, String)> {
    let broken = &ended.outcome.recovery.as_ref()?.broken;
    (!broken.is_empty()).then(|| (ended.trial.clone(), broken.join("; ")))
}

/// The journal of a new recording, which says why rungs will not be tried.
fn begun(recording: Recording, prospects: &Prospects) -> Result<Journal, LabError> {
    let mut journal = Journal::begin(recording);
    for ((variant, rung), prospect) in prospects {
        let (removed, why) = match prospect {
            Prospect::Possible => continue,
            Prospect::Removed(why) => (true, why),
            Prospect::Unsafe(why) => (false, why),
        };
        let (variant, rung, why) = (variant.clone(), rung.clone(), why.clone());
        journal.event(Happening::RungLeftOut { variant, rung, removed, why })?;
    }
    Ok(journal)
}

fn recording(home: &Home, plan: &LabPlan, options: &Options, host: HostFacts) -> Result<Recording, LabError> {
    let asked = Plan::Lab(Box::new(plan.clone()));
    let manifest = Manifest::new(&plan.name, &options.tool_version, Timestamp::now(), asked, host);
    Ok(Recording::create(&home.recordings(), manifest)?)
}
