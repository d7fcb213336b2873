//! Control groups that a test puts processes into.

use crate::servers::skip;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicU32, Ordering};

/// Length of the periods in which a quota holds.
const PERIOD_US: u32 = 100_000;

/// A group that may use so much of a CPU; removed when dropped, after those that are left in it have gone up.
pub struct CpuGroup {
    path: PathBuf,
}

impl CpuGroup {
    /// A group that may use `cpus` CPUs, by whichever version is mounted. `None` was said with [`skip`].
    #[track_caller]
    pub fn of(cpus: f64) -> Option<CpuGroup> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("plimsoll-test-{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let quota = (cpus * f64::from(PERIOD_US)) as u32;
        let top = Path::new("/sys/fs/cgroup");
        let (path, limit) = match top.join("cpu").is_dir() {
            true => (top.join("cpu").join(name), ("cpu.cfs_quota_us", quota.to_string())),
            false => (top.join(name), ("cpu.max", format!("{quota} {PERIOD_US}"))),
        };
        let made = fs::create_dir(&path).and_then(|()| fs::write(path.join(limit.0), limit.1));
        let group = CpuGroup { path };
        match made {
            Ok(()) => Some(group),
            Err(error) => {
                skip(&format!("no control group can be made at {}: {error}; run as root", group.path.display()));
                None
            }
        }
    }

    /// Puts a process that runs into it.
    ///
    /// # Panics
    /// If the kernel refuses.
    pub fn takes(&self, pid: u32) {
        fs::write(self.path.join("cgroup.procs"), pid.to_string()).expect("a process can be moved");
    }

    /// The same command, which runs in it from the beginning.
    pub fn within(&self, command: &Command) -> Command {
        let mut within = Command::new("/bin/sh");
        within.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.path.join("cgroup.procs"));
        within.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => within.env(name, value),
                None => within.env_remove(name),
            };
        }
        within
    }
}

impl Drop for CpuGroup {
    fn drop(&mut self) {
        let left = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        let up = self.path.with_file_name("cgroup.procs");
        for pid in left.lines() {
            let _ = fs::write(&up, pid);
        }
        let _ = fs::remove_dir(&self.path);
    }
}
