//! The directory of one lane: what is where in it, who may change it, and how it is removed.

use super::LaneSide;
use super::spec::Spec;
use crate::LaneError;
use crate::error::DuringLane;
use plimsoll_host::lock::lock_within;
use plimsoll_host::{owner, remove};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long another Plimsoll may work on a lane before that is said.
const LOCKED_WITHIN: Duration = Duration::from_secs(2);
/// The longest path that fits into `sockaddr_un` with its closing zero.
const SOCKET_PATH_LIMIT: usize = 107;

/// The socket where a device that can lose its power takes orders, beside the mount point.
pub const POWER: &str = "power.sock";

/// The image, beside the mount point.
pub const IMAGE: &str = "disk.img";

/// Where the server of a network lane has its file system mounted, beside the client's mount point.
pub const SERVED: &str = "served";

/// Where the parts of a lane are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    root: PathBuf,
}

impl Site {
    /// The directory of a lane below that of all lanes; it need not exist.
    pub fn of(lanes: &Path, spec: &Spec) -> Site {
        Site { root: lanes.join(spec.directory_name()) }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn journal(&self) -> PathBuf {
        self.root.join("journal.ndjson")
    }

    pub fn mount(&self) -> PathBuf {
        self.root.join("mount")
    }

    pub fn image(&self) -> PathBuf {
        self.root.join(IMAGE)
    }

    /// Keeps the network namespace of one side of a network lane; the link is in the client's.
    pub fn namespace(&self, side: LaneSide) -> PathBuf {
        self.root.join(if side == LaneSide::Server { "server.net" } else { "client.net" })
    }

    /// Where the server of a network lane has its file system mounted, if it needs one.
    pub fn served(&self) -> PathBuf {
        self.root.join(SERVED)
    }

    /// The file of the server that is the client's device.
    pub fn served_image(&self) -> PathBuf {
        self.served().join("disk.img")
    }

    /// The files that the server shows its client.
    pub fn served_files(&self) -> PathBuf {
        self.served().join("files")
    }

    /// Where a server's export becomes a file.
    pub fn fuse(&self) -> PathBuf {
        self.root.join("fuse")
    }

    /// The server's export as a file.
    pub fn export(&self) -> PathBuf {
        self.fuse().join("disk")
    }

    /// What the loop device of the mounted file system is attached to: the image, or what is in front of it.
    pub fn disk(&self, spec: &Spec) -> PathBuf {
        if spec.is_behind_nbd() || spec.is_network() { self.export() } else { self.image() }
    }

    /// The paths that are whole arguments of the programs that build and undo the lane.
    pub fn worked_on(&self) -> [PathBuf; 5] {
        [self.image(), self.export(), self.fuse(), self.served(), self.mount()]
    }

    /// While this file exists, a lane with `error=` fails reads and writes.
    pub fn trigger(&self) -> PathBuf {
        self.root.join("fail")
    }

    /// A named pipe into which the server logs; only a check reads it.
    pub fn log(&self) -> PathBuf {
        self.root.join("log")
    }

    /// Where nbdkit listens, or the client of a network lane shows its device.
    ///
    /// # Errors
    /// [`LaneError::Refused`] if the path is too long for a socket.
    pub fn socket(&self) -> Result<PathBuf, LaneError> {
        self.socket_named("nbd.sock", "")
    }

    /// Where the iSCSI target takes commands; it appends `.0`.
    ///
    /// # Errors
    /// As [`Site::socket`].
    pub fn control(&self) -> Result<PathBuf, LaneError> {
        self.socket_named("tgtd.sock", ".0")
    }

    /// Where a device that can lose its power takes orders.
    ///
    /// # Errors
    /// As [`Site::socket`].
    pub fn power(&self) -> Result<PathBuf, LaneError> {
        self.socket_named(POWER, "")
    }

    /// Where the NFS client reports how many operations of each kind there were.
    ///
    /// # Errors
    /// As [`Site::socket`].
    pub fn operations(&self) -> Result<PathBuf, LaneError> {
        self.socket_named("ops.sock", "")
    }

    fn socket_named(&self, name: &str, appended: &str) -> Result<PathBuf, LaneError> {
        let path = self.root.join(name);
        match path.as_os_str().len() + appended.len() {
            0..=SOCKET_PATH_LIMIT => Ok(path),
            bytes => Err(LaneError::Refused(format!(
                "the path of the lane's socket {} has {bytes} bytes; at most {SOCKET_PATH_LIMIT} are possible: set \
                 PLIMSOLL_HOME to a shorter path",
                path.display()
            ))),
        }
    }

    /// Makes the directory, mode 0700, and locks it.
    ///
    /// # Errors
    /// As [`Site::lock`]; [`LaneError::Io`].
    pub fn create(&self) -> Result<LaneLock, LaneError> {
        loop {
            match DirBuilder::new().mode(0o700).create(&self.root) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(error).during("create the directory of the lane", &self.root);
                }
                _ => {}
            }
            // None: a `down` removed it in between.
            if let Some(lock) = self.lock()? {
                return Ok(lock);
            }
        }
    }

    /// Keeps others from changing the lane; `None` if it does not exist.
    ///
    /// # Errors
    /// [`LaneError::Environment`] while another Plimsoll works on it; [`LaneError::Io`] if it is not a real directory;
    /// [`LaneError::Host`] if others own it, or can write to it or above it.
    pub fn lock(&self) -> Result<Option<LaneLock>, LaneError> {
        let above = self.root.parent().unwrap_or(&self.root);
        owner::check_if_there(above)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = match open(&self.root, flags, Mode::empty()) {
            Ok(directory) => File::from(directory),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error).during("open the directory of the lane", &self.root),
        };
        let locked = lock_within(&directory, FlockOperation::NonBlockingLockExclusive, LOCKED_WITHIN);
        if !locked.during("lock", &self.root)? {
            let place = self.root.display();
            return Err(LaneError::Environment(format!("another Plimsoll is working on the lane in {place}")));
        }
        let locked = directory.metadata().during("look at", &self.root)?.ino();
        let there = fs::symlink_metadata(&self.root).is_ok_and(|facts| facts.ino() == locked);
        let lock = LaneLock { directory };
        match there {
            true => Ok(owner::itself(&self.root).map(|()| Some(lock))?),
            false => Ok(None),
        }
    }

    /// Removes the directory with everything in it, the journal last. A missing directory is success.
    ///
    /// # Errors
    /// [`LaneError::Host`] if something is mounted below it.
    pub fn remove(&self) -> Result<(), LaneError> {
        remove::must_hold_no_mount(&self.root)?;
        let journal = self.journal();
        let entries = match fs::read_dir(&self.root) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries.during("list", &self.root)?,
        };
        for entry in entries {
            let path = entry.during("list", &self.root)?.path();
            if path != journal {
                remove::entry(&path)?;
            }
        }
        self.remove_empty()
    }

    /// Removes the directory if there is nothing but a journal in it: Plimsoll was killed before the first step, or
    /// just before the end of [`Site::remove`]. A missing directory is success.
    ///
    /// # Errors
    /// [`LaneError::Io`] if there is more.
    pub fn remove_empty(&self) -> Result<(), LaneError> {
        remove::entry(&self.journal())?;
        missing_is_fine(fs::remove_dir(&self.root)).during("remove", &self.root)
    }
}

