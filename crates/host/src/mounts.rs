//! What is mounted where (proc_pid_mountinfo(5)).

use crate::error::{During, HostError};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

const TABLE: &str = "/proc/self/mountinfo";

/// One mount: a line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// `8:1`: major and minor number of the file system's device.
    pub device: String,
    /// The directory of the file system that appears here: not `/` for bind mounts and subvolumes.
    pub root: PathBuf,
    pub point: PathBuf,
    /// Of this mount.
    pub options: Vec<String>,
    pub filesystem: String,
    /// `/dev/nvme0n1p2`, `server:/export`, `none`.
    pub source: String,
    /// Of the file system, whatever its mounts are.
    pub super_options: Vec<String>,
}

/// Everything that this process sees mounted; later mounts hide earlier ones of the same place.
///
/// # Errors
/// [`HostError::Io`] if `/proc` does not tell.
pub fn all() -> Result<Vec<Mount>, HostError> {
    let bytes = fs::read(TABLE).during("read the mounts from", Path::new(TABLE))?;
    Ok(parse(&bytes))
}

/// What is mounted exactly here.
///
/// # Errors
/// As [`all`].
pub fn at(point: &Path) -> Result<Option<Mount>, HostError> {
    Ok(all()?.into_iter().rfind(|mount| mount.point == point))
}

/// What is mounted on a directory or below it; the path must be the real one, as the kernel writes it.
///
/// # Errors
/// As [`all`].
pub fn within(real: &Path) -> Result<Option<Mount>, HostError> {
    Ok(all()?.into_iter().find(|mount| mount.point.starts_with(real)))
}

/// The mounts in such a table; invalid lines are skipped.
pub fn parse(table: &[u8]) -> Vec<Mount> {
    table.split(|byte| *byte == b'\n').filter_map(line).collect()
}

/// `36 30 0:31 / /mnt/a\040b rw,noatime shared:9 - ext4 /dev/sda1 rw`. The optional fields end with the dash.
fn line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ').skip(2);
    let (device, root, point, options) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    fields.find(|field| *field == b"-")?;
    let (filesystem, source, super_options) = (fields.next()?, fields.next()?, fields.next().unwrap_or_default());
    Some(Mount {
        device: text(device),
        root: path(root),
        point: path(point),
        options: list(options),
        filesystem: text(filesystem),
        source: text(source),
        super_options: list(super_options),
    })
}

fn path(field: &[u8]) -> PathBuf {
    OsString::from_vec(unescaped(field)).into()
}

fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(&unescaped(field)).into_owned()
}

fn list(field: &[u8]) -> Vec<String> {
    field.split(|byte| *byte == b',').map(text).filter(|option| !option.is_empty()).collect()
}

/// The kernel writes blanks, tabs, line feeds, backslashes and `#` as a backslash and three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, behind @ ..] = rest {
        let code = behind.get(..3).filter(|_| *first == b'\\').and_then(octal);
        plain.push(code.unwrap_or(*first));
        rest = if code.is_some() { &behind[3..] } else { behind };
    }
    plain
}

fn octal(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0u8, |number, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 8)?;
        number.checked_mul(8)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_line_is_read_with_its_escapes() {
        let line = br"36 35 98:0 /a\040root /mnt/a\040b\011c\012d\134040e\043f rw,noatime master:1 shared:2 - ext3 /dev/my\040disk rw,errors=continue";
        let [mount] = parse(line).try_into().unwrap();
        assert_eq!(mount.point, Path::new("/mnt/a b\tc\nd\\040e#f"));
        assert_eq!((mount.root.as_path(), mount.device.as_str()), (Path::new("/a root"), "98:0"));
        assert_eq!((mount.filesystem.as_str(), mount.source.as_str()), ("ext3", "/dev/my disk"));
        assert_eq!(mount.options, ["rw", "noatime"]);
        assert_eq!(mount.super_options, ["rw", "errors=continue"]);
    }

    #[test]
    fn names_need_not_be_text_and_a_dash_may_be_one() {
        let table = b"1 2 0:5 / /a\xff - - x y rw\n1 2 0:5 / /- rw - x\\0 y\\9 rw\n1 2 0:5 / /b rw - tmpfs none\n";
        let [odd, dash, short] = parse(table).try_into().unwrap();
        assert_eq!(odd.point.as_os_str().as_bytes(), b"/a\xff");
        assert_eq!((dash.point.as_path(), dash.filesystem.as_str()), (Path::new("/-"), "x\\0"), "no code, no change");
        assert_eq!((short.point.as_path(), short.super_options.len()), (Path::new("/b"), 0));
        assert!(parse(b"nonsense\n\n1 2 3 4 5 6 7\n").is_empty());
    }

    #[test]
    fn the_root_is_mounted_and_a_new_directory_is_not() {
        assert!(at(Path::new("/")).unwrap().is_some() && within(Path::new("/")).unwrap().is_some());
        let directory = tempfile::tempdir().unwrap();
        assert_eq!((at(directory.path()).unwrap(), within(directory.path()).unwrap()), (None, None));
    }
}
