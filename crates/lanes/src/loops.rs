//! Loop devices: a file as a block device, with direct I/O to it (losetup(8)).

use super::{mounts, tool};
use crate::LaneError;
use crate::error::DuringLane;
use rustix::fs::{major, minor};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(10);

/// Attaches a file with direct I/O; the device's name, as in `loop3`. `sector` is its logical sector, bytes.
///
/// # Errors
/// [`LaneError::Environment`] if no device is free or the file cannot be read directly: a loop device without direct
/// I/O caches twice, and its latency is that of memory.
pub fn attach(backing: &Path, sector: Option<u64>) -> Result<String, LaneError> {
    let mut arguments = vec!["--find".to_owned(), "--show".to_owned(), "--direct-io=on".to_owned()];
    arguments.extend(sector.map(|bytes| format!("--sector-size={bytes}")));
    arguments.push(backing.display().to_string());
    let device = tool::run("losetup", &arguments).map_err(|error| match free() {
        0 => LaneError::Environment(format!("{error}; all loop devices are in use (`losetup --list` shows by what)")),
        _ => error,
    })?;
    let name = device.trim_start_matches("/dev/").to_owned();
    match is_direct(&name) {
        true => Ok(name),
        false => Err(LaneError::Environment(format!(
            "{device} has no direct I/O to {}, so it would measure memory; keep Plimsoll's home on a file system that \
             supports O_DIRECT",
            backing.display()
        ))),
    }
}

/// Whether the device bypasses the page cache for its file.
pub fn is_direct(name: &str) -> bool {
    attribute(name, "dio").is_some_and(|value| value == "1")
}

/// The names of the devices that are attached to this file: by its path, and by its inode while it exists, because in
/// another container the same path can be another file.
///
/// # Errors
/// [`LaneError::Environment`] if losetup cannot tell.
pub fn attached(backing: &Path) -> Result<Vec<String>, LaneError> {
    // The kernel's notation if the file is gone.
    let (there, gone) = (backing.display().to_string(), format!("{} (deleted)", backing.display()));
    let named = |name: &String| attribute(name, "backing_file").is_some_and(|file| file == there || file == gone);
    let mut names: Vec<String> = devices().filter(named).collect();
    if let (Ok(facts), false) = (fs::metadata(backing), names.is_empty()) {
        let file = (facts.ino(), (major(facts.dev()), minor(facts.dev())));
        let files = files()?;
        names.retain(|name| files.iter().any(|(device, of)| device == name && *of == file));
    }
    Ok(names)
}

/// Inode, and major and minor number of the device that it is on.
type Inode = (u64, (u32, u32));

/// Which file each device is attached to (losetup(8), `--output`).
fn files() -> Result<Vec<(String, Inode)>, LaneError> {
    let listed = tool::run("losetup", &["--list", "--noheadings", "--output", "NAME,BACK-INO,BACK-MAJ:MIN"])?;
    let file = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, inode, device) = (words.next()?, words.next()?, words.next()?);
        let (major, minor) = device.split_once(':')?;
        let device = (major.parse().ok()?, minor.parse().ok()?);
        Some((name.trim_start_matches("/dev/").to_owned(), (inode.parse().ok()?, device)))
    };
    Ok(listed.lines().filter_map(file).collect())
}

/// As mounts and programs name a device.
pub fn path(name: &str) -> String {
    format!("/dev/{name}")
}

/// Detaches every device from this file, and waits until that is done: a device releases its file only when nobody has it open
/// any more, and no mount namespace its file system.
///
/// # Errors
/// [`LaneError::Environment`] if one is in use.
pub fn detach(backing: &Path) -> Result<(), LaneError> {
    let deadline = Instant::now() + mounts::OF_OTHERS;
    for name in attached(backing)? {
        tool::run("losetup", &["--detach", &path(&name)])?;
    }
    while let Some(name) = attached(backing)?.first() {
        if Instant::now() >= deadline {
            let (place, who) = (backing.display(), mounts::holder(&path(name)));
            let who = who.map(|who| format!(": {who}")).unwrap_or_default();
            return Err(LaneError::Environment(format!("/dev/{name} is in use and keeps {place}{who}")));
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// Sets the scheduler of the devices that are attached to this file. None attached is success.
///
/// # Errors
/// [`LaneError::Environment`] if the kernel does not have it.
pub fn schedule(backing: &Path, scheduler: &str) -> Result<(), LaneError> {
    for name in attached(backing)? {
        fs::write(schedulers(&name), scheduler).map_err(|error| {
            let offered = fs::read_to_string(schedulers(&name)).unwrap_or_default().replace(['[', ']'], "");
            let offered = offered.trim();
            LaneError::Environment(format!(
                "/dev/{name} cannot use the scheduler {scheduler}: {error}; accepted are \
                                            {offered}"
            ))
        })?;
    }
    Ok(())
}

/// The scheduler of a device: the one in brackets.
///
/// # Errors
/// [`LaneError::Io`].
pub fn scheduler(name: &str) -> Result<String, LaneError> {
    let path = schedulers(name);
    let text = fs::read_to_string(&path).during("read", &path)?;
    let chosen = text.split(['[', ']']).nth(1).unwrap_or(&text);
    Ok(chosen.trim().to_owned())
}

fn schedulers(name: &str) -> PathBuf {
    PathBuf::from(format!("/sys/block/{name}/queue/scheduler"))
}

/// `major:minor` of a device, as cgroups name it.
pub fn numbers(name: &str) -> Result<String, LaneError> {
    let path = PathBuf::from(format!("/sys/block/{name}/dev"));
    Ok(fs::read_to_string(&path).during("read", &path)?.trim().to_owned())
}

/// Devices that the kernel has created and that have no file. It creates more on demand if it can.
fn free() -> usize {
    devices().filter(|name| attribute(name, "backing_file").is_none()).count()
}

fn devices() -> impl Iterator<Item = String> {
    let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name.starts_with("loop"))
}

fn attribute(name: &str, attribute: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/sys/block/{name}/loop/{attribute}")).ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_no_device_has_is_detached_already() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("disk.img");
        assert!(attached(&file).unwrap().is_empty());
        detach(&file).unwrap();
    }
}
