//! A storage evaluation: its steps one after the other, in one recording; then the sheet.

mod counting;
mod findings;
mod limits;
mod measure;
pub(crate) mod metric;
mod plan;
mod published;
mod seconds;
mod surroundings;
mod telemetry;
mod validate;

use crate::caveats;
use crate::error::LabError;
use crate::target::private_server;
use crate::trial::Ended;
use crate::watch::{Event, IoEvent, Watcher};
use jiff::Timestamp;
use measure::{Bench, Outcome};
use plan::Planned;
use plimsoll_model::Caveat;
use plimsoll_model::io::{DeviceFacts, IoSummary, Probe, SCHEMA_VERSION};
use plimsoll_record::{Manifest, Recording, TrialFacts, TrialWriter};
use plimsoll_server::Home;
use plimsoll_server::host::{host_facts, memory_bytes};
use plimsoll_storage::device::Device;
use plimsoll_storage::lane::Lane;
use plimsoll_storage::probe::Step;
use plimsoll_storage::suite::Suite;
use plimsoll_storage::{Place, lane, layout, sheet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use telemetry::{Look, Telemetry};

/// How long the device is watched before anything begins.
const IDLE: Duration = Duration::from_secs(1);

/// What to evaluate, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct IoPlan {
    pub directory: PathBuf,
    pub what: What,
    /// Only these probes, by number; empty for all of the suite.
    pub probes: Vec<u8>,
    /// Bytes of the page files; as the suite has it if not given.
    pub data_bytes: Option<u64>,
    /// How long each measurement lasts; as the suite has it if not given.
    pub window: Option<Duration>,
    pub seed: u64,
    /// Leave the files there.
    pub keep: bool,
    /// The recording's name.
    pub name: String,
    /// Servers whose commits and reads are measured afterwards beside what is predicted: `auto`, a path.
    pub validate: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Suite {
        suite: Suite,
        steady: bool,
    },
    /// One measurement of the user's own.
    Test(Box<Step>),
}

/// An evaluation that came to its end, or to the point where it could not go on.
pub struct Finished {
    pub summary: IoSummary,
    pub recording: PathBuf,
    pub ended: Option<Ended>,
}

impl IoPlan {
    /// `quick`, `full`, `percona-2008`, or `test`.
    fn suite_name(&self) -> &'static str {
        match self.what {
            What::Suite { suite, .. } => suite.name(),
            What::Test(_) => "test",
        }
    }

    /// As the manifest keeps it, with every default filled in.
    fn resolved(&self, steps: &[Step]) -> serde_json::Value {
        serde_json::json!({
            "command": "io",
            "directory": self.directory,
            "suite": self.suite_name(),
            "steps": steps.iter().map(|step| &step.id).collect::<Vec<_>>(),
            "probes": self.probes,
            "data_bytes": self.data_bytes,
            "window_seconds": self.window.map(|window| window.as_secs_f64()),
            "seed": self.seed,
            "keep": self.keep,
            "validate": self.validate,
        })
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
    watcher: &mut dyn Watcher,
) -> Result<Finished, LabError> {
    evaluate_into(&home.recordings(), home, plan, tool_version, watcher)
}

/// The same, with the recording below another directory: a trial of a lab has it in its own.
pub(crate) fn evaluate_into(
    recordings: &Path,
    home: &Home,
    plan: &IoPlan,
    tool_version: &str,
    watcher: &mut dyn Watcher,
) -> Result<Finished, LabError> {
    for choice in &plan.validate {
        private_server(choice)?;
    }
    let lane = lane::below(home.path(), &plan.directory)?;
    if let Some(why) = lane.as_ref().and_then(|lane| caveats::not_for_timing(&lane.name)) {
        return Err(LabError::Refused(format!("{}: {why}", plan.directory.display())));
    }
    let mut place = Place::create(home.path(), &plan.directory)?;
    // The limits of a lane hold for its members only.
    lane::join(home.path(), &plan.directory)?;
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
    let mut told: Vec<Caveat> = lane.iter().filter_map(caveats::of_lane).collect();
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
        && let Err(error) = validate::validate(plan, &place, &mut evaluation.summary, watcher)
    {
        evaluation.ended = Some(Ended::of(&error));
    }
    Ok(evaluation.finish(plan, &planned))
}

/// Refuses probes that the suite does not have, and sizes that fit nowhere.
pub(crate) fn is_possible(plan: &IoPlan) -> Result<(), LabError> {
    plan::planned(plan, &DeviceFacts::default()).map(|_| ())
}

/// About how many bytes the files of an evaluation take at most, and how many seconds it takes, where there is room.
///
/// # Errors
/// As [`is_possible`].
pub(crate) fn about(plan: &IoPlan) -> Result<(u64, f64), LabError> {
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

fn recording(recordings: &Path, plan: &IoPlan, planned: &Planned, tool_version: &str) -> Result<Recording, LabError> {
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
    ended: Option<Ended>,
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
                    self.ended = Some(Ended::Failed(error.to_string()));
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

    fn step(&mut self, index: usize, step: &Step, watcher: &mut dyn Watcher) -> Result<Probe, LabError> {
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

    fn event(&mut self, kind: &str, detail: serde_json::Value) -> Result<(), LabError> {
        let t_ns = self.begun.elapsed().as_nanos() as u64;
        Ok(self.recording.event(t_ns, kind, detail)?)
    }

    fn writer(&self, index: usize, step: &Step) -> Result<TrialWriter, LabError> {
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
        for job in plan::jobs(step).filter(|job| !plan::is_needed(&job.layout, later)) {
            let _ = layout::remove(self.bench.place, &job.layout);
        }
    }

    /// The place is not there any more: the rest is not tried, and says so.
    fn gone(&mut self, rest: &[Step], error: &std::io::Error) {
        let why = format!("{} is gone: {error}", self.bench.place.path().display());
        let lost = |step| Probe { error: Some(why.clone()), ..seconds::unmeasured(step) };
        self.summary.probes.extend(rest.iter().map(lost));
        self.ended = Some(Ended::Failed(why.clone()));
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
            self.ended.get_or_insert(Ended::Failed(error.to_string()));
        }
        Finished { summary: self.summary, recording: directory, ended: self.ended }
    }

    fn close(&mut self) -> Result<(), LabError> {
        if let Some(Ended::Failed(why)) = self.ended.clone() {
            self.recording.fails(&why);
            self.event("failed", serde_json::json!({ "why": why }))?;
        }
        let caveats = serde_json::to_value(&self.summary.caveats).unwrap_or_default();
        self.event("caveats", caveats)?;
        self.recording.io_summary(&self.summary)?;
        Ok(self.recording.finish(Ended::status(self.ended.as_ref()), Timestamp::now())?)
    }
}
