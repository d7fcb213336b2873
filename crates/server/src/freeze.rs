//! Pauses a private server for a moment, so that its files can be copied as a crash would have left them.
//!
//! SIGSTOP stops every thread of a process when it next leaves the kernel (signal(7)). So once all of them are stopped,
//! each write, truncation and flush that the server has waited for is done, and it issues no more. Asynchronous writes
//! (libaio, io_uring) that it has not seen complete may still be under way. Each of them may or may not be in the copy,
//! as it may or may not be on disk after `kill -9`, and their order does not matter, for the same reason as after a
//! crash: a page is written only after its redo and its doublewrite copy have been flushed, and the checkpoint moves
//! only after the page's write was seen to complete. So a copy of the files of a stopped server, made in any order, is
//! a state that crash recovery is made for. A copy of a running server is not: the log could be copied before a page
//! that is newer than all of it.
//!
//! This is true of each log by itself. With a binary log, a transaction is first prepared in InnoDB and counts once the
//! binary log has it, so recovery needs both logs. If the copy is to be started without the binary log, such a server
//! must not be copied this way.
//!
//! Reading and cloning go through the page cache, so nothing has to be flushed for the copy to be correct. Flushing
//! before the pause is still worthwhile, because cloning flushes dirty pages while the server is paused.
//!
//! A stopped server continues whatever happens to us: a child process waits for our end, and `clean` looks for servers
//! that both have left behind.

use crate::ServerError;
use crate::directory::ServerDirectory;
use crate::error::DuringServer;
use crate::process;
use plimsoll_host::lock::Lock;
use plimsoll_host::process::Identity;
use procfs::process::Process;
use rustix::process::{Signal, pidfd_send_signal, setsid};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A file in the server's directory, locked by the Plimsoll that has stopped the server.
const NOTE: &str = "stopped";
/// A thread stops when its current system call ends; a flush may take a while.
const STOPS_WITHIN: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(1);

/// A server that is paused until this is dropped.
#[derive(Debug)]
pub struct Frozen {
    name: String,
    pid: u32,
    handle: OwnedFd,
    my_cnf: PathBuf,
    since: Instant,
    _watchdog: Watchdog,
    _lock: Lock,
}

impl Frozen {
    /// Stops the server `identity` of `directory` for `holder`, whoever holds the directory's lock. Returns when all
    /// its threads are stopped.
    ///
    /// # Errors
    /// [`ServerError::Locked`] if another Plimsoll has stopped it, [`ServerError::NotStopped`] if it is gone or a
    /// thread does not stop within 30 s, [`HostError::Io`]. After each of them the server keeps running.
    pub fn stop(directory: &ServerDirectory, identity: &Identity, holder: &str) -> Result<Frozen, ServerError> {
        let not_stopped = |found| not_stopped(directory.name(), identity.pid, found);
        let locked = || ServerError::Locked { name: directory.name().to_owned(), holder: "another copy of it".into() };
        let lock = Lock::try_take(&directory.path().join(NOTE), holder)?.ok_or_else(locked)?;
        let my_cnf = directory.my_cnf();
        let handle = process::handle(identity, &my_cnf)?.ok_or_else(|| not_stopped("it is gone"))?;
        let watchdog = Watchdog::over(&handle).during("watch over the server of", &my_cnf)?;
        // From here on, dropping it lets the server continue.
        let frozen = Frozen {
            name: directory.name().to_owned(),
            pid: identity.pid,
            handle,
            my_cnf,
            since: Instant::now(),
            _watchdog: watchdog,
            _lock: lock,
        };
        process::send(&frozen.handle, &frozen.my_cnf, Signal::STOP)?;
        while !is_stopped(identity.pid) {
            if !identity.is_alive() {
                return Err(not_stopped("it is gone"));
            }
            if frozen.since.elapsed() > STOPS_WITHIN {
                return Err(not_stopped("one of its threads hangs in a system call"));
            }
            thread::sleep(POLL);
        }
        Ok(frozen)
    }

    /// Lets the server continue. Returns for how long it was paused.
    ///
    /// # Errors
    /// [`ServerError::NotStopped`] if somebody else let it continue, so that it may have written meanwhile;
    /// [`HostError::Io`] if it cannot be signalled.
    pub fn resume(self) -> Result<Duration, ServerError> {
        if !is_stopped(self.pid) {
            return Err(not_stopped(&self.name, self.pid, "somebody ended it or let it continue meanwhile"));
        }
        process::send(&self.handle, &self.my_cnf, Signal::CONT)?;
        Ok(self.since.elapsed())
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        // The watchdog, which is dropped next, does it again.
        let _ = process::send(&self.handle, &self.my_cnf, Signal::CONT);
    }
}

fn not_stopped(name: &str, pid: u32, found: &str) -> ServerError {
    ServerError::NotStopped { name: name.to_owned(), pid, found: found.to_owned() }
}

/// Lets the server of `directory` continue if the Plimsoll that stopped it was killed together with its watchdog. A
/// server that is being copied now is left alone. Returns the server that had been left behind.
///
/// # Errors
/// [`HostError::Io`], [`ServerError::Foreign`].
pub fn thaw(directory: &ServerDirectory) -> Result<Option<Identity>, ServerError> {
    let note = directory.path().join(NOTE);
    if !note.is_file() {
        return Ok(None);
    }
    let Some(_lock) = Lock::try_take(&note, "plimsoll clean")? else { return Ok(None) };
    let Some(identity) = directory.running(&directory.record()?) else { return Ok(None) };
    let my_cnf = directory.my_cnf();
    match process::handle(&identity, &my_cnf)? {
        Some(handle) if is_stopped(identity.pid) => {
            process::send(&handle, &my_cnf, Signal::CONT)?;
            Ok(Some(identity))
        }
        _ => Ok(None),
    }
}

