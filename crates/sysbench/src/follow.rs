//! A run from its first connection to its last report.

use crate::console;
use crate::general::General;
use crate::halt::Halt;
use crate::recorder::{ReadyRun, RunRecorder};
use crate::request::{AskedRun, Caller};
use crate::text::{self, Closing, QueueState};
use crate::totals::{RunTotals, ThreadsFairness};
use plimsoll_follow::{NotReady, until_ready};
use plimsoll_load::assembly::{Assembly, WholeSecond};
use plimsoll_load::recorder::LoopTotals;
use plimsoll_load::source::{LoadEvent, LoadSource, Readiness, Spent};
use plimsoll_load::window::Limit;
use plimsoll_model::samples::Phase;
use plimsoll_record::EarlyEnd;
use plimsoll_watch::{Event, Watcher};
use std::time::{Duration, Instant};

const NOT_READY: &str = "Thread initialization failed!";
const LOOK: Duration = Duration::from_millis(20);
/// What a stopped loop has to say takes no longer.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// After an interrupt running events are waited for this long.
const ENDS_WITHIN: Duration = Duration::from_secs(6);

/// How a kind of test differs in what is printed of it.
pub trait Reporter {
    /// Whether its events are statements.
    fn is_sql(&self) -> bool;

    /// Whether what is done after the last event, such as syncs, is no event itself. It takes its time all the same.
    fn leaves_out_the_end(&self) -> bool {
        false
    }

    /// The load has failed. A script has told why by then.
    fn failed(&mut self, _why: &str) {}

    /// An intermediate report.
    ///
    /// # Errors
    /// What the script's hook for it raised.
    fn interval(
        &mut self,
        general: &General,
        at: u64,
        totals: &RunTotals,
        backlog: Option<QueueState>,
    ) -> Result<String, Halt> {
        Ok(text::interval(general, at, totals, self.is_sql(), backlog))
    }

    /// The report of a run, or since a checkpoint.
    ///
    /// # Errors
    /// As [`Reporter::interval`].
    fn report(&mut self, general: &General, ended: &Closing, totals: &RunTotals) -> Result<String, Halt> {
        Ok(text::report(general, ended, totals, self.is_sql()))
    }
}

/// Follows a run whose loops have begun to connect, prints what comes of it, and returns the exit code.
///
/// # Errors
/// Why there is no final report.
pub fn follow<S: LoadSource>(
    mut source: S,
    run: AskedRun<'_>,
    reporter: &mut dyn Reporter,
    around: &mut Caller<'_>,
) -> Result<u8, Halt> {
    let AskedRun { general, plan } = run;
    let is_interrupted = around.is_interrupted;
    let facts = source.facts().clone();
    let ready = match ready(&mut source, general, reporter, is_interrupted) {
        Ok(ready) => ready,
        Err(halt) => {
            source.finish();
            return Err(halt);
        }
    };
    console::say("Threads started!\n");
    let mut recorder = around.recorder();
    if let Some(recorder) = &mut recorder {
        recorder.begin(ReadyRun { plan, facts: &facts, ready, spent: source.spent() });
    }
    let begun = Instant::now() + source.start(is_interrupted);
    let mut follower = Follower {
        general,
        reporter,
        recorder,
        assembly: Assembly::new(facts.tellers),
        served: LoopTotals::new(facts.names.shape()),
        loops: facts.loops,
        open_loop: facts.open_loop,
        is_timed: facts.open_loop || matches!(facts.limit, Limit::Events(events) if events < u64::MAX),
        drained: 0,
        second: 0,
        elapsed: 0.0,
        interval: RunTotals::default(),
        since: RunTotals::default(),
        reset: false,
        running: (0, 0),
        failed: None,
    };
    let ended = follower.until_over(&mut source, begun, is_interrupted);
    follower.recorded(&ended);
    // Loops that have not come to their end are given up.
    if follower.drained == follower.loops {
        source.finish();
    }
    let ended = ended?;
    if ended == Ended::Drained {
        let out_of_time = general.time > 0 && follower.elapsed >= general.time as f64;
        console::inform(&format!("{} limit exceeded, exiting...", if out_of_time { "Time" } else { "Event" }));
        console::inform("Done.\n");
    }
    follower.last()?;
    Ok(match ended {
        Ended::Drained => 0,
        Ended::Forced => Halt::FORCED,
        Ended::Interrupted => Halt::INTERRUPTED,
    })
}

