//! What is known about the place before anything is measured, and the caveats that follow.

use crate::telemetry::Look;
use plimsoll_host::facts::{memory_bytes, storage_facts};
use plimsoll_model::Caveat;
use plimsoll_model::io::DeviceFacts;
use plimsoll_storage::EvaluationDirectory;
use plimsoll_storage::device::{self, Device};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A backing file with less than this share of its length allocated has holes.
const ALLOCATED: f64 = 0.95;
/// Others may keep a device busy for this share of the time, or with this many requests per second, before it is
/// reported.
const BUSY: f64 = 0.05;
const REQUESTS_PER_SECOND: f64 = 20.0;

/// The device below a place of ours, and everything that the system tells about it.
pub fn look_at(place: &EvaluationDirectory) -> (Option<Device>, DeviceFacts) {
    let mount = storage_facts(place.path());
    let source = mount.as_ref().and_then(|mount| mount.device.clone());
    let device = Device::find(place.path(), source.as_deref());
    let mut facts = device::facts(place.path(), device.as_ref());
    facts.source = source;
    facts.memory_bytes = Some(memory_bytes()).filter(|bytes| *bytes > 0);
    if let Some(mount) = mount {
        facts.filesystem = Some(mount.filesystem);
        facts.mount_point = Some(mount.mount_point.display().to_string());
        facts.mount_options = mount.options;
    }
    (device, facts)
}

/// The caveats that follow from the facts; `idle` is what was seen before we began.
pub fn caveats(facts: &DeviceFacts, idle: Option<&Look>) -> Vec<Caveat> {
    let mut caveats = of_caches(facts);
    caveats.extend(facts.io_uring_refused.as_ref().map(|why| {
        let instead =
            "threads replaced it, which costs more CPU time at depth: to measure what servers that use it can reach, \
             allow it";
        Caveat::new("io_uring_refused", format!("io_uring cannot be used ({why}): {instead}"))
    }));
    caveats.extend(idle.and_then(|look| others(facts, look)));
    caveats.extend(limits(Path::new("/sys/fs/cgroup"), &fs::read_to_string("/proc/self/cgroup").unwrap_or_default()));
    caveats
}

fn of_caches(facts: &DeviceFacts) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if facts.direct == Some(false) {
        let message = format!(
            "{} does not support O_DIRECT, so every number includes this machine's page cache: put the data directory \
             on a file system that supports it, or take the numbers as those of memory",
            facts.filesystem.as_deref().unwrap_or("the file system")
        );
        caveats.push(Caveat::new("page_cache", message));
    }
    let backing = facts.backing_file.as_deref().unwrap_or("a file");
    if facts.loop_direct_io == Some(false) {
        let message = format!(
            "the device is a loop device on {backing} without direct I/O, so the page cache below it answers: attach \
             it with `losetup --direct-io=on`"
        );
        caveats.push(Caveat::new("loop_buffered", message));
    }
    if facts.backing_file.as_deref().is_some_and(|file| is_sparse(Path::new(file))) {
        let message = format!(
            "the loop device is on {backing}, which has holes: the first write of a block allocates it below, and \
             reads of holes never reach a disk; write the file in full before attaching it"
        );
        caveats.push(Caveat::new("sparse_backing", message));
    }
    caveats
}

fn is_sparse(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|facts| ((facts.blocks() * 512) as f64) < ALLOCATED * facts.len() as f64)
}

/// What others did to the device before we began.
fn others(facts: &DeviceFacts, idle: &Look) -> Option<Caveat> {
    let sample = idle.device.filter(|_| idle.seconds > 0.0)?;
    let requests = (sample.reads + sample.writes) as f64 / idle.seconds;
    if sample.busy < BUSY && requests < REQUESTS_PER_SECOND {
        return None;
    }
    let message = format!(
        "before anything was measured, others kept {} busy {:.0} % of the time with {requests:.0} requests per second: \
         repeat when they have stopped",
        facts.name.as_deref().unwrap_or("the device"),
        100.0 * sample.busy
    );
    Some(Caveat::new("other_load", message))
}

/// Flushes of others per second, seen before we began.
pub fn flushes_per_second(idle: &Look) -> Option<f64> {
    let flushes = idle.device?.flushes? as f64;
    (idle.seconds > 0.0).then(|| flushes / idle.seconds)
}

/// Limits of the control groups that this process is in: those of block I/O (version 1: blkio.throttle.*, version 2:
/// io.max) and of CPU time. The limits of a group also apply to the groups below it, except those of block I/O in
/// version 1 (Linux, `Documentation/admin-guide/cgroup-v1/blkio-controller.rst`, `cgroup-v2.rst`, and
/// `Documentation/scheduler/sched-bwc.rst`). `membership` is the content of `/proc/self/cgroup`.
fn limits(root: &Path, membership: &str) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let mut add = |code: &str, what: &str, found: Vec<String>| {
        if !found.is_empty() {
            let message = format!(
                "this process is in a control group that limits {what} ({}), so the numbers are those of the limit: to \
                 measure the device, leave the group",
                found.join(", ")
            );
            caveats.push(Caveat::new(code, message));
        }
    };
    for line in membership.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let group = Path::new(group.trim_start_matches('/'));
        let has = |controller: &str| controllers.split(',').any(|name| name == controller);
        // The last of the ancestors is the root itself.
        let all = |found: fn(&Path) -> Vec<String>, below: &Path| -> Vec<String> {
            group.ancestors().flat_map(|group| found(&below.join(group))).collect()
        };
        if has("blkio") {
            add("limited_io", "block I/O", throttles(&root.join("blkio").join(group)));
        }
        if has("cpu") {
            add("limited_cpu", "CPU time", all(quota, &root.join("cpu")));
        }
        if controllers.is_empty() {
            add("limited_io", "block I/O", all(|group| lines(&group.join("io.max")), root));
            add("limited_cpu", "CPU time", all(unified_quota, root));
        }
    }
    caveats
}

