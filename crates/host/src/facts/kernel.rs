//! How the kernel is configured, as far as it matters to a database, and what it allows us.

use super::text;
use crate::sample::group::Groups;
use rustix::process::{Resource, getrlimit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Files of `/proc/sys` whose values matter (Linux, `Documentation/admin-guide/sysctl/`).
const SYSCTLS: [&str; 17] = [
    "fs.aio-max-nr",
    "fs.file-max",
    "kernel.io_uring_disabled",
    "kernel.numa_balancing",
    "kernel.sched_autogroup_enabled",
    "net.core.somaxconn",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_max_syn_backlog",
    "vm.dirty_background_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_expire_centisecs",
    "vm.dirty_ratio",
    "vm.nr_hugepages",
    "vm.overcommit_memory",
    "vm.swappiness",
    "vm.zone_reclaim_mode",
];

/// Limits of this process, which its servers inherit (getrlimit(2)), and of its control group. None if there is no
/// limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitFacts {
    pub open_files: Option<u64>,
    /// How far it may be raised.
    pub open_files_at_most: Option<u64>,
    pub locked_memory_bytes: Option<u64>,
    /// In CPUs.
    pub group_cpus: Option<f64>,
    pub group_memory_bytes: Option<u64>,
}

impl LimitFacts {
    pub(super) fn read() -> LimitFacts {
        let files = getrlimit(Resource::Nofile);
        let groups = Groups::of(None);
        LimitFacts {
            open_files: files.current,
            open_files_at_most: files.maximum,
            locked_memory_bytes: getrlimit(Resource::Memlock).current,
            group_cpus: groups.cpu_limit,
            group_memory_bytes: groups.memory_limit_bytes,
        }
    }
}

/// Large pages (Linux, `Documentation/admin-guide/mm/hugetlbpage.rst`, `transhuge.rst`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HugePageFacts {
    pub page_bytes: Option<u64>,
    pub total: Option<u64>,
    pub free: Option<u64>,
    /// Transparent ones: `always`, `madvise`, `never`.
    pub transparent: Option<String>,
}

impl HugePageFacts {
    pub(super) fn read() -> HugePageFacts {
        let meminfo = text("/proc/meminfo").unwrap_or_default();
        let choices = text("/sys/kernel/mm/transparent_hugepage/enabled");
        HugePageFacts { transparent: choices.map(|choices| chosen(&choices)), ..HugePageFacts::parse(&meminfo) }
    }

    /// Reads `/proc/meminfo` (proc_meminfo(5)).
    fn parse(meminfo: &str) -> HugePageFacts {
        let find = |name: &str| {
            let value = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            value.trim().trim_end_matches(" kB").parse::<u64>().ok()
        };
        HugePageFacts {
            page_bytes: find("Hugepagesize").map(|kib| kib.saturating_mul(1024)),
            total: find("HugePages_Total"),
            free: find("HugePages_Free"),
            transparent: None,
        }
    }
}

/// By name, as far as this kernel has them.
pub(super) fn sysctls() -> BTreeMap<String, String> {
    let value = |name: &str| Some((name.to_owned(), text(format!("/proc/sys/{}", name.replace('.', "/")))?));
    SYSCTLS.into_iter().filter_map(value).collect()
}

/// The word in brackets: `none [mq-deadline] kyber`.
pub(super) fn chosen(choices: &str) -> String {
    let in_brackets = choices.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    in_brackets.map_or(choices, |(chosen, _)| chosen).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_are_counted() {
        let text = "MemTotal: 9 kB\nHugePages_Total:      12\nHugePages_Free:        3\nHugepagesize:       2048 kB\n";
        let facts = HugePageFacts::parse(text);
        assert_eq!((facts.page_bytes, facts.total, facts.free), (Some(2 << 20), Some(12), Some(3)));
        assert_eq!(HugePageFacts::parse(""), HugePageFacts::default());
    }

    #[test]
    fn the_choice_stands_in_brackets() {
        assert_eq!((chosen("always [madvise] never"), chosen("none")), ("madvise".to_owned(), "none".to_owned()));
    }

    #[test]
    fn this_kernel_has_settings_and_limits() {
        let found = sysctls();
        assert!(found["vm.swappiness"].parse::<u32>().is_ok(), "{found:?}");
        assert!(LimitFacts::read().open_files.is_none_or(|files| files > 0));
    }
}
