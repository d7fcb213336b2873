//! Limits what a group of processes may do to a device, by the block I/O controller of control groups.
//!
//! In version 1 it is `blkio` (Linux, `Documentation/admin-guide/cgroup-v1/blkio-controller.rst`), in version 2 `io`
//! (`cgroup-v2.rst`). A flush counts as a write there. Version 1 limits what processes send to the device themselves;
//! what the kernel later writes back from the page cache belongs to no group and is not limited.

use super::mounts;
use super::spec::Spec;
use crate::LaneError;
use crate::error::DuringLane;
use plimsoll_storage::place::fresh_name;
use std::fs;
use std::path::{Path, PathBuf};

/// The controllers that the children of a group have, in version 2.
const HANDED_DOWN: &str = "cgroup.subtree_control";

/// The controller of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Controller {
    V1(PathBuf),
    V2(PathBuf),
}

impl Controller {
    fn find() -> Result<Controller, LaneError> {
        for mount in mounts::all()? {
            match mount.filesystem.as_str() {
                "cgroup" if mount.super_options.iter().any(|option| option == "blkio") => {
                    return Ok(Controller::V1(mount.point));
                }
                "cgroup2" if has_io(&mount.point.join("cgroup.controllers")) => return Ok(Controller::V2(mount.point)),
                _ => {}
            }
        }
        Err(LaneError::Environment(
            "this kernel offers no block I/O controller, neither blkio of cgroup v1 nor io of v2; use a lane without \
             iops= and bandwidth="
                .to_owned(),
        ))
    }

    fn root(&self) -> &Path {
        match self {
            Controller::V1(root) | Controller::V2(root) => root,
        }
    }

    /// What to write into which file of a group; `device` is `major:minor`.
    fn limits(&self, device: &str, spec: &Spec) -> Vec<(&'static str, String)> {
        let limits = [("riops", spec.iops), ("wiops", spec.iops), ("rbps", spec.bandwidth), ("wbps", spec.bandwidth)];
        let set = limits.into_iter().filter_map(|(name, limit)| Some((name, limit?)));
        match self {
            Controller::V1(_) => set.map(|(name, limit)| (v1_file(name), format!("{device} {limit}"))).collect(),
            Controller::V2(_) => {
                let words: Vec<String> = set.map(|(name, limit)| format!("{name}={limit}")).collect();
                vec![("io.max", format!("{device} {}", words.join(" ")))]
            }
        }
    }
}

fn v1_file(name: &str) -> &'static str {
    match name {
        "riops" => "blkio.throttle.read_iops_device",
        "wiops" => "blkio.throttle.write_iops_device",
        "rbps" => "blkio.throttle.read_bps_device",
        _ => "blkio.throttle.write_bps_device",
    }
}

/// Whether a list of controllers has this one.
fn has_io(list: &Path) -> bool {
    fs::read_to_string(list).is_ok_and(|text| text.split_whitespace().any(|word| word == "io"))
}

/// A group that does not exist yet, with a name that no other lane, here or in a container, has had.
///
/// # Errors
/// [`LaneError::Environment`] if the kernel cannot throttle.
pub fn fresh_group() -> Result<PathBuf, LaneError> {
    Ok(Controller::find()?.root().join(format!("plimsoll-{}", fresh_name())))
}

/// The group whose children [`make`] will have to give the controller to; `None` if they have it.
///
/// # Errors
/// As [`fresh_group`].
pub fn to_hand_down() -> Result<Option<PathBuf>, LaneError> {
    Ok(match Controller::find()? {
        Controller::V2(root) => (!has_io(&root.join(HANDED_DOWN))).then_some(root),
        Controller::V1(_) => None,
    })
}

/// Takes the controller back from the children of a group, unless one of them is limited: then others rely on it.
///
/// # Errors
/// [`LaneError::Io`].
pub fn take_back(root: &Path) -> Result<(), LaneError> {
    let children = fs::read_dir(root).during("list", root)?.flatten();
    let limited = |limits: PathBuf| fs::read_to_string(limits).is_ok_and(|text| !text.trim().is_empty());
    if !has_io(&root.join(HANDED_DOWN)) || children.into_iter().any(|child| limited(child.path().join("io.max"))) {
        return Ok(());
    }
    write(&root.join(HANDED_DOWN), "-io")
}

