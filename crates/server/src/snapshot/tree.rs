//! Ways to copy a directory with everything in it: sharing blocks, as a Btrfs snapshot, byte by byte.
//!
//! A copy keeps modes, holes and preallocated blocks; sockets and pipes, which a server leaves, are skipped. At the
//! end, the file system is told to write everything (syncfs(2)) and the kernel is asked to drop its pages
//! (posix_fadvise(2)): so what starts from a copy finds neither dirty pages that are still being written nor a warm
//! cache, whichever way the copy was made.

use crate::ServerError;
use crate::directory::remove_tree;
use crate::error::DuringServer;
use plimsoll_host::HostError;
use plimsoll_host::process::{Lifetime, scrub, spawn};
use plimsoll_host::replace::rename;
use rustix::fs::{
    Advice, FallocateFlags, Mode, OFlags, SeekFrom, fadvise, fallocate, ioctl_ficlone, seek, statfs, syncfs,
};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Bytes that are read and written at once.
const BUFFER: usize = 1 << 20;
/// Bytes between two checks whether to continue.
const STRIDE: u64 = 64 << 20;
/// `f_type` of Btrfs (statfs(2)).
const BTRFS: i64 = 0x9123_683e;
/// The inode number of the root of every Btrfs subvolume.
const SUBVOLUME_INODE: u64 = 256;
/// Left by a trial copy only if it is killed.
const TRIAL: &str = "plimsoll-trial";

/// How a tree is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Blocks are shared until one side writes them (ioctl_ficlonerange(2)).
    Reflink,
    /// A writable snapshot of a Btrfs subvolume (btrfs-subvolume(8)).
    BtrfsSnapshot,
    /// Byte by byte; holes stay holes.
    Copy,
}

/// What a copy took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    pub files: u64,
    /// Sum of the files' sizes.
    pub bytes: u64,
}

/// The fastest way that works from a tree in `from` to a new one in the directory `to`. It is tried out with one file
/// of the tree and an empty subvolume, which are removed afterwards; a kill leaves them in `to`.
pub fn fastest(from: &Path, to: &Path) -> Way {
    let trial = to.join(format!("{TRIAL}-{}", std::process::id()));
    // Blocks are only shared within a file system, and so are snapshots.
    match shares(from, &trial) {
        true if is_subvolume(from) && makes_subvolumes(&trial) => Way::BtrfsSnapshot,
        true => Way::Reflink,
        false => Way::Copy,
    }
}

/// Whether files on the file system of `path` can share blocks, tried out with two unnamed files; true if that cannot
/// be tried.
pub fn can_share(path: &Path) -> bool {
    let nameless = || {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::open(nearest(path), flags, Mode::RUSR | Mode::WUSR).ok()?);
        file.write_all(&[1; 4096]).ok()?;
        Some(file)
    };
    match (nameless(), nameless()) {
        (Some(from), Some(to)) => ioctl_ficlone(to, from).is_ok(),
        _ => true,
    }
}

/// Whether `path` is on Btrfs.
pub fn is_btrfs(path: &Path) -> bool {
    is_on_btrfs(nearest(path))
}

/// The path, or the nearest existing directory above it.
fn nearest(path: &Path) -> &Path {
    path.ancestors().find(|ancestor| ancestor.is_dir()).unwrap_or(path)
}

/// Whether the first file found below `from` can be cloned.
fn shares(from: &Path, trial: &Path) -> bool {
    let cloned = |source: PathBuf| Some(ioctl_ficlone(File::create(trial).ok()?, File::open(source).ok()?).is_ok());
    let shares = first_file(from).and_then(cloned).unwrap_or(false);
    // Nothing could be done about it that would change the way.
    let _ = fs::remove_file(trial);
    shares
}

fn makes_subvolumes(trial: &Path) -> bool {
    let made = btrfs(&["create".as_ref(), trial]).is_ok();
    let _ = remove(trial);
    made
}

