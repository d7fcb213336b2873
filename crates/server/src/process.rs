//! Processes: who one is, how ours are started, and the only place that signals one.
//!
//! A pid alone names nobody: it is reused. A process is named by pid, start time and boot, and signalled
//! through a pidfd that was opened before the name was checked, so that nobody can slip in between.

use crate::ServerError;
use procfs::process::Process;
use rustix::process::{
    Pid, PidfdFlags, Signal, geteuid, getppid, kill_process_group, pidfd_open, pidfd_send_signal,
    set_parent_process_death_signal, setsid,
};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// How long a killed process may take to vanish before we say that it hangs.
const VANISHES_WITHIN: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(5);

/// Who a process is, for as long as the machine exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub pid: u32,
    /// Start time in clock ticks since boot, field 22 of `/proc/<pid>/stat`.
    pub start_ticks: u64,
    /// Ticks begin anew with every boot.
    pub boot_id: String,
}

impl Identity {
    /// Who runs as `pid` now; none when nobody does, or only a zombie.
    pub fn of(pid: u32) -> Option<Identity> {
        let stat = Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()?;
        let boot_id = procfs::sys::kernel::random::boot_id().ok()?;
        (!matches!(stat.state, 'Z' | 'X')).then_some(Identity { pid, start_ticks: stat.starttime, boot_id })
    }

    pub fn is_alive(&self) -> bool {
        Identity::of(self.pid).as_ref() == Some(self)
    }

    /// Whether this very process was started with `--defaults-file=<my_cnf>`.
    pub fn runs_with(&self, my_cnf: &Path) -> bool {
        self.is_alive() && named_config(self.pid, my_cnf)
    }
}

/// Whether `pid` is a process of this user whose command line names `my_cnf`. A server that runs through a
/// launcher or the dynamic loader has it further back than in second place.
fn named_config(pid: u32, my_cnf: &Path) -> bool {
    let wanted = format!("--defaults-file={}", my_cnf.display());
    let Some(Ok(process)) = i32::try_from(pid).ok().map(Process::new) else { return false };
    process.uid().is_ok_and(|uid| uid == geteuid().as_raw())
        && process.cmdline().is_ok_and(|words| words.contains(&wanted))
}

/// Finds the server that was started with `my_cnf` among all processes: the fallback for a Plimsoll that
/// died between starting a server and writing down its pid. With less to go by, more is asked: it must also
/// work in the directory `data`, as servers do and as a client that borrowed the file does not.
pub fn find_by_config(my_cnf: &Path, data: &Path) -> Option<Identity> {
    procfs::process::all_processes()
        .ok()?
        .filter_map(Result::ok)
        .filter(|process| process.cwd().is_ok_and(|cwd| cwd == data))
        .filter_map(|process| u32::try_from(process.pid()).ok())
        .filter(|pid| named_config(*pid, my_cnf))
        .find_map(Identity::of)
}

/// How long a child lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Lifetime {
    /// The kernel kills it when this process ends, however it ends.
    #[default]
    WithPlimsoll,
    /// It stays up when this process ends (`server start`).
    UntilStopped,
}

/// Gives a child nothing of our environment but PATH, and nothing to read.
pub fn scrub(command: &mut Command, home: &Path, tmp: &Path) {
    command.env_clear().env("HOME", home).env("TMPDIR", tmp).env("LANG", "C").stdin(Stdio::null());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
}

type Birth = (Command, Lifetime, mpsc::Sender<io::Result<Child>>);

/// Starts `command` in a session of its own, so that Ctrl-C in the terminal reaches only Plimsoll.
///
/// The kernel ties "dies with its parent" to the *thread* that forked. So all children are forked by one
/// thread that never ends before the process does, and this may be called from any thread.
///
/// # Errors
/// What the operating system says; also when this process died in between.
pub fn spawn(command: Command, lifetime: Lifetime) -> io::Result<Child> {
    static NURSERY: OnceLock<mpsc::Sender<Birth>> = OnceLock::new();
    let closed = || io::Error::other("the thread that starts children has ended");
    let nursery = NURSERY.get_or_init(|| {
        let (sender, births) = mpsc::channel::<Birth>();
        // Where no thread can be had, the receiver is dropped and the send below says so.
        let _ = thread::Builder::new().name("nursery".into()).spawn(move || {
            for (command, lifetime, reply) in births {
                let _ = reply.send(fork(command, lifetime));
            }
        });
        sender
    });
    let (reply, child) = mpsc::channel();
    nursery.send((command, lifetime, reply)).map_err(|_| closed())?;
    child.recv().map_err(|_| closed())?
}

