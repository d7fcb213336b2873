//! A job as threads: each loop has its engine, its stream and its recorder, and shares nothing while it runs but one
//! tally per second and the schedule of arrivals.
//!
//! Tallies are on the clock of [`crate::clock`]. A run is steered from outside in three steps: [`Run::begin`],
//! [`Run::start`], and [`Run::finish`] once every loop has told [`RunEvent::Drained`]; between them [`Run::next`] has to
//! be called often, because it also looks after loops that an operation holds up.

use crate::buffer::{Buffers, Payload};
use crate::clock::{now_ns, sleep_exactly};
use crate::engine::committers::{Committer, Logs};
use crate::engine::mmap::Mapped;
use crate::engine::null::Null;
use crate::engine::threads::Threads;
use crate::engine::uring::{self, Uring};
use crate::engine::{self, fit};
use crate::error::{During, StorageError};
use crate::files::FileSet;
use crate::job::{Access, Engine, Job};
use crate::measure::{COUNTERS, Meter, Worker};
use crate::op::Kind;
use crate::share::{RunEvent, Shared, Stage};
use crate::stream::{self, Stream, streams};
use crate::turns::Turns;
use crate::verify::Verifier;
use plimsoll_load::arrivals::Schedule;
use plimsoll_load::recorder::Recorder;
use plimsoll_load::tally::{Names, Tally};
use plimsoll_load::window::{Limit, Window};
use std::cell::Cell;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Operations under way when the window ends are waited for as long as something comes back this often.
const PATIENCE_NS: u64 = 5_000_000_000;
/// Loops that are held up are looked after this often.
const LOOK: Duration = Duration::from_millis(100);
/// Loops close their own intervals within this time, unless they are held up.
const GRACE_NS: u64 = 50_000_000;
/// Between the order to start and the start, so that all loops hear it before.
const START_IN_NS: u64 = 5_000_000;

/// A job that is under way.
#[derive(Debug)]
pub struct Run {
    job: Job,
    seed: u64,
    shared: Arc<Shared>,
    meters: Vec<Arc<Mutex<Meter>>>,
    events: Receiver<RunEvent>,
    recycled: Arc<Mutex<Vec<Tally>>>,
    threads: Vec<JoinHandle<()>>,
    /// When held-up loops were looked after last.
    looked: Cell<Instant>,
    pub names: Names,
    pub loops: usize,
}

impl Run {
    /// Makes the threads, which wait for [`Run::start`]. `seed` decides every place and every byte.
    ///
    /// # Errors
    /// As [`check`]; [`StorageError::Environment`] without io_uring; [`StorageError::Io`].
    pub fn begin(job: &Job, files: Arc<FileSet>, seed: u64) -> Result<Run, StorageError> {
        check(job)?;
        let streams = streams(job, seed);
        let (access, set) = (job.access.clone(), Arc::clone(&files));
        let payload = Payload { content: job.layout.content, seed, worker: 0, verified: job.verify };
        let largest = fit::largest(&job.access);
        let buffers = move |slots, worker| Buffers::new(slots, largest, Payload { worker, ..payload });
        match job.engine {
            Engine::Threads { .. } => Run::launch(job, files, seed, streams, move |worker| {
                Threads::new(Arc::clone(&set), &access, buffers(1, worker))
            }),
            Engine::Uring { depth, .. } => {
                uring::refused().map_or(Ok(()), |why| Err(StorageError::Environment(why)))?;
                Run::launch(job, files, seed, streams, move |worker| {
                    Uring::new(&set, depth as usize, buffers(depth as usize, worker))
                })
            }
            Engine::Mmap { .. } => {
                Run::launch(job, files, seed, streams, move |worker| Mapped::new(Arc::clone(&set), buffers(1, worker)))
            }
            Engine::Null { .. } => Run::launch(job, files, seed, streams, |_| Ok(Null::default())),
            Engine::Committers { .. } => {
                let Access::Commits(log) = job.access else {
                    return Err(StorageError::Refused("committers do nothing but commit".to_owned()));
                };
                let logs = Logs::open(log, &files, seed)?;
                Run::launch(job, files, seed, streams, move |_| Ok(Committer::new(Arc::clone(&logs))))
            }
        }
    }