fn lines(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

fn throttles(group: &Path) -> Vec<String> {
    let files = ["read_iops", "write_iops", "read_bps", "write_bps"];
    let of = |name: &str| {
        let limits = lines(&group.join(format!("blkio.throttle.{name}_device")));
        limits.into_iter().map(|limit| format!("{name} {limit}")).collect::<Vec<_>>()
    };
    files.iter().flat_map(|name| of(name)).collect()
}

fn quota(group: &Path) -> Vec<String> {
    let number = |name: &str| lines(&group.join(name)).first().and_then(|text| text.trim().parse::<i64>().ok());
    match (number("cpu.cfs_quota_us"), number("cpu.cfs_period_us")) {
        (Some(quota), Some(period)) if quota > 0 && period > 0 => {
            vec![format!("{:.2} CPUs", quota as f64 / period as f64)]
        }
        _ => Vec::new(),
    }
}

/// `max 100000` if there is none.
fn unified_quota(group: &Path) -> Vec<String> {
    lines(&group.join("cpu.max")).into_iter().filter(|line| !line.starts_with("max")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::samples::DeviceSample;

    fn codes(caveats: &[Caveat]) -> Vec<&str> {
        caveats.iter().map(|caveat| caveat.code.as_str()).collect()
    }

    #[test]
    fn caches_that_answer_in_place_of_the_device_are_told() {
        let honest = DeviceFacts { direct: Some(true), loop_direct_io: Some(true), ..DeviceFacts::default() };
        assert_eq!(of_caches(&honest), []);
        let cached = DeviceFacts { direct: Some(false), loop_direct_io: Some(false), ..DeviceFacts::default() };
        assert_eq!(codes(&of_caches(&cached)), ["page_cache", "loop_buffered"]);
    }

    #[test]
    fn a_backing_file_with_holes_is_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let facts = || DeviceFacts { backing_file: Some(file.path().display().to_string()), ..DeviceFacts::default() };
        assert_eq!(of_caches(&facts()), [], "an empty file has no holes");
        file.as_file().set_len(1 << 20).unwrap();
        assert_eq!(codes(&of_caches(&facts())), ["sparse_backing"]);
    }

    #[test]
    fn load_of_others_is_told_from_silence() {
        let look = |reads, busy| Look {
            seconds: 1.0,
            device: Some(DeviceSample { reads, busy, ..DeviceSample::default() }),
            ..Look::default()
        };
        let facts = DeviceFacts { name: Some("vda".to_owned()), ..DeviceFacts::default() };
        assert_eq!(others(&facts, &look(3, 0.01)), None);
        assert_eq!(others(&facts, &Look::default()), None, "no device, no load");
        let told = others(&facts, &look(200, 0.4)).unwrap();
        assert!(told.message.contains("vda busy 40 %") && told.message.contains("200 requests"), "{told:?}");
        assert!(others(&facts, &look(1, 0.5)).is_some());
    }

    #[test]
    fn flushes_of_others_are_known_where_they_are_counted() {
        let look = |flushes| Look {
            seconds: 2.0,
            device: Some(DeviceSample { flushes, ..DeviceSample::default() }),
            ..Look::default()
        };
        assert_eq!(flushes_per_second(&look(Some(50))), Some(25.0));
        assert_eq!((flushes_per_second(&look(None)), flushes_per_second(&Look::default())), (None, None));
    }

    #[test]
    fn limits_of_both_versions_of_control_groups_are_found() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("blkio/lane/blkio.throttle.write_iops_device", "7:0 200\n");
        write("blkio/lane/blkio.throttle.read_bps_device", "");
        write("blkio/lane/below/blkio.throttle.read_bps_device", "");
        write("cpu/lane/below/cpu.cfs_quota_us", "-1\n");
        write("box/pod/io.max", "");
        write("box/pod/cpu.max", "50000 100000\n");
        write("cpu/lane/cpu.cfs_quota_us", "50000\n");
        write("cpu/lane/cpu.cfs_period_us", "100000\n");
        write("box/io.max", "8:0 rbps=max wbps=1048576 riops=max wiops=max\n");
        write("box/cpu.max", "max 100000\n");
        let found = limits(root.path(), "11:blkio:/lane\n10:cpu,cpuacct:/lane\n");
        assert_eq!(codes(&found), ["limited_io", "limited_cpu"]);
        assert!(found[0].message.contains("write_iops 7:0 200") && found[1].message.contains("0.50 CPUs"), "{found:?}");
        let found = limits(root.path(), "0::/box\n");
        assert_eq!(codes(&found), ["limited_io"], "a group without a quota has none");
        let found = limits(root.path(), "0::/box/pod\n");
        assert_eq!(codes(&found), ["limited_io", "limited_cpu"], "a group's limits bind those below it");
        assert!(found[0].message.contains("wbps=1048576") && found[1].message.contains("50000 100000"), "{found:?}");
        let found = limits(root.path(), "11:blkio:/lane/below\n10:cpu,cpuacct:/lane/below\n");
        assert_eq!(codes(&found), ["limited_cpu"], "limits of block I/O of version 1 do not");
        assert_eq!(limits(root.path(), "11:blkio:/other\n0::/\nnonsense\n"), []);
    }
}
