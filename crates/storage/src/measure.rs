//! The measuring loop: begins operations when their turn comes, and records their results.

use crate::clock::{now_ns, sleep_until, thread_cpu_ns};
use crate::engine::{CompletedOp, Engine};
use crate::files::FileSet;
use crate::op::Direction;
use crate::op::Op;
use crate::share::{RunEvent, Shared};
use crate::stream::OpStream;
use crate::turns::{LoopTurn, Turns};
use crate::verify::Verifier;
use plimsoll_load::recorder::{Done, End, Recorder};
use plimsoll_load::tally::Tally;
use plimsoll_load::window::Window;
use plimsoll_model::OpKind;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Names of the counters of a tally, in their order.
pub const COUNTERS: [&str; 2] = ["read_bytes", "written_bytes"];
/// Their positions there.
pub const READ_BYTES: usize = 0;
pub const WRITTEN_BYTES: usize = 1;

/// The sync of a large file at the end may take far longer than an operation of a measurement.
const CLOSING_PATIENCE_NS: u64 = 600_000_000_000;
/// A loop checks at least this often whether it should stop.
const LOOK_NS: u64 = 100_000_000;
/// How many blocks are tried before a verified operation waits for a free one.
const TRIES: usize = 64;
const BLOCKS_FREE_NS: u64 = 50_000;

/// One loop's recorder, and where its tallies go. Only the loop uses it, except while an operation blocks the loop:
/// then [`crate::JobRun`] closes its intervals.
#[derive(Debug)]
pub struct LoopMeter {
    /// `None` when it is drained.
    recorder: Option<Recorder>,
    outbox: Sender<RunEvent>,
    recycled: Arc<Mutex<Vec<Tally>>>,
    /// CPU time of the loop's thread when it was last read.
    cpu_ns: u64,
    /// When an operation last completed.
    heard_ns: u64,
    /// The window is over, and files are being synced or read back.
    closing: bool,
}

impl LoopMeter {
    pub fn new(recorder: Recorder, outbox: Sender<RunEvent>, recycled: Arc<Mutex<Vec<Tally>>>) -> LoopMeter {
        LoopMeter { recorder: Some(recorder), outbox, recycled, cpu_ns: 0, heard_ns: 0, closing: false }
    }

    /// On the loop's thread: the recorder, with all intervals closed that have ended by now; `None` once it is drained.
    #[inline]
    fn at(&mut self, now_ns: u64) -> Option<&mut Recorder> {
        if self.recorder.as_ref()?.interval_end_ns() <= now_ns {
            self.cpu_ns = thread_cpu_ns();
            self.roll(now_ns);
        }
        self.recorder.as_mut()
    }

    fn roll(&mut self, now_ns: u64) {
        let Some(recorder) = &mut self.recorder else { return };
        if let Some(tally) = self.recycled.lock().ok().and_then(|mut recycled| recycled.pop()) {
            recorder.recycle(tally);
        }
        let (cpu_ns, outbox) = (self.cpu_ns, &self.outbox);
        recorder.roll(now_ns, || cpu_ns, |tally| drop(outbox.send(RunEvent::Interval(Box::new(tally)))));
    }

    fn end_window(&mut self, now_ns: u64) {
        self.roll(now_ns);
        if let Some(tally) = self.recorder.as_mut().and_then(|recorder| recorder.end_window(now_ns, self.cpu_ns)) {
            self.tell(RunEvent::Interval(Box::new(tally)));
        }
    }

    fn finish(&mut self, now_ns: u64) {
        let Some(recorder) = self.recorder.take() else { return };
        let (last, totals) = recorder.finish(now_ns, self.cpu_ns);
        self.tell(RunEvent::Interval(Box::new(last)));
        self.tell(RunEvent::Drained(totals));
    }

