//! The processors, and how they are set up.

use super::{list, number, text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// Facts of `/sys/devices/system/cpu` (Linux, `Documentation/ABI/testing/sysfs-devices-system-cpu`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuFacts {
    /// Threads of execution that are online; a core has one or several.
    pub threads: Option<usize>,
    pub cores: Option<usize>,
    pub sockets: Option<usize>,
    pub numa_nodes: Option<usize>,
    /// Whether cores run several threads at once.
    pub smt: Option<bool>,
    /// The frequency governor, `performance` or `powersave`; several if CPUs differ.
    pub governors: Vec<String>,
    /// Whether frequencies above the nominal one may be used.
    pub turbo: Option<bool>,
    /// How the time is read: `tsc`. With anything else every reading is a system call.
    pub clocksource: Option<String>,
    /// Evidence of a virtual machine: the name of its firmware, or that the CPU says so.
    pub virtualisation: Option<String>,
}

impl CpuFacts {
    pub(super) fn read() -> CpuFacts {
        let system = Path::new("/sys/devices/system");
        let cpuinfo = text("/proc/cpuinfo").unwrap_or_default();
        CpuFacts {
            numa_nodes: text(system.join("node/online")).map(|online| list(&online).len()),
            clocksource: text(system.join("clocksource/clocksource0/current_clocksource")),
            virtualisation: virtualisation(&cpuinfo),
            ..CpuFacts::of(&system.join("cpu"))
        }
    }

    /// The facts in one directory.
    fn of(directory: &Path) -> CpuFacts {
        let online = text(directory.join("online")).map(|online| list(&online)).unwrap_or_default();
        let mut cores = BTreeSet::new();
        let mut governors = BTreeSet::new();
        for cpu in &online {
            let cpu = directory.join(format!("cpu{cpu}"));
            let place = |name: &str| number(cpu.join("topology").join(name));
            cores.extend(place("physical_package_id").zip(place("core_id")));
            governors.extend(text(cpu.join("cpufreq/scaling_governor")));
        }
        let sockets: BTreeSet<i64> = cores.iter().map(|(socket, _)| *socket).collect();
        let known = |count: usize| (count > 0).then_some(count);
        // Two drivers say it in different ways.
        let no_turbo = number(directory.join("intel_pstate/no_turbo")).map(|off| off == 0);
        let boost = number(directory.join("cpufreq/boost")).map(|on| on == 1);
        CpuFacts {
            threads: known(online.len()),
            cores: known(cores.len()),
            sockets: known(sockets.len()),
            smt: number(directory.join("smt/active")).map(|active| active == 1),
            governors: governors.into_iter().collect(),
            turbo: no_turbo.or(boost),
            ..CpuFacts::default()
        }
    }
}

fn virtualisation(cpuinfo: &str) -> Option<String> {
    let firmware = ["sys_vendor", "product_name"].map(|name| text(format!("/sys/class/dmi/id/{name}")));
    let firmware = firmware.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let is_guest = flags.split_ascii_whitespace().any(|flag| flag == "hypervisor");
    text("/sys/hypervisor/type").or_else(|| match (is_guest, firmware.is_empty()) {
        (false, _) => None,
        (true, true) => Some("the CPU says that it belongs to a virtual machine".to_owned()),
        (true, false) => Some(firmware),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::write;

    #[test]
    fn cores_are_counted_once() {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &[("online", "0-3\n"), ("smt/active", "1\n"), ("intel_pstate/no_turbo", "1\n")]);
        for (cpu, socket, core) in [(0, 0, 0), (1, 0, 0), (2, 1, 0), (3, 1, 0)] {
            write(
                &directory.path().join(format!("cpu{cpu}")),
                &[
                    ("topology/physical_package_id", &socket.to_string()),
                    ("topology/core_id", &core.to_string()),
                    ("cpufreq/scaling_governor", if cpu == 3 { "powersave\n" } else { "performance\n" }),
                ],
            );
        }
        let facts = CpuFacts::of(directory.path());
        assert_eq!((facts.threads, facts.cores, facts.sockets), (Some(4), Some(2), Some(2)));
        assert_eq!((facts.smt, facts.turbo), (Some(true), Some(false)));
        assert_eq!(facts.governors, ["performance", "powersave"]);
        assert_eq!(CpuFacts::of(Path::new("/no/such/place")), CpuFacts::default());
    }
}
