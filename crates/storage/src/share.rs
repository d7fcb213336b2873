//! What the loops of a run report, and what they share.

use crate::job::Job;
use crate::op::SyncMode;
use crate::verify::Mismatch;
use plimsoll_load::arrivals::ArrivalSchedule;
use plimsoll_load::recorder::LoopTotals;
use plimsoll_load::tally::Tally;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// What a loop reports.
#[derive(Debug)]
pub enum RunEvent {
    Interval(Box<Tally>),
    /// The last report of a loop: it has ended, whether it failed or not.
    Drained(LoopTotals),
    /// An operation failed: which, on which file, and why. [`RunEvent::Drained`] follows.
    Failed(String),
    /// Everything that a verified job wrote has been read back; reported once, by the last loop.
    ReadBack,
    /// What was read was not what had been written. The loop continues.
    Mismatch(Mismatch),
}

/// What was found in verified blocks.
#[derive(Clone, Debug, Default)]
pub struct ReadBack {
    /// Everything that was written has been read back.
    pub is_complete: bool,
    /// Blocks that were not what had been written, and the first of them.
    pub mismatches: u64,
    pub first: Option<Mismatch>,
}

impl ReadBack {
    pub fn mismatch(&mut self, mismatch: Mismatch) {
        self.mismatches += 1;
        self.first.get_or_insert(mismatch);
    }
}

/// What the loops of a run share.
#[derive(Debug)]
pub struct Shared {
    pub stop: AtomicBool,
    /// Loops that may still begin operations.
    pub working: AtomicUsize,
    /// Loops that still use the files.
    pub holding: AtomicUsize,
    /// All files are synced when the last loop has ended its window.
    pub sync_at_end: Option<SyncMode>,
    stage: Mutex<RunStage>,
    moved: Condvar,
}

#[derive(Clone, Debug)]
pub enum RunStage {
    Waiting,
    Started { start_ns: u64, schedule: Option<Arc<Mutex<ArrivalSchedule>>> },
    Leaving,
}

impl Shared {
    pub fn new(job: &Job, loops: usize) -> Shared {
        Shared {
            stop: AtomicBool::new(false),
            working: AtomicUsize::new(loops),
            holding: AtomicUsize::new(loops),
            sync_at_end: job.syncs_at_end(),
            stage: Mutex::new(RunStage::Waiting),
            moved: Condvar::new(),
        }
    }

    /// Waits for a stage.
    pub fn until(&self, reached: impl Fn(&RunStage) -> bool) -> RunStage {
        let stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let stage = self.moved.wait_while(stage, |stage| !reached(stage));
        stage.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn enter(&self, stage: RunStage) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
        self.moved.notify_all();
    }
}
