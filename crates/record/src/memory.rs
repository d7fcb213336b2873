//! How much memory what is read of a recording may take: a part of what this process can still have.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

/// What is read may take one part in so many of the memory that is free: reports copy it, and others need some.
const PART: u64 = 4;
/// It may always take so much, bytes.
const LEAST: u64 = 64 << 20;
/// Looked at after so many bytes of text.
const LOOKED_AT_EACH: u64 = 256 << 10;

/// A process in memory, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Used {
    address_space: u64,
    resident: u64,
}

/// What the seconds of one recording may take.
#[derive(Debug)]
pub(crate) struct Allowance {
    most: Used,
    /// Text read since the last look, bytes.
    unseen: Cell<u64>,
}

impl Allowance {
    /// What is given now to one recording.
    pub fn of_now() -> Allowance {
        let used = Used::now().unwrap_or_default();
        let limit = rustix::process::getrlimit(rustix::process::Resource::As).current;
        let address_space = limit.map_or(u64::MAX, |limit| limit.saturating_sub(used.address_space));
        let part = |free: u64| (free / PART).max(LEAST);
        let most = Used {
            address_space: used.address_space.saturating_add(part(address_space)),
            resident: used.resident.saturating_add(part(free())),
        };
        Allowance { most, unseen: Cell::new(0) }
    }

    /// Notes that so many bytes of text were read and are kept.
    ///
    /// # Errors
    /// Why no more may be read.
    pub fn took(&self, bytes: usize) -> Result<(), String> {
        self.unseen.set(self.unseen.get() + bytes as u64);
        if self.unseen.get() < LOOKED_AT_EACH {
            return Ok(());
        }
        self.unseen.set(0);
        match Used::now() {
            Some(used) if used.resident > self.most.resident || used.address_space > self.most.address_space => {
                Err("what was recorded takes more memory than this machine has to spare for it; read it where more is \
                     free"
                    .to_owned())
            }
            _ => Ok(()),
        }
    }
}

impl Used {
    /// Of this process (proc_pid_statm(5)).
    fn now() -> Option<Used> {
        let statm = fs::read_to_string("/proc/self/statm").ok()?;
        let mut pages = statm.split_ascii_whitespace().map_while(|word| word.parse::<u64>().ok());
        let page = rustix::param::page_size() as u64;
        Some(Used { address_space: pages.next()? * page, resident: pages.next()? * page })
    }
}

/// Memory that this process can still have, bytes: of the machine (proc_meminfo(5)) or of its control groups.
fn free() -> u64 {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    available(&meminfo).into_iter().chain(left_in_groups(Path::new("/sys/fs/cgroup"), &groups)).min().unwrap_or(1 << 30)
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()?.saturating_mul(1024))
}

/// What is left of the limits of the group that this process is in, and of those around it (Linux,
/// `Documentation/admin-guide/cgroup-v2.rst`).
fn left_in_groups(root: &Path, groups: &str) -> Option<u64> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mut group: PathBuf = root.join(path);
    let mut least = None;
    while group.starts_with(root) {
        let number = |name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        if let (Some(limit), Some(used)) = (number("memory.max"), number("memory.current")) {
            // Pages of files are counted as used, and are given back.
            let pages = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
            let pages = pages.lines().find_map(|line| line.strip_prefix("file ")?.parse().ok()).unwrap_or(0);
            let left = limit.saturating_sub(used.saturating_sub(pages));
            least = Some(least.map_or(left, |least: u64| least.min(left)));
        }
        group.pop();
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_by_the_machine_and_by_the_tightest_group() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:    2048 kB\n"), Some(2 << 20));
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        let write = |group: &Path, limit: &str, used: &str| {
            fs::write(group.join("memory.max"), limit).unwrap();
            fs::write(group.join("memory.current"), used).unwrap();
        };
        write(&inner, "max\n", "70\n");
        assert_eq!(left_in_groups(root.path(), "0::/a/b\n"), None);
        write(&root.path().join("a"), "1000\n", "900\n");
        fs::write(root.path().join("a/memory.stat"), "anon 100\nfile 800\n").unwrap();
        assert_eq!(left_in_groups(root.path(), "0::/a/b\n"), Some(900));
    }

    #[test]
    fn what_takes_no_memory_may_be_as_long_as_it_likes() {
        let allowance = Allowance::of_now();
        assert!((0..1_000).all(|_| allowance.took(1 << 20).is_ok()));
        let none = Allowance { most: Used::default(), unseen: Cell::new(0) };
        assert!(none.took(1).is_ok() && none.took(1 << 20).is_err());
    }
}
