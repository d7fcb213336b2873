//! The user's own commands: each runs in its own process session, and everything that it started there ends with it.

use plimsoll_host::process::{Lifetime, scrub, spawn};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

/// `sh -c <line>` in a scrubbed environment with this HOME.
pub fn shell(line: &str, home: &Path) -> Command {
    let mut command = Command::new("sh");
    scrub(&mut command, home, &std::env::temp_dir());
    command.args(["-c", line]);
    command
}

/// Starts a command that dies with Plimsoll.
///
/// # Errors
/// The error of the operating system.
pub fn start(command: Command) -> io::Result<Child> {
    spawn(command, Lifetime::WithPlimsoll)
}

/// Whether the command itself has ended. It is not reaped yet, so that no other process gets its number before [`end`].
pub fn has_ended(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    // A process that cannot be waited for is gone.
    pid(child).is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), options), Ok(None)))
}

/// Kills a command and what it started, as far as they still run; returns how the command ended.
///
/// # Errors
/// If it cannot be waited for.
pub fn end(child: &mut Child) -> io::Result<ExitStatus> {
    if let Some(group) = pid(child) {
        // It is our child and was not waited for, so its number is still its own.
        let _ = kill_process_group(group, Signal::KILL);
    }
    child.wait()
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}
