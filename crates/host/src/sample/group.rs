//! Control groups, both versions: what a process may use, and how often it was throttled (Linux,
//! `Documentation/admin-guide/cgroup-v2.rst`, `Documentation/admin-guide/cgroup-v1/`,
//! `Documentation/scheduler/sched-bwc.rst`).

use super::pressure;
use crate::mounts::{self, Mount};
use plimsoll_model::samples::GroupSample;
use std::fs;
#[cfg(test)]
use std::path::Path;
use std::path::PathBuf;

/// For "no limit", version 1 writes the largest number of pages.
const NO_LIMIT: u64 = 1 << 60;

/// The directories about one process. They are found once: if there is a limit, the nearest group that has one, because
/// only its counters show the effect.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Groups {
    cpu: Option<Place>,
    memory: Option<Place>,
    io: Option<Place>,
    pub cpu_limit: Option<f64>,
    pub memory_limit_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    directory: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A mounted hierarchy of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hierarchy {
    /// The group at the root of the mount.
    root: String,
    mount_point: PathBuf,
    /// The controllers of version 1; all others are in the hierarchy of version 2.
    controllers: Vec<String>,
    version: Version,
}

impl Groups {
    /// Those of the process `pid`, or of ourselves.
    pub(crate) fn of(pid: Option<u32>) -> Groups {
        let process = pid.map_or("self".to_owned(), |pid| pid.to_string());
        let memberships = fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
        let mounts = mounts::all().unwrap_or_default();
        Groups::resolve(&memberships, &hierarchies(mounts))
    }

    fn resolve(memberships: &str, hierarchies: &[Hierarchy]) -> Groups {
        let own = |controller: &str| place(memberships, hierarchies, controller);
        let (cpu, cpu_limit) = limited(own("cpu"), cpu_limit);
        let (memory, memory_limit_bytes) = limited(own("memory"), memory_limit);
        let io = own("blkio").map(|(place, _)| place);
        Groups { cpu, memory, io, cpu_limit, memory_limit_bytes }
    }

    /// One reading; none if no group tells anything.
    pub(crate) fn sample(&self) -> Option<GroupSample> {
        let (throttled_periods, throttled_us) = self.cpu.as_ref().map_or((None, None), throttled);
        let (read_bytes, written_bytes) = self.io.as_ref().and_then(moved).unzip();
        let sample = GroupSample {
            cpu_limit: self.cpu_limit,
            throttled_periods,
            throttled_us,
            memory_bytes: self
                .memory
                .as_ref()
                .and_then(|place| place.number("memory.usage_in_bytes", "memory.current")),
            memory_limit_bytes: self.memory_limit_bytes,
            memory_limit_hits: self.memory.as_ref().and_then(limit_hits),
            refaults: self.memory.as_ref().and_then(refaults),
            memory_stalled_us: self.memory.as_ref().and_then(memory_stalled_us),
            read_bytes,
            written_bytes,
        };
        (sample != GroupSample::default()).then_some(sample)
    }
}

impl Place {
    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.directory.join(name)).ok()
    }

    /// The number in the file with these names in version 1 and version 2.
    fn number(&self, one: &str, two: &str) -> Option<u64> {
        self.read(if self.version == Version::One { one } else { two })?.trim().parse().ok()
    }
}

