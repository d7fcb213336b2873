//! A job as threads: each loop has its engine, its stream and its recorder, and shares nothing while it runs but one
//! tally per second and the arrival schedule.
//!
//! A run is controlled from outside in three steps: [`JobRun::begin`], [`JobRun::start`], and [`JobRun::finish`] once every loop has
//! told [`RunEvent::Drained`]; in between, [`JobRun::next`] has to be called often, because it also takes care of loops that
//! an operation blocks. Who follows a load takes it as a [`LoadSource`].

use crate::buffer::{Buffers, Payload};
use crate::clock::{now_ns, sleep_exactly};
use crate::engine::committers::{Committer, Logs};
use crate::engine::mmap::Mapped;
use crate::engine::null::NullEngine;
use crate::engine::threads::Threads;
use crate::engine::uring::{self, Uring};
use crate::engine::{self, fit};
use crate::error::{DuringStorage, StorageError};
use crate::files::FileSet;
use crate::job::{Access, Job, JobEngine};
use crate::measure::{COUNTERS, LoopMeter, Worker};
use crate::share::{ReadBack, RunEvent, RunStage, Shared};
use crate::stream::{self, OpStream, streams};
use crate::turns::Turns;
use crate::verify::Verifier;
use plimsoll_host::sample::process_cpu;
use plimsoll_load::arrivals::ArrivalSchedule;
use plimsoll_load::recorder::Recorder;
use plimsoll_load::source::{LoadEvent, LoadFacts, LoadSource, Readiness, Spent};
use plimsoll_load::tally::{Names, Tally};
use plimsoll_load::window::{Limit, Window};
use plimsoll_model::OpKind;
use std::cell::Cell;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// At the end of the window, operations under way are waited for as long as one completes this often.
const PATIENCE_NS: u64 = 5_000_000_000;
/// Blocked loops are taken care of this often.
const LOOK: Duration = Duration::from_millis(100);
/// Loops close their own intervals within this time, unless they are blocked.
const GRACE_NS: u64 = 50_000_000;
/// Between the order to start and the start, so that all loops hear it before.
const START_IN_NS: u64 = 5_000_000;

/// A job that is under way.
#[derive(Debug)]
pub struct JobRun {
    job: Job,
    seed: u64,
    shared: Arc<Shared>,
    meters: Vec<Arc<Mutex<LoopMeter>>>,
    events: Receiver<RunEvent>,
    recycled: Arc<Mutex<Vec<Tally>>>,
    threads: Vec<JoinHandle<()>>,
    /// When blocked loops were last taken care of.
    looked: Cell<Instant>,
    /// Loops that a [`LoadSource`] has not called ready yet, although all are when a run comes to be.
    untold: usize,
    pub facts: LoadFacts,
    /// What a [`LoadSource`] was told of verified blocks.
    pub read_back: ReadBack,
}

impl JobRun {
    /// Creates the threads, which wait for [`JobRun::start`]. `seed` decides every offset and every byte.
    ///
    /// # Errors
    /// As [`check`]; [`StorageError::Environment`] without io_uring; [`StorageError::Io`].
    pub fn begin(job: &Job, files: Arc<FileSet>, seed: u64) -> Result<JobRun, StorageError> {
        check(job)?;
        let streams = streams(job, seed);
        let (access, set) = (job.access.clone(), Arc::clone(&files));
        let payload = Payload { content: job.layout.content, seed, worker: 0, verified: job.verify };
        let largest = fit::largest(&job.access);
        let buffers = move |slots, worker| Buffers::new(slots, largest, Payload { worker, ..payload });
        match job.engine {
            JobEngine::Threads { .. } => JobRun::launch(job, files, seed, streams, move |worker| {
                Threads::new(Arc::clone(&set), &access, buffers(1, worker))
            }),
            JobEngine::Uring { depth, .. } => {
                uring::refused().map_or(Ok(()), |why| Err(StorageError::Environment(why)))?;
                JobRun::launch(job, files, seed, streams, move |worker| {
                    Uring::new(&set, depth as usize, buffers(depth as usize, worker))
                })
            }
            JobEngine::Mmap { .. } => JobRun::launch(job, files, seed, streams, move |worker| {
                Mapped::new(Arc::clone(&set), buffers(1, worker))
            }),
            JobEngine::Null { .. } => JobRun::launch(job, files, seed, streams, |_| Ok(NullEngine::default())),
            JobEngine::Committers { .. } => {
                let Access::Commits(log) = job.access else {
                    return Err(StorageError::Refused("committers can only commit".to_owned()));
                };
                let logs = Logs::open(log, &files, seed)?;
                JobRun::launch(job, files, seed, streams, move |_| Ok(Committer::new(Arc::clone(&logs))))
            }
        }
    }

