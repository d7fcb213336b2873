//! Builds a lane step by step; each step is written into the journal before it is done.

use super::journal::{LaneJournal, Undo};
use super::kind::FileSystem;
use super::site::Site;
use super::spec::Spec;
use super::{Lane, StepListener, fsck, loops, mounts, served, throttle, tool, volatile};
use crate::LaneError;
use crate::error::DuringLane;
use plimsoll_storage::device::Device;
use rustix::fs::statvfs;
use rustix::process::geteuid;
use rustix::system::sysinfo;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Default size of a lane if there is room for it, bytes.
const USUAL_BYTES: u64 = 4 << 30;
/// What has to be zero at the start of a user's own server, bytes.
const BLANK_BYTES: u64 = 1 << 20;
/// The mount source of file systems without a device: a word that shows whose they are.
pub(super) const SOURCE: &str = "plimsoll";

/// Whether this user may build a lane: root may mount and set limits, others have only the lane `root`.
pub fn is_allowed(spec: &Spec) -> bool {
    geteuid().is_root() || (spec.kind == FileSystem::Root && !spec.is_throttled())
}

/// Checks that a lane is possible before anything is created. Returns its size in bytes, 0 if it has none.
///
/// # Errors
/// [`LaneError::Environment`] if rights, packages or the kernel are missing; [`LaneError::Refused`] for a size.
pub fn ready(site: &Site, spec: &Spec, asked: Option<u64>, home: &Path) -> Result<u64, LaneError> {
    let missing = tool::missing_for(spec);
    if !missing.is_empty() {
        let (packages, line) = (missing.join(", "), tool::install_line(&missing));
        return Err(LaneError::Environment(format!("{} needs {packages}; install: {line}", spec.name())));
    }
    if !is_allowed(spec) {
        return Err(LaneError::Environment(format!(
            "{} needs root, to mount and to set limits; only the lane `root` works without",
            spec.name()
        )));
    }
    if spec.is_behind_nbd() || spec.is_network() {
        // The one with the longest name.
        site.control()?;
    }
    if spec.is_throttled() {
        throttle::fresh_group()?;
    }
    size(spec, asked, home)
}

/// Of its image or its tmpfs, bytes; 0 if it has none.
pub(super) fn size(spec: &Spec, asked: Option<u64>, home: &Path) -> Result<u64, LaneError> {
    let name = spec.name();
    if matches!(spec.kind, FileSystem::Root | FileSystem::Overlay) || spec.nbd.is_some() {
        return match asked {
            Some(_) => Err(LaneError::Refused(format!("{name} has no size of its own; leave out --size"))),
            None => Ok(0),
        };
    }
    let (room, what) = match spec.kind {
        FileSystem::Tmpfs => (memory_bytes(), "memory"),
        _ => (free_bytes(home)?, "free space in Plimsoll's home"),
    };
    let (least, bytes) = (spec.least_bytes(), asked.unwrap_or(USUAL_BYTES.min(room / 2)));
    if bytes < least || bytes > room {
        let [bytes, least, room] = [bytes, least, room].map(|bytes| bytes >> 20);
        return Err(LaneError::Refused(format!(
            "{name} cannot have {bytes} MiB; accepted are {least} MiB up to the {what}, {room} MiB"
        )));
    }
    Ok(bytes)
}

pub(super) fn free_bytes(directory: &Path) -> Result<u64, LaneError> {
    let facts = statvfs(directory).during("read the free space of", directory)?;
    Ok(facts.f_bavail.saturating_mul(facts.f_frsize))
}

fn memory_bytes() -> u64 {
    let facts = sysinfo();
    facts.totalram.saturating_mul(u64::from(facts.mem_unit))
}

/// A lane that is being built.
pub struct Builder<'a> {
    pub site: &'a Site,
    pub spec: &'a Spec,
    /// The size of the image or the tmpfs.
    pub bytes: u64,
    pub journal: &'a mut LaneJournal,
    pub told: StepListener<'a>,
}

