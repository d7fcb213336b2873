//! One measurement, from its files to its probe: what the workers count is recorded as it comes and summed up at the end.

use crate::counting::Counting;
use crate::seconds::{Seconds, unmeasured};
use crate::telemetry::{Look, Telemetry, host_cpus};
use plimsoll_lanes::Lane;
use plimsoll_load::recorder::Totals;
use plimsoll_load::seed::Rng;
use plimsoll_load::tally::{Names, Tally, add_counts};
use plimsoll_measures::summarise::{self, Assembly};
use plimsoll_model::Caveat;
use plimsoll_model::io::Probe;
use plimsoll_model::samples::{Interval, Phase};
use plimsoll_model::summary::Counts;
use plimsoll_record::{EarlyEnd, RecordError, TrialWriter};
use plimsoll_storage::device::Device;
use plimsoll_storage::job::Job;
use plimsoll_storage::op::Kind;
use plimsoll_storage::probe::Step;
use plimsoll_storage::run::Run;
use plimsoll_storage::share::RunEvent;
use plimsoll_storage::{Place, StorageError, files};
use plimsoll_watch::{Event, IoEvent, Watcher};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the controller looks at the interrupt.
const LOOK: Duration = Duration::from_millis(50);
/// How long a load beside the measurement runs before that begins.
const BEFORE: Duration = Duration::from_millis(500);
/// After its end was asked for, a run has so long for what it waits for.
const ENDS_WITHIN: Duration = Duration::from_secs(20);

/// Where measurements are made.
pub struct Bench<'a> {
    pub place: &'a Place,
    pub device: Option<&'a Device>,
    /// The lane that the place lies on.
    pub lane: Option<&'a Lane>,
    /// What the seeds of all jobs are drawn from.
    pub seed: u64,
}

/// What came of one measurement.
pub struct Outcome {
    pub probe: Probe,
    /// Operations per second of its seconds.
    pub rates: Vec<f64>,
    /// Why the evaluation cannot go on after it: Ctrl-C, or a recording that cannot be written.
    pub ended: Option<EarlyEnd>,
}

impl Bench<'_> {
    /// The seed of a step's job, or of the load beside it: each has its own, so that no two draw the same blocks, which a
    /// cache would answer the second time.
    pub fn seed(&self, index: usize, beside: bool) -> u64 {
        Rng::new(self.seed, index as u64, beside.into()).next_u64()
    }

    /// Measures a step of the evaluation; what fails is told in its probe.
    pub fn measure(&self, index: usize, step: &Step, writer: &mut TrialWriter, watcher: &mut dyn Watcher) -> Outcome {
        match self.tried(index, step, writer, watcher) {
            Ok(outcome) => outcome,
            Err(error) => {
                let ended = matches!(error, StorageError::Interrupted).then_some(EarlyEnd::Interrupted);
                let probe = Probe { error: Some(error.to_string()), ..unmeasured(step) };
                Outcome { probe, rates: Vec::new(), ended }
            }
        }
    }

    fn tried(
        &self,
        index: usize,
        step: &Step,
        writer: &mut TrialWriter,
        watcher: &mut dyn Watcher,
    ) -> Result<Outcome, StorageError> {
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
        let mut beside = match beside {
            Some((job, seed)) => Some(Beside::start(self.begin(job, seed)?, watcher)?),
            None => None,
        };
        let run = match self.begin(&step.job, seed) {
            Ok(run) => run,
            Err(error) => {
                beside.map(Beside::end);
                return Err(error);
            }
        };
        let mut measurement = Measurement::new(step, &run, Telemetry::new(self.device, self.lane));
        measurement.follow(&run, beside.as_mut(), writer, watcher);
        run.finish();
        Ok(measurement.outcome(step, beside.and_then(Beside::end)))
    }

    fn lay_out(&self, job: &Job, seed: u64, watcher: &mut dyn Watcher) -> Result<(), StorageError> {
        files::lay_out(self.place, &job.layout, seed, &mut |written, of| {
            watcher.tell(Event::Io(IoEvent::Layout { written, of }));
            !watcher.interrupted()
        })
    }

    fn begin(&self, job: &Job, seed: u64) -> Result<Run, StorageError> {
        let files = files::open(self.place, &job.layout, job.open)?;
        Run::begin(job, Arc::new(files), seed)
    }
}

