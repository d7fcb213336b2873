//! What a loop counts, and the way it goes out.

use crate::event::LoopEvent;
use crate::executor::Reactor;
use plimsoll_load::recorder::Recorder;
use plimsoll_load::tally::Tally;
use std::cell::{RefCell, RefMut};
use std::rc::Rc;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

/// The recorder of a loop, and the way its intervals go out.
pub struct Meter {
    recorder: RefCell<Option<Recorder>>,
    reactor: Rc<Reactor>,
    outbox: Sender<LoopEvent>,
    recycled: Arc<Mutex<Vec<Tally>>>,
}

impl Meter {
    pub fn new(
        recorder: Recorder,
        reactor: Rc<Reactor>,
        outbox: Sender<LoopEvent>,
        recycled: Arc<Mutex<Vec<Tally>>>,
    ) -> Meter {
        Meter { recorder: RefCell::new(Some(recorder)), reactor, outbox, recycled }
    }

    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.reactor.now_ns()
    }

    /// Whether the window has begun, and the loop has not finished.
    #[inline]
    pub fn has_begun(&self) -> bool {
        self.recorder.borrow().as_ref().is_some_and(Recorder::has_begun)
    }

    /// Notes that a statement has been answered to its end.
    #[inline]
    pub fn answered(&self, now_ns: u64) {
        self.reactor.answered(now_ns);
    }

    /// The recorder, with all intervals closed that ended by `now`.
    #[inline]
    pub fn at(&self, now_ns: u64) -> RefMut<'_, Recorder> {
        let mut recorder = RefMut::map(self.recorder.borrow_mut(), |recorder| {
            recorder.as_mut().expect("nothing is counted after the loop has finished")
        });
        if now_ns >= recorder.interval_end_ns() {
            self.close_intervals(&mut recorder, now_ns);
        }
        recorder
    }

    #[cold]
    fn close_intervals(&self, recorder: &mut Recorder, now_ns: u64) {
        recorder.lagged(self.reactor.take_lag_ns());
        if let Ok(mut recycled) = self.recycled.lock() {
            recycled.drain(..).for_each(|tally| recorder.recycle(tally));
        }
        recorder.roll(now_ns, thread_cpu_ns, |tally| self.send(tally));
    }

    fn send(&self, tally: Tally) {
        // The controller hangs up only when it no longer wants to know.
        let _ = self.outbox.send(LoopEvent::Interval(Box::new(tally)));
    }

    pub fn end_window(&self) {
        let now = self.now_ns();
        let mut recorder = self.at(now);
        recorder.lagged(self.reactor.take_lag_ns());
        let tally = recorder.end_window(now, thread_cpu_ns());
        drop(recorder);
        if let Some(tally) = tally {
            self.send(tally);
        }
    }

    /// Sends what is left and takes the recorder away.
    pub fn finish(&self) {
        let now = self.now_ns();
        self.at(now).lagged(self.reactor.take_lag_ns());
        if let Some(recorder) = self.recorder.borrow_mut().take() {
            let (last, totals) = recorder.finish(now, thread_cpu_ns());
            self.send(last);
            let _ = self.outbox.send(LoopEvent::Drained(totals));
        }
    }
}

/// CPU time of the calling thread.
pub fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