/// Waits until all threads are ready.
fn ready(
    source: &mut dyn LoadSource,
    general: &General,
    reporter: &mut dyn Reporter,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<Readiness, Halt> {
    if is_interrupted() {
        return Err(Halt::Quiet(Halt::INTERRUPTED));
    }
    let patience =
        Patience { is_interrupted, begun: Instant::now(), within: Duration::from_secs(general.ready_within) };
    let each = |done: &str| {
        for thread in 0..general.threads {
            console::say(&format!("DEBUG: Worker thread (#{thread}) {done}"));
        }
    };
    each("started");
    let ready = until_ready(source, &patience).map_err(|why| match why {
        NotReady::Interrupted if is_interrupted() => Halt::Quiet(Halt::INTERRUPTED),
        NotReady::Interrupted => {
            let seconds = general.ready_within;
            console::say(&format!("FATAL: Worker threads failed to initialize within {seconds} seconds!"));
            Halt::Quiet(Halt::FORCED)
        }
        NotReady::Failed(why) => {
            reporter.failed(&why);
            Halt::Fatal(NOT_READY.to_owned())
        }
        NotReady::Ended => Halt::Fatal(NOT_READY.to_owned()),
    })?;
    each("initialized");
    Ok(ready)
}

/// Waits for threads that get ready, for so long and unless somebody interrupts it.
struct Patience<'a> {
    is_interrupted: &'a dyn Fn() -> bool,
    begun: Instant,
    within: Duration,
}

impl Watcher for Patience<'_> {
    fn tell(&mut self, _: Event<'_>) {}

    fn interrupted(&self) -> bool {
        (self.is_interrupted)() || self.begun.elapsed() > self.within
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Drained,
    Forced,
    Interrupted,
}

struct Follower<'a> {
    general: &'a General,
    reporter: &'a mut dyn Reporter,
    recorder: Option<&'a mut dyn RunRecorder>,
    assembly: Assembly,
    served: LoopTotals,
    loops: usize,
    open_loop: bool,
    /// Nobody but the follower looks at the time.
    is_timed: bool,
    drained: usize,
    /// Whole seconds that are over.
    second: u64,
    /// Seconds from the first event to the last, or to the end of what is done after it.
    elapsed: f64,
    interval: RunTotals,
    /// Since the last checkpoint.
    since: RunTotals,
    /// There was one.
    reset: bool,
    /// Events that have begun, and those that have ended.
    running: (u64, u64),
    /// Why the load cannot go on.
    failed: Option<String>,
}

