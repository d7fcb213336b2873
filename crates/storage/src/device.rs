//! What is below a directory, and what the kernel counts of it. It only reads, except for one small file of our own
//! with which it asks the file system what it can do.

use crate::run::io_uring_refused;
use plimsoll_model::device::DeviceCounters;
use plimsoll_model::io::DeviceFacts;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags, major, minor, open, statvfs, statx};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What `queue/write_cache` says if there is nothing to flush (Linux, `Documentation/ABI/stable/sysfs-block`).
pub(crate) const WRITE_THROUGH: &str = "write through";
/// Asks statx(2) for the limits of untorn writes (`STATX_WRITE_ATOMIC` of linux/stat.h, since Linux 6.11).
const WRITE_ATOMIC: StatxFlags = StatxFlags::from_bits_retain(0x10000);

/// The block device below a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Of the whole device: `vda`, `loop3`.
    pub name: String,
}

impl Device {
    /// The device of the file system that holds `directory`; `source` is what is mounted there, for file systems with
    /// device numbers of their own (btrfs). `None` for memory, network and stacked file systems.
    pub fn find(directory: &Path, source: Option<&str>) -> Option<Device> {
        let of_directory = fs::metadata(directory).ok()?.dev();
        whole_device(of_directory).or_else(|| {
            let source = fs::metadata(source?).ok()?;
            source.file_type().is_block_device().then(|| whole_device(source.rdev())).flatten()
        })
    }

    /// One reading of its counters. Flushes are counted where requests queue up; devices that pass them on to others
    /// (LVM, LUKS, RAID) have no such queue and always count 0 (Linux, `block/blk-flush.c`, `block/blk-mq-sysfs.c`).
    pub fn counters(&self) -> Option<DeviceCounters> {
        let counted = DeviceCounters::parse(&self.attribute("stat")?)?;
        let has_queue = self.directory().join("mq").is_dir();
        Some(DeviceCounters { flushes: counted.flushes.filter(|_| has_queue), ..counted })
    }

    /// Whether the kernel assumes that it loses what was not flushed, and so sends it flushes.
    pub fn has_volatile_cache(&self) -> bool {
        self.write_cache().as_deref() != Some(WRITE_THROUGH)
    }

    fn write_cache(&self) -> Option<String> {
        self.attribute("queue/write_cache")
    }

    /// The directory of its facts.
    fn directory(&self) -> PathBuf {
        Path::new("/sys/block").join(&self.name)
    }

    /// The content of one of the files there.
    fn attribute(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.directory().join(name)).ok()?;
        Some(text.trim().to_owned())
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.attribute(name)?.parse().ok()
    }
}

/// The device with these numbers, or the one that it is a partition of.
fn whole_device(numbers: u64) -> Option<Device> {
    let link = format!("/sys/dev/block/{}:{}", major(numbers), minor(numbers));
    let directory = fs::canonicalize(link).ok()?;
    let whole = if directory.join("partition").exists() { directory.parent()? } else { &directory };
    Some(Device { name: whole.file_name()?.to_str()?.to_owned() })
}

/// Everything that is known before anything is measured. `directory` is one of ours: a small file is created there and
/// removed. The caller fills in the facts of the mount and of memory.
pub fn facts(directory: &Path, device: Option<&Device>) -> DeviceFacts {
    let tried = tried(directory);
    let free = statvfs(directory).ok().map(|facts| facts.f_bavail.saturating_mul(facts.f_frsize));
    let known = DeviceFacts {
        direct: tried.as_ref().map(|(direct, _)| *direct),
        atomic_write_bytes: tried.and_then(|(_, atomic)| atomic),
        io_uring_refused: io_uring_refused(),
        log_block_bytes: log_block(directory),
        free_bytes: free,
        ..DeviceFacts::default()
    };
    let Some(device) = device else { return known };
    DeviceFacts {
        name: Some(device.name.clone()),
        write_cache: device.write_cache(),
        logical_block_bytes: device.number("queue/logical_block_size"),
        physical_block_bytes: device.number("queue/physical_block_size"),
        rotational: device.number("queue/rotational").map(|rotational| rotational == 1),
        scheduler: device.attribute("queue/scheduler").map(|choices| chosen(&choices)),
        read_ahead_bytes: device.number("queue/read_ahead_kb").map(|kb| kb << 10),
        backing_file: device.attribute("loop/backing_file"),
        loop_direct_io: device.number("loop/dio").map(|direct| direct == 1),
        ..known
    }
}

/// The size of a block of the device whose number a directory has, where MariaDB would write its log in such blocks past the
/// page cache (its message is "File system buffers for log disabled").
fn log_block(directory: &Path) -> Option<u32> {
    let own = whole_device(fs::metadata(directory).ok()?.dev())?;
    let block = u32::try_from(own.number("queue/physical_block_size")?).ok()?;
    ((64..=4096).contains(&block) && block.is_power_of_two()).then_some(block)
}

/// The scheduler in brackets: `none [mq-deadline] kyber`.
fn chosen(choices: &str) -> String {
    let in_brackets = choices.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    in_brackets.map_or(choices, |(chosen, _)| chosen).to_owned()
}

/// Whether a file here can be opened with O_DIRECT, and the limits of its untorn writes; `None` if none can be made.
fn tried(directory: &Path) -> Option<(bool, Option<(u64, u64)>)> {
    let path = directory.join("facts");
    let new = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    open(&path, new, Mode::RUSR | Mode::WUSR).ok()?;
    let direct = open(&path, OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC, Mode::empty()).is_ok();
    let atomic = statx(CWD, &path, AtFlags::SYMLINK_NOFOLLOW, WRITE_ATOMIC).ok().map(|facts| {
        // A kernel that does not know the request leaves its bit and the fields empty: not offered.
        (u64::from(facts.stx_atomic_write_unit_min), u64::from(facts.stx_atomic_write_unit_max))
    });
    // It is in a directory that is removed as a whole.
    let _ = fs::remove_file(&path);
    Some((direct, atomic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_scheduler_stands_in_brackets() {
        assert_eq!(chosen("none [mq-deadline] kyber"), "mq-deadline");
        assert_eq!(chosen("none"), "none");
    }

    #[test]
    fn what_is_no_device_is_none() {
        assert_eq!(Device::find(Path::new("/proc"), Some("proc")), None);
        assert_eq!(Device::find(Path::new("/no/such/place"), None), None);
        assert_eq!(Device::find(Path::new("/proc"), Some("/dev/null")), None);
    }

    #[test]
    fn a_directory_says_what_its_file_system_can_do_and_keeps_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let device = Device::find(directory.path(), None);
        let facts = facts(directory.path(), device.as_ref());
        assert!(facts.free_bytes.unwrap() > 0 && facts.direct.is_some(), "{facts:?}");
        assert_eq!(facts.name, device.as_ref().map(|device| device.name.clone()));
        if let Some(device) = device {
            assert!(facts.logical_block_bytes.unwrap() >= 512, "{facts:?}");
            assert!(device.counters().is_some());
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
