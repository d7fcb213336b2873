//! What is sampled besides the load: the server's own counters and a network lane's two sides every second, and the
//! user's collectors. Each has its own thread, so that a slow server or command does not delay a trial.
//!
//! [`status`] and [`storage`] belong to the load of a trial, which starts and ends them; [`Collectors`] last as long as
//! their owner likes.

mod collector;
pub mod status;
pub(crate) mod storage;

use plimsoll_plan::lab::Collector;
use plimsoll_record::{RecordError, TrialWriter};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// The user's collectors at work, each in a thread of its own. They end when they are stopped or dropped.
#[derive(Debug)]
pub struct Collectors {
    running: Vec<Running>,
}

#[derive(Debug)]
struct Running {
    /// Dropped to make the thread end.
    stop: Sender<()>,
    thread: JoinHandle<Result<(), RecordError>>,
}

impl Collectors {
    /// Starts every collector now, and then at its own interval; `begun` is the trial's start, from which its series
    /// count. The results go to `collectors.ndjson`, which is created if there are any collectors.
    ///
    /// # Errors
    /// If that file cannot be created. It also records what goes wrong with a command.
    pub fn start(collectors: &[Collector], writer: &TrialWriter, begun: Instant) -> Result<Collectors, RecordError> {
        if collectors.is_empty() {
            return Ok(Collectors { running: Vec::new() });
        }
        let log = Arc::new(Mutex::new(writer.collectors()?));
        let directory = writer.directory();
        let start = |collector: &Collector| {
            let (stop, stopped) = mpsc::channel();
            let at_work = collector::AtWork::new(collector, directory, begun, log.clone(), stopped);
            Running { stop, thread: thread::spawn(move || at_work.follow()) }
        };
        Ok(Collectors { running: collectors.iter().map(start).collect() })
    }

    /// Ends all of them; a command that still runs is killed.
    ///
    /// # Errors
    /// If the recording could not be written.
    pub fn stop(mut self) -> Result<(), RecordError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), RecordError> {
        let (stops, threads): (Vec<_>, Vec<_>) = self.running.drain(..).map(|it| (it.stop, it.thread)).unzip();
        drop(stops);
        // A panicked thread has nothing to add to its panic message.
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    }
}

impl Drop for Collectors {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
