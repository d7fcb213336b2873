//! The machine and the storage of the server's data: what is set outside of the server.

use super::super::seen::SeenMachine;
use super::super::{WindowFinding, WindowVerdict, share_words};
use super::{SeenServer, WORTH};
use WindowVerdict::{Fine, Found, Unseen};
use plimsoll_model::advice::Severity;
use plimsoll_model::diagnosis::Bottleneck;
use plimsoll_model::filesystem::{UNFLUSHED, is_in_memory};
use plimsoll_model::number::binary_size;

/// What a kernel reads ahead by itself, bytes; more is somebody's choice.
const USUAL_READ_AHEAD: u64 = 131_072;
const MACHINE: &str = "facts of the server’s machine";

/// Judges the machine, where it is known; `what` is wrong with it, if anything.
fn of_machine(seen: &SeenServer, what: impl FnOnce(&SeenMachine) -> Option<WindowFinding>) -> WindowVerdict {
    let Some(machine) = &seen.machine else { return Unseen(MACHINE) };
    what(machine).map_or(Fine, Found)
}

/// A finding that no setting of the server mends.
fn outside(severity: Severity, found: String, advised: &str, why: &str) -> WindowFinding {
    WindowFinding {
        worth: 0.0,
        severity,
        changes: Vec::new(),
        found,
        advised: Some(advised.to_owned()),
        why: why.to_owned(),
    }
}

pub fn governor(seen: &SeenServer) -> WindowVerdict {
    of_machine(seen, |machine| {
        let slow = machine.governors.iter().find(|governor| *governor == "powersave")?;
        let why = "CPUs are slow until they have been busy for a while, so that answers are, too.";
        Some(outside(Severity::Warn, format!("the CPU frequency governor is {slow}"), "set it to performance", why))
    })
}

pub fn huge_pages(seen: &SeenServer) -> WindowVerdict {
    of_machine(seen, |machine| {
        let always = machine.transparent_huge_pages.as_deref().filter(|mode| *mode == "always")?;
        let found = format!("transparent huge pages are given to whoever asks ({always})");
        let why = "A server's memory may grow, and stalls while pages are put together.";
        Some(outside(Severity::Info, found, "set them to madvise, and measure", why))
    })
}

pub fn nodes(seen: &SeenServer) -> WindowVerdict {
    of_machine(seen, |machine| {
        let nodes = machine.numa_nodes.filter(|nodes| *nodes > 1)?;
        let is_off = seen.setting("innodb_numa_interleave").is_none_or(|value| value == "OFF");
        let found = format!("the machine has {nodes} NUMA nodes, and the buffer pool is not spread over them");
        let why = "One node's memory is used up, and its pages are reclaimed, while another has some left.";
        is_off.then(|| outside(Severity::Info, found, "spread it: innodb_numa_interleave, or numactl", why))
    })
}

pub fn scheduler(seen: &SeenServer) -> WindowVerdict {
    of_machine(seen, |machine| {
        let is_flash = machine.rotational == Some(false) && machine.device.as_deref()?.contains("nvme");
        let scheduler = machine.scheduler.as_deref().filter(|scheduler| is_flash && *scheduler != "none")?;
        let found = format!("the I/O scheduler of the NVMe device is {scheduler}");
        let why = "The device orders its requests itself; sorting them costs CPU and latency.";
        Some(outside(Severity::Info, found, "set it to none, and measure", why))
    })
}

pub fn read_ahead(seen: &SeenServer) -> WindowVerdict {
    of_machine(seen, |machine| {
        let bytes = machine.read_ahead_bytes.filter(|bytes| *bytes > USUAL_READ_AHEAD)?;
        let is_read = seen.share(Bottleneck::ReadIo) >= WORTH;
        let found =
            format!("{}; the kernel reads {} ahead", share_words(seen, Bottleneck::ReadIo), binary_size(bytes as f64));
        let why = "Buffered reads of single pages drag in what nobody asked for.";
        is_read.then(|| outside(Severity::Info, found, "set it to 128 KiB or less (blockdev --setra)", why))
    })
}

/// What the mount does with flushes, and with a storage server that does not answer.
pub fn mount(seen: &SeenServer) -> WindowVerdict {
    of_machine(seen, |machine| {
        let filesystem = machine.filesystem.as_deref()?;
        if is_in_memory(filesystem) {
            let found = format!("the data are on {filesystem}");
            return Some(outside(
                Severity::Critical,
                found,
                "put them on storage",
                "They are gone when the machine is.",
            ));
        }
        let given =
            |names: &[&str]| machine.mount_options.iter().find(|option| names.contains(&option.as_str())).cloned();
        if let Some(option) = given(&UNFLUSHED) {
            let why = "The device is not told to keep what it has acknowledged: a power cut may cost any page.";
            let advised = "mount without it, unless the device keeps its cache through a power cut";
            return Some(outside(Severity::Critical, format!("the data are mounted with {option}"), advised, why));
        }
        let option = given(&["soft"]).filter(|_| filesystem.starts_with("nfs"))?;
        let why = "When the storage server is slow, writes fail that the server believes to be done.";
        let found = format!("the data are on {filesystem}, mounted with {option}");
        Some(outside(Severity::Critical, found, "mount with hard", why))
    })
}

/// Neighbours are written along for the sake of disks that turn.
pub fn neighbours(seen: &SeenServer) -> WindowVerdict {
    of_machine(seen, |machine| {
        let is_on = seen.setting("innodb_flush_neighbors").is_some_and(|value| !["0", "OFF"].contains(&value));
        let is_flash = machine.rotational == Some(false);
        (is_on && is_flash).then(|| WindowFinding {
            worth: 0.1 * seen.share(Bottleneck::PageFlush),
            severity: Severity::Info,
            changes: vec![("innodb_flush_neighbors", "0".to_owned())],
            found: "dirty neighbours of a page are written with it, to a device that does not turn".to_owned(),
            advised: None,
            why: "It saves a disk's arm from moving; flash is only written more.".to_owned(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{healthy, says};
    use super::*;

    #[test]
    fn of_a_server_elsewhere_the_machine_is_not_known() {
        let mut seen = healthy();
        seen.machine = None;
        assert_eq!(says("io.mount", &seen), Unseen(MACHINE));
    }

    #[test]
    fn a_mount_that_loses_what_was_acknowledged_is_critical() {
        for (filesystem, option) in [("ext4", "barrier=0"), ("xfs", "nobarrier"), ("nfs4", "soft"), ("tmpfs", "rw")] {
            let mut seen = healthy();
            let machine = seen.machine.as_mut().unwrap();
            machine.filesystem = Some(filesystem.to_owned());
            machine.mount_options = vec![option.to_owned()];
            let Found(found) = says("io.mount", &seen) else { panic!("{filesystem}") };
            assert_eq!(found.severity, Severity::Critical, "{filesystem}");
        }
        let mut seen = healthy();
        seen.machine.as_mut().unwrap().mount_options = vec!["soft".to_owned()];
        assert_eq!(says("io.mount", &seen), Fine, "it is an option of NFS");
    }

    #[test]
    fn a_disk_that_may_turn_keeps_its_neighbours() {
        let mut seen = healthy();
        seen.settings.insert("innodb_flush_neighbors".to_owned(), "1".to_owned());
        seen.machine.as_mut().unwrap().rotational = Some(true);
        assert_eq!(says("flush.neighbors", &seen), Fine);
        seen.machine.as_mut().unwrap().rotational = None;
        assert_eq!(says("flush.neighbors", &seen), Fine, "that is not known");
    }
}