fn first_file(directory: &Path) -> Option<PathBuf> {
    let entries: Vec<fs::DirEntry> = fs::read_dir(directory).ok()?.flatten().collect();
    let is = |entry: &fs::DirEntry, file: bool| entry.metadata().is_ok_and(|facts| facts.is_file() == file);
    let file = entries.iter().find(|entry| is(entry, true)).map(fs::DirEntry::path);
    file.or_else(|| entries.iter().filter(|entry| is(entry, false)).find_map(|entry| first_file(&entry.path())))
}

/// Creates the new directory `path`, mode 0700: on Btrfs a subvolume if possible, so that snapshots of it can be taken.
///
/// # Errors
/// [`HostError::Io`] if it cannot be created, especially if it exists.
pub fn create(path: &Path) -> Result<(), ServerError> {
    if path.parent().is_some_and(is_on_btrfs) && btrfs(&["create".as_ref(), path]).is_ok() {
        return fs::set_permissions(path, fs::Permissions::from_mode(0o700)).during("restrict the mode of", path);
    }
    DirBuilder::new().mode(0o700).create(path).during("create", path)
}

/// Moves the tree `from` to the new directory `to` of the same file system: by renaming, or, if renaming would not make
/// it a subvolume, as a copy that shares its blocks.
///
/// # Errors
/// As [`copy`]; then `from` still exists.
pub fn take_in(from: &Path, to: &Path, go_on: &mut dyn FnMut() -> bool) -> Result<(), ServerError> {
    if is_subvolume(from) || !is_on_btrfs(from) {
        return rename(from, to).during("rename to", to);
    }
    copy(from, to, Way::Reflink, go_on)?;
    remove(from)
}

/// Copies the tree `from` to the new directory `to`. `go_on` is asked after each file and each 64 MiB.
///
/// # Errors
/// [`HostError::Io`] naming the file; [`ServerError::Interrupted`]. What was made is removed again.
pub fn copy(from: &Path, to: &Path, way: Way, go_on: &mut dyn FnMut() -> bool) -> Result<Copied, ServerError> {
    copy_part(from, to, way, &|_| true, go_on)
}