fn missing_is_fine(result: std::io::Result<()>) -> std::io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The right to change a lane, as long as this lives. The kernel takes it back from a killed process.
#[derive(Debug)]
pub struct LaneLock {
    directory: File,
}

/// A process that is being started has our files open for an instant, so closing them would not be enough.
impl Drop for LaneLock {
    fn drop(&mut self) {
        let _ = flock(&self.directory, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn site(lanes: &Path) -> Site {
        Site::of(lanes, &Spec::parse("ext4").unwrap())
    }

    #[test]
    fn one_at_a_time_and_nothing_to_lock_where_nothing_is() {
        let lanes = tempfile::tempdir().unwrap();
        let site = site(lanes.path());
        assert!(site.lock().unwrap().is_none());
        let lock = site.create().unwrap();
        assert!(site.create().unwrap_err().to_string().contains("another Plimsoll"));
        drop(lock);
        drop(site.create().unwrap());
    }

    #[test]
    fn a_lock_that_outlives_its_holder_for_an_instant_is_waited_for() {
        let lanes = tempfile::tempdir().unwrap();
        let site = site(lanes.path());
        let lock = site.create().unwrap();
        let started = lock.directory.try_clone().unwrap();
        // Forgotten, as by a process that was killed.
        std::mem::forget(lock);
        let child = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            flock(&started, FlockOperation::Unlock).unwrap();
        });
        assert!(site.lock().unwrap().is_some());
        child.join().unwrap();
    }

    #[test]
    fn nothing_is_followed_out_of_the_directory() {
        let lanes = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("kept"), "").unwrap();
        let site = site(lanes.path());
        drop(site.create().unwrap());
        std::os::unix::fs::symlink(outside.path(), site.mount()).unwrap();
        site.remove().unwrap();
        assert!(outside.path().join("kept").exists() && !site.root().exists());
        std::os::unix::fs::symlink(outside.path(), site.root()).unwrap();
        assert!(site.create().is_err(), "a link is no directory of ours");
    }

    #[test]
    fn a_socket_has_room_or_is_refused() {
        let deep = PathBuf::from("/").join("x".repeat(100));
        assert!(site(&deep).socket().unwrap_err().to_string().contains("PLIMSOLL_HOME"));
        assert!(site(Path::new("/home/user")).socket().is_ok());
    }
}