impl Follower<'_> {
    fn until_over<S: LoadSource>(
        &mut self,
        source: &mut S,
        begun: Instant,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<Ended, Halt> {
        let after = |seconds: u64| begun + Duration::from_secs(self.general.warmup + seconds);
        let limit = Some(self.general.time).filter(|time| *time > 0);
        let forced = self.general.forced.zip(limit).map(|(more, time)| after(time + more));
        // Threads that wait for an event to be due do not look at the time.
        let over = limit.filter(|_| self.is_timed).map(after);
        let mut interrupted: Option<Instant> = None;
        while self.drained < self.loops {
            let event = source.next(LOOK);
            self.take(source, event)?;
            let now = Instant::now();
            if over.is_some_and(|over| now >= over) {
                source.stop();
            }
            if forced.is_some_and(|forced| now >= forced) {
                return self.give_up(source);
            }
            if interrupted.is_none() && is_interrupted() {
                source.stop();
                interrupted = Some(now);
            }
            if interrupted.is_some_and(|since| since.elapsed() > ENDS_WITHIN) {
                break;
            }
        }
        self.count_rest(source)?;
        if self.failed.is_some() {
            return Err(Halt::Quiet(Halt::FAILED));
        }
        Ok(if interrupted.is_some() { Ended::Interrupted } else { Ended::Drained })
    }

    fn take<S: LoadSource>(&mut self, source: &mut S, event: Option<LoadEvent>) -> Result<(), Halt> {
        match event {
            Some(LoadEvent::Interval(tally)) => {
                if let Some(spent) = self.assembly.add(*tally) {
                    source.recycle(spent);
                }
                while let Some(whole) = self.assembly.next_whole() {
                    self.count(&whole, source.spent())?;
                    source.recycle(whole.tally);
                }
            }
            Some(LoadEvent::Drained(totals)) => {
                self.drained += 1;
                self.served.add(totals);
            }
            // What is under way ends first.
            Some(LoadEvent::Failed(why)) => {
                self.reporter.failed(&why);
                self.failed.get_or_insert(why);
                source.stop();
            }
            Some(LoadEvent::Ready(_) | LoadEvent::Lost { .. } | LoadEvent::Machine(_)) | None => {}
        }
        Ok(())
    }

    /// Counts what not all loops have told of.
    fn count_rest(&mut self, source: &dyn LoadSource) -> Result<(), Halt> {
        let spent = source.spent();
        self.assembly.rest().iter().try_for_each(|rest| self.count(rest, spent))
    }

    /// Counts an interval, and reports where one or a checkpoint ends.
    fn count(&mut self, second: &WholeSecond, spent: Option<Spent>) -> Result<(), Halt> {
        if let Some(recorder) = &mut self.recorder {
            recorder.second(second, spent);
        }
        let tally = &second.tally;
        let counts = &tally.counters.counts;
        self.running.0 += counts.started;
        self.running.1 += counts.finished + counts.failed;
        if tally.phase == Phase::WarmUp {
            return Ok(());
        }
        let leaves_out = self.reporter.leaves_out_the_end();
        if tally.phase == Phase::Measure || leaves_out {
            let warmup_ns = self.general.warmup * 1_000_000_000;
            self.elapsed = self.elapsed.max(tally.end_ns.saturating_sub(warmup_ns) as f64 / 1e9);
        }
        self.interval.add(tally, self.open_loop, leaves_out);
        self.since.add(tally, self.open_loop, leaves_out);
        let whole = tally.end_ns.saturating_sub(tally.start_ns) >= 1_000_000_000;
        if tally.phase != Phase::Measure || !whole {
            return Ok(());
        }
        self.second += 1;
        let General { interval, checkpoints, .. } = self.general;
        if *interval > 0 && self.second.is_multiple_of(*interval) {
            let totals = std::mem::take(&mut self.interval);
            let running = self.running.0.saturating_sub(self.running.1);
            let backlog = self.open_loop.then_some(QueueState { waiting: tally.counters.waiting, running });
            console::report(&self.reporter.interval(self.general, self.second, &totals, backlog)?);
        }
        if checkpoints.contains(&self.second) {
            console::report(&format!("[ {}s ] Checkpoint report:\n", self.second));
            let totals = std::mem::take(&mut self.since);
            self.reset = true;
            let ending = Closing { elapsed: self.elapsed, fairness: self.means(&totals) };
            console::report(&self.reporter.report(self.general, &ending, &totals)?);
        }
        Ok(())
    }

    /// Gives up what is still running, long after the time limit.
    fn give_up<S: LoadSource>(&mut self, source: &mut S) -> Result<Ended, Halt> {
        console::say("FATAL: The --max-time limit has expired, forcing shutdown...");
        source.stop();
        let since = Instant::now();
        while self.drained < self.loops && since.elapsed() < LAST_WORDS {
            let event = source.next(LOOK);
            self.take(source, event)?;
        }
        self.count_rest(source)?;
        if !self.reporter.is_sql() {
            // A loop that computes has told of nothing since.
            let unfinished = self.running.0.saturating_sub(self.running.1).max((self.loops - self.drained) as u64);
            console::say(&format!("\nNumber of unfinished transactions on forced shutdown: {unfinished}"));
        }
        Ok(Ended::Forced)
    }

    /// Has the recorder know how the run ended.
    fn recorded(&mut self, ended: &Result<Ended, Halt>) {
        let Some(recorder) = &mut self.recorder else { return };
        let failed = |why: String| Some(EarlyEnd::Failed(why));
        let ended = match ended {
            Ok(Ended::Drained) => None,
            Ok(Ended::Interrupted) => Some(EarlyEnd::Interrupted),
            Ok(Ended::Forced) => failed("events went on after --time and --forced-shutdown".to_owned()),
            Err(halt) => failed(self.failed.clone().unwrap_or_else(|| halt.to_string())),
        };
        recorder.end(&self.served, ended);
    }

    /// What the threads did on average since a checkpoint: nobody knows of each how much that was.
    fn means(&self, totals: &RunTotals) -> ThreadsFairness {
        ThreadsFairness::means(totals, self.general.threads)
    }

    /// The report at the end.
    fn last(&mut self) -> Result<(), Halt> {
        if !self.reset && !self.open_loop {
            // Exact, where histograms are not.
            let busy_ns: u64 = self.served.served.iter().map(|served| served.busy_ns).sum();
            self.since.sum = busy_ns as f64 / 1e6;
        }
        if self.general.histogram {
            console::report(&text::histogram(&self.since));
        }
        let fairness = if self.reset { self.means(&self.since) } else { ThreadsFairness::of(&self.served.served) };
        let ending = Closing { elapsed: self.elapsed, fairness };
        console::report(&self.reporter.report(self.general, &ending, &self.since)?);
        Ok(())
    }
}