/// Whether every thread of the process is stopped. The kernel's workers for io_uring do not count: what they do was
/// requested before.
fn is_stopped(pid: u32) -> bool {
    let tasks = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok()?.tasks().ok());
    let states = tasks.into_iter().flatten().flatten().filter_map(|task| task.stat().ok());
    let mut counted =
        states.filter(|stat| !stat.comm.starts_with("iou-") && !matches!(stat.state, 'Z' | 'X')).peekable();
    counted.peek().is_some() && counted.all(|stat| stat.state == 'T')
}

/// A child process that lets a server continue when we end, however we end.
#[derive(Debug)]
struct Watchdog {
    /// When we are gone it is closed, which the child sees at the other end.
    life: Option<io::PipeWriter>,
    keeper: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Returns when the child is running.
    fn over(server: &OwnedFd) -> io::Result<Watchdog> {
        let (end, life) = io::pipe()?;
        let (mut ready, readiness) = io::pipe()?;
        let (server, ours) = (server.try_clone()?, life.as_raw_fd());
        let watch = move || {
            setsid()?;
            // SAFETY: the child's copy of our end, which nothing in the child uses.
            #[allow(unsafe_code)]
            unsafe {
                rustix::io::close(ours);
            }
            (&readiness).write_all(b"!")?;
            while let Err(error) = (&end).read(&mut [0]) {
                if error.kind() != io::ErrorKind::Interrupted {
                    break;
                }
            }
            let _ = pidfd_send_signal(&server, Signal::CONT);
            // It has nothing to execute.
            Err(io::ErrorKind::Interrupted.into())
        };
        let mut command = Command::new("/proc/self/exe");
        // SAFETY: the closure makes a few system calls and neither allocates nor locks.
        #[allow(unsafe_code)]
        unsafe {
            command.pre_exec(watch);
        }
        // Starting a child returns only when it executes something or ends.
        let keep = move || drop(command.spawn());
        let keeper = thread::Builder::new().name("watchdog".into()).spawn(keep)?;
        let watchdog = Watchdog { life: Some(life), keeper: Some(keeper) };
        ready.read_exact(&mut [0])?;
        Ok(watchdog)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.life.take());
        if let Some(keeper) = self.keeper.take() {
            // It has no result.
            let _ = keeper.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::{ProcessRecord, Record};
    use plimsoll_host::Home;
    use plimsoll_host::process::{Lifetime, scrub, spawn};
    use plimsoll_model::Flavour;
    use std::process::Child;

    /// A process that passes for the server of a directory.
    fn server(directory: &ServerDirectory) -> (Child, Identity) {
        let mut command = Command::new("sh");
        scrub(&mut command, directory.path(), directory.path());
        command.args(["-c", "while :; do sleep 0.01; done", "server"]);
        command.arg(format!("--defaults-file={}", directory.my_cnf().display()));
        let child = spawn(command, Lifetime::WithPlimsoll).unwrap();
        let identity = Identity::of(child.id()).unwrap();
        // A new process has its command line a moment after its parent goes on.
        while !process::runs_with(&identity, &directory.my_cnf()) {
            thread::sleep(POLL);
        }
        let build =
            plimsoll_model::Build { flavour: Flavour::MySql, version: "9.7.0".into(), binary: "/bin/sh".into() };
        let process = ProcessRecord {
            identity: identity.clone(),
            build,
            socket: "/nowhere".into(),
            started_at: String::new(),
            kept: true,
        };
        directory.write_record(&Record { plimsoll_server: 1, process: Some(process) }).unwrap();
        (child, identity)
    }

    fn runs(pid: u32) -> bool {
        (0..1000).any(|_| {
            thread::sleep(POLL);
            !is_stopped(pid)
        })
    }

    #[test]
    fn a_stopped_server_goes_on_whoever_dies() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().as_os_str().to_owned();
        let home = Home::resolve(|name| matches!(name, "PLIMSOLL_HOME").then(|| root.clone())).unwrap();
        let directory = ServerDirectory::prepare(&home, "x").unwrap();
        let (mut child, identity) = server(&directory);
        let stop = || Frozen::stop(&directory, &identity, "a test");

        let frozen = stop().unwrap();
        assert!(is_stopped(identity.pid));
        assert!(matches!(stop(), Err(ServerError::Locked { .. })), "one copy at a time");
        assert_eq!(thaw(&directory).unwrap(), None, "it is being copied");
        assert!(is_stopped(identity.pid) && frozen.resume().unwrap() > Duration::ZERO && runs(identity.pid));

        drop(stop().unwrap());
        assert!(runs(identity.pid), "after an error");

        let handle = process::handle(&identity, &directory.my_cnf()).unwrap().unwrap();
        let watchdog = Watchdog::over(&handle).unwrap();
        pidfd_send_signal(&handle, Signal::STOP).unwrap();
        drop(watchdog);
        assert!(runs(identity.pid), "the watchdog saw our end");

        pidfd_send_signal(&handle, Signal::STOP).unwrap();
        while !is_stopped(identity.pid) {
            thread::sleep(POLL);
        }
        assert_eq!(thaw(&directory).unwrap(), Some(identity.clone()), "the watchdog was killed too");
        assert!(runs(identity.pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(matches!(stop(), Err(ServerError::NotStopped { .. })));
    }
}