    /// From outside, for a loop that an operation blocks: closes its intervals, ends its window if it should `stop`,
    /// and gives up operations that have not completed `patience_ns` after its end (later for a closing sync or read).
    pub fn look_after(&mut self, now_ns: u64, stop: bool, patience_ns: u64) {
        if self.recorder.as_ref().is_none_or(|recorder| recorder.window().start_ns > now_ns) {
            return;
        }
        self.roll(now_ns);
        if stop {
            self.end_window(now_ns);
        }
        let Some(w1_ns) = self.recorder.as_ref().and_then(|recorder| recorder.window().w1_ns) else { return };
        let patience_ns = if self.closing { patience_ns.max(CLOSING_PATIENCE_NS) } else { patience_ns };
        if now_ns > w1_ns.max(self.heard_ns).saturating_add(patience_ns) {
            self.finish(now_ns);
        }
    }

    /// If nobody listens any more, nothing is missed.
    fn tell(&self, event: RunEvent) {
        let _ = self.outbox.send(event);
    }
}

/// A recorder is consistent between any two of its calls, whoever panicked meanwhile.
pub fn lock(meter: &Mutex<LoopMeter>) -> MutexGuard<'_, LoopMeter> {
    meter.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An operation under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    op: Op,
    due_ns: u64,
}

/// One loop, on its thread.
pub struct Worker<E> {
    engine: E,
    stream: Box<dyn OpStream>,
    turns: Turns,
    meter: Arc<Mutex<LoopMeter>>,
    shared: Arc<Shared>,
    files: Arc<FileSet>,
    verifier: Option<Arc<Verifier>>,
    slots: Vec<Option<UnderWay>>,
    free: Vec<usize>,
    /// A turn that is due and waits for a free block to verify.
    held: Option<u64>,
    /// Reported by the engine and not recorded yet.
    completed: Vec<CompletedOp>,
    failure: Option<String>,
}

impl<E: Engine> Worker<E> {
    pub fn new(
        engine: E,
        stream: Box<dyn OpStream>,
        turns: Turns,
        meter: Arc<Mutex<LoopMeter>>,
        shared: Arc<Shared>,
        files: Arc<FileSet>,
        verifier: Option<Arc<Verifier>>,
    ) -> Worker<E> {
        let depth = engine.depth();
        Worker {
            engine,
            stream,
            turns,
            meter,
            shared,
            files,
            verifier,
            slots: vec![None; depth],
            free: (0..depth).rev().collect(),
            held: None,
            completed: Vec::with_capacity(depth),
            failure: None,
        }
    }

