//! What lies below a directory, and what the kernel counts of it. Only reads, but for one small file of ours with which
//! the file system is asked what it can do.

use crate::run::io_uring_refused;
use plimsoll_model::io::DeviceFacts;
use plimsoll_model::samples::DeviceSample;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags, major, minor, open, statvfs, statx};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The unit of the sectors in `/sys/block/NAME/stat`, whatever the device's own block is.
const SECTOR_BYTES: u64 = 512;
/// What `queue/write_cache` says where there is nothing to flush (Linux, `Documentation/ABI/stable/sysfs-block`).
pub(crate) const WRITE_THROUGH: &str = "write through";
/// Asks statx(2) for the limits of untorn writes (`STATX_WRITE_ATOMIC` of linux/stat.h, since Linux 6.11).
const WRITE_ATOMIC: StatxFlags = StatxFlags::from_bits_retain(0x10000);

/// The block device below a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// `vda`, `loop3`: the whole device.
    pub name: String,
}

impl Device {
    /// The device of the file system that holds `directory`; `source` is what is mounted there, for file systems whose
    /// device numbers are their own (btrfs). `None` for memory, networks and stacked file systems.
    pub fn find(directory: &Path, source: Option<&str>) -> Option<Device> {
        let of_directory = fs::metadata(directory).ok()?.dev();
        whole_device(of_directory).or_else(|| {
            let source = fs::metadata(source?).ok()?;
            source.file_type().is_block_device().then(|| whole_device(source.rdev())).flatten()
        })
    }

    /// One look at its counters. Flushes are counted where requests queue up; devices that pass them on to others (LVM,
    /// LUKS, RAID) have no such queue, and always leave 0 there (Linux, `block/blk-flush.c`, `block/blk-mq-sysfs.c`).
    pub fn counters(&self) -> Option<Counters> {
        let counted = Counters::parse(&self.attribute("stat")?)?;
        let has_queue = self.directory().join("mq").is_dir();
        Some(Counters { flushes: counted.flushes.filter(|_| has_queue), ..counted })
    }

    /// Whether the kernel takes it to lose what it was not told to flush, and so sends it flushes.
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

    /// What one of the files there says.
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

/// `/sys/block/NAME/stat` since boot (Linux, `Documentation/block/stat.rst`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub reads: u64,
    pub read_bytes: u64,
    pub read_ms: u64,
    pub writes: u64,
    pub written_bytes: u64,
    pub write_ms: u64,
    pub in_flight: u64,
    pub busy_ms: u64,
    /// `None` where the kernel does not count them.
    pub flushes: Option<u64>,
}

impl Counters {
    /// Reads the line of the file; kernels before 5.5 count no flushes there.
    fn parse(text: &str) -> Option<Counters> {
        let fields: Vec<u64> = text.split_whitespace().map_while(|field| field.parse().ok()).collect();
        // Between them stand the merges, the time in the queue and the discards.
        let [reads, _, read_sectors, read_ms, writes, _, written_sectors, write_ms, in_flight, busy_ms, _, rest @ ..] =
            fields.as_slice()
        else {
            return None;
        };
        Some(Counters {
            reads: *reads,
            read_bytes: read_sectors.saturating_mul(SECTOR_BYTES),
            read_ms: *read_ms,
            writes: *writes,
            written_bytes: written_sectors.saturating_mul(SECTOR_BYTES),
            write_ms: *write_ms,
            in_flight: *in_flight,
            busy_ms: *busy_ms,
            flushes: rest.get(4).copied(),
        })
    }

    /// What the device did since `before`, in `seconds` seconds.
    pub fn since(&self, before: &Counters, t_ns: u64, seconds: f64) -> DeviceSample {
        let moved = |of: fn(&Counters) -> u64| of(self).saturating_sub(of(before));
        let (reads, writes) = (moved(|c| c.reads), moved(|c| c.writes));
        let waited_ms = moved(|c| c.read_ms) + moved(|c| c.write_ms);
        let busy = moved(|c| c.busy_ms) as f64 / 1e3 / seconds;
        DeviceSample {
            t_ns,
            seconds,
            reads,
            writes,
            read_bytes: moved(|c| c.read_bytes),
            written_bytes: moved(|c| c.written_bytes),
            flushes: self.flushes.zip(before.flushes).map(|(now, before)| now.saturating_sub(before)),
            in_flight: self.in_flight,
            await_ms: (reads + writes > 0).then(|| waited_ms as f64 / (reads + writes) as f64),
            busy: if seconds > 0.0 { busy.min(1.0) } else { 0.0 },
        }
    }
}

/// Everything that is known before anything is measured. `directory` is one of ours: a small file is made there and
/// removed again. The facts of the mount and of memory are filled in by the caller.
pub fn facts(directory: &Path, device: Option<&Device>) -> DeviceFacts {
    let tried = tried(directory);
    let free = statvfs(directory).ok().map(|facts| facts.f_bavail.saturating_mul(facts.f_frsize));
    let known = DeviceFacts {
        direct: tried.as_ref().map(|(direct, _)| *direct),
        atomic_write_bytes: tried.and_then(|(_, atomic)| atomic),
        io_uring_refused: io_uring_refused(),
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
        // A kernel that does not know the question leaves its bit and the fields empty: not offered.
        (u64::from(facts.stx_atomic_write_unit_min), u64::from(facts.stx_atomic_write_unit_max))
    });
    // It lies in a directory that is removed as a whole.
    let _ = fs::remove_file(&path);
    Some((direct, atomic))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "  100  5  800  50  200  10  1600  400  0  300  450  0 0 0 0  7  9\n";
    const AFTER: &str = "  140  5  1440  90  260  10  2560  520  3  800  650  0 0 0 0  27  30\n";

    #[test]
    fn a_second_of_a_device_is_the_difference_of_two_looks() {
        let [before, after] = [BEFORE, AFTER].map(|text| Counters::parse(text).unwrap());
        let sample = after.since(&before, 9, 1.0);
        assert_eq!((sample.t_ns, sample.reads, sample.writes, sample.flushes), (9, 40, 60, Some(20)));
        assert_eq!((sample.read_bytes, sample.written_bytes, sample.in_flight), (640 * 512, 960 * 512, 3));
        assert_eq!(sample.await_ms, Some(1.6), "160 ms over 100 requests");
        assert_eq!(sample.busy, 0.5);
    }

    #[test]
    fn a_silent_device_waited_for_nothing() {
        let counters = Counters::parse(BEFORE).unwrap();
        let sample = counters.since(&counters, 0, 1.0);
        assert_eq!((sample.reads, sample.await_ms, sample.busy), (0, None, 0.0));
        assert_eq!(counters.since(&counters, 0, 0.0).busy, 0.0);
    }

    #[test]
    fn old_kernels_count_no_flushes_and_what_is_no_counter_is_refused() {
        let old = Counters::parse("1 2 3 4 5 6 7 8 9 10 11").unwrap();
        assert_eq!((old.flushes, old.since(&old, 0, 1.0).flushes), (None, None));
        assert_eq!(Counters::parse("1 2 3 4 5 6 7 8 9 10"), None);
        assert_eq!(Counters::parse("not a device"), None);
    }

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