impl Builder<'_> {
    /// Does all steps but the last, which notes in the journal that the lane is up.
    ///
    /// # Errors
    /// Those of the step that failed; the caller has to undo what was done.
    pub fn build(&mut self) -> Result<Lane, LaneError> {
        let mount = self.site.mount();
        fs::create_dir(&mount).during("make", &mount)?;
        if self.spec.is_network() {
            return self.network();
        }
        let device = match self.spec.kind {
            FileSystem::Root => None,
            FileSystem::Tmpfs => self.tmpfs()?,
            FileSystem::Overlay => self.overlay()?,
            _ => Some(self.device()?),
        };
        let group = match self.spec.is_throttled() {
            true => Some(self.throttle(device.as_deref())?),
            false => None,
        };
        Ok(self.local(device, group))
    }

    /// A lane without a network.
    fn local(&self, device: Option<String>, group: Option<PathBuf>) -> Lane {
        let trigger = self.spec.error.is_some().then(|| self.site.trigger());
        Lane { device, group, trigger, ..self.lane() }
    }

    /// Does the steps of a lane again whose image is there, with its file system on it: all but those for the directory. Its
    /// control group has the path that it had, since whoever used the lane knows it by that.
    ///
    /// # Errors
    /// As [`Builder::build`]; [`LaneError::Environment`] if the file system cannot be mounted.
    pub(super) fn rebuild(&mut self, group: Option<PathBuf>) -> Result<Lane, LaneError> {
        self.connect()?;
        fsck::repair(self.spec.kind, &self.site.disk(self.spec))?;
        let device = self.attach()?;
        let group = group.map(|group| self.throttle_as(group, Some(&device))).transpose()?;
        Ok(self.local(Some(device), group))
    }

    pub(super) fn step(&mut self, text: &str) -> Result<(), LaneError> {
        if (self.told)(text) { Ok(()) } else { Err(LaneError::Interrupted) }
    }

    /// A lane that is only a directory.
    pub(super) fn lane(&self) -> Lane {
        Lane {
            name: self.spec.name().to_owned(),
            directory: self.site.mount(),
            device: None,
            group: None,
            trigger: None,
            parts: Vec::new(),
            server_device: None,
            operations: None,
            is_volatile: self.spec.is_volatile,
        }
    }

    fn tmpfs(&mut self) -> Result<Option<String>, LaneError> {
        let mut options = vec![format!("size={}", self.bytes), "mode=0700".to_owned()];
        options.extend(self.spec.options.iter().cloned());
        self.mount("tmpfs", SOURCE, &options).map(|()| None)
    }

    /// Its parts are named relative to its own directory: a lane's name may contain commas, which separate mount
    /// options.
    fn overlay(&mut self) -> Result<Option<String>, LaneError> {
        for part in ["lower", "upper", "work"] {
            let path = self.site.root().join(part);
            fs::create_dir(&path).during("make", &path)?;
        }
        let options = ["lowerdir=lower", "upperdir=upper", "workdir=work"].map(str::to_owned);
        self.mount("overlay", SOURCE, &options).map(|()| None)
    }

    /// A file system on a loop device. Returns the device's name.
    fn device(&mut self) -> Result<String, LaneError> {
        if self.spec.nbd.is_none() {
            self.image()?;
        }
        self.connect()?;
        if self.spec.nbd.is_some() {
            must_be_blank(&self.site.export(), self.spec.name())?;
        }
        self.file_system()
    }

    /// Makes the image, or the user's server, a file of nbdfuse, if there is to be something between.
    pub(super) fn connect(&mut self) -> Result<(), LaneError> {
        if !self.spec.is_behind_nbd() {
            return Ok(());
        }
        self.step("starting the device's server")?;
        match self.spec.is_volatile {
            true => {
                self.journal.before(Undo::Process { program: volatile::program()? })?;
                volatile::start(self.site)?;
            }
            false => {
                self.journal.before(Undo::Process { program: "nbdkit".to_owned() })?;
                served::start(self.site, self.spec)?;
            }
        }
        self.journal.before(Undo::Mount { point: self.site.fuse(), source: SOURCE.to_owned() })?;
        // Undone before its mount: a mount can be removed without its process, but a process may be about to mount.
        self.journal.before(Undo::Process { program: "nbdfuse".to_owned() })?;
        served::export(self.site, SOURCE)
    }

    /// The image of the lane, sparse.
    pub(super) fn image(&self) -> Result<(), LaneError> {
        let image = self.site.image();
        let made = File::create_new(&image).and_then(|file| file.set_len(self.bytes));
        made.during("create the image", &image)
    }

    /// Makes the file system on the lane's disk and mounts it. Returns the device's name.
    pub(super) fn file_system(&mut self) -> Result<String, LaneError> {
        let disk = self.site.disk(self.spec);
        self.step("making the file system")?;
        let (program, mut arguments) = mkfs(self.spec);
        arguments.push(disk.display().to_string());
        tool::run(program, &arguments)?;
        self.attach()
    }

    /// Attaches a loop device to the lane's disk and mounts its file system. Returns the device's name.
    fn attach(&mut self) -> Result<String, LaneError> {
        let disk = self.site.disk(self.spec);
        self.step("attaching a loop device")?;
        self.journal.before(Undo::Loop { backing: disk.clone() })?;
        let name = loops::attach(&disk, self.spec.sector)?;
        if let Some(scheduler) = self.spec.scheduler {
            self.journal.before(Undo::Scheduler { backing: disk.clone(), before: loops::scheduler(&name)? })?;
            loops::schedule(&disk, scheduler.name())?;
        }
        self.step("mounting")?;
        let source = loops::path(&name);
        self.journal.before(Undo::Mount { point: self.site.mount(), source: source.clone() })?;
        self.mount_device(&source)?;
        if self.spec.kind == FileSystem::BtrfsNocow {
            // Every file that is created there inherits it.
            tool::run("chattr", &["+C".as_ref(), self.site.mount().as_os_str()])?;
        }
        Ok(name)
    }

    /// Mounts the file system of the lane's device.
    ///
    /// # Errors
    /// [`LaneError::Damaged`] if it cannot be mounted.
    fn mount_device(&self, device: &str) -> Result<(), LaneError> {
        mount(self.site, self.spec, device).map_err(|error| match error {
            LaneError::Environment(why) => LaneError::Damaged(why),
            other => other,
        })
    }

    /// Unmounts the file system of the lane's device, has its checker look at it, and mounts it again. Returns what is wrong
    /// with it.
    ///
    /// # Errors
    /// As [`fsck::damage`]; [`LaneError::Damaged`] if it cannot be mounted again.
    pub(super) fn look_at_file_system(&self, device: &str) -> Result<Option<String>, LaneError> {
        let source = loops::path(device);
        mounts::unmount(&self.site.mount(), &source)?;
        let damage = fsck::damage(self.spec.kind, &self.site.disk(self.spec))?;
        self.mount_device(&source)?;
        Ok(damage)
    }

    fn mount(&mut self, filesystem: &str, source: &str, options: &[String]) -> Result<(), LaneError> {
        self.journal.before(Undo::Mount { point: self.site.mount(), source: source.to_owned() })?;
        mount_as(self.site, filesystem, source, options)
    }

    /// Limits the lane's device, or the one that the home is on, for a group of its own.
    pub(super) fn throttle(&mut self, device: Option<&str>) -> Result<PathBuf, LaneError> {
        self.throttle_as(throttle::fresh_group()?, device)
    }

    fn throttle_as(&mut self, group: PathBuf, device: Option<&str>) -> Result<PathBuf, LaneError> {
        self.step("setting limits")?;
        let below =
            device.map(str::to_owned).or_else(|| Device::find(self.site.root(), None).map(|device| device.name));
        let below = below.ok_or_else(|| {
            let name = self.spec.name();
            LaneError::Environment(format!("{name}: Plimsoll's home is not on a block device that could be limited"))
        })?;
        if let Some(root) = throttle::to_hand_down()? {
            self.journal.before(Undo::Controller { root })?;
        }
        self.journal.before(Undo::Cgroup { path: group.clone() })?;
        throttle::make(&group, &loops::numbers(&below)?, self.spec)?;
        Ok(group)
    }
}

