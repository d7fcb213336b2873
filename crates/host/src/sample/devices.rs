//! `/proc/diskstats`: what the block devices do (Linux, `Documentation/admin-guide/iostats.rst`).

use plimsoll_model::device::DeviceCounters;
use plimsoll_model::samples::DeviceSample;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The whole devices of this machine, from reading to reading. A device is shown from the moment when it first does
/// something, so that its series has no gaps; those that hold the data are always shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Devices {
    before: BTreeMap<String, DeviceCounters>,
    shown: BTreeSet<String>,
    /// Those of them that hold the data.
    held: BTreeSet<String>,
    /// Looked up once each.
    known: HashMap<String, Kind>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Its requests belong to the device that it is a part of.
    Partition,
    /// Requests queue up there.
    Queued,
    /// It passes requests on to others (LVM, LUKS, RAID), and always counts 0 flushes (Linux, `block/blk-flush.c`).
    Passing,
}

impl Kind {
    fn of(name: &str) -> Kind {
        // In sysfs, a slash in a name is written like this.
        let directory = Path::new("/sys/block").join(name.replace('/', "!"));
        match (directory.is_dir(), directory.join("mq").is_dir()) {
            (false, _) => Kind::Partition,
            (true, true) => Kind::Queued,
            (true, false) => Kind::Passing,
        }
    }
}

impl Devices {
    /// Shows the device of the file system that holds `path`, even if it is idle.
    pub(super) fn hold(&mut self, path: &Path) {
        let device = fs::metadata(path).ok().and_then(|facts| whole_device(facts.dev()));
        self.shown.extend(device.clone());
        self.held.extend(device);
    }

    /// What was done since the previous reading, in `seconds` seconds. The first reading shows nothing.
    pub(super) fn look(&mut self, text: &str, t_ns: u64, seconds: f64) -> BTreeMap<String, DeviceSample> {
        let now = self.counters(text);
        let before = std::mem::replace(&mut self.before, now);
        for (name, now) in &self.before {
            if before.get(name).is_some_and(|before| before != now) && !self.shown.contains(name) {
                self.shown.insert(name.clone());
            }
        }
        let shown = |name: &String| {
            let sample = self.before.get(name)?.since(before.get(name)?, t_ns, seconds);
            Some((name.clone(), DeviceSample { holds_data: self.held.contains(name), ..sample }))
        };
        self.shown.iter().filter_map(shown).collect()
    }

    fn counters(&mut self, text: &str) -> BTreeMap<String, DeviceCounters> {
        let mut found = BTreeMap::new();
        for (name, counters) in text.lines().filter_map(parse) {
            let kind = match self.known.get(name) {
                Some(kind) => *kind,
                None => *self.known.entry(name.to_owned()).or_insert(Kind::of(name)),
            };
            if kind != Kind::Partition {
                let flushes = counters.flushes.filter(|_| kind == Kind::Queued);
                found.insert(name.to_owned(), DeviceCounters { flushes, ..counters });
            }
        }
        found
    }
}

/// One line: two numbers, the name, then the counters.
fn parse(line: &str) -> Option<(&str, DeviceCounters)> {
    let (_major, rest) = line.trim_start().split_once(' ')?;
    let (_minor, rest) = rest.trim_start().split_once(' ')?;
    let (name, counters) = rest.trim_start().split_once(' ')?;
    Some((name, DeviceCounters::parse(counters)?))
}

/// The device with these numbers, or the one that it is a partition of; none if they are not a block device's (NFS,
/// tmpfs, btrfs subvolumes).
pub(crate) fn whole_device(numbers: u64) -> Option<String> {
    let (major, minor) = (rustix::fs::major(numbers), rustix::fs::minor(numbers));
    let directory = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let whole = if directory.join("partition").exists() { directory.parent()? } else { &directory };
    Some(whole.file_name()?.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "\
   7       0 loop0 10 0 80 5 20 0 160 40 0 30 45 0 0 0 0 7 9
   8       0 sda 100 5 800 50 200 10 1600 400 0 300 450 0 0 0 0 7 9
   8       1 sda1 90 5 800 50 200 10 1600 400 0 300 450 0 0 0 0 0 0
 253       0 dm-0 100 0 800 50 200 0 1600 400 0 300 450 0 0 0 0 0 0
 254       0 vda truncated
";

    fn devices() -> Devices {
        let kinds =
            [("loop0", Kind::Queued), ("sda", Kind::Queued), ("sda1", Kind::Partition), ("dm-0", Kind::Passing)];
        let known = kinds.map(|(name, kind)| (name.to_owned(), kind)).into();
        Devices { known, ..Devices::default() }
    }

    #[test]
    fn what_did_something_is_shown_from_then_on() {
        let mut devices = devices();
        assert!(devices.look(BEFORE, 0, 0.0).is_empty());
        let after = BEFORE.replace("sda 100 5 800", "sda 104 5 864").replace("dm-0 100 0 800", "dm-0 104 0 864");
        let second = devices.look(&after, 7, 1.0);
        assert_eq!(second.keys().collect::<Vec<_>>(), ["dm-0", "sda"], "not the partition, not the idle loop");
        assert_eq!((second["sda"].reads, second["sda"].read_bytes, second["sda"].t_ns), (4, 64 * 512, 7));
        assert_eq!((second["sda"].flushes, second["dm-0"].flushes), (Some(0), None));
        let third = devices.look(&after, 8, 1.0);
        assert_eq!((third.len(), third["sda"].reads), (2, 0));
    }

    #[test]
    fn what_holds_the_data_is_always_shown() {
        let mut devices = Devices { shown: ["loop0".to_owned()].into(), ..devices() };
        devices.look(BEFORE, 0, 0.0);
        assert_eq!(devices.look(BEFORE, 1, 1.0).keys().collect::<Vec<_>>(), ["loop0"]);
    }

    #[test]
    fn the_data_of_this_test_lie_on_a_device_or_on_none() {
        let mut devices = Devices::default();
        devices.hold(Path::new("/no/such/place"));
        devices.hold(Path::new("/proc"));
        assert!(devices.shown.is_empty());
        let here = tempfile::tempdir().unwrap();
        devices.hold(here.path());
        assert_eq!(devices.held, devices.shown);
        assert!(devices.shown.iter().all(|name| Path::new("/sys/block").join(name).is_dir()), "{devices:?}");
    }
}
