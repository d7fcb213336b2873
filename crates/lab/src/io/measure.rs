//! One measurement, from its files to its probe: what the workers count is recorded as it comes and summed up at the end.

use super::counting::Counting;
use super::seconds::{Seconds, unmeasured};
use super::telemetry::{Look, Telemetry, host_cpus};
use crate::summarise::{self, Assembly};
use crate::trial::{Ended, histograms};
use crate::watch::{Event, IoEvent, Watcher};
use plimsoll_load::recorder::Totals;
use plimsoll_load::tally::{Names, Tally, add_counts};
use plimsoll_model::Caveat;
use plimsoll_model::io::Probe;
use plimsoll_model::samples::{Interval, Phase};
use plimsoll_model::summary::Counts;
use plimsoll_record::{RecordError, TrialWriter};
use plimsoll_storage::device::Device;
use plimsoll_storage::job::Job;
use plimsoll_storage::probe::Step;
use plimsoll_storage::run::{Run, RunEvent};
use plimsoll_storage::{Place, StorageError, layout};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the controller looks at the interrupt.
const LOOK: Duration = Duration::from_millis(50);
/// How long a load beside the measurement runs before that begins.
const BEFORE: Duration = Duration::from_millis(500);
/// After its end was asked for, a run has so long for what it waits for.
const ENDS_WITHIN: Duration = Duration::from_secs(20);

/// Where measurements are made.
pub(super) struct Bench<'a> {
    pub place: &'a Place,
    pub device: Option<&'a Device>,
    pub seed: u64,
}

/// What came of one measurement.
pub(super) struct Outcome {
    pub probe: Probe,
    /// Operations per second of its seconds.
    pub rates: Vec<f64>,
    /// Why the evaluation cannot go on after it: Ctrl-C, or a recording that cannot be written.
    pub ended: Option<Ended>,
}

impl Bench<'_> {
    /// Measures one step; what fails is told in its probe.
    pub fn measure(&self, step: &Step, writer: &mut TrialWriter, watcher: &mut dyn Watcher) -> Outcome {
        match self.tried(step, writer, watcher) {
            Ok(outcome) => outcome,
            Err(error) => {
                let ended = matches!(error, StorageError::Interrupted).then_some(Ended::Interrupted);
                let probe = Probe { error: Some(error.to_string()), ..unmeasured(step) };
                Outcome { probe, rates: Vec::new(), ended }
            }
        }
    }

    fn tried(&self, step: &Step, writer: &mut TrialWriter, watcher: &mut dyn Watcher) -> Result<Outcome, StorageError> {
        let mut jobs = step.beside.iter().chain([&step.job]);
        jobs.try_for_each(|job| self.lay_out(job, watcher))?;
        let mut beside = match &step.beside {
            Some(job) => Some(Beside::start(self.begin(job)?, watcher)?),
            None => None,
        };
        let run = match self.begin(&step.job) {
            Ok(run) => run,
            Err(error) => {
                beside.map(Beside::end);
                return Err(error);
            }
        };
        let mut measurement = Measurement::new(step, &run, self.device);
        measurement.follow(&run, beside.as_mut(), writer, watcher);
        run.finish();
        Ok(measurement.outcome(step, beside.and_then(Beside::end)))
    }

    fn lay_out(&self, job: &Job, watcher: &mut dyn Watcher) -> Result<(), StorageError> {
        layout::lay_out(self.place, &job.layout, self.seed, &mut |written, of| {
            watcher.tell(Event::Io(IoEvent::Layout { written, of }));
            !watcher.interrupted()
        })
    }

    fn begin(&self, job: &Job) -> Result<Run, StorageError> {
        let files = layout::open(self.place, &job.layout, job.open)?;
        Run::begin(job, Arc::new(files), self.seed)
    }
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
                RunEvent::Mismatch(_) => {}
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
    assembly: Assembly,
    telemetry: Telemetry,
    seconds: Seconds,
    counts: Counts,
    /// Blocks that were not what had been written, and the first of them in words.
    mismatches: u64,
    first_mismatch: Option<String>,
    failed: Option<String>,
    ended: Option<Ended>,
    unrecorded: bool,
}

impl Measurement {
    fn new(step: &Step, run: &Run, device: Option<&Device>) -> Measurement {
        let open_loop = step.job.arrivals.rate().is_some();
        Measurement {
            start_ns: 0,
            open_loop,
            verify: step.job.verify,
            assembly: Assembly::new(run.loops),
            telemetry: Telemetry::new(device),
            seconds: Seconds::new(Counting::of(&step.job.access), open_loop, host_cpus()),
            counts: Counts::default(),
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
            over += usize::from(matches!(event, Some(RunEvent::Drained(_) | RunEvent::Failed(_))));
            self.take(event, run, writer, watcher);
            if let Some(beside) = &mut beside {
                beside.look(Duration::ZERO);
            }
            if stopping.is_none() && watcher.interrupted() {
                self.ended.get_or_insert(Ended::Interrupted);
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
        watcher.tell(Event::Io(IoEvent::Interval { interval: &interval }));
        if !self.unrecorded
            && let Err(error) = self.record(tally, names, (&interval, &look), writer)
        {
            self.unrecorded = true;
            self.ended = Some(Ended::Failed(error.to_string()));
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
        histograms(tally, self.start_ns, self.open_loop, writer, names)
    }

    fn outcome(self, step: &Step, troubled: Option<String>) -> Outcome {
        let mut probe = self.seconds.probe(step);
        probe.counts = self.counts;
        probe.error = self.failed;
        if self.verify {
            probe.found.insert("mismatches".to_owned(), self.mismatches as f64);
        }
        probe.caveats.extend(self.first_mismatch.map(|first| corrupt(&step.id, self.mismatches, &first)));
        probe.caveats.extend(troubled.map(|why| not_beside(&step.id, &why)));
        Outcome { probe, rates: self.seconds.rates(), ended: self.ended }
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