/// Refuses to make a file system on a user's own server that may hold another one, or a partition table: all of them
/// begin within the first MiB.
///
/// # Errors
/// [`LaneError::Refused`] if anything but zeros is there; [`LaneError::Io`].
fn must_be_blank(export: &Path, name: &str) -> Result<(), LaneError> {
    let mut start = Vec::new();
    let read = File::open(export).and_then(|file| file.take(BLANK_BYTES).read_to_end(&mut start));
    read.during("read", export)?;
    match start.iter().all(|byte| *byte == 0) {
        true => Ok(()),
        false => Err(LaneError::Refused(format!(
            "{name}: the server holds data, which a new file system would destroy; clear its first MiB to use it"
        ))),
    }
}

/// Mounts the file system of a lane's device with the options that its spec names.
pub(super) fn mount(site: &Site, spec: &Spec, device: &str) -> Result<(), LaneError> {
    let (filesystem, mut options) = match spec.kind {
        // Otherwise the kernel initialises inode tables in the background for minutes, during measurements.
        FileSystem::Ext4 => ("ext4", vec!["noinit_itable".to_owned()]),
        FileSystem::Xfs | FileSystem::Xfs16k => ("xfs", Vec::new()),
        _ => ("btrfs", Vec::new()),
    };
    options.extend(spec.options.iter().cloned());
    mount_as(site, filesystem, device, &options)
}