    /// One thread per stream; each makes its own engine.
    fn launch<E: engine::Engine>(
        job: &Job,
        files: Arc<FileSet>,
        seed: u64,
        streams: Vec<Box<dyn Stream>>,
        make: impl Fn(u64) -> io::Result<E> + Send + Sync + 'static,
    ) -> Result<Run, StorageError> {
        let (outbox, events) = channel();
        let (told, ready) = channel();
        let mut run = Run::new(job, seed, streams.len(), &outbox, events);
        let verifier = fit::verified_block(job).map(|block| Arc::new(Verifier::new(&job.layout, block, seed)));
        let make = Arc::new(make);
        for (index, stream) in streams.into_iter().enumerate() {
            let member = Member {
                index,
                loops: run.loops,
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

    fn new(job: &Job, seed: u64, loops: usize, outbox: &Sender<RunEvent>, events: Receiver<RunEvent>) -> Run {
        let kinds = fit::last_kind(&job.access) as usize + 1;
        let names = Names { transactions: &Kind::NAMES[..kinds], statements: Vec::new(), counters: &COUNTERS };
        let by_start = !matches!(job.limit, Limit::Time(_));
        let recycled = Arc::new(Mutex::default());
        let meter = |_| {
            let recorder = Recorder::new(1, names.shape(), by_start, job.arrivals.rate().is_some());
            Arc::new(Mutex::new(Meter::new(recorder, outbox.clone(), Arc::clone(&recycled))))
        };
        Run {
            job: job.clone(),
            seed,
            shared: Arc::new(Shared::new(job, loops)),
            meters: (0..loops).map(meter).collect(),
            events,
            threads: Vec::with_capacity(loops),
            looked: Cell::new(Instant::now()),
            recycled,
            names,
            loops,
        }
    }

    /// Lets the loops begin; the start of the warm-up on the clock of the tallies (CLOCK_MONOTONIC, nanoseconds).
    pub fn start(&self) -> u64 {
        let start_ns = now_ns() + START_IN_NS;
        let events = self.job.limit.events(self.loops).unwrap_or(u64::MAX);
        let schedule = Schedule::new(self.job.arrivals, events, self.seed, start_ns, (0, 1));
        self.shared
            .enter(Stage::Started { start_ns, schedule: schedule.map(|schedule| Arc::new(Mutex::new(schedule))) });
        start_ns
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

    /// Gives the memory of a tally back.
    pub fn recycle(&self, tally: Tally) {
        if let Ok(mut recycled) = self.recycled.lock() {
            recycled.push(tally);
        }
    }

    /// Ends the window now.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// How many threads are gone. Before [`Run::finish`] only a panic ends one: they wait for it when their work is done.
    pub fn ended(&self) -> usize {
        self.threads.iter().filter(|thread| thread.is_finished()).count()
    }

    /// Ends the threads and waits for them, but not for one whose operation never comes back.
    pub fn finish(self) {
        self.stop();
        self.shared.enter(Stage::Leaving);
        let give_up = Instant::now() + Duration::from_nanos(PATIENCE_NS);
        for thread in self.threads {
            while !thread.is_finished() && Instant::now() < give_up {
                std::thread::sleep(Duration::from_millis(1));
            }
            if thread.is_finished() {
                // A panic has been printed by its thread.
                let _ = thread.join();
            }
        }
    }
}

/// Whether a job can be done at all: by its engine, and on files of its layout.
///
/// # Errors
/// [`StorageError::Refused`] says what cannot be done and what can.
pub fn check(job: &Job) -> Result<(), StorageError> {
    fit::check(job)?;
    stream::check(job)
}

/// Bytes of memory that the buffers of a job take.
pub fn buffer_bytes(job: &Job) -> u64 {
    Buffers::bytes(job.engine.depth() as usize, fit::largest(&job.access))
}

/// What a loop is made of, before it has an engine.
struct Member {
    index: usize,
    loops: usize,
    job: Job,
    meter: Arc<Mutex<Meter>>,
    shared: Arc<Shared>,
    files: Arc<FileSet>,
    verifier: Option<Arc<Verifier>>,
}

impl Member {
    /// The whole life of a thread.
    fn live<E: engine::Engine>(
        self,
        stream: Box<dyn Stream>,
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
        let Stage::Started { start_ns, schedule } = shared.until(|stage| !matches!(stage, Stage::Waiting)) else {
            return;
        };
        let turns = Turns::new(job.limit.quota(index, loops), schedule);
        let window = Window::new(start_ns, job.warmup_ns, job.limit);
        Worker::new(engine, stream, turns, meter, Arc::clone(&shared), files, verifier).run(window);
        shared.until(|stage| matches!(stage, Stage::Leaving));
    }
}

/// Why io_uring cannot be used by this process; `None` if it can.
pub fn io_uring_refused() -> Option<String> {
    uring::refused()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Completed;
    use crate::job::{Mix, Places, Syncs};
    use crate::layout::{Allocation, Content, Layout, Open};
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

        fn complete(&mut self, _deadline_ns: Option<u64>, mut done: impl FnMut(Completed)) -> io::Result<()> {
            let sent_ns = now_ns();
            assert!(wait_until(Duration::from_secs(60), || self.released.load(Ordering::Relaxed)));
            let under_way = self.under_way.take();
            under_way.into_iter().for_each(|(slot, op)| done(Completed::of(slot, &op, sent_ns, now_ns(), Ok(()))));
            Ok(())
        }
    }

    struct Reads;

    impl Stream for Reads {
        fn next(&mut self) -> Option<Op> {
            Some(Op::Read { file: 0, offset: 0, bytes: 512 })
        }
    }

    fn job() -> Job {
        let layout = Layout {
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
            engine: Engine::Null { workers: 1 },
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
        let run = Run::launch(&job, Arc::new(files), 1, vec![Box::new(Reads)], make).unwrap();
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
