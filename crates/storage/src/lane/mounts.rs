//! What is mounted where, and how that ends.

use super::tool;
use crate::error::{During, StorageError};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// How long a file system may be busy with what has just ended.
const PATIENCE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);

/// A line of `/proc/self/mountinfo` (Linux, proc_pid_mountinfo(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    pub point: PathBuf,
    pub filesystem: String,
    pub source: String,
    /// Of the file system, not of this mount.
    pub options: Vec<String>,
}

/// Everything that this process sees mounted; later mounts hide earlier ones of the same place.
pub fn all() -> Result<Vec<Mount>, StorageError> {
    let path = Path::new("/proc/self/mountinfo");
    let text = fs::read_to_string(path).during("read", path)?;
    Ok(text.lines().filter_map(parse).collect())
}

fn parse(line: &str) -> Option<Mount> {
    let (place, what) = line.split_once(" - ")?;
    let point = place.split(' ').nth(4)?;
    let mut what = what.split(' ');
    let (filesystem, source, options) = (what.next()?, what.next()?, what.next()?);
    Some(Mount {
        point: PathBuf::from(unescape(point)),
        filesystem: filesystem.to_owned(),
        source: unescape(source),
        options: options.split(',').map(str::to_owned).collect(),
    })
}

/// Blanks, tabs, newlines and backslashes are written as a backslash and three octal digits.
fn unescape(text: &str) -> String {
    ["\\040", "\\011", "\\012", "\\134"]
        .iter()
        .zip([" ", "\t", "\n", "\\"])
        .fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

/// What is mounted exactly here.
pub fn at(point: &Path) -> Result<Option<Mount>, StorageError> {
    Ok(all()?.into_iter().rfind(|mount| mount.point == point))
}

/// Unmounts what we mounted here, which `source` tells from anything else. Nothing mounted is success.
///
/// # Errors
/// [`StorageError::Environment`] if something else is mounted here, or while it is in use.
pub fn unmount(point: &Path, source: &str) -> Result<(), StorageError> {
    let deadline = Instant::now() + PATIENCE;
    while let Some(mount) = at(point)? {
        if mount.source != source {
            let (place, found) = (point.display(), mount.source);
            return Err(StorageError::Environment(format!(
                "{place} holds a mount of {found}, not the lane's {source}"
            )));
        }
        match tool::run("umount", &[point]) {
            Ok(_) => {}
            Err(_) if Instant::now() < deadline => thread::sleep(POLL),
            Err(StorageError::Environment(why)) => {
                return Err(StorageError::Environment(format!("{why}; end what works in {} first", point.display())));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_with_its_escapes() {
        let line = r"36 35 98:0 / /mnt/a\040b rw,noatime master:1 shared:2 - ext3 /dev/loop0 rw,errors=continue";
        let mount = parse(line).unwrap();
        assert_eq!((mount.point.to_str(), mount.filesystem.as_str()), (Some("/mnt/a b"), "ext3"));
        assert_eq!(
            (mount.source.as_str(), mount.options),
            ("/dev/loop0", vec!["rw".to_owned(), "errors=continue".to_owned()])
        );
        assert_eq!(parse("nonsense"), None);
    }

    #[test]
    fn the_root_is_mounted_and_a_new_directory_is_not() {
        assert!(at(Path::new("/")).unwrap().is_some());
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(at(directory.path()).unwrap(), None);
        unmount(directory.path(), "anything").unwrap();
    }
}
