//! Asks an unknown program what it is: its time and the length of its answer are limited, and nothing that it started
//! is left afterwards.

use plimsoll_host::process::{Lifetime, kill_group, scrub, spawn};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often to check whether a silent program has ended.
const LOOK: Duration = Duration::from_millis(5);

/// How long a program may take, and how many bytes it may print.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub time: Duration,
    pub bytes: usize,
}

/// What a program printed on its standard output, and how it ended.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub text: String,
    pub status: ExitStatus,
}

/// Runs `binary` with these arguments in a scrubbed environment, with its standard error thrown away.
///
/// # Errors
/// In words: the operating system's error, or that it did not end, or did not stop printing, within the bounds.
pub(crate) fn ask(binary: &Path, arguments: &[String], bounds: Bounds) -> Result<ProgramOutput, String> {
    let mut command = Command::new(binary);
    scrub(&mut command, Path::new("/"), Path::new("/tmp"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = spawn(command, Lifetime::WithPlimsoll).map_err(|error| error.to_string())?;
    let heard = match child.stdout.take() {
        Some(output) => hear(&child, output, bounds),
        None => Err("it has no standard output".to_owned()),
    };
    // First what it started, while its pid is still its own; a program that has ended is not affected.
    kill_group(&child);
    let status = child.wait().map_err(|error| error.to_string())?;
    Ok(ProgramOutput { text: String::from_utf8_lossy(&heard?).into_owned(), status })
}

/// What the program prints until it ends.
fn hear(child: &Child, mut output: ChildStdout, bounds: Bounds) -> Result<Vec<u8>, String> {
    let deadline = Instant::now() + bounds.time;
    let mut heard = Vec::new();
    let mut piece = [0; 16 << 10];
    let mut is_open = true;
    loop {
        let ended = has_ended(child);
        // Its children may keep the pipe open; its own output is complete by now.
        if is_open && is_readable(&output, if ended { Duration::ZERO } else { LOOK }) {
            match output.read(&mut piece).map_err(|error| error.to_string())? {
                0 => is_open = false,
                length => heard.extend_from_slice(&piece[..length]),
            }
            if heard.len() > bounds.bytes {
                return Err(format!("it printed more than {} KiB", bounds.bytes >> 10));
            }
        } else if ended {
            return Ok(heard);
        } else if !is_open {
            std::thread::sleep(LOOK);
        }
        if Instant::now() >= deadline {
            return Err(format!("it did not end within {:?}", bounds.time));
        }
    }
}

fn is_readable(output: &ChildStdout, patience: Duration) -> bool {
    let mut watched = [PollFd::new(output, PollFlags::IN)];
    let patience = Timespec { tv_sec: 0, tv_nsec: patience.subsec_nanos().into() };
    poll(&mut watched, Some(&patience)).is_ok_and(|ready| ready > 0)
}

/// Whether it has ended; it stays a zombie, so that its pid is not reused.
fn has_ended(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // A process that cannot be waited for is gone.
    pid.is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), options), Ok(None)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::test_kill_process;
    use std::fs;

    const SHORT: Bounds = Bounds { time: Duration::from_millis(500), bytes: 64 << 10 };
    const LONG: Bounds = Bounds { time: Duration::from_secs(60), bytes: 64 << 10 };

    /// Asks `sh -c`, where `$0` is a file for the numbers of processes; the answer, and whether one of them is left.
    fn asked(script: &str, bounds: Bounds) -> (Result<ProgramOutput, String>, bool) {
        let pids = tempfile::NamedTempFile::new().expect("a file");
        let arguments = ["-c".to_owned(), script.to_owned(), pids.path().display().to_string()];
        let answer = ask(Path::new("/bin/sh"), &arguments, bounds);
        let pids = fs::read_to_string(pids.path()).expect("the file is there");
        let is_left = |pid: &str| {
            let pid = pid.parse().ok().and_then(Pid::from_raw).expect("the number of a process");
            let gone = || test_kill_process(pid).is_err();
            // Killed, it may wait a moment for its new parent.
            !(0..2000).any(|_| {
                gone() || {
                    std::thread::sleep(LOOK);
                    false
                }
            })
        };
        (answer, pids.split_whitespace().any(is_left))
    }

    #[test]
    fn what_hangs_is_killed_with_all_that_it_started() {
        let (answer, left) = asked("sleep 1000 & echo $! $$ >\"$0\"; wait", SHORT);
        assert_eq!(answer.map(|answer| answer.text), Err("it did not end within 500ms".to_owned()));
        assert!(!left);
    }

    #[test]
    fn what_never_stops_printing_is_stopped() {
        let (answer, left) = asked("echo $$ >\"$0\"; exec yes", LONG);
        assert_eq!(answer.map(|answer| answer.text), Err("it printed more than 64 KiB".to_owned()));
        assert!(!left);
    }

    #[test]
    fn what_leaves_its_pipe_to_another_has_answered_when_it_ends() {
        let (answer, left) = asked("sleep 1000 & echo $! >\"$0\"; echo answer; exit 3", LONG);
        let answer = answer.expect("an answer");
        assert_eq!((answer.text.as_str(), answer.status.code()), ("answer\n", Some(3)));
        assert!(!left, "what it started is gone too");
    }

    #[test]
    fn what_closes_its_output_and_goes_on_is_killed() {
        let (answer, left) = asked("echo $$ >\"$0\"; exec >&-; exec sleep 1000", SHORT);
        assert_eq!(answer.map(|answer| answer.text), Err("it did not end within 500ms".to_owned()));
        assert!(!left);
    }
}