    /// One thread per stream; each creates its own engine.
    fn launch<E: engine::Engine>(
        job: &Job,
        files: Arc<FileSet>,
        seed: u64,
        streams: Vec<Box<dyn OpStream>>,
        make: impl Fn(u64) -> io::Result<E> + Send + Sync + 'static,
    ) -> Result<JobRun, StorageError> {
        let (outbox, events) = channel();
        let (told, ready) = channel();
        let mut run = JobRun::new(job, seed, streams.len(), &outbox, events);
        let verifier = fit::verified_block(job).map(|block| Arc::new(Verifier::new(&job.layout, block, seed)));
        let make = Arc::new(make);
        for (index, stream) in streams.into_iter().enumerate() {
            let member = Member {
                index,
                loops: run.facts.loops,
                job: job.clone(),
                meter: Arc::clone(&run.meters[index]),
                shared: Arc::clone(&run.shared),
                files: Arc::clone(&files),
                verifier: verifier.clone(),
            };
            let (make, report) = (Arc::clone(&make), told.clone());
            let body = move || member.live(stream, || make(index as u64), report);
            match std::thread::Builder::new().name(format!("storage-{index}")).spawn(body) {
                Ok(thread) => run.threads.push(thread),
                Err(error) => drop(told.send(Err(error))),
            }
        }
        drop(told);
        match ready.iter().collect::<io::Result<Vec<()>>>().during("set up I/O in", &files.directory) {
            Ok(_) => Ok(run),
            Err(error) => {
                run.finish();
                Err(error)
            }
        }
    }

    fn new(job: &Job, seed: u64, loops: usize, outbox: &Sender<RunEvent>, events: Receiver<RunEvent>) -> JobRun {
        let kinds = fit::last_kind(&job.access) as usize + 1;
        let names = Names { transactions: &OpKind::NAMES[..kinds], statements: Vec::new(), counters: &COUNTERS };
        let facts = LoadFacts {
            names,
            loops,
            tellers: loops,
            open_loop: job.arrivals.rate().is_some(),
            warmup_ns: job.warmup_ns,
            limit: job.limit,
        };
        let by_start = !matches!(job.limit, Limit::Time(_));
        let recycled = Arc::new(Mutex::default());
        let meter = |_| {
            let recorder = Recorder::new(1, facts.names.shape(), by_start, facts.open_loop);
            Arc::new(Mutex::new(LoopMeter::new(recorder, outbox.clone(), Arc::clone(&recycled))))
        };
        JobRun {
            job: job.clone(),
            seed,
            shared: Arc::new(Shared::new(job, loops)),
            meters: (0..loops).map(meter).collect(),
            events,
            threads: Vec::with_capacity(loops),
            looked: Cell::new(Instant::now()),
            recycled,
            untold: loops,
            facts,
            read_back: ReadBack::default(),
        }
    }

    /// Lets the loops begin. Returns so long from now.
    pub fn start(&self) -> Duration {
        let start_ns = now_ns() + START_IN_NS;
        let events = self.job.limit.events(self.facts.loops).unwrap_or(u64::MAX);
        let schedule = ArrivalSchedule::new(self.job.arrivals, events, self.seed, start_ns, (0, 1));
        self.shared
            .enter(RunStage::Started { start_ns, schedule: schedule.map(|schedule| Arc::new(Mutex::new(schedule))) });
        Duration::from_nanos(START_IN_NS)
    }

    /// What comes next; `None` if nothing came within `wait`.
    pub fn next(&self, wait: Duration) -> Option<RunEvent> {
        let until = Instant::now() + wait;
        loop {
            if self.looked.get().elapsed() >= LOOK {
                self.look_after();
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left.min(LOOK)) {
                Ok(event) => return Some(event),
                Err(RecvTimeoutError::Timeout) if left > LOOK => {}
                Err(_) => return None,
            }
        }
    }

