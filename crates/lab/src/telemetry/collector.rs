//! One collector: a command of the user's that prints a number, run again and again.

use plimsoll_model::samples::CollectorSample;
use plimsoll_plan::lab::Collector;
use plimsoll_record::{CollectorLog, RecordError};
use plimsoll_server::process::{Lifetime, scrub, spawn};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::time::Timespec;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A command may take as long as the time between two of its runs, but always so long.
const LIMIT_AT_LEAST: Duration = Duration::from_secs(5);
/// How often a command that runs is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// More than this of its output is not kept: the first number stands at its beginning.
const KEPT_BYTES: usize = 4 << 10;
/// As many characters of what it complained about are recorded.
const TOLD: usize = 200;

/// A collector with all that its thread needs.
pub(super) struct AtWork {
    collector: Collector,
    /// Its HOME.
    directory: PathBuf,
    begun: Instant,
    log: Arc<Mutex<CollectorLog>>,
    /// Closed when it is to end.
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

    /// Runs the command once: its number, or what is wrong with it.
    fn run(&self, limit: Duration) -> Result<Result<f64, String>, Stopped> {
        let mut command = Command::new("sh");
        scrub(&mut command, &self.directory, &std::env::temp_dir());
        command.args(["-c", &self.collector.command]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = match spawn(command, Lifetime::WithPlimsoll) {
            Ok(child) => child,
            Err(error) => return Ok(Err(format!("cannot be run: {error}"))),
        };
        let ended = self.output(&mut child, Instant::now() + limit);
        if !matches!(ended, Ok(Some(_))) {
            end(&mut child);
        }
        let Some((status, output)) = ended? else {
            return Ok(Err(format!("took longer than {} s and was killed", limit.as_secs_f64())));
        };
        if !status.success() {
            return Ok(Err(format!("failed ({status}){}", complaint(&mut child))));
        }
        Ok(first_number(&output).ok_or_else(|| format!("printed no number{}", complaint(&mut child))))
    }

    /// What it printed and how it ended; none if that took too long.
    fn output(&self, child: &mut Child, deadline: Instant) -> Result<Option<(ExitStatus, String)>, Stopped> {
        let mut kept = Vec::new();
        let mut stdout = child.stdout.take();
        while Instant::now() < deadline {
            if self.stopped.try_recv() != Err(TryRecvError::Empty) {
                return Err(Stopped);
            }
            match &mut stdout {
                Some(open) => {
                    if !read_some(open, &mut kept) {
                        stdout = None;
                    }
                }
                None => match child.try_wait() {
                    Ok(Some(status)) => return Ok(Some((status, String::from_utf8_lossy(&kept).into_owned()))),
                    _ => std::thread::sleep(LOOK / 10),
                },
            }
        }
        Ok(None)
    }
}

/// Waits for output for a moment and keeps the beginning of it; false at its end.
fn read_some(stdout: &mut ChildStdout, kept: &mut Vec<u8>) -> bool {
    let wait = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
    match poll(&mut [PollFd::new(stdout, PollFlags::IN)], Some(&wait)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return true,
        Ok(_) => {}
        Err(_) => return false,
    }
    let mut buffer = [0; KEPT_BYTES];
    match stdout.read(&mut buffer) {
        Ok(0) | Err(_) => false,
        Ok(read) => {
            let room = KEPT_BYTES.saturating_sub(kept.len());
            kept.extend_from_slice(&buffer[..read.min(room)]);
            true
        }
    }
}

/// The beginning of what an ended command wrote to its standard error. Others that it started may hold that open.
fn complaint(child: &mut Child) -> String {
    let Some(mut stderr) = child.stderr.take() else { return String::new() };
    let ready = poll(&mut [PollFd::new(&stderr, PollFlags::IN)], Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    let mut buffer = [0; KEPT_BYTES];
    let read = if ready == Ok(1) { stderr.read(&mut buffer).unwrap_or(0) } else { 0 };
    let text: String = String::from_utf8_lossy(&buffer[..read]).trim().chars().take(TOLD).collect();
    if text.is_empty() { text } else { format!(": {text}") }
}

/// Kills a command with everything that it started in its session.
fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It is ours and was not waited for, so its number is still its own.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
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