/// Creates the group and sets its limits on a device, `major:minor`.
///
/// # Errors
/// [`LaneError::Io`].
pub fn make(group: &Path, device: &str, spec: &Spec) -> Result<(), LaneError> {
    let controller = Controller::find()?;
    if let Controller::V2(root) = &controller {
        write(&root.join(HANDED_DOWN), "+io")?;
    }
    fs::create_dir(group).during("create the control group", group)?;
    controller.limits(device, spec).iter().try_for_each(|(file, text)| write(&group.join(file), text))
}

/// Puts this process into the group; what it starts from now on belongs to it too.
///
/// # Errors
/// [`LaneError::Io`].
pub fn enter(group: &Path) -> Result<(), LaneError> {
    put(group, std::process::id())
}

/// Puts another process into the group, with all of its threads.
///
/// # Errors
/// [`LaneError::Io`].
pub fn put(group: &Path, pid: u32) -> Result<(), LaneError> {
    write(&group.join("cgroup.procs"), &pid.to_string())
}

/// Removes the group; its processes move to the one above. No group is success.
///
/// # Errors
/// [`LaneError::Io`].
pub fn remove(group: &Path) -> Result<(), LaneError> {
    let above = group.parent().unwrap_or(group).join("cgroup.procs");
    for pid in fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default().lines() {
        // A process that has ended meanwhile cannot be moved and need not be.
        let _ = fs::write(&above, pid);
    }
    match fs::remove_dir(group) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).during("remove the control group", group)
        }
        _ => Ok(()),
    }
}

fn write(path: &Path, text: &str) -> Result<(), LaneError> {
    fs::write(path, text).during("write", path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_told_all_limits() {
        let spec = Spec::parse("ext4,iops=200,bandwidth=4M").unwrap();
        let v1 = Controller::V1(PathBuf::new()).limits("7:0", &spec);
        assert_eq!(v1[1], ("blkio.throttle.write_iops_device", "7:0 200".to_owned()));
        assert_eq!((v1.len(), v1[3].1.as_str()), (4, "7:0 4194304"));
        let v2 = Controller::V2(PathBuf::new()).limits("7:0", &spec);
        assert_eq!(v2, [("io.max", "7:0 riops=200 wiops=200 rbps=4194304 wbps=4194304".to_owned())]);
        let one = Controller::V2(PathBuf::new()).limits("7:0", &Spec::parse("ext4,iops=9").unwrap());
        assert_eq!(one[0].1, "7:0 riops=9 wiops=9");
    }

    #[test]
    fn two_lanes_of_one_path_have_two_groups() {
        // A kernel without the controller has none at all.
        if let (Ok(one), Ok(other)) = (fresh_group(), fresh_group()) {
            assert_ne!(one, other);
            assert!(!one.exists());
        }
    }

    #[test]
    fn the_controller_is_taken_back_unless_somebody_is_limited() {
        let root = tempfile::tempdir().unwrap();
        let (list, limits) = (root.path().join(HANDED_DOWN), root.path().join("other").join("io.max"));
        fs::create_dir(root.path().join("other")).unwrap();
        fs::write(&list, "cpu io memory\n").unwrap();
        fs::write(&limits, "7:0 rbps=max wbps=1024\n").unwrap();
        take_back(root.path()).unwrap();
        assert_eq!(fs::read_to_string(&list).unwrap(), "cpu io memory\n");
        fs::write(&limits, "").unwrap();
        take_back(root.path()).unwrap();
        assert_eq!(fs::read_to_string(&list).unwrap(), "-io");
    }

    #[test]
    fn a_group_that_is_not_there_is_removed_already() {
        let directory = tempfile::tempdir().unwrap();
        remove(&directory.path().join("plimsoll-0")).unwrap();
    }
}