fn fork(mut command: Command, lifetime: Lifetime) -> io::Result<Child> {
    let parent = rustix::process::getpid();
    let prepare = move || {
        setsid()?;
        if lifetime == Lifetime::WithPlimsoll {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before the line above took effect.
            if getppid() != Some(parent) {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes three system calls and neither allocates nor locks.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(prepare);
    }
    command.spawn()
}

/// Kills a child that [`spawn`] started, and what a launcher that did not `exec` left below it, and waits. A
/// child that has ended already is left at that: from then on its pid, which is its group's, may be reused.
pub(crate) fn kill_family(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let (Ok(None), Some(group)) = (child.try_wait(), group) {
        let _ = kill_process_group(group, Signal::KILL);
        let _ = child.wait();
    }
}

/// Kills everything in the group of a child that [`spawn`] started and that was not waited for yet, ended or not: until
/// then its number, which is its group's, is its own.
pub(crate) fn kill_group(child: &Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// How a server came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was not running.
    WasDown,
    /// It shut down in order.
    Stopped,
    /// It had to be killed; it will recover at its next start.
    Killed,
}

/// Ends the server `identity`, which must still be the process started with `my_cnf`: SIGTERM, then SIGKILL
/// after `patience`. One that stands still (SIGSTOP) goes on for that.
///
/// # Errors
/// [`ServerError::WillNotEnd`] when it survives even that; [`ServerError::Io`] when it cannot be signalled.
pub fn end(name: &str, identity: &Identity, my_cnf: &Path, patience: Duration) -> Result<Ending, ServerError> {
    let signals = [(Signal::TERM, patience, Ending::Stopped), (Signal::KILL, VANISHES_WITHIN, Ending::Killed)];
    signalled(name, identity, my_cnf, &signals)
}

/// Kills the server `identity` at once, under the same condition.
///
/// # Errors
/// As [`end`].
pub fn kill(name: &str, identity: &Identity, my_cnf: &Path) -> Result<Ending, ServerError> {
    signalled(name, identity, my_cnf, &[(Signal::KILL, VANISHES_WITHIN, Ending::Killed)])
}

/// A handle on the server `identity`, which names it for good; none if it is gone, or is not the process that was
/// started with `my_cnf`.
///
/// # Errors
/// [`ServerError::Io`] where there are no pidfds (before Linux 5.3): it is safer to leave a process alone than to signal a
/// bare pid.
pub(crate) fn handle(identity: &Identity, my_cnf: &Path) -> Result<Option<OwnedFd>, ServerError> {
    let pid = i32::try_from(identity.pid).ok().and_then(Pid::from_raw);
    let Some(Ok(handle)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) else {
        return if identity.is_alive() { Err(unsignalled(my_cnf, rustix::io::Errno::NOSYS)) } else { Ok(None) };
    };
    Ok(identity.runs_with(my_cnf).then_some(handle))
}

/// Sends a signal through a handle; a process that has ended needs none.
///
/// # Errors
/// [`ServerError::Io`].
pub(crate) fn send(handle: &OwnedFd, my_cnf: &Path, signal: Signal) -> Result<(), ServerError> {
    match pidfd_send_signal(handle, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(errno) => Err(unsignalled(my_cnf, errno)),
    }
}

fn unsignalled(my_cnf: &Path, errno: rustix::io::Errno) -> ServerError {
    ServerError::Io { action: "signal the server of", path: my_cnf.to_owned(), source: errno.into() }
}

fn signalled(
    name: &str,
    identity: &Identity,
    my_cnf: &Path,
    signals: &[(Signal, Duration, Ending)],
) -> Result<Ending, ServerError> {
    let Some(handle) = handle(identity, my_cnf)? else { return Ok(Ending::WasDown) };
    for &(signal, patience, ending) in signals {
        send(&handle, my_cnf, signal)?;
        // One that somebody has stopped gets the first only when it goes on.
        send(&handle, my_cnf, Signal::CONT)?;
        let deadline = Instant::now() + patience;
        while identity.is_alive() && Instant::now() < deadline {
            thread::sleep(POLL);
        }
        if !identity.is_alive() {
            return Ok(ending);
        }
    }
    Err(ServerError::WillNotEnd { name: name.to_owned(), pid: identity.pid, waited: VANISHES_WITHIN })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reused_pid_is_somebody_else() {
        let us = Identity::of(std::process::id()).unwrap();
        assert!(us.is_alive());
        assert!(!Identity { start_ticks: us.start_ticks + 1, ..us.clone() }.is_alive());
        assert!(!Identity { boot_id: "another boot".into(), ..us.clone() }.is_alive());
        assert!(!us.runs_with(Path::new("/nowhere/my.cnf")));
    }

    #[test]
    fn a_process_that_is_not_the_server_is_not_signalled() {
        let mut command = Command::new("sleep");
        scrub(&mut command, Path::new("/"), Path::new("/tmp"));
        command.arg("60");
        let mut child = spawn(command, Lifetime::WithPlimsoll).unwrap();
        let stranger = Identity::of(child.id()).unwrap();
        let ending = end("x", &stranger, Path::new("/nowhere/my.cnf"), Duration::from_secs(1)).unwrap();
        assert_eq!(ending, Ending::WasDown);
        assert!(stranger.is_alive());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!stranger.is_alive());
    }

    #[test]
    fn one_that_stands_still_ends_in_order() {
        let mut command = Command::new("sh");
        scrub(&mut command, Path::new("/"), Path::new("/tmp"));
        command.args(["-c", "kill -STOP $$; sleep 60", "sh", "--defaults-file=/nowhere/my.cnf"]);
        let mut child = spawn(command, Lifetime::WithPlimsoll).unwrap();
        let pid = child.id();
        let state = || Process::new(pid.cast_signed()).unwrap().stat().unwrap().state;
        while state() != 'T' {
            thread::sleep(POLL);
        }
        let ending = end("x", &Identity::of(pid).unwrap(), Path::new("/nowhere/my.cnf"), Duration::from_secs(60));
        assert_eq!(ending.unwrap(), Ending::Stopped);
        child.wait().unwrap();
    }

    #[test]
    fn children_have_a_scrubbed_environment_and_outlive_the_thread_that_asked() {
        let mut command = Command::new("sh");
        scrub(&mut command, Path::new("/h"), Path::new("/t"));
        command.args(["-c", "sleep 0.1; echo $HOME $TMPDIR $LANG ${CARGO-none}"]).stdout(Stdio::piped());
        let child = thread::spawn(move || spawn(command, Lifetime::WithPlimsoll).unwrap()).join().unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "/h /t C none");
    }
}
