//! Runs a storage evaluation: its steps one after the other, in one recording; then the sheet.

use crate::asked::{IoPlan, What};
use crate::measure::{Evaluator, MeasurementOutcome};
use crate::plan::Planned;
use crate::telemetry::{Look, Telemetry};
use crate::{EvaluateError, findings, plan, published, seconds, surroundings};
use jiff::Timestamp;
use plimsoll_host::Home;
use plimsoll_host::facts::{host_facts, memory_bytes};
use plimsoll_lanes::Lane;
use plimsoll_measures::caveats;
use plimsoll_model::Caveat;
use plimsoll_model::io::{DeviceFacts, IoSummary, Probe, SCHEMA_VERSION};
use plimsoll_plan::Plan;
use plimsoll_record::EarlyEnd;
use plimsoll_record::{Happening, Manifest, Parameters, ProbeParameters, Recording, TrialFacts, TrialWriter};
use plimsoll_storage::device::Device;
use plimsoll_storage::probe::ProbeStep;
use plimsoll_storage::suite::Suite;
use plimsoll_storage::{EvaluationDirectory, files, sheet};
use plimsoll_watch::{Event, IoEvent, Watcher};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the device is watched before anything begins.
const IDLE: Duration = Duration::from_secs(1);

/// An evaluation that completed, or got as far as it could.
pub struct FinishedEvaluation {
    pub summary: IoSummary,
    pub recording: PathBuf,
    pub ended: Option<EarlyEnd>,
}

/// Measures what an evaluation predicts, with servers, which this crate does not know.
pub trait Validator {
    /// Checks, before anything is measured, that servers can be started in the place.
    ///
    /// # Errors
    /// [`EvaluateError::Environment`] says why not.
    fn can_work_in(&self, place: &EvaluationDirectory) -> Result<(), EvaluateError>;

    /// Adds the results to the summary, as far as it got.
    ///
    /// # Errors
    /// Why it got no further.
    fn validate(
        &mut self,
        place: &EvaluationDirectory,
        summary: &mut IoSummary,
        watcher: &mut dyn Watcher,
    ) -> Result<(), EarlyEnd>;
}

/// Measures nothing.
pub struct Unvalidated;

impl Validator for Unvalidated {
    fn can_work_in(&self, _: &EvaluationDirectory) -> Result<(), EvaluateError> {
        Ok(())
    }

    fn validate(&mut self, _: &EvaluationDirectory, _: &mut IoSummary, _: &mut dyn Watcher) -> Result<(), EarlyEnd> {
        Ok(())
    }
}

/// Runs an evaluation and records it.
///
/// # Errors
/// Only if nothing was measured; everything else returns a [`FinishedEvaluation`] that says why it ended.
pub fn evaluate(
    home: &Home,
    plan: &IoPlan,
    tool_version: &str,
    validator: &mut dyn Validator,
    watcher: &mut dyn Watcher,
) -> Result<FinishedEvaluation, EvaluateError> {
    evaluate_into(&home.recordings(), home, plan, tool_version, validator, watcher)
}

/// The same, with the recording below another directory: a trial of a lab has it in the trial's own.
pub fn evaluate_into(
    recordings: &Path,
    home: &Home,
    plan: &IoPlan,
    tool_version: &str,
    validator: &mut dyn Validator,
    watcher: &mut dyn Watcher,
) -> Result<FinishedEvaluation, EvaluateError> {
    let lane = plimsoll_lanes::below(home.path(), &plan.directory)?;
    if let Some(why) = lane.as_ref().and_then(|lane| plimsoll_lanes::spec::not_for_timing(&lane.name)) {
        return Err(EvaluateError::Refused(format!("{}: {why}", plan.directory.display())));
    }
    let mut place = EvaluationDirectory::create(home.path(), &plan.directory)?;
    validator.can_work_in(&place)?;
    // The limits of a lane apply only to its members.
    plimsoll_lanes::join(home.path(), &plan.directory)?;
    let (device, mut facts) = surroundings::look_at(&place);
    let planned = plan::planned(plan, &facts)?;
    if plan.keep {
        place.keep();
    }
    let times = plan::times(&planned.steps);
    watcher.tell(Event::Io(IoEvent::Planned {
        steps: planned.steps.len(),
        time: times.iter().sum(),
        bytes: plan::most_bytes(&planned.steps, plan.keep),
    }));
    let idle = idle(device.as_ref(), lane.as_ref());
    facts.flushes_per_second_idle = surroundings::flushes_per_second(&idle);
    let mut told: Vec<Caveat> =
        lane.iter().filter(|lane| lane.is_on_a_network()).map(|lane| caveats::of_network_lane(&lane.name)).collect();
    told.extend(surroundings::caveats(&facts, Some(&idle)));
    let mut evaluation = Evaluation {
        recording: recording(recordings, plan, &planned, tool_version)?,
        begun: Instant::now(),
        summary: summary(plan, told, facts),
        evaluator: Evaluator { place: &place, device: device.as_ref(), lane: lane.as_ref(), seed: plan.seed },
        ended: None,
    };
    evaluation.all(plan, &planned, &times, watcher);
    if evaluation.ended.is_none()
        && let Err(ended) = validator.validate(&place, &mut evaluation.summary, watcher)
    {
        evaluation.ended = Some(ended);
    }
    Ok(evaluation.finish(plan, &planned))
}

