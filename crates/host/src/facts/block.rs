//! A block device, and what it is made of (Linux, `Documentation/ABI/stable/sysfs-block`).

use super::kernel::chosen;
use super::{number, text};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// No stack is deeper; this ends a cycle in a broken one.
const DEEPEST: usize = 8;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockFacts {
    /// `nvme0n1`, `dm-0`: the whole device.
    pub name: String,
    /// How it is stacked: `linear LVM-…`, `mpath-…`, `raid1`, the file of a loop device.
    pub made_of: Option<String>,
    pub model: Option<String>,
    pub bytes: Option<u64>,
    pub rotational: Option<bool>,
    pub scheduler: Option<String>,
    /// Requests that may wait in its queue.
    pub queue_requests: Option<u64>,
    /// Commands that the device accepts at the same time; SCSI disks only.
    pub queue_depth: Option<u64>,
    pub read_ahead_bytes: Option<u64>,
    /// `write back`, which needs flushes, or `write through`.
    pub write_cache: Option<String>,
    pub logical_block_bytes: Option<u64>,
    pub physical_block_bytes: Option<u64>,
    /// The devices that it is made of, for LVM, LUKS, RAID, multipath.
    pub slaves: Vec<BlockFacts>,
}

impl BlockFacts {
    /// The device of this name, with everything below it; none if there is none.
    pub(super) fn of(name: &str) -> Option<BlockFacts> {
        BlockFacts::below(Path::new("/sys/block"), name, DEEPEST)
    }

    fn below(devices: &Path, name: &str, depth: usize) -> Option<BlockFacts> {
        let directory = devices.join(name);
        if depth == 0 || !directory.is_dir() {
            return None;
        }
        let read = |name: &str| text(directory.join(name));
        let count = |name: &str| number(directory.join(name)).and_then(|count| u64::try_from(count).ok());
        let slaves = names(&directory.join("slaves"));
        Some(BlockFacts {
            name: name.to_owned(),
            made_of: read("dm/uuid").or_else(|| read("md/level")).or_else(|| read("loop/backing_file")),
            model: read("device/model"),
            // Counted in sectors of 512 bytes, whatever the device's own block is.
            bytes: count("size").map(|sectors| sectors.saturating_mul(512)),
            rotational: count("queue/rotational").map(|turns| turns == 1),
            scheduler: read("queue/scheduler").map(|choices| chosen(&choices)),
            queue_requests: count("queue/nr_requests"),
            queue_depth: count("device/queue_depth"),
            read_ahead_bytes: count("queue/read_ahead_kb").map(|kib| kib.saturating_mul(1024)),
            write_cache: read("queue/write_cache"),
            logical_block_bytes: count("queue/logical_block_size"),
            physical_block_bytes: count("queue/physical_block_size"),
            slaves: slaves.iter().filter_map(|slave| slave_facts(devices, slave, depth - 1)).collect(),
        })
    }
}

/// A slave may be a partition: then its whole device is described.
fn slave_facts(devices: &Path, slave: &str, depth: usize) -> Option<BlockFacts> {
    BlockFacts::below(devices, slave, depth).or_else(|| {
        let whole = names(devices).into_iter().find(|device| devices.join(device).join(slave).is_dir())?;
        BlockFacts::below(devices, &whole, depth)
    })
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::write;

    #[test]
    fn a_stack_is_followed_to_its_disks() {
        let devices = tempfile::tempdir().unwrap();
        let devices = devices.path();
        write(&devices.join("dm-0"), &[("dm/uuid", "mpath-3600a0980\n"), ("size", "2048\n"), ("slaves/sda/dev", "")]);
        write(&devices.join("dm-0"), &[("slaves/sdb1/dev", ""), ("slaves/dm-0/dev", "")]);
        write(&devices.join("sda"), &[("device/model", "LUN C-Mode\n"), ("device/queue_depth", "32\n")]);
        write(&devices.join("sda"), &[("queue/scheduler", "none [mq-deadline]\n"), ("queue/nr_requests", "256\n")]);
        write(&devices.join("sdb"), &[("queue/rotational", "1\n"), ("sdb1/partition", "1\n")]);
        write(&devices.join("sdb"), &[("queue/write_cache", "write back\n"), ("queue/read_ahead_kb", "128\n")]);
        let facts = BlockFacts::below(devices, "dm-0", 3).unwrap();
        assert_eq!((facts.made_of.as_deref(), facts.bytes), (Some("mpath-3600a0980"), Some(1 << 20)));
        let [again, sda, sdb] = facts.slaves.as_slice() else { panic!("{facts:?}") };
        assert_eq!(again.slaves.iter().map(|slave| slave.slaves.len()).max(), Some(0), "a loop ends");
        assert_eq!((sda.queue_depth, sda.queue_requests), (Some(32), Some(256)));
        assert_eq!((sda.scheduler.as_deref(), sda.model.as_deref()), (Some("mq-deadline"), Some("LUN C-Mode")));
        assert_eq!((sdb.name.as_str(), sdb.rotational, sdb.read_ahead_bytes), ("sdb", Some(true), Some(128 << 10)));
        assert_eq!(BlockFacts::below(devices, "sdc", 3), None);
    }
}
