//! One measurement, from its files to its probe: what the workers count is recorded as it arrives and summed up at the
//! end.

use crate::counting::Counting;
use crate::seconds::{ProbeSeconds, unmeasured};
use crate::telemetry::{Look, Telemetry, host_cpus};
use plimsoll_follow::{Account, Ended, Followed, FollowedSecond, Seen, SeriesWriter, follow};
use plimsoll_lanes::Lane;
use plimsoll_load::seed::Rng;
use plimsoll_load::tally::Tally;
use plimsoll_model::io::Probe;
use plimsoll_model::samples::Phase;
use plimsoll_model::{Caveat, OpKind};
use plimsoll_record::{EarlyEnd, TrialWriter};
use plimsoll_storage::device::Device;
use plimsoll_storage::job::Job;
use plimsoll_storage::probe::ProbeStep;
use plimsoll_storage::run::JobRun;
use plimsoll_storage::share::{ReadBack, RunEvent};
use plimsoll_storage::{EvaluationDirectory, StorageError, files};
use plimsoll_watch::{Event, IoEvent, Watcher};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the controller checks for an interrupt.
const LOOK: Duration = Duration::from_millis(50);
/// How long a load beside the measurement runs before that begins.
const BEFORE: Duration = Duration::from_millis(500);
const NOT_READ_BACK: &str = "what was written was not read back: a worker still held the files when its time was over";

/// Where measurements are made.
pub struct Evaluator<'a> {
    pub place: &'a EvaluationDirectory,
    pub device: Option<&'a Device>,
    /// The lane that the place is on.
    pub lane: Option<&'a Lane>,
    /// The seed from which the seeds of all jobs are drawn.
    pub seed: u64,
}

/// The result of one measurement.
pub struct MeasurementOutcome {
    pub probe: Probe,
    /// Operations per second of its seconds.
    pub rates: Vec<f64>,
    /// Why the evaluation cannot continue after it: Ctrl-C, or a recording that cannot be written.
    pub ended: Option<EarlyEnd>,
}

impl Evaluator<'_> {
    /// The seed of a step's job, or of the load beside it: each has its own, so that no two draw the same blocks, which a
    /// cache would answer the second time.
    pub fn seed(&self, index: usize, beside: bool) -> u64 {
        Rng::new(self.seed, index as u64, beside.into()).next_u64()
    }

    /// Measures a step of the evaluation; its probe reports failures.
    pub fn measure(
        &self,
        index: usize,
        step: &ProbeStep,
        writer: &mut TrialWriter,
        watcher: &mut dyn Watcher,
    ) -> MeasurementOutcome {
        match self.tried(index, step, writer, watcher) {
            Ok(outcome) => outcome,
            Err(error) => {
                let ended = matches!(error, StorageError::Interrupted).then_some(EarlyEnd::Interrupted);
                let probe = Probe { error: Some(error.to_string()), ..unmeasured(step) };
                MeasurementOutcome { probe, rates: Vec::new(), ended }
            }
        }
    }

    fn tried(
        &self,
        index: usize,
        step: &ProbeStep,
        writer: &mut TrialWriter,
        watcher: &mut dyn Watcher,
    ) -> Result<MeasurementOutcome, StorageError> {
        let (seed, seed_beside) = (self.seed(index, false), self.seed(index, true));
        let beside = step.beside.as_ref().map(|job| (job, seed_beside));
        let mut jobs = beside.into_iter().chain([(&step.job, seed)]);
        jobs.try_for_each(|(job, seed)| self.lay_out(job, seed, watcher))?;
        if let Some(job) = &step.before {
            self.lay_out(job, seed, watcher)?;
            let run = self.begin(job, seed)?;
            let done = to_its_end(&run, watcher);
            run.finish();
            done?;
        }
        let beside = match beside {
            Some((job, seed)) => Some(Beside::start(self.begin(job, seed)?, watcher)?),
            None => None,
        };
        let mut run = match self.begin(&step.job, seed) {
            Ok(run) => run,
            Err(error) => {
                beside.map(Beside::end);
                return Err(error);
            }
        };
        let mut measurement = Measurement {
            telemetry: Telemetry::new(self.device, self.lane),
            beside,
            seconds: ProbeSeconds::new(Counting::of(&step.job.access), run.facts.open_loop, host_cpus()),
            closing: Closing::default(),
        };
        run.start();
        let series = SeriesWriter { writer, before_ns: 0, phase: None };
        let followed = follow(&mut run, &mut measurement, series, watcher);
        let read_back = std::mem::take(&mut run.read_back);
        run.finish();
        Ok(measurement.outcome(step, followed, read_back))
    }

    fn lay_out(&self, job: &Job, seed: u64, watcher: &mut dyn Watcher) -> Result<(), StorageError> {
        files::lay_out(self.place, &job.layout, seed, &mut |written, of| {
            watcher.tell(Event::Io(IoEvent::Layout { written, of }));
            !watcher.interrupted()
        })
    }

    fn begin(&self, job: &Job, seed: u64) -> Result<JobRun, StorageError> {
        let files = files::open(self.place, &job.layout, job.open)?;
        JobRun::begin(job, Arc::new(files), seed)
    }
}