fn mount_as(site: &Site, filesystem: &str, source: &str, options: &[String]) -> Result<(), LaneError> {
    mount_at(site, &site.mount(), filesystem, source, options)
}

/// Mounts a file system somewhere in the lane, with options of mount(8).
pub(super) fn mount_at(
    site: &Site,
    point: &Path,
    filesystem: &str,
    source: &str,
    options: &[String],
) -> Result<(), LaneError> {
    let mut arguments = vec!["--types".to_owned(), filesystem.to_owned()];
    if !options.is_empty() {
        arguments.extend(["--options".to_owned(), options.join(",")]);
    }
    arguments.extend([source.to_owned(), point.display().to_string()]);
    tool::run_in(site.root(), "mount", &arguments).map(drop)
}

/// The program that makes the file system, and its options. Blocks have 4 KiB or more, so that each block of a file is
/// one block of the image, where a check looks for it.
fn mkfs(spec: &Spec) -> (&'static str, Vec<String>) {
    let (program, mut options) = match spec.kind {
        FileSystem::Ext4 => ("mkfs.ext4", vec!["-q", "-F", "-b", "4096"]),
        FileSystem::Xfs => ("mkfs.xfs", vec!["-q", "-f"]),
        FileSystem::Xfs16k => ("mkfs.xfs", vec!["-q", "-f", "-b", "size=16384"]),
        _ => ("mkfs.btrfs", vec!["-q", "-f"]),
    };
    if program == "mkfs.xfs" && spec.sector == Some(4096) {
        options.extend(["-s", "size=4096"]);
    }
    if spec.is_network() {
        // A new disk has nothing to discard, and discarding takes some servers a minute.
        options.extend(if program == "mkfs.ext4" { vec!["-E", "nodiscard"] } else { vec!["-K"] });
    }
    (program, options.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sized(name: &str, asked: Option<u64>) -> Result<u64, String> {
        size(&Spec::parse(name).unwrap(), asked, Path::new("/tmp")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_size_that_cannot_be_is_refused() {
        assert_eq!(sized("root", None), Ok(0));
        assert!(sized("overlay", Some(1 << 30)).unwrap_err().contains("no size of its own"));
        assert!(sized("ext4,nbd=unix:/a", Some(1 << 30)).unwrap_err().contains("no size of its own"));
        assert_eq!(sized("ext4", Some(128 << 20)), Ok(128 << 20));
        assert!(sized("xfs", Some(128 << 20)).unwrap_err().contains("320 MiB"));
        assert!(sized("ext4", Some(1 << 60)).unwrap_err().contains("free space"));
    }

    #[test]
    fn a_server_that_holds_data_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let export = directory.path().join("disk");
        let mut bytes = vec![0_u8; 2 << 20];
        let mut blank = |at: usize| {
            bytes[at] = 0x53;
            fs::write(&export, &bytes).unwrap();
            bytes[at] = 0;
            must_be_blank(&export, "ext4,nbd=db:10809").map_err(|error| error.to_string())
        };
        // Where ext4 has its magic number, and the last byte that counts.
        assert!(blank(1080).unwrap_err().contains("clear its first MiB"));
        assert!(blank((1 << 20) - 1).is_err());
        assert_eq!(blank(1 << 20), Ok(()));
    }

    #[test]
    fn an_xfs_has_the_sectors_of_its_device() {
        let options = |name: &str| mkfs(&Spec::parse(name).unwrap()).1.join(" ");
        assert!(options("xfs,sector=4096").contains("-s size=4096"));
        assert!(options("xfs-16k").contains("-b size=16384") && !options("xfs").contains("-s"));
        assert!(options("iscsi").ends_with("-K") && options("iscsi,fs=ext4").ends_with("-E nodiscard"));
    }
}
