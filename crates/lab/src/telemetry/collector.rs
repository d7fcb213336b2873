//! One collector: a command of the user's that prints a number, run again and again.

use crate::command;
use plimsoll_model::samples::CollectorSample;
use plimsoll_plan::lab::Collector;
use plimsoll_record::{CollectorLog, RecordError};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A command may take as long as the time between two of its runs, but at least this long.
const LIMIT_AT_LEAST: Duration = Duration::from_secs(5);
/// How often a running command is checked.
const LOOK: Duration = Duration::from_millis(50);
/// The part of its output that is kept: the first number is at its beginning.
const KEPT_BYTES: usize = 4 << 10;
/// The number of characters of its error output that are recorded.
const TOLD: usize = 200;

/// A collector with everything that its thread needs.
pub(super) struct AtWork {
    collector: Collector,
    /// Its HOME.
    directory: PathBuf,
    begun: Instant,
    log: Arc<Mutex<CollectorLog>>,
    /// Closed to make it end.
    stopped: Receiver<()>,
}

/// It was told to end.
struct Stopped;

impl AtWork {
    pub fn new(
        collector: &Collector,
        directory: &Path,
        begun: Instant,
        log: Arc<Mutex<CollectorLog>>,
        stopped: Receiver<()>,
    ) -> AtWork {
        AtWork { collector: collector.clone(), directory: directory.to_owned(), begun, log, stopped }
    }

    /// Runs the command until it is told to end; one that takes longer than its period misses its next turns.
    pub fn follow(&self) -> Result<(), RecordError> {
        let every = Duration::from_secs_f64(self.collector.every_seconds.clamp(0.1, 1e6));
        let mut due = Instant::now();
        loop {
            match self.stopped.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            let t_ns = self.begun.elapsed().as_nanos() as u64;
            let Ok(found) = self.run(every.max(LIMIT_AT_LEAST)) else { return Ok(()) };
            let (value, error) = match found {
                Ok(value) => (Some(value), None),
                Err(error) => (None, Some(error)),
            };
            let sample = CollectorSample { t_ns, name: self.collector.name.clone(), value, error };
            self.log.lock().unwrap_or_else(PoisonError::into_inner).append(&sample)?;
            while due <= Instant::now() {
                due += every;
            }
        }
    }

    /// Runs the command once; returns its number, or what is wrong.
    fn run(&self, limit: Duration) -> Result<Result<f64, String>, Stopped> {
        let mut shell = command::shell(&self.collector.command, &self.directory);
        shell.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = match command::start(shell) {
            Ok(child) => child,
            Err(error) => return Ok(Err(format!("cannot be run: {error}"))),
        };
        let printed = self.output(&mut child, Instant::now() + limit);
        let ended = command::end(&mut child);
        let Some([output, complaint]) = printed? else {
            return Ok(Err(format!("took longer than {} s and was killed", limit.as_secs_f64())));
        };
        let complaint: String = complaint.trim().chars().take(TOLD).collect();
        let complaint = if complaint.is_empty() { complaint } else { format!(": {complaint}") };
        Ok(match ended {
            Ok(status) if status.success() => {
                first_number(&output).ok_or_else(|| format!("printed no number{complaint}"))
            }
            Ok(status) => Err(format!("failed ({status}){complaint}")),
            Err(error) => Err(format!("cannot be waited for: {error}")),
        })
    }

    /// What it printed until it ended, and its error output; `None` if that took too long. What it started may
    /// keep its output open for longer.
    fn output(&self, child: &mut Child, deadline: Instant) -> Result<Option<[String; 2]>, Stopped> {
        let mut streams = [Stream::of(child.stdout.take()), Stream::of(child.stderr.take())];
        while Instant::now() < deadline {
            if self.stopped.try_recv() != Err(TryRecvError::Empty) {
                return Err(Stopped);
            }
            let has_ended = command::has_ended(child);
            let found_some = read_some(&mut streams, if has_ended { Duration::ZERO } else { LOOK });
            if has_ended && !found_some {
                return Ok(Some(streams.map(|stream| String::from_utf8_lossy(&stream.kept).into_owned())));
            }
        }
        Ok(None)
    }
}

/// One of the two things that a command prints to.
struct Stream {
    /// `None` at its end.
    open: Option<File>,
    /// Its beginning.
    kept: Vec<u8>,
}

impl Stream {
    fn of(pipe: Option<impl Into<OwnedFd>>) -> Stream {
        Stream { open: pipe.map(|pipe| File::from(pipe.into())), kept: Vec::new() }
    }

    /// Reads what is there; there must be something, or the end.
    fn read(&mut self) {
        let mut buffer = [0; KEPT_BYTES];
        match self.open.as_mut().map(|open| open.read(&mut buffer)) {
            Some(Ok(read @ 1..)) => {
                let room = KEPT_BYTES.saturating_sub(self.kept.len());
                self.kept.extend_from_slice(&buffer[..read.min(room)]);
            }
            _ => self.open = None,
        }
    }
}

/// Waits this long for output and reads some of it; false if there was none, or both streams have ended.
fn read_some(streams: &mut [Stream; 2], wait: Duration) -> bool {
    let wait = Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos().into() };
    let mut waiting: Vec<PollFd> =
        streams.iter().filter_map(|stream| stream.open.as_ref()).map(|open| PollFd::new(open, PollFlags::IN)).collect();
    if !poll(&mut waiting, Some(&wait)).is_ok_and(|ready| ready > 0) {
        return false;
    }
    let ready: Vec<bool> = waiting.iter().map(|open| !open.revents().is_empty()).collect();
    let open = streams.iter_mut().filter(|stream| stream.open.is_some());
    open.zip(ready).filter(|(_, ready)| *ready).for_each(|(stream, _)| stream.read());
    true
}

/// The first number of a text: `busy: 12.5 %`, `util=7`.
fn first_number(text: &str) -> Option<f64> {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, ':' | '=' | ',' | ';' | '%' | '(' | ')' | '"'));
    let begins = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    words.filter(begins).find_map(|word| word.parse().ok().filter(|number: &f64| number.is_finite()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_is_the_value() {
        for (text, number) in [
            ("42\n", Some(42.0)),
            ("busy: 12.5% of 3", Some(12.5)),
            ("util=-7e1;x=2", Some(-70.0)),
            ("sda1 (5)", Some(5.0)),
            ("nan inf", None),
            ("1e999 3", Some(3.0)),
            ("", None),
            ("- . +", None),
        ] {
            assert_eq!(first_number(text), number, "{text:?}");
        }
    }
}