/// Waits until a run that is not measured is over. What fails in it fails again in what is measured.
fn to_its_end(run: &Run, watcher: &dyn Watcher) -> Result<(), StorageError> {
    run.start();
    let mut over = 0;
    while over < run.loops && run.ended() == 0 {
        match run.next(LOOK) {
            Some(RunEvent::Interval(tally)) => run.recycle(*tally),
            Some(RunEvent::Drained(_)) => over += 1,
            _ if watcher.interrupted() => return Err(StorageError::Interrupted),
            _ => {}
        }
    }
    Ok(())
}

/// A load that runs at the same time and is not what is measured.
struct Beside {
    run: Run,
    /// Why it was not there all the time.
    troubled: Option<String>,
}

impl Beside {
    /// Starts it, and gives it time to be under way.
    fn start(run: Run, watcher: &dyn Watcher) -> Result<Beside, StorageError> {
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

    /// Takes what it tells; only that it is over is of interest.
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

    /// Ends it; why it was not there all the time, if it was not.
    fn end(mut self) -> Option<String> {
        self.look(Duration::ZERO);
        self.run.finish();
        self.troubled
    }
}

/// A measurement under way.
struct Measurement {
    start_ns: u64,
    open_loop: bool,
    verify: bool,
    /// Everything that was written has been read back.
    read_back: bool,
    assembly: Assembly,
    telemetry: Telemetry,
    seconds: Seconds,
    counts: Counts,
    /// Syncs after the window.
    closing: Closing,
    /// Blocks that were not what had been written, and the first of them in words.
    mismatches: u64,
    first_mismatch: Option<String>,
    failed: Option<String>,
    ended: Option<EarlyEnd>,
    unrecorded: bool,
}

impl Measurement {
    fn new(step: &Step, run: &Run, telemetry: Telemetry) -> Measurement {
        let open_loop = step.job.arrivals.rate().is_some();
        Measurement {
            start_ns: 0,
            open_loop,
            verify: step.job.verify,
            read_back: false,
            assembly: Assembly::new(run.loops),
            telemetry,
            seconds: Seconds::new(Counting::of(&step.job.access), open_loop, host_cpus()),
            counts: Counts::default(),
            closing: Closing::default(),
            mismatches: 0,
            first_mismatch: None,
            failed: None,
            ended: None,
            unrecorded: false,
        }
    }

    /// Follows a run from its start to its end.
    fn follow(
        &mut self,
        run: &Run,
        mut beside: Option<&mut Beside>,
        writer: &mut TrialWriter,
        watcher: &mut dyn Watcher,
    ) {
        self.start_ns = run.start();
        let mut over = 0;
        let mut stopping: Option<Instant> = None;
        while over < run.loops {
            let event = run.next(LOOK);
            if event.is_none() && run.ended() > 0 {
                self.fail("a thread ended by itself".to_owned());
                break;
            }
            over += usize::from(matches!(event, Some(RunEvent::Drained(_))));
            self.take(event, run, writer, watcher);
            if let Some(beside) = &mut beside {
                beside.look(Duration::ZERO);
            }
            if stopping.is_none() && watcher.interrupted() {
                self.ended.get_or_insert(EarlyEnd::Interrupted);
            }
            if self.ended.is_some() || self.failed.is_some() {
                let since = *stopping.get_or_insert_with(|| {
                    run.stop();
                    Instant::now()
                });
                if since.elapsed() > ENDS_WITHIN {
                    break;
                }
            }
        }
        if self.verify && !self.read_back {
            self.fail(
                "what was written was not read back: a worker still held the files when its time was over".to_owned(),
            );
        }
        for tally in self.assembly.rest() {
            self.interval(&tally, &run.names, writer, watcher);
        }
    }

    fn take(&mut self, event: Option<RunEvent>, run: &Run, writer: &mut TrialWriter, watcher: &mut dyn Watcher) {
        match event {
            Some(RunEvent::Interval(tally)) => {
                let (whole, spent) = self.assembly.add(*tally);
                if let Some(spent) = spent {
                    run.recycle(spent);
                }
                if let Some(whole) = whole {
                    self.interval(&whole, &run.names, writer, watcher);
                    run.recycle(whole);
                }
            }
            Some(RunEvent::Drained(Totals { counts, .. })) => add_counts(&mut self.counts, &counts),
            Some(RunEvent::Failed(why)) => self.fail(why),
            Some(RunEvent::ReadBack) => self.read_back = true,
            Some(RunEvent::Mismatch(mismatch)) => {
                self.mismatches += 1;
                self.first_mismatch.get_or_insert_with(|| mismatch.to_string());
            }
            None => {}
        }
    }