/// Refuses probes that the suite does not have, and impossible sizes.
pub fn is_possible(plan: &IoPlan) -> Result<(), EvaluateError> {
    plan::planned(plan, &DeviceFacts::default()).map(|_| ())
}

/// The approximate maximum size of an evaluation's files in bytes, and its time in seconds, if there is room.
///
/// # Errors
/// As [`is_possible`].
pub fn about(plan: &IoPlan) -> Result<(u64, f64), EvaluateError> {
    let memory = Some(memory_bytes()).filter(|bytes| *bytes > 0);
    let steps = plan::planned(plan, &DeviceFacts { memory_bytes: memory, ..DeviceFacts::default() })?.steps;
    let seconds = plan::times(&steps).iter().sum::<Duration>().as_secs_f64();
    Ok((plan::most_bytes(&steps, plan.keep), seconds))
}

/// What the device does while we are idle.
fn idle(device: Option<&Device>, lane: Option<&Lane>) -> Look {
    let mut telemetry = Telemetry::new(device, lane);
    std::thread::sleep(IDLE);
    telemetry.look(0)
}

fn recording(
    recordings: &Path,
    plan: &IoPlan,
    planned: &Planned,
    tool_version: &str,
) -> Result<Recording, EvaluateError> {
    let (asked, host) = (Plan::Storage(plan.resolved(&planned.steps)), host_facts(&plan.directory));
    let manifest = Manifest::new(&plan.name, tool_version, Timestamp::now(), asked, host);
    Ok(Recording::create(recordings, manifest)?)
}

fn summary(plan: &IoPlan, caveats: Vec<Caveat>, device: DeviceFacts) -> IoSummary {
    IoSummary {
        schema_version: SCHEMA_VERSION,
        directory: plan.directory.display().to_string(),
        suite: plan.suite_name().to_owned(),
        seed: plan.seed,
        device,
        probes: Vec::new(),
        sheet: Vec::new(),
        validation: Vec::new(),
        published: Vec::new(),
        caveats,
        recording: None,
        interrupted: false,
    }
}

/// An evaluation under way.
struct Evaluation<'a> {
    recording: Recording,
    begun: Instant,
    summary: IoSummary,
    evaluator: Evaluator<'a>,
    ended: Option<EarlyEnd>,
}

