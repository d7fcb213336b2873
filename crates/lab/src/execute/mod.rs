//! Executes a plan: what is to be checked before anything starts, then trial after trial, recorded as they come.

pub mod dry_run;
pub mod resume;

use crate::error::LabError;
use crate::journal::Journal;
use crate::options::Options;
use crate::preflight::{Machine, leave};
use crate::procedure::Bench;
use crate::quiet;
use dry_run::Estimate;
use jiff::Timestamp;
use plimsoll_host::Home;
use plimsoll_host::facts::host_facts;
use plimsoll_measures::lab::summary;
use plimsoll_model::Caveat;
use plimsoll_model::lab::{LabSummary, TrialStatus};
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{PlannedTrial, TrialPlan};
use plimsoll_record::EarlyEnd;
use plimsoll_record::{Manifest, Recording};
use plimsoll_schedule::{EndedTrial, Prospect, Prospects, Schedule};
use plimsoll_server::PlanLock;
use plimsoll_watch::{Event, LabEvent, Watcher};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A plan that came to an end, whichever.
#[derive(Debug)]
pub struct Finished {
    pub summary: LabSummary,
    pub recording: PathBuf,
    pub ended: Option<EarlyEnd>,
    /// The trials that failed, and the first line of why.
    pub failed: Vec<(TrialPlan, String)>,
    /// The trials whose data were damaged after a crash, and what does not hold any more.
    pub broken: Vec<(TrialPlan, String)>,
    /// There are trials left, which a resumed lab would do.
    pub goes_on: bool,
}

/// Executes `plan`, which for a recording that is gone on with is the one of [`resume::plan_of`].
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
    // Without leave nothing of the plan's is run to look at it; then it turns out that there is nothing to run.
    let mut machine = match options.allow_commands {
        true => Machine::new(home),
        false => Machine::dry(home, &options.given),
    };
    let prospects = machine.check(plan)?;
    leave::check(plan, options)?;
    options.login.check(plan)?;
    let estimate = dry_run::estimate(plan, &prospects)?;
    let _lock = PlanLock::take(home, &plan.name, &options.holder)?;
    if quiet::is_needed(plan) {
        quiet::wait(options.wait_quiet, watcher)?;
    }
    let mut lab = Lab::open(&mut machine, home, plan, options, (prospects, estimate))?;
    for note in machine.notes(plan)? {
        watcher.tell(Event::Lab(LabEvent::Note { text: &note }));
    }
    let mut bench = Bench::new(home, plan, options, machine);
    watcher.tell(Event::Lab(lab.planned()));
    let ended = lab.all(&mut bench, watcher);
    let tidied = bench.finish();
    Ok(lab.finish(ended.and(tidied)))
}

/// A plan under way.
struct Lab<'a> {
    plan: &'a LabPlan,
    prospects: Prospects,
    schedule: Box<dyn Schedule>,
    estimate: Estimate,
    /// The trials that are known before any has ended.
    ahead: Vec<PlannedTrial>,
    journal: Journal,
    ended: Vec<EndedTrial>,
    caveats: Vec<Caveat>,
}

