//! What a server is confined to: some CPUs, some memory, existing control groups, an environment of its own.
//!
//! The limits are applied between fork and exec, so that no part of a server ever runs without them.

use crate::ServerError;
use crate::directory::ServerDirectory;
use crate::error::DuringServer;
use crate::memory_group::MemoryGroup;
use plimsoll_host::process::Identity;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Limits that a server starts with; the default has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confinement {
    /// CPUs that it may run on, by their numbers in sched_setaffinity(2).
    pub cpus: Option<Vec<usize>>,
    /// Memory and swap together, bytes.
    pub memory: Option<u64>,
    /// The directories of existing control groups, which it joins.
    pub groups: Vec<PathBuf>,
    /// Environment variables on top of the scrubbed environment.
    pub env: BTreeMap<String, String>,
}

impl Confinement {
    /// Prepares the command of the server of `directory`, which applies the limits to itself before it becomes the
    /// server.
    ///
    /// # Errors
    /// [`HostError::Place`] if memory cannot be limited, [`HostError::Io`] if a control group cannot be joined.
    pub(crate) fn apply(&self, command: &mut Command, directory: &ServerDirectory) -> Result<(), ServerError> {
        command.envs(&self.env);
        let cpus = self.cpus.as_deref().map(set_of).transpose()?;
        let memory = match self.memory {
            Some(bytes) => Some(MemoryGroup::make(directory.path(), bytes)?),
            None => None,
        };
        let groups = self.groups.iter().map(PathBuf::as_path).chain(memory.as_ref().map(MemoryGroup::path));
        let open = |group: &std::path::Path| {
            let procs = group.join("cgroup.procs");
            File::options().write(true).open(&procs).during("open", &procs)
        };
        let procs = groups.map(open).collect::<Result<Vec<File>, ServerError>>()?;
        let prepare = move || {
            for file in &procs {
                // 0 means the writing process.
                rustix::io::write(file, b"0")?;
            }
            cpus.map_or(Ok(()), |cpus| sched_setaffinity(None, &cpus)).map_err(io::Error::from)
        };
        // SAFETY: between fork and exec the closure only makes system calls, and neither allocates nor locks.
        #[allow(unsafe_code)]
        unsafe {
            command.pre_exec(prepare);
        }
        Ok(())
    }

    /// Checks the limits of the running server of `directory`. Returns in words what is not in effect.
    pub(crate) fn not_in_effect(&self, directory: &ServerDirectory, server: &Identity) -> Option<String> {
        let has = |cpus: &Vec<usize>| allowed(Some(server)).as_ref() == Some(&sorted(cpus));
        if let Some(cpus) = self.cpus.as_ref().filter(|cpus| !has(cpus)) {
            return Some(format!("it does not run on CPUs {cpus:?}"));
        }
        let memory = self.memory.and_then(|_| MemoryGroup::of(directory.path()).ok().flatten());
        if self.memory.is_some() && memory.is_none() {
            return Some("its memory is not limited".to_owned());
        }
        let groups = self.groups.iter().map(PathBuf::as_path).chain(memory.as_ref().map(MemoryGroup::path));
        let pid = server.pid.to_string();
        let missing = |group: &&std::path::Path| {
            let procs = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
            !procs.lines().any(|line| line == pid)
        };
        groups.into_iter().find(missing).map(|group| format!("it is not in the control group {}", group.display()))
    }
}

/// The CPUs that this thread may run on, in order, and to which a server can therefore be confined.
pub fn cpus() -> Vec<usize> {
    allowed(None).unwrap_or_default()
}

/// Checks that the memory of a server can be limited here, and changes nothing.
///
/// # Errors
/// [`HostError::Place`] saying what is missing: the controller, or the right to create control groups.
pub fn memory_can_be_limited() -> Result<(), ServerError> {
    MemoryGroup::possible()
}

/// This thread, and the threads that it starts, confined to some CPUs until this is dropped.
///
/// Servers are not affected: another thread forks them.
#[derive(Debug)]
pub struct Pinned {
    before: CpuSet,
}

impl Pinned {
    /// Confines the calling thread.
    ///
    /// # Errors
    /// [`ServerError::Cpus`] if this machine has none of them.
    pub fn to(cpus: &[usize]) -> Result<Pinned, ServerError> {
        let refused = |errno: rustix::io::Errno| ServerError::Cpus { cpus: cpus.to_vec(), found: errno.to_string() };
        let before = sched_getaffinity(None).map_err(refused)?;
        sched_setaffinity(None, &set_of(cpus)?).map_err(refused)?;
        Ok(Pinned { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // These CPUs were allowed before; if they no longer are, the kernel has chosen for us.
        let _ = sched_setaffinity(None, &self.before);
    }
}

fn set_of(cpus: &[usize]) -> Result<CpuSet, ServerError> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        if *cpu >= CpuSet::MAX_CPU {
            let found = format!("the highest possible number is {}", CpuSet::MAX_CPU - 1);
            return Err(ServerError::Cpus { cpus: cpus.to_vec(), found });
        }
        set.set(*cpu);
    }
    Ok(set)
}

/// CPUs of a process's first thread, or of this thread.
fn allowed(process: Option<&Identity>) -> Option<Vec<usize>> {
    let pid = match process {
        Some(process) => Some(Pid::from_raw(i32::try_from(process.pid).ok()?)?),
        None => None,
    };
    let set = sched_getaffinity(pid).ok()?;
    Some((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

fn sorted(cpus: &[usize]) -> Vec<usize> {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_pinned_thread_hands_its_cpus_on_and_gets_the_others_back() {
        let before = cpus();
        let one = vec![*before.last().unwrap()];
        let pinned = Pinned::to(&one).unwrap();
        assert_eq!((cpus(), thread::spawn(cpus).join().unwrap()), (one.clone(), one));
        drop(pinned);
        assert_eq!(cpus(), before);
    }

    #[test]
    fn cpus_that_are_not_here_are_named() {
        for cpu in [CpuSet::MAX_CPU - 1, CpuSet::MAX_CPU] {
            let error = Pinned::to(&[cpu]).unwrap_err().to_string();
            assert!(error.contains(&cpu.to_string()), "{error}");
        }
    }
}