impl Evaluation<'_> {
    fn all(&mut self, plan: &IoPlan, planned: &Planned, times: &[Duration], watcher: &mut dyn Watcher) {
        let of = planned.steps.len();
        for (index, step) in planned.steps.iter().enumerate() {
            let left = times[index..].iter().sum();
            watcher.tell(Event::Io(IoEvent::StepBegins { place: index + 1, of, id: &step.id, left }));
            let probe = match self.step(index, step, watcher) {
                Ok(probe) => probe,
                Err(error) => {
                    self.ended = Some(EarlyEnd::Failed(error.to_string()));
                    return;
                }
            };
            watcher.tell(Event::Io(IoEvent::StepEnds { probe: &probe }));
            self.summary.probes.push(probe);
            if !plan.keep {
                self.remove_unneeded(step, &planned.steps[index + 1..]);
            }
            if self.ended.is_some() {
                return;
            }
            if let Err(error) = std::fs::metadata(self.evaluator.place.path()) {
                return self.gone(&planned.steps[index + 1..], &error);
            }
        }
    }

    fn step(&mut self, index: usize, step: &ProbeStep, watcher: &mut dyn Watcher) -> Result<Probe, EvaluateError> {
        self.event(Happening::Step { id: step.id.clone() })?;
        let mut writer = self.writer(index, step)?;
        let MeasurementOutcome { mut probe, rates, ended } = self.evaluator.measure(index, step, &mut writer, watcher);
        if probe.error.is_none() {
            probe.caveats.extend(findings::of_probe(step, &rates));
        }
        if let Some(why) = &probe.error {
            self.event(Happening::Failed { id: Some(step.id.clone()), why: why.clone() })?;
        }
        self.ended = ended;
        Ok(probe)
    }

    fn event(&mut self, what: Happening) -> Result<(), EvaluateError> {
        let t_ns = self.begun.elapsed().as_nanos() as u64;
        Ok(self.recording.event(t_ns, what)?)
    }

    fn writer(&self, index: usize, step: &ProbeStep) -> Result<TrialWriter, EvaluateError> {
        let (job, layout) = (&step.job, &step.job.layout);
        let parameters = Parameters::Probe(ProbeParameters {
            probe: step.probe,
            id: step.id.clone(),
            params: step.params.clone(),
            seed: self.evaluator.seed(index, false),
            engine: job.engine.name().to_owned(),
            depth: job.engine.depth(),
            rate: job.arrivals.rate(),
            files: layout.files,
            bytes_per_file: layout.bytes_per_file,
            allocation: layout.allocation.name().to_owned(),
            direct: job.open.direct,
        });
        let facts = TrialFacts {
            index: index as u32 + 1,
            variant: "io".to_owned(),
            point: step.id.clone(),
            round: 1,
            started: Timestamp::now(),
            parameters,
        };
        Ok(self.recording.trial(&facts)?)
    }

    /// Removes files that no later step uses. What cannot be removed now goes with the place.
    fn remove_unneeded(&self, step: &ProbeStep, later: &[ProbeStep]) {
        for job in step.jobs().filter(|job| !plan::is_needed(&job.layout, later)) {
            let _ = files::remove(self.evaluator.place, &job.layout);
        }
    }

    /// The place is gone: the remaining steps are not tried, and say so.
    fn gone(&mut self, rest: &[ProbeStep], error: &std::io::Error) {
        let why = format!("{} is gone: {error}", self.evaluator.place.path().display());
        let lost = |step| Probe { error: Some(why.clone()), ..seconds::unmeasured(step) };
        self.summary.probes.extend(rest.iter().map(lost));
        self.ended = Some(EarlyEnd::Failed(why.clone()));
    }

    /// Derives the sheet from the probes and closes the recording. The summary survives even if something can no longer
    /// be written.
    fn finish(mut self, plan: &IoPlan, planned: &Planned) -> FinishedEvaluation {
        let directory = self.recording.directory().to_owned();
        let summary = &mut self.summary;
        if let What::Suite { suite, .. } = plan.what {
            summary.sheet = sheet::sheet(&summary.device, &summary.probes);
            if suite == Suite::Percona2008 {
                match published::of_article(&summary.probes) {
                    Ok(published) => summary.published = published,
                    Err(error) => summary.caveats.push(Caveat::new("no_published_numbers", error.to_string())),
                }
            }
        }
        let device = summary.device.name.as_deref().unwrap_or("the device");
        let told = findings::of_all(planned, device, &summary.probes);
        summary.caveats.extend(told);
        summary.recording = Some(directory.display().to_string());
        summary.interrupted = self.ended.is_some();
        if let Err(error) = self.close() {
            self.summary.interrupted = true;
            self.ended.get_or_insert(EarlyEnd::Failed(error.to_string()));
        }
        FinishedEvaluation { summary: self.summary, recording: directory, ended: self.ended }
    }

    fn close(&mut self) -> Result<(), EvaluateError> {
        if let Some(EarlyEnd::Failed(why)) = self.ended.clone() {
            self.recording.fails(&why);
            self.event(Happening::Failed { id: None, why })?;
        }
        self.event(Happening::Caveats(self.summary.caveats.clone()))?;
        self.recording.io_summary(&self.summary)?;
        Ok(self.recording.finish(EarlyEnd::status(self.ended.as_ref()), Timestamp::now())?)
    }
}