    /// From the start to the last operation; then the files are synced and read back, if requested.
    pub fn run(mut self, window: Window) {
        sleep_until(window.start_ns);
        if let Some(recorder) = &mut lock(&self.meter).recorder {
            recorder.begin(window, thread_cpu_ns());
        }
        self.measure();
        self.end_window();
        if self.shared.working.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.sync_all();
        }
        if let Some(failure) = self.failure.take() {
            lock(&self.meter).tell(RunEvent::Failed(failure));
        }
        let Worker { engine, meter, shared, files, verifier, .. } = self;
        drop(engine);
        if shared.holding.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(verifier) = verifier
        {
            read_back(&verifier, &files, &meter, &shared);
        }
        let mut meter = lock(&meter);
        meter.cpu_ns = thread_cpu_ns();
        meter.finish(now_ns());
    }

    fn measure(&mut self) {
        loop {
            let next = self.begin();
            let idle = self.free.len() == self.slots.len();
            match next {
                Some(LoopTurn::Over) if idle => return,
                Some(LoopTurn::Later(due_ns)) if idle => sleep_until(due_ns.min(now_ns() + LOOK_NS)),
                Some(LoopTurn::Later(due_ns)) => self.complete(Some(due_ns.min(now_ns() + LOOK_NS))),
                _ => self.complete(None),
            }
        }
    }

    /// Begins what can begin now. Returns why no more could; `None` if all slots are taken.
    fn begin(&mut self) -> Option<LoopTurn> {
        while let Some(slot) = self.free.last().copied() {
            let now_ns = now_ns();
            let due_ns = match self.turn(now_ns) {
                LoopTurn::Now { due_ns } => due_ns,
                other => return Some(other),
            };
            match self.next_op() {
                Next::Op(op) => self.begin_op(slot, op, due_ns, now_ns),
                Next::Busy => {
                    self.held = Some(due_ns);
                    return Some(LoopTurn::Later(now_ns + BLOCKS_FREE_NS));
                }
                Next::Nothing => {
                    self.held = Some(due_ns);
                    return Some(LoopTurn::Over);
                }
            }
        }
        None
    }

    fn turn(&mut self, now_ns: u64) -> LoopTurn {
        let mut meter = lock(&self.meter);
        if self.shared.stop.load(Ordering::Relaxed) {
            meter.end_window(now_ns);
        }
        let Some(recorder) = meter.at(now_ns) else { return LoopTurn::Over };
        if self.failure.is_some() || recorder.window().is_over(now_ns) {
            return LoopTurn::Over;
        }
        match self.held.take() {
            Some(due_ns) => LoopTurn::Now { due_ns },
            None => self.turns.next(now_ns, recorder.window(), |due_ns| recorder.dropped(due_ns)),
        }
    }

    /// The next operation; if verified, the next whose block is free.
    fn next_op(&mut self) -> Next {
        for _ in 0..TRIES {
            let Some(op) = self.stream.next() else { return Next::Nothing };
            match (&self.verifier, place(&op)) {
                (Some(verifier), Some((file, offset))) if !verifier.claim(file, offset) => {}
                _ => return Next::Op(op),
            }
        }
        Next::Busy
    }

    fn begin_op(&mut self, slot: usize, op: Op, due_ns: u64, now_ns: u64) {
        if let (Some(verifier), Op::Write { file, offset, bytes, .. }) = (&self.verifier, op) {
            verifier.fill(file, offset, &mut self.engine.buffer(slot, Direction::Write)[..bytes as usize]);
        }
        if let Some(recorder) = lock(&self.meter).at(now_ns) {
            recorder.started(due_ns, now_ns);
        }
        match self.engine.begin(slot, &op) {
            Ok(()) => {
                self.free.pop();
                self.slots[slot] = Some(UnderWay { op, due_ns });
            }
            Err(error) => self.failed(op, due_ns, &error),
        }
    }

    /// Waits for operations and records them.
    fn complete(&mut self, deadline_ns: Option<u64>) {
        let mut completed = std::mem::take(&mut self.completed);
        if let Err(error) = self.engine.complete(deadline_ns, |one| completed.push(one)) {
            self.failure.get_or_insert(format!("waiting for the operations under way failed: {error}"));
            // What became of them is unknown: they stay unfinished.
            self.free = (0..self.slots.len()).collect();
            self.slots.fill(None);
        }
        completed.drain(..).for_each(|one| self.finished(one));
        self.completed = completed;
    }

    fn finished(&mut self, completed: CompletedOp) {
        let Some(slot) = completed.slot else { return self.besides(completed) };
        let Some(UnderWay { op, due_ns }) = self.slots[slot].take() else { return };
        self.free.push(slot);
        let right = self.verified(slot, &op, completed.result.is_ok());
        if let Err(error) = &completed.result {
            return self.failed(op, due_ns, error);
        }
        let mut meter = lock(&self.meter);
        meter.heard_ns = completed.done_ns;
        let Some(recorder) = meter.at(completed.done_ns) else { return };
        match right {
            true => record(recorder, &completed, due_ns),
            false => recorder.failed(completed.kind as usize, due_ns),
        }
    }

    /// An engine's extra operations were due when they were sent.
    fn besides(&mut self, completed: CompletedOp) {
        let mut meter = lock(&self.meter);
        let Some(recorder) = meter.at(completed.done_ns) else { return };
        recorder.started(completed.sent_ns, completed.sent_ns);
        match completed.result {
            Ok(()) => record(recorder, &completed, completed.sent_ns),
            Err(_) => recorder.failed(completed.kind as usize, completed.sent_ns),
        }
    }

    /// Releases a verified block; false if its content was not what had been written.
    fn verified(&mut self, slot: usize, op: &Op, done: bool) -> bool {
        let (Some(verifier), Some((file, offset))) = (&self.verifier, place(op)) else { return true };
        let found = match *op {
            Op::Read { bytes, .. } if done => {
                verifier.check(file, offset, &self.engine.buffer(slot, Direction::Read)[..bytes as usize])
            }
            _ => Ok(()),
        };
        verifier.release(file, offset, done && matches!(op, Op::Write { .. }));
        found.map_err(|mismatch| lock(&self.meter).tell(RunEvent::Mismatch(mismatch))).is_ok()
    }

    /// The first failure is reported; after it nothing more begins.
    fn failed(&mut self, op: Op, due_ns: u64, error: &std::io::Error) {
        if let Some(recorder) = lock(&self.meter).at(now_ns()) {
            recorder.failed(op.kind() as usize, due_ns);
        }
        self.failure.get_or_insert(describe(&op, &self.files, error));
    }

    /// Fixed work ends with its last operation; what was due and never began is dropped.
    fn end_window(&mut self) {
        let now_ns = now_ns();
        let mut meter = lock(&self.meter);
        meter.cpu_ns = thread_cpu_ns();
        meter.end_window(now_ns);
        let Some(recorder) = meter.at(now_ns) else { return };
        let end_ns = recorder.window().w1_ns.unwrap_or(now_ns);
        self.turns.abandon(end_ns, self.held.take(), |due_ns| recorder.dropped(due_ns));
    }

    /// Syncs all files when all loops are done.
    fn sync_all(&mut self) {
        let Some(mode) = self.shared.sync_at_end else { return };
        lock(&self.meter).closing = true;
        for file in 0..self.files.files.len() as u32 {
            let now_ns = now_ns();
            if let (None, Some(slot)) = (&self.failure, self.free.last().copied()) {
                self.begin_op(slot, Op::Sync { file, mode }, now_ns, now_ns);
            }
            while self.free.len() < self.slots.len() {
                self.complete(None);
            }
        }
    }
}