/// The same for only what is `wanted`, by its path in the tree: files, and directories with their wanted contents.
///
/// # Errors
/// As [`copy`].
pub fn copy_part(
    from: &Path,
    to: &Path,
    way: Way,
    wanted: &dyn Fn(&Path) -> bool,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Copied, ServerError> {
    match way {
        Way::BtrfsSnapshot => snapshot(from, to).during("take a Btrfs snapshot to", to)?,
        Way::Reflink | Way::Copy => create(to)?,
    }
    let copied = match way {
        Way::BtrfsSnapshot => thin_out(to, Path::new(""), wanted).and_then(|()| measure(to)),
        Way::Reflink | Way::Copy => {
            let mut copier = Copier { way, wanted, go_on, copied: Copied::default(), since_asked: 0 };
            copier.directory(from, to, Path::new("")).map(|()| copier.copied)
        }
    };
    let copied = copied.and_then(|copied| settle(to).map(|()| copied));
    if copied.is_err() {
        // The disk may be full: free what the attempt took.
        let _ = remove(to);
    }
    copied
}

/// Shares the blocks of all files of `from` with the new directory `to`, and returns without waiting for the disk,
/// because a server may be paused meanwhile. `go_on` is asked after each file.
///
/// # Errors
/// As [`copy`].
pub fn share(from: &Path, to: &Path, go_on: &mut dyn FnMut() -> bool) -> Result<Copied, ServerError> {
    create(to)?;
    let mut copier = Copier { way: Way::Reflink, wanted: &|_| true, go_on, copied: Copied::default(), since_asked: 0 };
    let shared = copier.directory(from, to, Path::new(""));
    let copied = copier.copied;
    if shared.is_err() {
        let _ = remove(to);
    }
    shared.map(|()| copied)
}

/// Removes a tree that [`copy`] made, a snapshot too (the kernel removes an empty subvolume like a directory since
/// Linux 4.18). Links in it are removed, never followed. A missing tree is success.
///
/// # Errors
/// [`HostError::Io`]; [`ServerError::Foreign`] if a link is in its place.
pub fn remove(path: &Path) -> Result<(), ServerError> {
    remove_tree(path).map(drop)
}

/// All regular files below `directory`: their paths in it, sorted, and their sizes.
///
/// # Errors
/// [`HostError::Io`], also for a symbolic link, because a copy of it would not be a copy of the data.
pub fn files(directory: &Path) -> Result<Vec<(PathBuf, u64)>, ServerError> {
    let mut found = Vec::new();
    gather(directory, Path::new(""), &mut found)?;
    found.sort();
    Ok(found)
}

fn gather(root: &Path, below: &Path, found: &mut Vec<(PathBuf, u64)>) -> Result<(), ServerError> {
    let directory = root.join(below);
    for entry in fs::read_dir(&directory).during("read", &directory)? {
        let entry = entry.during("read", &directory)?;
        let (path, name) = (entry.path(), below.join(entry.file_name()));
        let facts = entry.metadata().during("look at", &path)?;
        if facts.is_dir() {
            gather(root, &name, found)?;
        } else if facts.is_file() {
            found.push((name, facts.len()));
        } else if facts.is_symlink() {
            return Err(link(&path));
        }
    }
    Ok(())
}

fn link(path: &Path) -> ServerError {
    let source = io::Error::other("it is a symbolic link, and its target would not be copied with it");
    ServerError::Host(HostError::Io { action: "copy", path: path.to_owned(), source })
}

/// Removes from a snapshot what is not wanted.
fn thin_out(root: &Path, below: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<(), ServerError> {
    let directory = root.join(below);
    for entry in fs::read_dir(&directory).during("read", &directory)? {
        let entry = entry.during("read", &directory)?;
        let (path, name) = (entry.path(), below.join(entry.file_name()));
        let is_directory = entry.file_type().during("look at", &path)?.is_dir();
        match (wanted(&name), is_directory) {
            (true, true) => thin_out(root, &name, wanted)?,
            (true, false) => {}
            (false, true) => remove(&path)?,
            (false, false) => fs::remove_file(&path).during("remove", &path)?,
        }
    }
    Ok(())
}

fn measure(tree: &Path) -> Result<Copied, ServerError> {
    let files = files(tree)?;
    Ok(Copied { files: files.len() as u64, bytes: files.iter().map(|(_, bytes)| bytes).sum() })
}

/// Writes everything to disk, and drops it from the page cache.
///
/// # Errors
/// [`ServerError`] if something cannot be written or opened.
pub fn settle(tree: &Path) -> Result<(), ServerError> {
    File::open(tree).and_then(|directory| Ok(syncfs(directory)?)).during("write to disk", tree)?;
    for (name, _) in files(tree)? {
        let path = tree.join(name);
        forget(&File::open(&path).during("open", &path)?);
    }
    Ok(())
}

/// Asks the kernel to drop the clean pages of a file. It is only a hint.
pub(super) fn forget(file: &File) {
    let _ = fadvise(file, 0, None, Advice::DontNeed);
}

fn is_on_btrfs(path: &Path) -> bool {
    statfs(path).is_ok_and(|facts| facts.f_type == BTRFS)
}

fn is_subvolume(path: &Path) -> bool {
    is_on_btrfs(path) && fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir() && facts.ino() == SUBVOLUME_INODE)
}

fn snapshot(from: &Path, to: &Path) -> io::Result<()> {
    if !is_subvolume(from) {
        return Err(io::Error::other(format!("`{}` is not a Btrfs subvolume", from.display())));
    }
    match fs::symlink_metadata(to) {
        // The program would put the snapshot into an existing directory.
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => btrfs(&["snapshot".as_ref(), from, to]),
    }
}

/// `btrfs subvolume …` (btrfs-subvolume(8)).
fn btrfs(words: &[&Path]) -> io::Result<()> {
    let mut command = Command::new("btrfs");
    scrub(&mut command, Path::new("/"), Path::new("/tmp"));
    command.arg("subvolume").args(words).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = spawn(command, Lifetime::WithPlimsoll)?.wait_with_output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

/// A copy that is being made.
struct Copier<'a> {
    way: Way,
    wanted: &'a dyn Fn(&Path) -> bool,
    go_on: &'a mut dyn FnMut() -> bool,
    copied: Copied,
    since_asked: u64,
}

impl Copier<'_> {
    /// Fills the new directory `to`, which is `below` the root of the tree.
    fn directory(&mut self, from: &Path, to: &Path, below: &Path) -> Result<(), ServerError> {
        for entry in fs::read_dir(from).during("read", from)? {
            let entry = entry.during("read", from)?;
            let name = below.join(entry.file_name());
            if !(self.wanted)(&name) {
                continue;
            }
            let (source, target) = (entry.path(), to.join(entry.file_name()));
            let facts = entry.metadata().during("look at", &source)?;
            if facts.is_dir() {
                DirBuilder::new().mode(facts.mode() & 0o700).create(&target).during("create", &target)?;
                self.directory(&source, &target, &name)?;
            } else if facts.is_file() {
                self.file(&source, &target)?;
            } else if facts.is_symlink() {
                return Err(link(&source));
            }
        }
        Ok(())
    }

    fn file(&mut self, from: &Path, to: &Path) -> Result<(), ServerError> {
        let source = File::open(from).during("open", from)?;
        let facts = source.metadata().during("look at", from)?;
        let target = File::create_new(to).during("create", to)?;
        target.set_permissions(facts.permissions()).during("set the mode of", to)?;
        match self.way {
            Way::Copy => self.contents(&source, &target, to)?,
            Way::Reflink | Way::BtrfsSnapshot => {
                ioctl_ficlone(&target, &source).during("share the blocks of another file with", to)?;
            }
        }
        target.set_len(facts.len()).during("set the size of", to)?;
        if facts.blocks() * 512 >= facts.len() && facts.len() > 0 {
            allocate(&target, facts.len()).during("allocate", to)?;
        }
        self.copied.files += 1;
        self.copied.bytes += facts.len();
        self.ask(to)
    }

    /// Copies what is between holes.
    fn contents(&mut self, source: &File, target: &File, to: &Path) -> Result<(), ServerError> {
        let mut buffer = vec![0; BUFFER];
        let mut at = 0;
        while let Some((begin, end)) = next_data(source, at).during("find the data in the original of", to)? {
            at = begin;
            while at < end {
                let wanted = usize::try_from(end - at).unwrap_or(BUFFER).min(BUFFER);
                let read = source.read_at(&mut buffer[..wanted], at).during("read the original of", to)?;
                if read == 0 {
                    break;
                }
                target.write_all_at(&buffer[..read], at).during("write", to)?;
                at += read as u64;
                self.since_asked += read as u64;
                if self.since_asked >= STRIDE {
                    self.ask(to)?;
                }
            }
            at = end;
        }
        forget(source);
        Ok(())
    }

    fn ask(&mut self, at: &Path) -> Result<(), ServerError> {
        self.since_asked = 0;
        match (self.go_on)() {
            true => Ok(()),
            false => Err(ServerError::Interrupted { name: at.display().to_string() }),
        }
    }
}

