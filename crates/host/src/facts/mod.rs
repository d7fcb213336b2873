//! Facts about the machine for a report's test environment. It only reads; what a machine does not tell is none.

mod block;
mod cpus;
mod kernel;
mod network;

use crate::mounts::{self, Mount};
use crate::sample::devices::whole_device;
pub use block::BlockFacts;
pub use cpus::CpuFacts;
pub use kernel::{HugePageFacts, LimitFacts};
pub use network::InterfaceFacts;
use procfs::{CpuInfo, Current, Meminfo};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// No list is longer.
const MOST_CPUS: u32 = 1 << 16;

/// The machine that measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Distinguishes this machine from others of its kind: a digest of `/etc/machine-id`, which is itself confidential
    /// (machine-id(5)).
    #[serde(default)]
    pub identity: Option<String>,
    pub cpu_model: Option<String>,
    /// CPUs that this process may use.
    pub cpus: usize,
    pub memory_bytes: u64,
    /// `Linux 6.1.0-18-amd64`.
    pub kernel: String,
    pub machine: String,
    /// `Debian GNU/Linux 12 (bookworm)`.
    pub os: Option<String>,
    /// Where the data are.
    pub storage: Option<StorageFacts>,
    #[serde(default)]
    pub processors: CpuFacts,
    #[serde(default)]
    pub huge_pages: HugePageFacts,
    /// Settings of the kernel that matter, by name.
    #[serde(default)]
    pub sysctls: BTreeMap<String, String>,
    #[serde(default)]
    pub limits: LimitFacts,
    /// By name.
    #[serde(default)]
    pub interfaces: BTreeMap<String, InterfaceFacts>,
}

impl HostFacts {
    /// What makes a machine another one, by name. Its kernel may be replaced and its data may move.
    pub fn of_the_machine(&self) -> [(&'static str, Option<String>); 5] {
        [
            ("identity", self.identity.clone()),
            ("cpu_model", self.cpu_model.clone()),
            ("cpus", Some(self.cpus.to_string())),
            ("memory_bytes", Some(self.memory_bytes.to_string())),
            ("machine", Some(self.machine.clone())),
        ]
    }

    /// In which of these it differs from another machine; nothing if they are one.
    pub fn other_machine(&self, other: &HostFacts) -> Vec<&'static str> {
        let both = self.of_the_machine().into_iter().zip(other.of_the_machine());
        both.filter(|(own, other)| own != other).map(|((name, _), _)| name).collect()
    }
}

/// The file system that holds a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageFacts {
    pub path: PathBuf,
    pub mount_point: PathBuf,
    pub filesystem: String,
    /// `/dev/nvme0n1p2`, `server:/export`, `tmpfs`.
    pub device: Option<String>,
    pub options: Vec<String>,
    /// The block device below it; none for networks, memory and file systems over several devices.
    #[serde(default)]
    pub block: Option<BlockFacts>,
}

/// The time now, RFC 3339, UTC, to the second.
pub fn utc_now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// What this machine is called (uname(2)).
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// How many CPUs this process may run on.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// The facts of this machine, with the storage of `path`.
pub fn host_facts(path: &Path) -> HostFacts {
    let uname = rustix::system::uname();
    let text = |c: &std::ffi::CStr| c.to_string_lossy().into_owned();
    let cpu_model = CpuInfo::current().ok().and_then(|cpus| cpus.model_name(0).map(str::to_owned));
    HostFacts {
        identity: fs::read_to_string("/etc/machine-id").ok().as_deref().and_then(identity),
        cpu_model,
        cpus: cpus(),
        memory_bytes: memory_bytes(),
        kernel: format!("{} {}", text(uname.sysname()), text(uname.release())),
        machine: text(uname.machine()),
        os: fs::read_to_string("/etc/os-release").ok().as_deref().and_then(pretty_name),
        storage: storage_facts(path),
        processors: CpuFacts::read(),
        huge_pages: HugePageFacts::read(),
        sysctls: kernel::sysctls(),
        limits: LimitFacts::read(),
        interfaces: network::interfaces(Path::new("/sys/class/net")),
    }
}

/// The content of a small file, trimmed; none if it is empty.
fn text(path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn number(path: impl AsRef<Path>) -> Option<i64> {
    text(path)?.parse().ok()
}

/// `0-3,8`: the numbers of such a list (cpuset(7)).
fn list(text: &str) -> Vec<u32> {
    let ranges = text.split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse::<u32>().ok()?)
    });
    ranges.filter(|range| range.end().saturating_sub(*range.start()) < MOST_CPUS).flatten().collect()
}

/// Twelve hexadecimal digits that only this machine id gives, and that do not reveal it.
fn identity(machine_id: &str) -> Option<String> {
    let machine_id = machine_id.trim();
    let digest = Sha256::digest(format!("plimsoll {machine_id}"));
    (!machine_id.is_empty()).then(|| digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect())
}

/// Memory of this machine, or of the container around us. 0 if `/proc` does not tell.
pub fn memory_bytes() -> u64 {
    let installed = Meminfo::current().map_or(0, |memory| memory.mem_total);
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limit = limits.iter().find_map(|path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok());
    installed.min(limit.unwrap_or(u64::MAX))
}