/// What a stream offers.
enum Next {
    Op(Op),
    /// Nothing is free for now.
    Busy,
    Nothing,
}

/// The block of an operation that is verified.
fn place(op: &Op) -> Option<(u32, u64)> {
    match *op {
        Op::Read { file, offset, .. } | Op::Write { file, offset, .. } => Some((file, offset)),
        _ => None,
    }
}

fn record(recorder: &mut Recorder, completed: &CompletedOp, due_ns: u64) {
    let CompletedOp { kind, sent_ns, done_ns, bytes, .. } = *completed;
    match kind {
        OpKind::Read => recorder.counted(READ_BYTES, bytes),
        _ if bytes > 0 => recorder.counted(WRITTEN_BYTES, bytes),
        _ => {}
    }
    let transaction = kind as usize;
    recorder.finished(Done { connection: 0, transaction, end: End::Committed, due_ns, sent_ns, now_ns: done_ns });
}

/// Reads everything back, once no loop uses the files any more.
fn read_back(verifier: &Verifier, files: &FileSet, meter: &Mutex<LoopMeter>, shared: &Shared) {
    let heard = || {
        let mut meter = lock(meter);
        (meter.heard_ns, meter.closing) = (now_ns(), true);
    };
    heard();
    let mut told = |_: u64, _: u64| {
        heard();
        !shared.stop.load(Ordering::Relaxed)
    };
    let swept = verifier.sweep(files, &mut |mismatch| lock(meter).tell(RunEvent::Mismatch(mismatch)), &mut told);
    lock(meter).tell(match swept {
        Ok(()) => RunEvent::ReadBack,
        Err(error) => RunEvent::Failed(format!("the data that were written could not be read back: {error}")),
    });
}