/// Waits until an unmeasured run has ended. Its failures will happen again in the measurement.
fn to_its_end(run: &JobRun, watcher: &dyn Watcher) -> Result<(), StorageError> {
    run.start();
    let mut over = 0;
    while over < run.facts.loops && run.ended() == 0 {
        match run.next(LOOK) {
            Some(RunEvent::Interval(tally)) => run.recycle(*tally),
            Some(RunEvent::Drained(_)) => over += 1,
            _ if watcher.interrupted() => return Err(StorageError::Interrupted),
            _ => {}
        }
    }
    Ok(())
}

/// A load that runs beside the measurement and is not measured.
struct Beside {
    run: JobRun,
    /// Why it did not run all the time.
    troubled: Option<String>,
}

impl Beside {
    /// Starts it, and gives it time to be under way.
    fn start(run: JobRun, watcher: &dyn Watcher) -> Result<Beside, StorageError> {
        let mut beside = Beside { run, troubled: None };
        let begun = Instant::now();
        beside.run.start();
        while begun.elapsed() < BEFORE {
            if watcher.interrupted() {
                beside.end();
                return Err(StorageError::Interrupted);
            }
            beside.look(LOOK);
        }
        Ok(beside)
    }

    /// Receives its events; only the end is of interest.
    fn look(&mut self, mut wait: Duration) {
        while let Some(event) = self.run.next(wait) {
            match event {
                RunEvent::Interval(tally) => self.run.recycle(*tally),
                RunEvent::Failed(why) => drop(self.troubled.get_or_insert(why)),
                RunEvent::Drained(_) => {
                    self.troubled.get_or_insert_with(|| "it ended before the measurement did".to_owned());
                }
                RunEvent::Mismatch(_) | RunEvent::ReadBack => {}
            }
            wait = Duration::ZERO;
        }
    }

    /// Ends it. Returns why it did not run all the time, if it did not.
    fn end(mut self) -> Option<String> {
        self.look(Duration::ZERO);
        self.run.finish();
        self.troubled
    }
}

/// A measurement under way: what its seconds come to.
struct Measurement {
    telemetry: Telemetry,
    beside: Option<Beside>,
    seconds: ProbeSeconds,
    /// Syncs after the window.
    closing: Closing,
}

impl Account for Measurement {
    fn second(&mut self, second: &FollowedSecond<'_>, watcher: &mut dyn Watcher) -> Seen {
        let &FollowedSecond { tally, interval, .. } = second;
        let look = self.telemetry.look(second.end_ns);
        if tally.phase == Phase::Measure {
            self.seconds.add(tally, &look);
        }
        if tally.phase == Phase::Drain {
            self.closing.add(tally);
        }
        watcher.tell(Event::Io(IoEvent::Interval { interval }));
        let Look { host, device, storage, .. } = look;
        Seen { host, device, storage: storage.into_iter().collect(), ..Seen::default() }
    }

    fn look(&mut self) -> Option<String> {
        if let Some(beside) = &mut self.beside {
            beside.look(Duration::ZERO);
        }
        None
    }
}

impl Measurement {
    fn outcome(self, step: &ProbeStep, followed: Followed, read_back: ReadBack) -> MeasurementOutcome {
        let mut probe = self.seconds.probe(step);
        probe.counts = followed.totals.counts;
        let (failed, ended) = match followed.ended {
            Some(Ended::Failed(why)) => (Some(why), None),
            ended => (None, ended.map(EarlyEnd::from)),
        };
        probe.error = failed;
        if step.job.syncs_at_end().is_some() {
            self.closing.found(&mut probe);
        }
        if step.job.verify {
            probe.found.insert("mismatches".to_owned(), read_back.mismatches as f64);
            if !read_back.is_complete {
                probe.error.get_or_insert_with(|| NOT_READ_BACK.to_owned());
            }
        }
        let ReadBack { mismatches, first, .. } = read_back;
        probe.caveats.extend(first.map(|first| corrupt(&step.id, mismatches, &first.to_string())));
        let troubled = self.beside.and_then(Beside::end);
        probe.caveats.extend(troubled.map(|why| not_beside(&step.id, &why)));
        MeasurementOutcome { probe, rates: self.seconds.rates(), ended }
    }
}

/// Syncs after the window, which are not part of any rate. They include one that was under way at its end.
#[derive(Default)]
struct Closing {
    syncs: u64,
    ms: f64,
}

impl Closing {
    fn add(&mut self, tally: &Tally) {
        let syncs = tally.transactions.get(OpKind::Sync as usize).map(|kind| &kind.service);
        if let Some(syncs) = syncs.filter(|syncs| !syncs.is_empty()) {
            self.syncs += syncs.len();
            self.ms += syncs.mean() * syncs.len() as f64 / 1e6;
        }
    }