/// The group of a process in the hierarchy of `controller`, and the directory that its parents end with.
fn place(memberships: &str, hierarchies: &[Hierarchy], controller: &str) -> Option<(Place, PathBuf)> {
    let of_version_1 = |hierarchy: &&Hierarchy| hierarchy.controllers.iter().any(|name| name == controller);
    let hierarchy = hierarchies.iter().find(of_version_1).or_else(|| {
        let unified = |hierarchy: &&Hierarchy| hierarchy.version == Version::Two;
        hierarchies.iter().find(unified)
    })?;
    // `4:memory:/some/group`; that of version 2 is `0::/some/group` (cgroups(7)).
    let path = memberships.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let is_it = match hierarchy.version {
            Version::One => controllers.split(',').any(|name| name == controller),
            Version::Two => controllers.is_empty(),
        };
        is_it.then_some(path)
    })?;
    // In a container, the mount may also begin with the group that the path begins with.
    let below = path.strip_prefix(hierarchy.root.trim_end_matches('/')).unwrap_or("");
    // A group outside our namespace is written with `..` and cannot be reached.
    let below = if below.split('/').any(|part| part == "..") { "" } else { below };
    let directory = hierarchy.mount_point.join(below.trim_start_matches('/'));
    Some((Place { directory, version: hierarchy.version }, hierarchy.mount_point.clone()))
}

/// The smallest limit on the way up, and the group whose counters to read: the nearest with a limit, else the process's
/// own.
fn limited<T: PartialOrd + Copy>(
    found: Option<(Place, PathBuf)>,
    limit: impl Fn(&Place) -> Option<T>,
) -> (Option<Place>, Option<T>) {
    let Some((own, top)) = found else { return (None, None) };
    let groups = own.directory.ancestors().take_while(|directory| directory.starts_with(&top));
    let mut limits = groups.filter_map(|directory| {
        let group = Place { directory: directory.to_owned(), version: own.version };
        Some((limit(&group)?, group))
    });
    let Some((first, nearest)) = limits.next() else { return (Some(own), None) };
    let smallest = limits.fold(first, |smallest, (limit, _)| if limit < smallest { limit } else { smallest });
    (Some(nearest), Some(smallest))
}

fn cpu_limit(group: &Place) -> Option<f64> {
    let (quota, period) = match group.version {
        Version::One => (group.read("cpu.cfs_quota_us")?, group.read("cpu.cfs_period_us")?),
        // `max 100000` or `150000 100000`.
        Version::Two => {
            let text = group.read("cpu.max")?;
            let (quota, period) = text.split_once(' ')?;
            (quota.to_owned(), period.to_owned())
        }
    };
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| *number > 0.0);
    Some(number(&quota)? / number(&period)?)
}

fn memory_limit(group: &Place) -> Option<u64> {
    group.number("memory.limit_in_bytes", "memory.max").filter(|bytes| *bytes < NO_LIMIT)
}

/// Throttled periods, and the microseconds without CPU time.
fn throttled(group: &Place) -> (Option<u64>, Option<u64>) {
    let stat = group.read("cpu.stat").unwrap_or_default();
    let us = match group.version {
        Version::One => field(&stat, "throttled_time").map(|ns| ns / 1000),
        Version::Two => field(&stat, "throttled_usec"),
    };
    (field(&stat, "nr_throttled"), us)
}

fn limit_hits(group: &Place) -> Option<u64> {
    match group.version {
        Version::One => group.number("memory.failcnt", ""),
        Version::Two => field(&group.read("memory.events")?, "max"),
    }
}

/// Of file pages and anonymous ones, which kernels before 5.9 count together. Version 1 counts those of the groups
/// below under separate names.
fn refaults(group: &Place) -> Option<u64> {
    let stat = group.read("memory.stat")?;
    let total = if group.version == Version::One { "total_" } else { "" };
    let count = |kind: &str| field(&stat, &format!("{total}workingset_refault{kind}"));
    count("_file").map(|files| files.saturating_add(count("_anon").unwrap_or(0))).or_else(|| count(""))
}

fn memory_stalled_us(group: &Place) -> Option<u64> {
    Some(pressure::parse(&group.read("memory.pressure")?)?.some.stalled_us)
}

/// The number behind this name in a file of names and numbers.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// Bytes read from and written to all devices.
fn moved(group: &Place) -> Option<(u64, u64)> {
    match group.version {
        Version::One => Some(sums_of_version_1(&group.read("blkio.throttle.io_service_bytes")?)),
        Version::Two => Some(sums_of_version_2(&group.read("io.stat")?)),
    }
}

