//! A contestant as a process: started, watched and measured, the same way whoever it is.

use anyhow::{Context, bail};
use plimsoll_host::process::{Lifetime, spawn};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::fs::{self, File};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often its memory is looked at. What the kernel keeps is a high-water mark, so little is missed.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// How long it may take to end once it is asked to.
const TIDIES_UP: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };
/// Lines of its output that say why it failed.
const TAIL: usize = 8;

/// Ctrl-C.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// A process that has ended well.
#[derive(Debug)]
pub struct FinishedProcess {
    pub stdout: String,
    /// User and system time of the whole process, from its first instruction to its last.
    pub cpu: Duration,
    pub wall: Duration,
    /// The most memory that was resident at any time, as last seen.
    pub resident_bytes: u64,
}

/// Runs `command` to its end. Its output goes to files in `scratch`, a pipe that fills up would hold it; unless its
/// standard error goes to a `terminal`.
///
/// # Errors
/// [`Interrupted`]; or that it failed, with the end of what it said; or that it took longer than `patience`.
pub fn run(
    mut command: Command,
    terminal: Option<OwnedFd>,
    scratch: &Path,
    patience: Duration,
    interrupted: &AtomicBool,
) -> anyhow::Result<FinishedProcess> {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (stdout, stderr) = (scratch.join("stdout"), scratch.join("stderr"));
    let said_to = File::create(&stderr)?;
    command.stdin(Stdio::null()).stdout(File::create(&stdout)?).stderr(terminal.unwrap_or(said_to.into()));
    let started = Instant::now();
    let mut child = spawn(command, Lifetime::WithPlimsoll).with_context(|| format!("starting {name}"))?;
    let watched = watch(&child, started + patience, interrupted);
    if watched.is_err() {
        stop(&mut child);
    }
    let (status, cpu) = reap(&mut child).with_context(|| format!("waiting for {name}"))?;
    let wall = started.elapsed();
    let resident_bytes = watched.map_err(|error| error.context(name.clone()))?;
    let said = |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let output = said(&stdout)?;
    if !status.success() {
        // What it says of its end comes last.
        let all = output + &said(&stderr)?;
        let lines: Vec<&str> = all.lines().filter(|line| !line.trim().is_empty()).collect();
        bail!("{name} failed ({status}): {}", lines[lines.len().saturating_sub(TAIL)..].join("\n"));
    }
    Ok(FinishedProcess { stdout: output, cpu, wall, resident_bytes })
}

/// Asks it to end, so that it takes down what it has built; kills it if it does not.
fn stop(child: &mut Child) {
    let pid = Pid::from_child(child);
    // It may have ended by itself in between.
    let _ = kill_process(pid, Signal::TERM);
    if let Ok(ended) = pidfd_open(pid, PidfdFlags::empty()) {
        let _ = poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&TIDIES_UP));
    }
    let _ = child.kill();
}

/// Waits until the process has ended, without reaping it; returns its largest resident memory, bytes.
fn watch(child: &Child, deadline: Instant, interrupted: &AtomicBool) -> anyhow::Result<u64> {
    let pid = Pid::from_child(child);
    let ended = pidfd_open(pid, PidfdFlags::empty()).context("watching it")?;
    let mut resident = 0;
    loop {
        match poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&LOOK)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(resident),
            Err(error) => return Err(error.into()),
        }
        resident = resident.max(high_water(child.id()).unwrap_or(0));
        if interrupted.load(Ordering::Relaxed) {
            return Err(Interrupted.into());
        }
        if Instant::now() > deadline {
            bail!("it did not end in time and was killed");
        }
    }
}

/// `VmHWM` of `/proc/<pid>/status`, bytes. Unlike `ru_maxrss` it does not begin with what the parent had.
fn high_water(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib << 10)
}

/// Waits for the child and takes its CPU time, which the standard library throws away.
fn reap(child: &mut Child) -> io::Result<(ExitStatus, Duration)> {
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    loop {
        // SAFETY: both pointers are to variables that live through the call; all zeroes are a valid rusage.
        #[allow(unsafe_code)]
        let (reaped, usage) = unsafe { (libc::wait4(pid, &mut status, 0, usage.as_mut_ptr()), usage.assume_init()) };
        if reaped == pid {
            let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
            return Ok((ExitStatus::from_raw(status), time(usage.ru_utime) + time(usage.ru_stime)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, patience: Duration) -> anyhow::Result<FinishedProcess> {
        let scratch = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, None, scratch.path(), patience, &AtomicBool::new(false))
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_process_is_measured_from_outside() {
        let busy = "echo done; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 0.15";
        let finished = sh(busy, LONG).unwrap();
        assert_eq!(finished.stdout, "done\n");
        assert!(finished.cpu > Duration::ZERO && finished.cpu < finished.wall);
        assert!(finished.resident_bytes > 100 << 10, "{}", finished.resident_bytes);
    }

    #[test]
    fn a_failure_carries_what_was_said() {
        let error = sh("echo 'no such table' >&2; exit 7", LONG).unwrap_err().to_string();
        assert!(error.contains("exit status: 7") && error.contains("no such table"), "{error}");
        assert!(sh("sleep 60", Duration::from_millis(50)).is_err());
    }
}
