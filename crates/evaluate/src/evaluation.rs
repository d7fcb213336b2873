//! A storage evaluation: its steps one after the other, in one recording; then the sheet.

use crate::asked::{IoPlan, What};
use crate::measure::{Bench, Outcome};
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
use plimsoll_record::EarlyEnd;
use plimsoll_record::{Manifest, Recording, TrialFacts, TrialWriter};
use plimsoll_storage::device::Device;
use plimsoll_storage::probe::Step;
use plimsoll_storage::suite::Suite;
use plimsoll_storage::{Place, files, sheet};
use plimsoll_watch::{Event, IoEvent, Watcher};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the device is watched before anything begins.
const IDLE: Duration = Duration::from_secs(1);

/// An evaluation that came to its end, or to the point where it could not go on.
pub struct Finished {
    pub summary: IoSummary,
    pub recording: PathBuf,
    pub ended: Option<EarlyEnd>,
}

/// Measures beside what an evaluation predicts, with servers that it does not know.
pub trait Validator {
    /// Adds what was reached to the summary, as far as it came.
    ///
    /// # Errors
    /// Why it came no further.
    fn validate(&mut self, place: &Place, summary: &mut IoSummary, watcher: &mut dyn Watcher) -> Result<(), EarlyEnd>;
}

/// Nothing is measured beside it.
pub struct Unvalidated;

impl Validator for Unvalidated {
    fn validate(&mut self, _: &Place, _: &mut IoSummary, _: &mut dyn Watcher) -> Result<(), EarlyEnd> {
        Ok(())
    }
}

/// Runs an evaluation and records it.
///
/// # Errors
/// Only if nothing was measured; everything else is a [`Finished`] that says why it ended.
pub fn evaluate(
    home: &Home,
    plan: &IoPlan,
    tool_version: &str,
    validator: &mut dyn Validator,
    watcher: &mut dyn Watcher,
) -> Result<Finished, EvaluateError> {
    evaluate_into(&home.recordings(), home, plan, tool_version, validator, watcher)
}

/// The same, with the recording below another directory: a trial of a lab has it in its own.
pub fn evaluate_into(
    recordings: &Path,
    home: &Home,
    plan: &IoPlan,
    tool_version: &str,
    validator: &mut dyn Validator,
    watcher: &mut dyn Watcher,
) -> Result<Finished, EvaluateError> {
    let lane = plimsoll_lanes::below(home.path(), &plan.directory)?;
    if let Some(why) = lane.as_ref().and_then(|lane| plimsoll_lanes::spec::not_for_timing(&lane.name)) {
        return Err(EvaluateError::Refused(format!("{}: {why}", plan.directory.display())));
    }
    let mut place = Place::create(home.path(), &plan.directory)?;
    // The limits of a lane hold for its members only.
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
        bytes: plan::most_bytes(&planned.steps),
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
        bench: Bench { place: &place, device: device.as_ref(), lane: lane.as_ref(), seed: plan.seed },
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

/// Refuses probes that the suite does not have, and sizes that fit nowhere.
pub fn is_possible(plan: &IoPlan) -> Result<(), EvaluateError> {
    plan::planned(plan, &DeviceFacts::default()).map(|_| ())
}

/// About how many bytes the files of an evaluation take at most, and how many seconds it takes, where there is room.
///
/// # Errors
/// As [`is_possible`].
pub fn about(plan: &IoPlan) -> Result<(u64, f64), EvaluateError> {
    let memory = Some(memory_bytes()).filter(|bytes| *bytes > 0);
    let steps = plan::planned(plan, &DeviceFacts { memory_bytes: memory, ..DeviceFacts::default() })?.steps;
    let seconds = plan::times(&steps).iter().sum::<Duration>().as_secs_f64();
    Ok((plan::most_bytes(&steps), seconds))
}

/// What the device does while we do nothing.
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
    let host = serde_json::to_value(host_facts(&plan.directory)).unwrap_or_default();
    let resolved = plan.resolved(&planned.steps);
    let manifest = Manifest::new(&plan.name, tool_version, Timestamp::now(), plan.seed, resolved, host);
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
    bench: Bench<'a>,
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
            if let Err(error) = std::fs::metadata(self.bench.place.path()) {
                return self.gone(&planned.steps[index + 1..], &error);
            }
        }
    }

    fn step(&mut self, index: usize, step: &Step, watcher: &mut dyn Watcher) -> Result<Probe, EvaluateError> {
        self.event("step", serde_json::json!({ "id": step.id }))?;
        let mut writer = self.writer(index, step)?;
        let Outcome { mut probe, rates, ended } = self.bench.measure(index, step, &mut writer, watcher);
        if probe.error.is_none() {
            probe.caveats.extend(findings::of_probe(step, &rates));
        }
        if let Some(why) = &probe.error {
            self.event("failed", serde_json::json!({ "id": step.id, "why": why }))?;
        }
        self.ended = ended;
        Ok(probe)
    }

    fn event(&mut self, kind: &str, detail: serde_json::Value) -> Result<(), EvaluateError> {
        let t_ns = self.begun.elapsed().as_nanos() as u64;
        Ok(self.recording.event(t_ns, kind, detail)?)
    }

    fn writer(&self, index: usize, step: &Step) -> Result<TrialWriter, EvaluateError> {
        let (job, layout) = (&step.job, &step.job.layout);
        let parameters = serde_json::json!({
            "probe": step.probe, "id": step.id, "params": step.params, "seed": self.bench.seed(index, false),
            "engine": job.engine.name(), "depth": job.engine.depth(), "rate": job.arrivals.rate(),
            "files": layout.files, "bytes_per_file": layout.bytes_per_file,
            "allocation": layout.allocation.name(), "direct": job.open.direct,
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

    /// Gives the space of files back that no later step uses. What cannot be removed now goes with the place.
    fn remove_unneeded(&self, step: &Step, later: &[Step]) {
        for job in step.jobs().filter(|job| !plan::is_needed(&job.layout, later)) {
            let _ = files::remove(self.bench.place, &job.layout);
        }
    }

    /// The place is not there any more: the rest is not tried, and says so.
    fn gone(&mut self, rest: &[Step], error: &std::io::Error) {
        let why = format!("{} is gone: {error}", self.bench.place.path().display());
        let lost = |step| Probe { error: Some(why.clone()), ..seconds::unmeasured(step) };
        self.summary.probes.extend(rest.iter().map(lost));
        self.ended = Some(EarlyEnd::Failed(why.clone()));
    }

    /// Reads the sheet out of the probes and closes the recording. What cannot be written any more does not take the
    /// summary with it.
    fn finish(mut self, plan: &IoPlan, planned: &Planned) -> Finished {
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
        Finished { summary: self.summary, recording: directory, ended: self.ended }
    }

    fn close(&mut self) -> Result<(), EvaluateError> {
        if let Some(EarlyEnd::Failed(why)) = self.ended.clone() {
            self.recording.fails(&why);
            self.event("failed", serde_json::json!({ "why": why }))?;
        }
        let caveats = serde_json::to_value(&self.summary.caveats).unwrap_or_default();
        self.event("caveats", caveats)?;
        self.recording.io_summary(&self.summary)?;
        Ok(self.recording.finish(EarlyEnd::status(self.ended.as_ref()), Timestamp::now())?)
    }
}
