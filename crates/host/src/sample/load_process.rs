//! Processes that make load for this one: what they use counts as this one's.

use plimsoll_model::samples::ClientSample;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// By pid, what each has used as far as it was seen; those that have ended too, so that no sum falls.
static ALL: Mutex<BTreeMap<u32, Used>> = Mutex::new(BTreeMap::new());

#[derive(Clone, Copy, Default)]
struct Used {
    is_gone: bool,
    cpu_user_us: u64,
    cpu_system_us: u64,
    major_faults: u64,
    resident_bytes: u64,
    threads: u64,
}

/// A process that makes load for this one, as long as this lives.
#[derive(Debug)]
pub struct LoadProcess(u32);

impl LoadProcess {
    pub fn new(pid: u32) -> LoadProcess {
        all(|all| all.insert(pid, Used::default()));
        LoadProcess(pid)
    }
}

impl Drop for LoadProcess {
    fn drop(&mut self) {
        all(|all| {
            if let Some(used) = all.get_mut(&self.0) {
                look(self.0, used);
                *used = Used { is_gone: true, resident_bytes: 0, threads: 0, ..*used };
            }
        });
    }
}

fn all<T>(task: impl FnOnce(&mut BTreeMap<u32, Used>) -> T) -> T {
    task(&mut ALL.lock().unwrap_or_else(PoisonError::into_inner))
}

fn look(pid: u32, used: &mut Used) {
    if let Some(now) = super::process(pid, 0).filter(|_| !used.is_gone) {
        used.cpu_user_us = now.cpu_user_us;
        used.cpu_system_us = now.cpu_system_us;
        used.major_faults = now.major_faults.unwrap_or_default();
        used.resident_bytes = now.resident_bytes;
        used.threads = now.threads.unwrap_or_default();
    }
}

/// Adds what they have used to what this process has.
pub(super) fn add_to(own: ClientSample) -> ClientSample {
    all(|all| {
        all.iter_mut().fold(own, |sum, (pid, used)| {
            look(*pid, used);
            ClientSample {
                cpu_user_us: sum.cpu_user_us + used.cpu_user_us,
                cpu_system_us: sum.cpu_system_us + used.cpu_system_us,
                major_faults: sum.major_faults + used.major_faults,
                resident_bytes: sum.resident_bytes.map(|bytes| bytes + used.resident_bytes),
                threads: sum.threads.map(|threads| threads + used.threads),
                ..sum
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::process as sample;
    use super::*;
    use std::process::{Command, Stdio};

    fn cpu() -> u64 {
        let none = ClientSample::default();
        let sum = add_to(none);
        sum.cpu_user_us + sum.cpu_system_us
    }

    #[test]
    fn what_a_load_process_has_used_counts_and_stays_counted() {
        let script = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done; read end";
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let load = LoadProcess::new(child.id());
        let mut line = [0; 5];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        let used = sample(child.id(), 0).map(|sample| sample.cpu_user_us + sample.cpu_system_us).unwrap();
        assert!(used > 0 && cpu() >= used, "{used}");
        drop(load);
        let before = cpu();
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(before >= used && cpu() == before);
    }
}