impl<'a> Lab<'a> {
    /// Makes a recording, or opens the one to go on with.
    fn open(
        machine: &mut Machine<'_>,
        home: &Home,
        plan: &'a LabPlan,
        options: &Options,
        (prospects, estimate): (Prospects, Estimate),
    ) -> Result<Lab<'a>, LabError> {
        let mut schedule = plimsoll_schedule::of(plan, &prospects);
        let (ahead, _) = dry_run::trials(plan, &prospects);
        let host = serde_json::to_value(host_facts(home.path())).unwrap_or_default();
        let (journal, ended, caveats) = match &options.resume {
            Some(directory) => {
                let resumed = resume::resume(directory, options, &host, (machine, plan), schedule.as_mut())?;
                (resumed.journal, resumed.ended, resumed.caveats)
            }
            None => (begun(recording(home, plan, options, host)?, &prospects)?, Vec::new(), Vec::new()),
        };
        Ok(Lab { plan, prospects, schedule, estimate, ahead, journal, ended, caveats })
    }

    /// What lies ahead: of what the whole plan takes, what was not done before.
    fn planned(&self) -> LabEvent<'a> {
        let trials = self.schedule.about().saturating_sub(self.ended.len());
        LabEvent::Planned { plan: self.plan, trials, seconds: self.each() * trials as f64, bytes: self.estimate.bytes }
    }

    /// About how long a trial takes, seconds, before any is done.
    fn each(&self) -> f64 {
        self.estimate.seconds / self.estimate.trials.max(1) as f64
    }

    /// Does all trials that are left.
    ///
    /// # Errors
    /// What ends the whole lab: an interrupt, a recording that cannot be written.
    fn all(&mut self, bench: &mut Bench<'_>, watcher: &mut dyn Watcher) -> Result<(), LabError> {
        let (begun, done_before) = (Instant::now(), self.ended.len());
        // For whoever follows the recording: what comes next.
        let complete = self.ahead.len() >= self.schedule.about();
        self.journal.event("planned", json!({ "trials": self.ahead, "complete": complete }))?;
        self.tell_so_far(watcher);
        while let Some(trial) = self.schedule.next() {
            let before = self.ended.last().and_then(|ended| ended.outcome.point.as_ref());
            if quiet::is_needed(self.plan) && before.is_some_and(quiet::was_missing) {
                quiet::wait(bench.options.wait_quiet, watcher)?;
            }
            let (place, of) = (self.ended.len() + 1, self.schedule.about().max(self.ended.len() + 1));
            let done = self.ended.len() - done_before;
            let left = match u32::try_from(done) {
                Ok(done) if done > 0 => begun.elapsed() / done,
                _ => Duration::try_from_secs_f64(self.each()).unwrap_or_default(),
            };
            let left = left.saturating_mul(u32::try_from(of + 1 - place).unwrap_or(u32::MAX));
            let next = self.ahead.get(trial.index as usize);
            watcher.tell(Event::Lab(LabEvent::TrialBegins { place, of, trial: &trial, left, next }));
            let detail = json!({
                "trial": trial.index, "variant": trial.label,
                "place": place, "of": of, "left_seconds": left.as_secs_f64(),
            });
            self.journal.event("trial_begins", detail)?;
            let outcome = bench.trial(&trial, &mut self.journal, watcher)?;
            watcher.tell(Event::Lab(LabEvent::TrialEnds { trial: &trial, outcome: &outcome }));
            let detail = json!({ "trial": trial.index, "status": outcome.status, "why": outcome.why });
            self.journal.event("trial_ends", detail)?;
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

    fn tell_so_far(&self, watcher: &mut dyn Watcher) {
        if !self.ended.is_empty() {
            let summary = &summary(self.plan, &self.prospects, &self.ended);
            watcher.tell(Event::Lab(LabEvent::SoFar { summary }));
        }
    }

    /// Sums up and closes the recording. What cannot be written any more does not take the summary with it.
    fn finish(mut self, ended: Result<(), LabError>) -> Finished {
        let mut ended = ended.err().map(|error| EarlyEnd::from(&error));
        let directory = self.journal.recording.directory().to_owned();
        let mut summary = summary(self.plan, &self.prospects, &self.ended);
        // A ladder of which no rung can be tried here has none, and that is its answer.
        if ended.is_none() && summary.trials.done == 0 && summary.trials.failed > 0 {
            ended = Some(EarlyEnd::Failed("no trial came to its end".to_owned()));
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
            goes_on: self.schedule.next().is_some(),
        }
    }

    fn close(&mut self, summary: &LabSummary, ended: Option<&EarlyEnd>) -> Result<(), LabError> {
        if let Some(EarlyEnd::Failed(why)) = ended {
            self.journal.recording.fails(why);
            self.journal.event("failed", json!({ "why": why }))?;
        }
        self.journal.event("caveats", serde_json::to_value(&summary.caveats).unwrap_or_default())?;
        self.journal.recording.lab_summary(summary)?;
        Ok(self.journal.finish(EarlyEnd::status(ended))?)
    }
}

/// A trial that failed, and the first line of why.
fn failure(ended: &EndedTrial) -> Option<(TrialPlan, String)> {
    let EndedTrial { trial, outcome } = ended;
    let why = outcome.why.as_ref().and_then(|why| why.lines().next()).unwrap_or_default();
    (outcome.status == TrialStatus::Failed).then(|| (trial.clone(), why.to_owned()))
}

/// A trial whose data were damaged after a crash, and what does not hold any more.
fn damage(ended: &EndedTrial) -> Option<(TrialPlan, String)> {
    let broken = &ended.outcome.recovery.as_ref()?.broken;
    (!broken.is_empty()).then(|| (ended.trial.clone(), broken.join("; ")))
}

/// The journal of a new recording, which says of each rung that will not be tried why.
fn begun(recording: Recording, prospects: &Prospects) -> Result<Journal, LabError> {
    let mut journal = Journal::begin(recording);
    for ((variant, rung), prospect) in prospects {
        let (removed, why) = match prospect {
            Prospect::Possible => continue,
            Prospect::Removed(why) => (true, why),
            Prospect::Unsafe(why) => (false, why),
        };
        let detail = json!({ "variant": variant, "rung": rung, "removed": removed, "why": why });
        journal.event("rung_left_out", detail)?;
    }
    Ok(journal)
}

fn recording(home: &Home, plan: &LabPlan, options: &Options, host: Value) -> Result<Recording, LabError> {
    let resolved = serde_json::to_value(plan).unwrap_or_default();
    let manifest = Manifest::new(&plan.name, &options.tool_version, Timestamp::now(), plan.seed, resolved, host);
    Ok(Recording::create(&home.recordings(), manifest)?)
}
