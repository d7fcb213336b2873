//! A limit on the memory of one server: a control group of its own.
//!
//! Version 1 (Linux, `Documentation/admin-guide/cgroup-v1/memory.rst`) limits memory, and memory with swap; version 2
//! (`cgroup-v2.rst`) memory, and swap beside it. The group's name follows from the server's directory, so that `clean`
//! can find the group after a kill.

use crate::ServerError;
use crate::error::DuringServer;
use plimsoll_host::fingerprint::fingerprint;
use plimsoll_host::{HostError, mounts};
use rustix::fs::Access;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// A killed server leaves its group a moment after it has ended.
const REMOVAL_TRIES: u32 = 50;
const REMOVAL_PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(crate) struct MemoryGroup {
    path: PathBuf,
}

/// The controller of this machine, by the directory of all groups.
enum Controller {
    V1(PathBuf),
    V2(PathBuf),
}

impl MemoryGroup {
    /// Creates the group of a stopped server, replacing one that was left behind.
    ///
    /// # Errors
    /// [`HostError::Place`] without the controller or the right to use it, or if the kernel set another limit.
    pub(crate) fn make(directory: &Path, bytes: u64) -> Result<MemoryGroup, ServerError> {
        let controller = Controller::find()?;
        let path = controller.root().join(name(directory)?);
        remove(&path)?;
        fs::create_dir(&path).map_err(|error| refused(&path, &error.to_string()))?;
        let group = MemoryGroup { path };
        for (file, text) in controller.limits(&group.path, bytes) {
            let file = group.path.join(file);
            fs::write(&file, text).map_err(|error| refused(&file, &error.to_string()))?;
        }
        group.holds(&controller, bytes)?;
        Ok(group)
    }

    /// The group of a server, if it has one.
    pub(crate) fn of(directory: &Path) -> Result<Option<MemoryGroup>, ServerError> {
        // Without a controller nobody has one.
        let Ok(controller) = Controller::find() else { return Ok(None) };
        let path = controller.root().join(name(directory)?);
        Ok(path.is_dir().then_some(MemoryGroup { path }))
    }

    /// Whether groups can be created here.
    pub(crate) fn possible() -> Result<(), ServerError> {
        let controller = Controller::find()?;
        rustix::fs::access(controller.root(), Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|errno| refused(controller.root(), &errno.to_string()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the group; its server is down.
    pub(crate) fn remove(self) -> Result<PathBuf, ServerError> {
        remove(&self.path).map(|()| self.path)
    }

    /// The kernel rounds to pages; any other change of the limit is an error.
    fn holds(&self, controller: &Controller, bytes: u64) -> Result<(), ServerError> {
        let file = self.path.join(controller.limit_file());
        let text = fs::read_to_string(&file).during("read", &file)?;
        let page = rustix::param::page_size() as u64;
        match text.trim().parse::<u64>() {
            Ok(limit) if limit.abs_diff(bytes) < page => Ok(()),
            _ => Err(refused(&file, &format!("{bytes} was requested, but the kernel set {}", text.trim()))),
        }
    }
}

impl Controller {
    fn find() -> Result<Controller, ServerError> {
        for mount in mounts::all().unwrap_or_default() {
            let list = |file: &str| fs::read_to_string(mount.point.join(file)).unwrap_or_default();
            let names_memory = |list: String| list.split_whitespace().any(|controller| controller == "memory");
            match mount.filesystem.as_str() {
                "cgroup" if mount.super_options.iter().any(|option| option == "memory") => {
                    return Ok(Controller::V1(mount.point));
                }
                // A controller that is not delegated to the groups below cannot limit them.
                "cgroup2" if names_memory(list("cgroup.subtree_control")) => {
                    return Ok(Controller::V2(mount.point));
                }
                _ => {}
            }
        }
        Err(refused(
            Path::new("/sys/fs/cgroup"),
            "no memory controller is mounted whose groups can be limited (v1: memory; v2: memory in cgroup.subtree_control)",
        ))
    }

    fn root(&self) -> &Path {
        match self {
            Controller::V1(root) | Controller::V2(root) => root,
        }
    }

    fn limit_file(&self) -> &'static str {
        match self {
            Controller::V1(_) => "memory.limit_in_bytes",
            Controller::V2(_) => "memory.max",
        }
    }

    /// What to write into which file of `group`, in this order. A kernel that does not account for swap has no file for
    /// it: then the group may not swap at all.
    fn limits(&self, group: &Path, bytes: u64) -> Vec<(&'static str, String)> {
        let limit = (self.limit_file(), bytes.to_string());
        let has = |file: &str| group.join(file).exists();
        match self {
            Controller::V1(_) if has("memory.memsw.limit_in_bytes") => {
                vec![limit, ("memory.memsw.limit_in_bytes", bytes.to_string())]
            }
            Controller::V1(_) => vec![limit, ("memory.swappiness", "0".to_owned())],
            Controller::V2(_) if has("memory.swap.max") => vec![limit, ("memory.swap.max", "0".to_owned())],
            Controller::V2(_) => vec![limit],
        }
    }
}

/// Directories of two containers may have the same path, but not the same inode on the same device.
fn name(directory: &Path) -> Result<String, ServerError> {
    let path = directory;
    let facts = fs::metadata(path).during("look at", path)?;
    let inode = [facts.dev().to_le_bytes(), facts.ino().to_le_bytes()].concat();
    Ok(format!("plimsoll-{:016x}", fingerprint([path.as_os_str().as_bytes(), &inode])))
}

fn remove(path: &Path) -> Result<(), ServerError> {
    for attempt in 1.. {
        match fs::remove_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && attempt < REMOVAL_TRIES => {
                thread::sleep(REMOVAL_PAUSE);
            }
            removed => return removed.during("remove the control group", path),
        }
    }
    Ok(())
}

fn refused(path: &Path, found: &str) -> ServerError {
    ServerError::Host(HostError::Place {
        what: "memory limit",
        path: path.to_owned(),
        found: found.to_owned(),
        remedy: "run as root where control groups can be created, or leave out `memory`",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_limit_memory_and_swap() {
        let group = tempfile::tempdir().unwrap();
        let without_swap = Controller::V1(PathBuf::new()).limits(group.path(), 4096);
        assert_eq!(without_swap[1], ("memory.swappiness", "0".to_owned()));
        for (controller, swap) in [
            (Controller::V1(PathBuf::new()), ("memory.memsw.limit_in_bytes", "4096")),
            (Controller::V2(PathBuf::new()), ("memory.swap.max", "0")),
        ] {
            fs::write(group.path().join(swap.0), "").unwrap();
            let limits = controller.limits(group.path(), 4096);
            assert_eq!(limits[0], (controller.limit_file(), "4096".to_owned()));
            assert_eq!((limits[1].0, limits[1].1.as_str()), swap);
        }
    }

    #[test]
    fn a_group_that_is_not_there_is_removed_already() {
        remove(&tempfile::tempdir().unwrap().path().join("plimsoll-0")).unwrap();
    }
}