    fn look_after(&self) {
        let stop = self.shared.stop.load(Ordering::Relaxed);
        for meter in &self.meters {
            // A loop that has it right now is alive.
            if let Ok(mut meter) = meter.try_lock() {
                meter.look_after(now_ns().saturating_sub(GRACE_NS), stop, PATIENCE_NS);
            }
        }
        self.looked.set(Instant::now());
    }

    /// Returns the memory of a tally.
    pub fn recycle(&self, tally: Tally) {
        if let Ok(mut recycled) = self.recycled.lock() {
            recycled.push(tally);
        }
    }

    /// Ends the window now.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// How many threads have ended. Before [`JobRun::finish`] only a panic ends one: when their work is done, they wait
    /// for it.
    pub fn ended(&self) -> usize {
        self.threads.iter().filter(|thread| thread.is_finished()).count()
    }

    /// Ends the threads and waits for them, but not for one whose operation never comes back.
    pub fn finish(self) {
        self.stop();
        self.shared.enter(RunStage::Leaving);
        let give_up = Instant::now() + Duration::from_nanos(PATIENCE_NS);
        for thread in self.threads {
            while !thread.is_finished() && Instant::now() < give_up {
                std::thread::sleep(Duration::from_millis(1));
            }
            if thread.is_finished() {
                // The thread has printed its panic.
                let _ = thread.join();
            }
        }
    }
}

impl LoadSource for JobRun {
    fn facts(&self) -> &LoadFacts {
        &self.facts
    }

    fn start(&mut self, _: &dyn Fn() -> bool) -> Duration {
        JobRun::start(self)
    }

    /// What is told of verified blocks is kept in [`JobRun::read_back`].
    fn next(&mut self, wait: Duration) -> Option<LoadEvent> {
        if self.untold > 0 {
            self.untold -= 1;
            return Some(LoadEvent::Ready(Readiness::default()));
        }
        let until = Instant::now() + wait;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match JobRun::next(self, left)? {
                RunEvent::Interval(tally) => return Some(LoadEvent::Interval(tally)),
                RunEvent::Drained(totals) => return Some(LoadEvent::Drained(totals)),
                RunEvent::Failed(why) => return Some(LoadEvent::Failed(why)),
                RunEvent::ReadBack => self.read_back.is_complete = true,
                RunEvent::Mismatch(mismatch) => self.read_back.mismatch(mismatch),
            }
            if left.is_zero() {
                return None;
            }
        }
    }

    fn ended(&self) -> usize {
        JobRun::ended(self)
    }

    fn spent(&self) -> Option<Spent> {
        Some(Spent { cpu: process_cpu(), waited: None })
    }

    fn recycle(&mut self, tally: Tally) {
        JobRun::recycle(self, tally);
    }

    fn stop(&mut self) {
        JobRun::stop(self);
    }

    fn finish(self) {
        JobRun::finish(self);
    }
}

/// Whether a job is possible: with its engine, and on files of its layout.
///
/// # Errors
/// [`StorageError::Refused`] says what is impossible and what is possible.
pub fn check(job: &Job) -> Result<(), StorageError> {
    fit::check(job)?;
    stream::check(job)
}

/// Bytes of memory that the buffers of a job take, with what its verification remembers of each block.
pub fn buffer_bytes(job: &Job) -> u64 {
    let remembered = fit::verified_block(job).map_or(0, |block| Verifier::bytes(&job.layout, block));
    Buffers::bytes(job.engine.depth() as usize, fit::largest(&job.access)).saturating_add(remembered)
}

/// The parts of a loop, before it has an engine.
struct Member {
    index: usize,
    loops: usize,
    job: Job,
    meter: Arc<Mutex<LoopMeter>>,
    shared: Arc<Shared>,
    files: Arc<FileSet>,
    verifier: Option<Arc<Verifier>>,
}

