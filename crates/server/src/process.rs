//! The only code that signals a server: which process is one of ours, and how it is ended.
//!
//! It is signalled through a pidfd that was opened before its identity was checked, so that no other process can take
//! its pid in between.

use crate::ServerError;
use plimsoll_host::HostError;
use plimsoll_host::process::Identity;
use procfs::process::Process;
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long a killed process may take to vanish before we say that it hangs.
const VANISHES_WITHIN: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(5);

/// Whether this very process was started with `--defaults-file=<my_cnf>`.
pub fn runs_with(identity: &Identity, my_cnf: &Path) -> bool {
    identity.is_alive() && named_config(identity.pid, my_cnf)
}

/// Whether `pid` is a process of this user whose command line names `my_cnf`. A server that runs through a
/// launcher or the dynamic loader has it further back than in second place.
fn named_config(pid: u32, my_cnf: &Path) -> bool {
    let wanted = format!("--defaults-file={}", my_cnf.display());
    let Some(Ok(process)) = i32::try_from(pid).ok().map(Process::new) else { return false };
    process.uid().is_ok_and(|uid| uid == geteuid().as_raw())
        && process.cmdline().is_ok_and(|words| words.contains(&wanted))
}

/// Finds the server that was started with `my_cnf` among all processes: the fallback for a Plimsoll that died between
/// starting a server and recording its pid. With less evidence, more is required: its working directory must be `data`,
/// as for servers, but not for a client that borrowed the file.
pub fn find_by_config(my_cnf: &Path, data: &Path) -> Option<Identity> {
    procfs::process::all_processes()
        .ok()?
        .filter_map(Result::ok)
        .filter(|process| process.cwd().is_ok_and(|cwd| cwd == data))
        .filter_map(|process| u32::try_from(process.pid()).ok())
        .filter(|pid| named_config(*pid, my_cnf))
        .find_map(Identity::of)
}

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was not running.
    WasDown,
    /// It shut down properly.
    Stopped,
    /// It had to be killed; it will recover at its next start.
    Killed,
}

/// Ends the server `identity`, which must still be the process started with `my_cnf`: SIGTERM, then SIGKILL after
/// `patience`. A paused one (SIGSTOP) is continued for that.
///
/// # Errors
/// [`ServerError::WillNotEnd`] if it survives even that; [`HostError::Io`] if it cannot be signalled.
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

/// Sends the server `identity` SIGKILL, under the same condition, and does not wait for its end.
///
/// # Errors
/// [`HostError::Io`] if it cannot be signalled.
pub fn strike(identity: &Identity, my_cnf: &Path) -> Result<(), ServerError> {
    handle(identity, my_cnf)?.map_or(Ok(()), |handle| send(&handle, my_cnf, Signal::KILL))
}

/// A handle on the server `identity`, which stays valid for this process only; none if it is gone, or is not the
/// process that was started with `my_cnf`.
///
/// # Errors
/// [`HostError::Io`] if there are no pidfds (before Linux 5.3): it is safer to leave a process alone than to signal a
/// bare pid.
pub(crate) fn handle(identity: &Identity, my_cnf: &Path) -> Result<Option<OwnedFd>, ServerError> {
    let pid = i32::try_from(identity.pid).ok().and_then(Pid::from_raw);
    let Some(Ok(handle)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) else {
        return if identity.is_alive() { Err(unsignalled(my_cnf, rustix::io::Errno::NOSYS)) } else { Ok(None) };
    };
    Ok(runs_with(identity, my_cnf).then_some(handle))
}

/// Sends a signal through a handle; a process that has ended needs none.
///
/// # Errors
/// [`HostError::Io`].
pub(crate) fn send(handle: &OwnedFd, my_cnf: &Path, signal: Signal) -> Result<(), ServerError> {
    match pidfd_send_signal(handle, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(errno) => Err(unsignalled(my_cnf, errno)),
    }
}

fn unsignalled(my_cnf: &Path, errno: rustix::io::Errno) -> ServerError {
    HostError::Io { action: "signal the server of", path: my_cnf.to_owned(), source: errno.into() }.into()
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
        // A stopped process gets the first signal only when it continues.
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
    use plimsoll_host::process::{Lifetime, scrub, spawn};
    use std::process::Command;

    #[test]
    fn a_process_without_the_file_is_not_its_server() {
        let us = Identity::of_this_process().unwrap();
        assert!(!runs_with(&us, Path::new("/nowhere/my.cnf")));
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
}
