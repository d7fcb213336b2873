//! Processes: how one is identified, and how ours are started.
//!
//! A pid alone identifies nothing, because it is reused. A process is identified by pid, start time and boot.

use procfs::process::Process;
use rustix::process::{Pid, Signal, getppid, kill_process_group, set_parent_process_death_signal, setsid};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::thread;

/// The identity of a process, unique on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub pid: u32,
    /// Start time in clock ticks since boot, field 22 of `/proc/<pid>/stat`.
    pub start_ticks: u64,
    /// Ticks begin anew with every boot.
    pub boot_id: String,
}

impl Identity {
    /// The process that runs as `pid` now; none if there is none, or only a zombie.
    pub fn of(pid: u32) -> Option<Identity> {
        let stat = Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()?;
        let boot_id = procfs::sys::kernel::random::boot_id().ok()?;
        (!matches!(stat.state, 'Z' | 'X')).then_some(Identity { pid, start_ticks: stat.starttime, boot_id })
    }

    /// Who this process is.
    ///
    /// # Errors
    /// Where `/proc` does not say it.
    pub fn of_this_process() -> io::Result<Identity> {
        Identity::of(std::process::id()).ok_or_else(|| io::Error::other("/proc does not say who this process is"))
    }

    pub fn is_alive(&self) -> bool {
        Identity::of(self.pid).as_ref() == Some(self)
    }
}

/// The numbers of all processes that this one sees.
pub fn pids() -> impl Iterator<Item = i32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Which boot of which machine this is (random(4)); empty where `/proc` does not say it.
pub fn boot_id() -> String {
    procfs::sys::kernel::random::boot_id().unwrap_or_default()
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

/// Gives a child only PATH from our environment, and nothing to read.
pub fn scrub(command: &mut Command, home: &Path, tmp: &Path) {
    command.env_clear().env("HOME", home).env("TMPDIR", tmp).env("LANG", "C").stdin(Stdio::null());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
}

type Birth = (Command, Lifetime, mpsc::Sender<io::Result<Child>>);

/// Starts `command` in a session of its own, so that Ctrl-C in the terminal reaches only Plimsoll.
///
/// The kernel ties "dies with its parent" to the *thread* that forked. So one thread, which lives as long as the
/// process, forks all children, and this may be called from any thread.
///
/// # Errors
/// The operating system's error; also if this process died in between.
pub fn spawn(command: Command, lifetime: Lifetime) -> io::Result<Child> {
    static NURSERY: OnceLock<mpsc::Sender<Birth>> = OnceLock::new();
    let closed = || io::Error::other("the thread that starts children has ended");
    let nursery = NURSERY.get_or_init(|| {
        let (sender, births) = mpsc::channel::<Birth>();
        // If no thread can be created, the receiver is dropped and the send below fails.
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

/// Kills a child that [`spawn`] started, and what a launcher that did not `exec` left below it, and waits. Does nothing
/// if the child has ended already: from then on its pid, which is also its group's, may be reused.
pub fn kill_family(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let (Ok(None), Some(group)) = (child.try_wait(), group) {
        let _ = kill_process_group(group, Signal::KILL);
        let _ = child.wait();
    }
}

/// Kills everything in the group of a child that [`spawn`] started and that was not waited for yet, ended or not: until
/// then its number, which is also its group's, is not reused.
pub fn kill_group(child: &Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reused_pid_is_somebody_else() {
        let us = Identity::of_this_process().unwrap();
        assert!(us.is_alive());
        assert!(!Identity { start_ticks: us.start_ticks + 1, ..us.clone() }.is_alive());
        assert!(!Identity { boot_id: "another boot".into(), ..us.clone() }.is_alive());
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