/// Lines of `8:0 Read 4096`.
fn sums_of_version_1(text: &str) -> (u64, u64) {
    let sum = |kind: &str| {
        let numbers = text.lines().filter_map(|line| {
            let mut fields = line.split_ascii_whitespace().skip(1);
            fields.next().filter(|found| *found == kind).and(fields.next())?.parse::<u64>().ok()
        });
        numbers.fold(0, u64::saturating_add)
    };
    (sum("Read"), sum("Write"))
}

/// Lines of `8:0 rbytes=4096 wbytes=0 rios=1 …`.
fn sums_of_version_2(text: &str) -> (u64, u64) {
    let sum = |name: &str| {
        let fields = text.split_ascii_whitespace();
        fields.filter_map(|field| field.strip_prefix(name)?.parse::<u64>().ok()).fold(0, u64::saturating_add)
    };
    (sum("rbytes="), sum("wbytes="))
}

/// The hierarchies among the mounts.
fn hierarchies(mounts: Vec<Mount>) -> Vec<Hierarchy> {
    mounts.into_iter().filter_map(hierarchy).collect()
}

fn hierarchy(mount: Mount) -> Option<Hierarchy> {
    let version = match mount.filesystem.as_str() {
        "cgroup" => Version::One,
        "cgroup2" => Version::Two,
        _ => return None,
    };
    let controllers = if version == Version::One { mount.super_options } else { Vec::new() };
    Some(Hierarchy { root: mount.root.to_string_lossy().into_owned(), mount_point: mount.point, controllers, version })
}