/// Where the next data at or after `at` begin and end (lseek(2), SEEK_DATA and SEEK_HOLE).
fn next_data(file: &File, at: u64) -> io::Result<Option<(u64, u64)>> {
    match seek(file, SeekFrom::Data(at)) {
        Ok(begin) => Ok(Some((begin, seek(file, SeekFrom::Hole(begin))?))),
        // Only a hole up to the end.
        Err(Errno::NXIO) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Gives a file the allocated but unwritten blocks of its original, such as those of redo logs: otherwise each first
/// write would have to allocate some.
fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        // With it, writes would only be faster.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_testkit::servers;
    use std::os::unix::net::UnixListener;

    fn yes() -> bool {
        true
    }

    /// A file with a hole of 1 MiB between data and one behind, another that is all room, a socket.
    fn original() -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        let at = |name: &str| tree.path().join(name);
        fs::create_dir(at("db")).unwrap();
        let holes = File::create(at("db/t.ibd")).unwrap();
        holes.write_all_at(&[7; 4096], 0).unwrap();
        holes.write_all_at(&[9; 5000], 2 << 20).unwrap();
        holes.set_len(4 << 20).unwrap();
        fs::set_permissions(at("db/t.ibd"), fs::Permissions::from_mode(0o640)).unwrap();
        let room = File::create(at("redo")).unwrap();
        fallocate(&room, FallocateFlags::empty(), 0, 1 << 20).unwrap();
        drop(UnixListener::bind(at("s")).unwrap());
        tree
    }

    #[test]
    fn a_copy_keeps_bytes_modes_holes_and_room() {
        let (from, to) = (original(), tempfile::tempdir().unwrap());
        let copy = to.path().join("copy");
        let copied = super::copy(from.path(), &copy, Way::Copy, &mut yes).unwrap();
        assert_eq!(copied, Copied { files: 2, bytes: 5 << 20 });
        assert_eq!(fs::read(copy.join("db/t.ibd")).unwrap(), fs::read(from.path().join("db/t.ibd")).unwrap());
        let facts = |name: &str| fs::metadata(copy.join(name)).unwrap();
        assert_eq!((facts("db/t.ibd").mode() & 0o777, facts("").mode() & 0o777), (0o640, 0o700));
        assert!(facts("db/t.ibd").blocks() * 512 < 1 << 20, "holes were filled");
        assert!(facts("redo").blocks() * 512 >= 1 << 20, "room was lost");
        assert!(!copy.join("s").exists());
    }

    #[test]
    fn what_was_made_goes_if_somebody_stops_it_and_what_was_there_stays() {
        let (from, to) = (original(), tempfile::tempdir().unwrap());
        let copy = to.path().join("copy");
        let stopped = super::copy(from.path(), &copy, Way::Copy, &mut || false);
        assert!(matches!(stopped, Err(ServerError::Interrupted { .. })) && !copy.exists());
        fs::create_dir(&copy).unwrap();
        fs::write(copy.join("kept"), "").unwrap();
        assert!(super::copy(from.path(), &copy, Way::Copy, &mut yes).is_err());
        assert!(copy.join("kept").exists());
    }

    #[test]
    fn a_link_is_refused_and_removing_one_leaves_what_it_points_to() {
        let (from, to) = (original(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(to.path(), from.path().join("link")).unwrap();
        let message = super::copy(from.path(), &to.path().join("copy"), Way::Copy, &mut yes).unwrap_err().to_string();
        assert!(message.contains("link") && message.contains("symbolic"), "{message}");
        fs::write(to.path().join("kept"), "").unwrap();
        remove(&from.path().join("db")).unwrap();
        remove(from.path()).unwrap();
        assert!(to.path().join("kept").exists() && !from.path().exists());
    }

    #[test]
    fn a_full_disk_is_named_and_left_empty() {
        let Some(disk) = servers::tmpfs(1 << 20) else { return };
        let (from, to) = (tempfile::tempdir().unwrap(), disk.path().join("copy"));
        fs::write(from.path().join("large"), vec![1; 2 << 20]).unwrap();
        let message = super::copy(from.path(), &to, Way::Copy, &mut yes).unwrap_err().to_string();
        assert!(message.contains("large") && message.contains("No space left"), "{message}");
        assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 0);
    }

    #[test]
    fn trying_out_leaves_nothing() {
        let (from, disk) = (original(), tempfile::tempdir().unwrap());
        fastest(from.path(), disk.path());
        assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 0);
        let Some(memory) = servers::tmpfs(1 << 20) else { return };
        assert_eq!(fastest(from.path(), memory.path()), Way::Copy);
    }
}