    fn found(&self, probe: &mut Probe) {
        probe.found.insert("closing_syncs".to_owned(), self.syncs as f64);
        if self.syncs > 0 {
            probe.found.insert("closing_sync_ms".to_owned(), self.ms / self.syncs as f64);
        }
    }
}

fn corrupt(id: &str, count: u64, first: &str) -> Caveat {
    let message = format!(
        "what {id} read was not what had been written, {count} times; first {first}: trust no data to this storage \
         until the reason is known"
    );
    Caveat::new("corrupt", message)
}

fn not_beside(id: &str, why: &str) -> Caveat {
    let message = format!(
        "the load beside {id} did not run all the time ({why}): repeat the measurement before \
                           comparing it"
    );
    Caveat::new("not_beside", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_host::facts::HostFacts;
    use plimsoll_model::io::DeviceFacts;
    use plimsoll_plan::{Plan, StoragePlan};
    use plimsoll_record::Parameters;
    use plimsoll_record::{Manifest, Recording, TrialFacts};
    use plimsoll_storage::job::Access;
    use plimsoll_storage::probe::test::{TestMode, TestOptions, step};
    use plimsoll_storage::suite::Suite;

    /// Neither shows anything nor interrupts.
    struct Patient;

    impl Watcher for Patient {
        fn tell(&mut self, _event: Event<'_>) {}

        fn interrupted(&self) -> bool {
            false
        }
    }

    fn measured(steps: &[ProbeStep]) -> Vec<Probe> {
        let root = tempfile::tempdir().unwrap();
        let data = root.path().join("data");
        std::fs::create_dir(&data).unwrap();
        let place = EvaluationDirectory::create(&root.path().join("home"), &data).unwrap();
        let asked = Plan::Storage(StoragePlan::default());
        let manifest = Manifest::new("io", "0", jiff::Timestamp::now(), asked, HostFacts::default());
        let recording = Recording::create(&root.path().join("recordings"), manifest).unwrap();
        let evaluator = Evaluator { place: &place, device: None, lane: None, seed: 1 };
        let each = |(index, step): (usize, &ProbeStep)| {
            let facts = TrialFacts {
                index: index as u32 + 1,
                variant: "io".to_owned(),
                point: step.id.clone(),
                round: 1,
                started: jiff::Timestamp::now(),
                parameters: Parameters::Load(Box::default()),
            };
            evaluator.measure(index, step, &mut recording.trial(&facts).unwrap(), &mut Patient).probe
        };
        steps.iter().enumerate().map(each).collect()
    }

    #[test]
    fn a_load_beside_is_there_until_the_measurement_is_over() {
        let facts = DeviceFacts { free_bytes: Some(1 << 40), memory_bytes: Some(1 << 30), ..DeviceFacts::default() };
        let mut extent = Suite::Full.extent(&facts);
        (extent.data_bytes, extent.most_bytes) = (64 << 20, 64 << 20);
        (extent.window_ns, extent.advising_ns) = (200_000_000, 200_000_000);
        let steps: Vec<ProbeStep> =
            Suite::Full.steps(&extent, false).into_iter().filter(|step| step.beside.is_some()).collect();
        assert!(steps.len() >= 3, "{steps:?}");
        for mut probe in measured(&steps) {
            // What memory answers may be too quick for a histogram.
            probe.caveats.retain(|caveat| caveat.code != "latency_range");
            assert_eq!((probe.error, probe.caveats), (None, Vec::new()), "{}", probe.id);
            assert!(probe.counts.finished > 0, "{}", probe.id);
        }
    }

    #[test]
    fn a_verified_test_is_read_back() {
        let options = TestOptions {
            files: 2,
            size: 4 << 20,
            verify: true,
            // By time, it may end between a write and the sync that is due after 100 requests.
            events: Some(250),
            ..TestOptions::new(TestMode::RandomMixed)
        };
        let [probe] = measured(&[step(&options).unwrap()]).try_into().unwrap();
        let found = ["mismatches", "closing_syncs"].map(|name| probe.found.get(name).copied());
        assert_eq!((probe.error, found), (None, [Some(0.0), Some(2.0)]));
        assert!(probe.counts.finished > 0);
    }

    #[test]
    fn a_worker_that_fails_is_told_and_what_all_did_is_counted() {
        let options = TestOptions { files: 1, size: 1 << 20, ..TestOptions::new(TestMode::RandomWrite) };
        let mut torn = step(&options).unwrap();
        // O_DIRECT takes no such offsets.
        torn.job.open.direct = true;
        torn.job.access = Access::InPlace { block: 4096, misaligned: 100 };
        let [probe] = measured(&[torn]).try_into().unwrap();
        assert!(probe.error.is_some_and(|why| why.contains("at offset 100")));
        assert_eq!((probe.counts.started, probe.counts.failed), (1, 1), "{:?}", probe.counts);
    }
}