/// Reads any text, for fuzzing.
#[cfg(test)]
pub(super) fn fuzz(memberships: &str, mountinfo: &str) {
    let found: Vec<Hierarchy> = hierarchies(mounts::parse(mountinfo.as_bytes()));
    let nowhere = |hierarchy: Hierarchy| Hierarchy { mount_point: Path::new("/no/such/place").to_owned(), ..hierarchy };
    Groups::resolve(memberships, &found.into_iter().map(nowhere).collect::<Vec<_>>()).sample();
    let _ = (field(memberships, "max"), sums_of_version_1(memberships), sums_of_version_2(mountinfo));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(directory: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(directory).unwrap();
        files.iter().for_each(|(name, text)| fs::write(directory.join(name), text).unwrap());
    }

    fn version_1(top: &Path) -> Vec<Hierarchy> {
        let mounts = format!(
            "30 29 0:26 / {top}/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
             31 29 0:27 /box {top}/memory rw - cgroup cgroup rw,memory\n\
             32 29 0:28 / {top}/blkio rw - cgroup cgroup rw,blkio\n\
             33 29 0:29 / {top}/unified rw - cgroup2 cgroup2 rw\n\
             34 29 0:5 / /proc rw - proc proc rw\n",
            top = top.display()
        );
        hierarchies(mounts::parse(mounts.as_bytes()))
    }

    #[test]
    fn a_group_of_version_1_tells_its_limits_and_counters() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path();
        write(&top.join("cpu/db"), &[("cpu.cfs_quota_us", "150000\n"), ("cpu.cfs_period_us", "100000\n")]);
        write(&top.join("cpu/db"), &[("cpu.stat", "nr_periods 90\nnr_throttled 7\nthrottled_time 3000500\n")]);
        write(&top.join("cpu/db/leaf"), &[("cpu.cfs_quota_us", "-1\n"), ("cpu.cfs_period_us", "100000\n")]);
        write(
            &top.join("memory/db"),
            &[("memory.limit_in_bytes", "8388608\n"), ("memory.usage_in_bytes", "4096\n"), ("memory.failcnt", "3\n")],
        );
        let stat = "workingset_refault_file 1\ntotal_workingset_refault_anon 2\ntotal_workingset_refault_file 9\n";
        write(&top.join("memory/db"), &[("memory.stat", stat)]);
        write(&top.join("memory"), &[("memory.limit_in_bytes", "9223372036854771712\n")]);
        let blkio = "8:0 Read 4096\n8:0 Write 512\n8:0 Total 4608\n8:16 Read 4\nTotal 4612\n";
        write(&top.join("blkio"), &[("blkio.throttle.io_service_bytes", blkio)]);
        let groups = Groups::resolve("5:cpu,cpuacct:/db/leaf\n4:memory:/box/db\n3:blkio:/\n0::/\n", &version_1(top));
        let expected = GroupSample {
            cpu_limit: Some(1.5),
            throttled_periods: Some(7),
            throttled_us: Some(3000),
            memory_bytes: Some(4096),
            memory_limit_bytes: Some(8 << 20),
            memory_limit_hits: Some(3),
            refaults: Some(11),
            memory_stalled_us: None,
            read_bytes: Some(4100),
            written_bytes: Some(512),
        };
        assert_eq!(groups.sample(), Some(expected));
    }

    #[test]
    fn a_group_of_version_2_tells_its_limits_and_counters() {
        let top = tempfile::tempdir().unwrap();
        let leaf = top.path().join("db.slice/server");
        write(&leaf, &[("cpu.max", "max 100000\n"), ("memory.max", "max\n"), ("memory.current", "5\n")]);
        write(&leaf, &[("io.stat", "8:0 rbytes=10 wbytes=20 rios=1\n8:16 rbytes=1 wbytes=2\n")]);
        write(&leaf, &[("memory.events", "low 0\nhigh 0\nmax 0\n"), ("cpu.stat", "usage_usec 5\n")]);
        let slice = top.path().join("db.slice");
        write(
            &slice,
            &[("cpu.max", "50000 100000\n"), ("cpu.stat", "usage_usec 9\nnr_throttled 2\nthrottled_usec 40\n")],
        );
        write(&slice, &[("memory.max", "1048576\n"), ("memory.current", "77\n"), ("memory.events", "low 0\nmax 6\n")]);
        write(&slice, &[("memory.stat", "anon 5\nworkingset_refault_anon 0\nworkingset_refault_file 7\n")]);
        write(&slice, &[("memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500\n")]);
        let mounts = format!("33 29 0:29 / {} rw - cgroup2 cgroup2 rw,nsdelegate\n", top.path().display());
        let sample =
            Groups::resolve("0::/db.slice/server\n", &hierarchies(mounts::parse(mounts.as_bytes()))).sample().unwrap();
        assert_eq!((sample.cpu_limit, sample.memory_limit_bytes), (Some(0.5), Some(1 << 20)));
        // The counters are those of the group that has the limit.
        assert_eq!((sample.throttled_periods, sample.throttled_us), (Some(2), Some(40)));
        assert_eq!((sample.memory_bytes, sample.memory_limit_hits), (Some(77), Some(6)));
        assert_eq!((sample.refaults, sample.memory_stalled_us), (Some(7), Some(1500)));
        assert_eq!((sample.read_bytes, sample.written_bytes), (Some(11), Some(22)));
    }

    #[test]
    fn a_group_out_of_reach_tells_of_the_mount_and_nothing_tells_nothing() {
        let top = tempfile::tempdir().unwrap();
        write(&top.path().join("unified"), &[("memory.current", "9\n")]);
        let mounts = format!("33 29 0:29 / {}/unified rw - cgroup2 cgroup2 rw\n", top.path().display());
        let sample =
            Groups::resolve("0::/../elsewhere\n", &hierarchies(mounts::parse(mounts.as_bytes()))).sample().unwrap();
        assert_eq!((sample.memory_bytes, sample.memory_limit_bytes), (Some(9), None));
        assert_eq!(Groups::resolve("", &[]).sample(), None);
        assert_eq!(Groups::resolve("0::/x\n", &hierarchies(mounts::parse(b"nonsense - cgroup\n"))).sample(), None);
    }
}
