//! The one remover of trees. It descends by directory descriptors, so that nobody can replace a directory by a link
//! meanwhile. It removes links and never follows them, and does not cross a mount: neither one of another file system
//! nor a bind mount of the same one.

use crate::error::{During, HostError};
use crate::mounts;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Statx, StatxAttributes, StatxFlags, fstatfs, openat, statx, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The most nested directories in a tree: each holds a descriptor while its contents are removed.
const DEEPEST: usize = 256;
/// `f_type` of Btrfs (statfs(2)).
const BTRFS: i64 = 0x9123_683e;
/// The inode number of the root of every Btrfs subvolume.
const SUBVOLUME_INODE: u64 = 256;

/// Removes a directory and everything below it. Returns whether there was one. If anything is mounted on it or below
/// it, this fails before anything is removed. A mount that appears meanwhile ends the removal, and what is behind it is
/// left alone.
///
/// # Errors
/// [`HostError::Mounted`]; [`HostError::NoTree`] for a link or a file in its place, and for too deep a tree;
/// [`HostError::Io`].
pub fn tree(path: &Path) -> Result<bool, HostError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error).during("look at", path),
        Ok(facts) if !facts.is_dir() => {
            return Err(HostError::NoTree { path: path.to_owned(), found: "it is a symbolic link or not a directory" });
        }
        Ok(_) => must_hold_no_mount(path)?,
    }
    unlisted(path)
}

/// Removes whatever is here: a file, a link, or a directory as [`tree`] does. Returns whether there was anything.
///
/// # Errors
/// As [`tree`].
pub fn entry(path: &Path) -> Result<bool, HostError> {
    match fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir()) {
        true => tree(path),
        false => match fs::remove_file(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            removed => removed.during("remove", path).map(|()| true),
        },
    }
}

/// Fails if a file system is mounted on a directory or below it: its contents are not ours to remove.
///
/// # Errors
/// [`HostError::Mounted`]; [`HostError::Io`] if that cannot be determined.
pub fn must_hold_no_mount(path: &Path) -> Result<(), HostError> {
    // The kernel writes real paths.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match mounts::within(&real)? {
        Some(mount) => Err(HostError::Mounted { path: path.to_owned(), mount: mount.point }),
        None => Ok(()),
    }
}

/// Removes a tree by what the kernel says about each entry, after its table of mounts was checked.
fn unlisted(path: &Path) -> Result<bool, HostError> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(HostError::NoTree { path: path.to_owned(), found: "it has no name of its own" });
    };
    let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
    let name = c_name(name, path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let above_it = openat(CWD, above, flags, Mode::empty()).during("open", above)?;
    let Some(top) = opened(above_it.as_fd(), &name).during("open", path)? else { return Ok(false) };
    let facts = facts_of(top.as_fd(), c"").during("look at", path)?;
    if is_mount_root(&facts) {
        return Err(HostError::Mounted { path: path.to_owned(), mount: path.to_owned() });
    }
    let removal = Removal { tree: path, top: facts };
    removal.empty(&top, path, 1)?;
    drop(top);
    gone(unlinkat(&above_it, &name, AtFlags::REMOVEDIR)).during("remove", path)?;
    Ok(true)
}

struct Removal<'a> {
    tree: &'a Path,
    top: Statx,
}

impl Removal<'_> {
    /// Removes the contents of a directory at the depth `deep` of the tree.
    fn empty(&self, directory: &OwnedFd, path: &Path, deep: usize) -> Result<(), HostError> {
        if deep > DEEPEST {
            return Err(HostError::NoTree {
                path: self.tree.to_owned(),
                found: "its directories are nested too deeply",
            });
        }
        for name in names(directory).during("read", path)? {
            let path = path.join(OsStr::from_bytes(name.to_bytes()));
            let facts = match facts_of(directory.as_fd(), &name) {
                Err(Errno::NOENT) => continue,
                facts => facts.during("look at", &path)?,
            };
            self.must_be_of_the_tree(directory.as_fd(), &facts, &path)?;
            match FileType::from_raw_mode(facts.stx_mode.into()) {
                FileType::Directory => self.directory(directory.as_fd(), &name, &path, deep)?,
                _ => gone(unlinkat(directory, &name, AtFlags::empty())).during("remove", &path)?,
            }
        }
        Ok(())
    }

    fn directory(&self, above: BorrowedFd<'_>, name: &CStr, path: &Path, deep: usize) -> Result<(), HostError> {
        let Some(directory) = opened(above, name).during("open", path)? else { return Ok(()) };
        // What was examined and what was opened need not be the same.
        let facts = facts_of(directory.as_fd(), c"").during("look at", path)?;
        self.must_be_of_the_tree(directory.as_fd(), &facts, path)?;
        self.empty(&directory, path, deep + 1)?;
        drop(directory);
        gone(unlinkat(above, name, AtFlags::REMOVEDIR)).during("remove", path)
    }

    fn must_be_of_the_tree(&self, at: BorrowedFd<'_>, facts: &Statx, path: &Path) -> Result<(), HostError> {
        match self.is_beyond(at, facts) {
            true => Err(HostError::Mounted { path: self.tree.to_owned(), mount: path.to_owned() }),
            false => Ok(()),
        }
    }

    /// Whether an entry is a mount point or behind one. Btrfs subvolumes have device numbers of their own without being
    /// mounted, and so have files of an overlay.
    fn is_beyond(&self, at: BorrowedFd<'_>, facts: &Statx) -> bool {
        if is_mount_root(facts) {
            return true;
        }
        let knows_mount = |facts: &Statx| facts.stx_mask & StatxFlags::MNT_ID.bits() != 0;
        if knows_mount(facts) && knows_mount(&self.top) {
            return facts.stx_mnt_id != self.top.stx_mnt_id;
        }
        // Before Linux 5.8.
        let device = |facts: &Statx| (facts.stx_dev_major, facts.stx_dev_minor);
        let is_directory = FileType::from_raw_mode(facts.stx_mode.into()) == FileType::Directory;
        let of_btrfs = || fstatfs(at).is_ok_and(|system| system.f_type == BTRFS);
        is_directory
            && device(facts) != device(&self.top)
            && !(of_btrfs() && (facts.stx_ino == SUBVOLUME_INODE || self.top.stx_ino == SUBVOLUME_INODE))
    }
}