/// The file system that holds `path`, or the nearest of its parents that exists.
pub fn storage_facts(path: &Path) -> Option<StorageFacts> {
    let absolute = std::path::absolute(path).ok()?;
    let existing = absolute.ancestors().find_map(|p| p.canonicalize().ok())?;
    let numbers = fs::metadata(&existing).ok()?.dev();
    storage_among(&mounts::all().ok()?, absolute, &existing, numbers)
}

fn storage_among(mounts: &[Mount], path: PathBuf, existing: &Path, numbers: u64) -> Option<StorageFacts> {
    let device = format!("{}:{}", rustix::fs::major(numbers), rustix::fs::minor(numbers));
    let above = |mount: &&Mount| existing.starts_with(&mount.point);
    // Btrfs subvolumes have device numbers of their own that no mount shows, hence the second try. Of
    // several mounts on one point the last one counts.
    let deepest = |mount: &&Mount| mount.point.as_os_str().len();
    let same = mounts.iter().filter(above).filter(|mount| mount.device == device).max_by_key(deepest);
    let mount = same.or_else(|| mounts.iter().filter(above).max_by_key(deepest))?;
    let mut options = mount.options.clone();
    options.sort();
    let source = Some(mount.source.clone()).filter(|source| source != "none");
    let block = whole_device(numbers).or_else(|| mounted_device(source.as_deref()?));
    Some(StorageFacts {
        path,
        mount_point: mount.point.clone(),
        filesystem: mount.filesystem.clone(),
        device: source,
        options,
        block: block.as_deref().and_then(BlockFacts::of),
    })
}

/// The whole device of what is mounted, if the file system has device numbers of its own.
fn mounted_device(source: &str) -> Option<String> {
    let source = fs::metadata(source).ok()?;
    source.file_type().is_block_device().then(|| whole_device(source.rdev())).flatten()
}

fn pretty_name(os_release: &str) -> Option<String> {
    let line = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches(['"', '\'']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes files below a directory.
    pub(super) fn write(directory: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = directory.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn lists_are_of_ranges() {
        assert_eq!(list("0-3,8"), [0, 1, 2, 3, 8]);
        assert_eq!(list("5"), [5]);
        assert!(list("").is_empty() && list("x-y").is_empty() && list("0-4294967295").is_empty());
    }

    #[test]
    fn older_recordings_have_fewer_facts() {
        let old = r#"{"cpu_model":null,"cpus":2,"memory_bytes":5,"kernel":"Linux 5","machine":"x86_64","os":null,
            "storage":{"path":"/a","mount_point":"/","filesystem":"ext4","device":null,"options":[]}}"#;
        let facts: HostFacts = serde_json::from_str(old).unwrap();
        assert_eq!((facts.processors, facts.storage.unwrap().block), (CpuFacts::default(), None));
    }

    #[test]
    fn this_machine_has_facts() {
        let facts = host_facts(Path::new("/no/such/place"));
        assert!(facts.cpus > 0 && facts.memory_bytes > 64 << 20, "{facts:?}");
        assert!(facts.kernel.starts_with("Linux "), "{facts:?}");
        assert!(facts.processors.threads.is_none_or(|threads| threads >= facts.cpus), "{facts:?}");
        assert!(!facts.sysctls.is_empty(), "{facts:?}");
        assert_eq!(facts.storage.as_ref().unwrap().mount_point, Path::new("/"));
        let text = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<HostFacts>(&text).unwrap(), facts);
    }

    #[test]
    fn machines_are_told_apart_without_their_ids() {
        let id = "0123456789abcdef0123456789abcdef";
        let known = identity(id).unwrap();
        assert!(known.len() == 12 && !id.contains(&known));
        assert_eq!(identity(&format!("{id}\n")), Some(known.clone()));
        assert_ne!(identity("0123456789abcdef0123456789abcdee"), Some(known));
        assert_eq!(identity("\n"), None);
    }

    #[test]
    fn the_name_of_the_system_is_unquoted() {
        let text = "NAME=Debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(pretty_name(text).as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(pretty_name("NAME=x"), None);
    }

    #[test]
    fn a_mount_on_a_path_with_a_blank_is_found() {
        let table = b"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
                      2 1 8:2 / /srv/my\\040disk rw,noatime - xfs /dev/sdb1 rw\n\
                      3 1 8:3 / /srv/my rw - tmpfs none rw\n";
        let path = Path::new("/srv/my disk/data");
        let facts = storage_among(&mounts::parse(table), path.to_owned(), path, 0).unwrap();
        assert_eq!((facts.mount_point.as_path(), facts.filesystem.as_str()), (Path::new("/srv/my disk"), "xfs"));
        assert_eq!((facts.device.as_deref(), facts.options), (Some("/dev/sdb1"), vec!["noatime".into(), "rw".into()]));
    }

    #[test]
    fn the_deepest_mount_counts() {
        assert_eq!(storage_facts(Path::new("/proc/self")).unwrap().filesystem, "proc");
    }
}