impl Member {
    /// The whole life of a thread.
    fn live<E: engine::Engine>(
        self,
        stream: Box<dyn OpStream>,
        make: impl FnOnce() -> io::Result<E>,
        told: Sender<io::Result<()>>,
    ) {
        sleep_exactly();
        let engine = match make() {
            Ok(engine) => engine,
            Err(error) => return drop(told.send(Err(error))),
        };
        let _ = told.send(Ok(()));
        drop(told);
        let Member { index, loops, job, meter, shared, files, verifier } = self;
        let RunStage::Started { start_ns, schedule } = shared.until(|stage| !matches!(stage, RunStage::Waiting)) else {
            return;
        };
        let turns = Turns::new(job.limit.quota(index, loops), schedule);
        let window = Window::new(start_ns, job.warmup_ns, job.limit);
        Worker::new(engine, stream, turns, meter, Arc::clone(&shared), files, verifier).run(window);
        shared.until(|stage| matches!(stage, RunStage::Leaving));
    }
}

/// Why io_uring cannot be used by this process; `None` if it can.
pub fn io_uring_refused() -> Option<String> {
    uring::refused()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::CompletedOp;
    use crate::job::{Mix, Places, Syncs};
    use crate::layout::{Allocation, Content, FileLayout, Open};
    use crate::op::{Durable, Op};
    use plimsoll_load::arrivals::Arrivals;
    use plimsoll_testkit::servers::wait_until;
    use std::sync::atomic::AtomicBool;

    /// Its operations come back when they are released.
    struct Held {
        released: Arc<AtomicBool>,
        under_way: Option<(usize, Op)>,
    }

    impl engine::Engine for Held {
        fn depth(&self) -> usize {
            1
        }

        fn begin(&mut self, slot: usize, op: &Op) -> io::Result<()> {
            self.under_way = Some((slot, *op));
            Ok(())
        }

        fn complete(&mut self, _deadline_ns: Option<u64>, mut done: impl FnMut(CompletedOp)) -> io::Result<()> {
            let sent_ns = now_ns();
            assert!(wait_until(Duration::from_secs(60), || self.released.load(Ordering::Relaxed)));
            let under_way = self.under_way.take();
            under_way.into_iter().for_each(|(slot, op)| done(CompletedOp::of(slot, &op, sent_ns, now_ns(), Ok(()))));
            Ok(())
        }
    }

    struct Reads;

    impl OpStream for Reads {
        fn next(&mut self) -> Option<Op> {
            Some(Op::Read { file: 0, offset: 0, bytes: 512 })
        }
    }

    fn job() -> Job {
        let layout = FileLayout {
            name: "held".to_owned(),
            files: 1,
            bytes_per_file: 512,
            allocation: Allocation::Overwrite,
            content: Content::Zeros,
            fresh: false,
        };
        let (places, mix, syncs) = (Places::Anywhere, Mix::Reads, Syncs::NEVER);
        Job {
            layout,
            open: Open::default(),
            access: Access::Random { block: 512, places, mix, syncs, durable: Durable::No },
            engine: JobEngine::Null { workers: 1 },
            arrivals: Arrivals::Constant { rate: 10.0 },
            limit: Limit::Time(3_600_000_000_000),
            warmup_ns: 0,
            verify: false,
        }
    }

    #[test]
    fn seconds_go_on_while_an_operation_holds_its_loop_up() {
        let job = job();
        let (layout, open) = (job.layout.clone(), job.open);
        let files = FileSet { layout, open, files: vec![], paths: vec![], directory: std::env::temp_dir() };
        let released = Arc::new(AtomicBool::new(false));
        let release = Arc::clone(&released);
        let make = move |_| Ok(Held { released: Arc::clone(&released), under_way: None });
        let run = JobRun::launch(&job, Arc::new(files), 1, vec![Box::new(Reads)], make).unwrap();
        run.start();
        let first = run.next(Duration::from_secs(30));
        assert!(matches!(&first, Some(RunEvent::Interval(tally)) if tally.counters.transactions == 0), "{first:?}");
        run.stop();
        release.store(true, Ordering::Relaxed);
        let totals = std::iter::from_fn(|| run.next(Duration::from_secs(30))).find_map(|event| match event {
            RunEvent::Drained(totals) => Some(totals),
            _ => None,
        });
        let counts = totals.unwrap().counts;
        assert!(counts.offered >= 10 && counts.dropped >= 9, "{counts:?}");
        assert_eq!((counts.started, counts.finished), (1, 1), "{counts:?}");
        run.finish();
    }
}
