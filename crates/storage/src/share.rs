//! What the loops of a run tell, and what they have in common.

use crate::job::Job;
use crate::op::SyncMode;
use crate::verify::Mismatch;
use plimsoll_load::arrivals::Schedule;
use plimsoll_load::recorder::Totals;
use plimsoll_load::tally::Tally;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// What a loop tells.
#[derive(Debug)]
pub enum RunEvent {
    Interval(Box<Tally>),
    /// The last that a loop tells: it is over, whether it failed or not.
    Drained(Totals),
    /// An operation failed: which, on which file, and why. [`RunEvent::Drained`] follows.
    Failed(String),
    /// Everything that a verified job wrote has been read back; told once, by the loop that was the last.
    ReadBack,
    /// Something else was read than had been written. The loop goes on.
    Mismatch(Mismatch),
}

/// What the loops of a run have in common.
#[derive(Debug)]
pub struct Shared {
    pub stop: AtomicBool,
    /// Loops that may still begin operations.
    pub working: AtomicUsize,
    /// Loops that still have the files in use.
    pub holding: AtomicUsize,
    /// All files are synced when the last loop has ended its window.
    pub sync_at_end: Option<SyncMode>,
    stage: Mutex<Stage>,
    moved: Condvar,
}

#[derive(Clone, Debug)]
pub enum Stage {
    Waiting,
    Started { start_ns: u64, schedule: Option<Arc<Mutex<Schedule>>> },
    Leaving,
}

impl Shared {
    pub fn new(job: &Job, loops: usize) -> Shared {
        Shared {
            stop: AtomicBool::new(false),
            working: AtomicUsize::new(loops),
            holding: AtomicUsize::new(loops),
            sync_at_end: job.syncs_at_end(),
            stage: Mutex::new(Stage::Waiting),
            moved: Condvar::new(),
        }
    }

    /// Waits for a stage.
    pub fn until(&self, reached: impl Fn(&Stage) -> bool) -> Stage {
        let stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let stage = self.moved.wait_while(stage, |stage| !reached(stage));
        stage.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn enter(&self, stage: Stage) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
        self.moved.notify_all();
    }
}