fn is_mount_root(facts: &Statx) -> bool {
    facts.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
}

/// An entry itself, never its target; without a name, the directory itself.
fn facts_of(directory: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<Statx> {
    let how = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let how = if name.is_empty() { how | AtFlags::EMPTY_PATH } else { how };
    statx(directory, name, how, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID)
}

/// A directory in another; none if it is gone.
fn opened(above: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(above, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => Ok(None),
        directory => directory.map(Some),
    }
}

/// All at once: removing entries while a directory is read may hide later ones.
fn names(directory: &OwnedFd) -> rustix::io::Result<Vec<CString>> {
    let entries = Dir::read_from(directory)?;
    let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_owned()));
    names.filter(|name| !name.as_ref().is_ok_and(|name| matches!(name.to_bytes(), b"." | b".."))).collect()
}

/// Somebody else may have removed it.
fn gone(removed: rustix::io::Result<()>) -> rustix::io::Result<()> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        removed => removed,
    }
}

fn c_name(name: &OsStr, path: &Path) -> Result<CString, HostError> {
    CString::new(name.as_bytes()).map_err(std::io::Error::from).during("remove", path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_testkit::servers::Overmount;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_tree_goes_with_its_links_and_not_with_what_they_lead_to() {
        let base = tempfile::tempdir().unwrap();
        let (tree_of_ours, outside) = (base.path().join("a tree"), base.path().join("outside"));
        fs::create_dir_all(tree_of_ours.join("a/b/c")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "").unwrap();
        for at in ["a/b/c/link", "link"] {
            symlink(&outside, tree_of_ours.join(at)).unwrap();
        }
        symlink("nowhere", tree_of_ours.join("a/dangling")).unwrap();
        (0..300).for_each(|number| fs::write(tree_of_ours.join(format!("a/{number}")), "x").unwrap());
        assert!(tree(&tree_of_ours).unwrap());
        assert!(!tree_of_ours.exists() && outside.join("kept").exists());
        assert!(!tree(&tree_of_ours).unwrap(), "nothing there is success");
    }

    #[test]
    fn a_link_in_the_place_of_a_tree_is_refused_and_removed_as_an_entry() {
        let base = tempfile::tempdir().unwrap();
        fs::create_dir(base.path().join("outside")).unwrap();
        let link = base.path().join("link");
        symlink(base.path().join("outside"), &link).unwrap();
        assert!(matches!(tree(&link), Err(HostError::NoTree { .. })));
        assert!(entry(&link).unwrap() && base.path().join("outside").exists());
        assert!(!entry(&link).unwrap() && entry(&base.path().join("outside")).unwrap());
    }

    #[test]
    fn too_deep_a_tree_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let deep = base.path().join("deep");
        fs::create_dir_all(deep.join("d/".repeat(DEEPEST))).unwrap();
        assert!(tree(&deep).unwrap_err().to_string().contains("too deep"));
        assert!(tree(&deep.join("d/d")).unwrap());
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let base = tempfile::tempdir().unwrap();
        let closed = base.path().join("ours/closed");
        fs::create_dir_all(closed.join("below")).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        // Root reads everything.
        if let Err(error) = tree(&base.path().join("ours")) {
            assert!(error.to_string().contains("closed"), "{error}");
            fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        }
    }

    /// The kernel's word on each entry is enough without its table, which shows only what can be reached.
    #[test]
    #[ignore = "mounts; make test-all"]
    fn a_mount_is_seen_while_descending() {
        let base = tempfile::tempdir().unwrap();
        let ours = base.path().join("our tree");
        for point in [ours.join("a/a mount"), ours.clone()] {
            let Some(mounts) = Overmount::kinds(&point) else { return };
            for mount in mounts {
                for refused in [tree(&ours).unwrap_err(), unlisted(&ours).unwrap_err()] {
                    assert!(matches!(&refused, HostError::Mounted { mount, .. } if *mount == point), "{refused}");
                }
                assert!(mount.kept().exists());
            }
        }
        assert!(tree(&ours).unwrap() && !ours.exists());
    }

    /// What is mounted over a file shows neither a device nor a directory.
    #[test]
    #[ignore = "mounts; make test-all"]
    fn a_file_that_shows_another_is_not_removed() {
        let base = tempfile::tempdir().unwrap();
        let ours = base.path().join("ours");
        fs::create_dir(&ours).unwrap();
        let (file, other) = (ours.join("a file"), base.path().join("other"));
        fs::write(&file, "").unwrap();
        fs::write(&other, "precious").unwrap();
        if rustix::mount::mount_bind(&other, &file).is_err() {
            return plimsoll_testkit::servers::skip("cannot mount anything; run as root");
        }
        let refused = [tree(&ours), unlisted(&ours)];
        rustix::mount::unmount(&file, rustix::mount::UnmountFlags::DETACH).unwrap();
        assert!(refused.iter().all(|refused| matches!(refused, Err(HostError::Mounted { .. }))), "{refused:?}");
        assert_eq!(fs::read_to_string(other).unwrap(), "precious");
    }
}