/// Which operation failed, where and why, and what to do about it.
fn describe(op: &Op, files: &FileSet, error: &std::io::Error) -> String {
    let path = |file: u32| files.paths.get(file as usize).unwrap_or(&files.directory).display();
    let what = match *op {
        Op::Read { file, offset, bytes } => format!("reading {bytes} bytes at offset {offset} of {}", path(file)),
        Op::Write { file, offset, bytes, .. } => format!("writing {bytes} bytes at offset {offset} of {}", path(file)),
        Op::Sync { file, .. } => format!("syncing {}", path(file)),
        Op::Extend { file, bytes, .. } => format!("extending {} by {bytes} bytes", path(file)),
        Op::Commit => format!("a commit to the logs in {}", files.directory.display()),
        Op::Create { number } | Op::Rename { number } | Op::Truncate { number } | Op::Unlink { number } => {
            let name = format!("{}-meta.{number}", files.layout.name);
            format!("the {} of {}", op.kind().name(), files.directory.join(name).display())
        }
    };
    format!("{what} failed: {error}{}", advice(op, files, error))
}

fn advice(op: &Op, files: &FileSet, error: &std::io::Error) -> &'static str {
    match (error.kind(), op) {
        (std::io::ErrorKind::StorageFull, _) => "; choose smaller files, or a directory with more room",
        (std::io::ErrorKind::InvalidInput, Op::Write { atomic: true, .. })
        | (std::io::ErrorKind::Unsupported, Op::Write { atomic: true, .. }) => {
            "; untorn writes (RWF_ATOMIC) need O_DIRECT and a file system that offers them by statx(2)"
        }
        (std::io::ErrorKind::InvalidInput, _) if files.open.direct => {
            "; with O_DIRECT, offset and length must be multiples of the device's logical block, usually 512 or 4096 \
             bytes"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_load::tally::Names;
    use plimsoll_load::window::Limit;
    use plimsoll_model::samples::Phase;
    use std::sync::mpsc::channel;

    const S: u64 = 1_000_000_000;

    #[test]
    fn what_never_comes_back_is_given_up_and_counted_as_unfinished() {
        let names = Names { transactions: &OpKind::NAMES[..1], statements: Vec::new(), counters: &COUNTERS };
        let (outbox, events) = channel();
        let mut meter = LoopMeter::new(Recorder::new(1, names.shape(), false, false), outbox, Arc::default());
        meter.recorder.as_mut().unwrap().begin(Window::new(0, 0, Limit::Time(100 * S)), 0);
        meter.at(S / 2).unwrap().started(S / 2, S / 2);
        meter.look_after(2 * S + 1, false, 5 * S);
        let phases = |events: Vec<RunEvent>| -> Vec<(Phase, u64)> {
            let intervals = events.into_iter().filter_map(|event| match event {
                RunEvent::Interval(tally) => Some((tally.phase, tally.end_ns / S)),
                _ => None,
            });
            intervals.collect()
        };
        assert_eq!(phases(events.try_iter().collect()), [(Phase::Measure, 1), (Phase::Measure, 2)]);
        let end_ns = 5 * S / 2;
        meter.look_after(end_ns, true, 5 * S);
        meter.look_after(end_ns + 5 * S, true, 5 * S);
        assert_eq!(phases(events.try_iter().collect()), [(Phase::Measure, 2)], "the half that was left");
        meter.look_after(end_ns + 5 * S + 1, true, 5 * S);
        let last: Vec<RunEvent> = events.try_iter().collect();
        let [RunEvent::Interval(drain), RunEvent::Drained(totals)] = last.as_slice() else { panic!("{last:?}") };
        assert_eq!((drain.phase, totals.counts.started, totals.counts.unfinished), (Phase::Drain, 1, 1));
        assert!(meter.at(9 * S).is_none(), "when it comes back at last, nobody counts it");
    }
}
