//! What is mounted where, and how it is unmounted.

use super::tool;
use crate::LaneError;
use crate::error::DuringLane;
use plimsoll_host::mounts;
pub use plimsoll_host::mounts::Mount;
use plimsoll_host::process::pids;
use rustix::fs::{major, minor};
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long a file system may stay busy after a process has ended.
const PATIENCE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);
/// How long somebody else's mount namespace may keep it.
pub const OF_OTHERS: Duration = Duration::from_secs(30);

/// As [`plimsoll_host::mounts::all`].
pub fn all() -> Result<Vec<Mount>, LaneError> {
    Ok(mounts::all()?)
}

/// As [`plimsoll_host::mounts::at`].
pub fn at(point: &Path) -> Result<Option<Mount>, LaneError> {
    Ok(mounts::at(point)?)
}

/// Unmounts what we mounted here, which `source` tells from anything else. Nothing mounted is success.
///
/// # Errors
/// [`LaneError::Environment`] if something else is mounted here, or while it is in use.
pub fn unmount(point: &Path, source: &str) -> Result<(), LaneError> {
    let deadline = Instant::now() + PATIENCE;
    while let Some(mount) = at(point)? {
        if mount.source != source {
            let (place, found) = (point.display(), mount.source);
            return Err(LaneError::Environment(format!("{place} has a mount of {found}, not of the lane's {source}")));
        }
        match tool::run("umount", &[point]) {
            Ok(_) => {}
            Err(_) if Instant::now() < deadline => thread::sleep(POLL),
            Err(LaneError::Environment(why)) => {
                return Err(LaneError::Environment(format!("{why}; first end what is using {}", point.display())));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits until the kernel has nothing of a device's file system any more. As long as a mount namespace of anybody has it, what is
/// mounted next is that one again, with what it has in memory, instead of what the device has.
///
/// # Errors
/// [`LaneError::Environment`] if it is kept, or the device cannot be opened.
pub fn forgotten(device: &str) -> Result<(), LaneError> {
    let deadline = Instant::now() + OF_OTHERS;
    loop {
        // A mounted device has an exclusive user, and there is only one (open(2), O_EXCL).
        let opened = OpenOptions::new().read(true).custom_flags(rustix::fs::OFlags::EXCL.bits() as i32).open(device);
        match opened {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::ResourceBusy && Instant::now() < deadline => thread::sleep(POLL),
            Err(error) if error.kind() == ErrorKind::ResourceBusy => {
                let who = holder(device).unwrap_or("something else has it".to_owned());
                return Err(LaneError::Environment(format!("the file system of {device} is still in use: {who}")));
            }
            Err(error) => return Err(error).during("open", Path::new(device)),
        }
    }
}

/// Who has a device's file system mounted, in words: a process that sees the mount (proc(5), mountinfo). A mount namespace that
/// was made while a lane was up has a copy of its mounts.
pub fn holder(device: &str) -> Option<String> {
    let numbers = rustix::fs::stat(device).ok()?.st_rdev;
    let numbers = format!("{}:{}", major(numbers), minor(numbers));
    let sees = |pid: &i32| {
        let mounts = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
        mounts.lines().any(|line| line.split(' ').nth(2) == Some(numbers.as_str()))
    };
    let pid = pids().find(sees)?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(format!("pid {pid}, {}, has it mounted, perhaps in a mount namespace of its own; first end that", name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops;
    use plimsoll_testkit::servers;
    use std::process::{Command, Stdio};

    #[test]
    fn the_root_is_mounted_and_a_new_directory_is_not() {
        assert!(at(Path::new("/")).unwrap().is_some());
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(at(directory.path()).unwrap(), None);
        unmount(directory.path(), "anything").unwrap();
    }

    #[track_caller]
    fn does(program: &str, arguments: &[&str]) -> String {
        let done = Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
        assert!(done.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    #[test]
    #[ignore = "mounts a file system; make test-all"]
    fn a_file_system_that_another_mount_namespace_has_is_waited_for() {
        let _alone = servers::lanes();
        if !rustix::process::geteuid().is_root() || !Path::new("/dev/loop-control").exists() {
            return servers::skip("a file system is mounted; run as root, with loop devices");
        }
        let directory = tempfile::tempdir().unwrap();
        let (image, place) = (directory.path().join("image"), directory.path().join("place"));
        std::fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
        std::fs::create_dir(&place).unwrap();
        let (image, place) = (image.to_str().unwrap(), place.to_str().unwrap());
        does("mkfs.ext4", &["-q", image]);
        let device = does("losetup", &["--find", "--show", image]);
        does("mount", &[&device, place]);
        let mut other = Command::new("unshare").args(["--mount", "cat"]).stdin(Stdio::piped()).spawn().unwrap();
        let namespace = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
        while namespace(&other.id().to_string()) == namespace("self") {
            thread::sleep(POLL);
        }
        does("umount", &[place]);
        let opened = OpenOptions::new().read(true).custom_flags(rustix::fs::OFlags::EXCL.bits() as i32).open(&device);
        let pid = other.id();
        let holder = super::holder(&device).expect("the other one");
        let begun = Instant::now();
        let ends = thread::spawn(move || {
            thread::sleep(5 * POLL);
            drop(other.stdin.take());
            other.wait().unwrap();
        });
        let found = forgotten(&device);
        let waited = begun.elapsed();
        ends.join().unwrap();
        loops::detach(Path::new(image)).unwrap();
        assert!(holder.starts_with(&format!("pid {pid}, cat, has it mounted")), "{holder}");
        assert_eq!(super::holder(&device), None);
        assert!(opened.is_err_and(|error| error.kind() == ErrorKind::ResourceBusy), "somebody else has it");
        found.unwrap();
        assert!(waited >= 5 * POLL, "{waited:?}");
    }
}