    fn fail(&mut self, why: String) {
        self.failed.get_or_insert(why);
    }

    /// Counts and records a second that all workers have told of, and what the machine did meanwhile.
    fn interval(&mut self, tally: &Tally, names: &Names, writer: &mut TrialWriter, watcher: &mut dyn Watcher) {
        let interval = summarise::interval(tally, names, self.start_ns, self.open_loop);
        let look = self.telemetry.look(tally.end_ns.saturating_sub(self.start_ns));
        if tally.phase == Phase::Measure {
            self.seconds.add(tally, names, &look);
        }
        if tally.phase == Phase::Drain {
            self.closing.add(tally);
        }
        watcher.tell(Event::Io(IoEvent::Interval { interval: &interval }));
        if !self.unrecorded
            && let Err(error) = self.record(tally, names, (&interval, &look), writer)
        {
            self.unrecorded = true;
            self.ended = Some(EarlyEnd::Failed(error.to_string()));
        }
    }

    fn record(
        &self,
        tally: &Tally,
        names: &Names,
        (interval, look): (&Interval, &Look),
        writer: &mut TrialWriter,
    ) -> Result<(), RecordError> {
        writer.interval(interval)?;
        if let Some(host) = &look.host {
            writer.host(host)?;
        }
        if let Some(device) = &look.device {
            writer.device(device)?;
        }
        if let Some(storage) = &look.storage {
            writer.storage(storage)?;
        }
        writer.latencies(tally, names, (self.start_ns, 0), self.open_loop)
    }

    fn outcome(self, step: &Step, troubled: Option<String>) -> Outcome {
        let mut probe = self.seconds.probe(step);
        probe.counts = self.counts;
        probe.error = self.failed;
        if step.job.syncs_at_end().is_some() {
            self.closing.found(&mut probe);
        }
        if self.verify {
            probe.found.insert("mismatches".to_owned(), self.mismatches as f64);
        }
        probe.caveats.extend(self.first_mismatch.map(|first| corrupt(&step.id, self.mismatches, &first)));
        probe.caveats.extend(troubled.map(|why| not_beside(&step.id, &why)));
        Outcome { probe, rates: self.seconds.rates(), ended: self.ended }
    }
}

/// Syncs after the window, which are in no rate. One that was under way at its end is among them.
#[derive(Default)]
struct Closing {
    syncs: u64,
    ms: f64,
}

impl Closing {
    fn add(&mut self, tally: &Tally) {
        let syncs = tally.transactions.get(Kind::Sync as usize).map(|kind| &kind.service);
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
        "{id} read something else than had been written, {count} times; first {first}: trust no data to this storage \
         before it is known why"
    );
    Caveat::new("corrupt", message)
}

fn not_beside(id: &str, why: &str) -> Caveat {
    let message = format!("the load beside {id} was not there all the time ({why}): repeat it before comparing it");
    Caveat::new("not_beside", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::io::DeviceFacts;
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

    fn measured(steps: &[Step]) -> Vec<Probe> {
        let root = tempfile::tempdir().unwrap();
        let data = root.path().join("data");
        std::fs::create_dir(&data).unwrap();
        let place = Place::create(&root.path().join("home"), &data).unwrap();
        let manifest =
            Manifest::new("io", "0", jiff::Timestamp::now(), 1, serde_json::Value::Null, serde_json::Value::Null);
        let recording = Recording::create(&root.path().join("recordings"), manifest).unwrap();
        let bench = Bench { place: &place, device: None, lane: None, seed: 1 };
        let each = |(index, step): (usize, &Step)| {
            let facts = TrialFacts {
                index: index as u32 + 1,
                variant: "io".to_owned(),
                point: step.id.clone(),
                round: 1,
                started: jiff::Timestamp::now(),
                parameters: serde_json::Value::Null,
            };
            bench.measure(index, step, &mut recording.trial(&facts).unwrap(), &mut Patient).probe
        };
        steps.iter().enumerate().map(each).collect()
    }

    #[test]
    fn a_load_beside_is_there_until_the_measurement_is_over() {
        let facts = DeviceFacts { free_bytes: Some(1 << 40), memory_bytes: Some(1 << 30), ..DeviceFacts::default() };
        let mut extent = Suite::Full.extent(&facts);
        (extent.data_bytes, extent.most_bytes) = (64 << 20, 64 << 20);
        (extent.window_ns, extent.advising_ns) = (200_000_000, 200_000_000);
        let steps: Vec<Step> =
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
