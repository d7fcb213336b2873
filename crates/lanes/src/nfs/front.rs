//! The kernel's requests, handed to the [`Volume`].

use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyDirectoryPlus,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use nfs3_client::nfs3_types::nfs3::cookieverf3;

use super::attributes::AttributeChange;
use super::nodes::{Handles, Node, NodePlace};
use super::volume::{DirectoryEntry, New, Volume};

/// The most background requests of the kernel (read-ahead, write-back, asynchronous I/O) at one time: fewer than there
/// are threads, so that one is left for requests that a caller waits for.
pub const BACKGROUND: u16 = 48;
/// Bytes of names asked for at a time.
const DIRECTORY_BYTES: u32 = 32 * 1024;
/// Unit of statfs, bytes.
const BLOCK: u32 = 4096;
const LONGEST_NAME: u32 = 255;

/// What the kernel must support for a database's file system.
const NEEDED: InitFlags = InitFlags::FUSE_WRITEBACK_CACHE.union(InitFlags::FUSE_ASYNC_DIO);
/// What it should support if it can.
const WANTED: InitFlags = InitFlags::FUSE_PARALLEL_DIROPS
    .union(InitFlags::FUSE_DO_READDIRPLUS)
    .union(InitFlags::FUSE_READDIRPLUS_AUTO)
    .union(InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP);

/// The file system as FUSE sees it.
#[derive(Debug)]
pub struct Front {
    volume: Volume,
    /// How long the kernel trusts names and attributes.
    age: Duration,
    wsize: u32,
    files: Handles<Node>,
    directories: Handles<Directory>,
}

/// An open directory.
#[derive(Debug)]
struct Directory {
    node: Arc<Node>,
    listed: Mutex<Listed>,
}

/// How far a directory was read.
#[derive(Debug, Default)]
struct Listed {
    /// The server's verifier: the cookies are still valid.
    verifier: cookieverf3,
    /// The cookie after which the server said that there are no more names.
    end: Option<u64>,
}

impl Front {
    pub fn new(volume: Volume, age: Duration, wsize: u32) -> Self {
        Self { volume, age, wsize, files: Handles::default(), directories: Handles::default() }
    }

    fn file(&self, handle: FileHandle) -> Result<Arc<Node>, Errno> {
        self.files.get(handle).ok_or(Errno::EBADF)
    }

    fn enter(&self, reply: ReplyEntry, found: Result<(Arc<Node>, FileAttr), Errno>) {
        match found {
            Ok((node, attr)) => reply.entry(&self.age, &attr, Generation(node.generation)),
            Err(error) => reply.error(error),
        }
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        new: New<'_>,
    ) -> Result<(Arc<Node>, FileAttr), Errno> {
        let change = AttributeChange {
            mode: Some(mode),
            uid: Some(request.uid()),
            gid: Some(request.gid()),
            ..AttributeChange::default()
        };
        self.volume.create(&*self.volume.node(parent)?, name, new, change)
    }

    /// Names after `offset` of an open directory.
    fn names(&self, handle: FileHandle, offset: u64) -> Result<(Arc<Directory>, Vec<DirectoryEntry>), Errno> {
        let directory = self.directories.get(handle).ok_or(Errno::EBADF)?;
        let mut listed = directory.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if offset == 0 {
            *listed = Listed::default();
        }
        if listed.end == Some(offset) {
            drop(listed);
            return Ok((directory, Vec::new()));
        }
        let page = self.volume.read_directory(&directory.node, offset, listed.verifier, DIRECTORY_BYTES)?;
        listed.verifier = page.verifier;
        listed.end = page.last.then(|| page.entries.last().map_or(offset, |entry| entry.cookie));
        drop(listed);
        Ok((directory, page.entries))
    }
}

/// How a file is opened. With O_DIRECT the page cache is bypassed and writers do not wait for each other. The cache of
/// other handles is kept: [`Volume::open`] has just asked whether it is still valid.
fn open_flags(flags: i32) -> FopenFlags {
    if flags & libc::O_DIRECT != 0 {
        FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
    } else {
        FopenFlags::FOPEN_KEEP_CACHE
    }
}

fn is_dot(name: &OsStr) -> bool {
    name == "." || name == ".."
}

fn finish(reply: ReplyEmpty, result: Result<(), Errno>) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

impl Filesystem for Front {
    fn init(&mut self, _request: &Request, kernel: &mut KernelConfig) -> std::io::Result<()> {
        let unsupported = std::io::ErrorKind::Unsupported;
        kernel.add_capabilities(NEEDED).map_err(|_| unsupported)?;
        kernel.add_capabilities(WANTED & kernel.capabilities()).map_err(|_| unsupported)?;
        // Fails only for 0 and for more than a request can carry, which `Options::check` has refused before.
        kernel.set_max_write(self.wsize).map_err(|_| unsupported)?;
        kernel.set_max_background(BACKGROUND).map_err(|_| unsupported)?;
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.enter(reply, self.volume.node(parent).and_then(|parent| self.volume.look_up(&parent, name)));
    }

    fn forget(&self, _request: &Request, ino: INodeNo, lookups: u64) {
        self.volume.nodes().forget(ino, lookups);
    }

    fn getattr(&self, _request: &Request, ino: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        match self.volume.node(ino).and_then(|node| self.volume.attributes(&node)) {
            Ok(attr) => reply.attr(&self.age, &attr),
            Err(error) => reply.error(error),
        }
    }

    fn setattr(
        &self,
        _request: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        ctime: Option<SystemTime>,
        handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let change = AttributeChange { mode, uid, gid, size, atime, mtime };
        let set = self.volume.node(ino).and_then(|node| {
            let times = is_write_back_of_times(&change, ctime);
            if times && (handle.is_some() || self.volume.nodes().is_nameless(ino)) {
                return Ok(node.attr());
            }
            match self.volume.set_attributes(&node, change) {
                // A removed file needs no times, and syncfs(2) would fail with this error.
                Err(error) if times && i32::from(error) == libc::ESTALE => Ok(node.attr()),
                set => set,
            }
        });
        match set {
            Ok(attr) => reply.attr(&self.age, &attr),
            Err(error) => reply.error(error),
        }
    }

    fn readlink(&self, _request: &Request, ino: INodeNo, reply: ReplyData) {
        match self.volume.node(ino).and_then(|node| self.volume.read_link(&node)) {
            Ok(target) => reply.data(&target),
            Err(error) => reply.error(error),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        _device: u32,
        reply: ReplyEntry,
    ) {
        let new = match mode & libc::S_IFMT {
            libc::S_IFREG => New::File { exclusive: true },
            libc::S_IFSOCK => New::Socket,
            libc::S_IFIFO => New::Fifo,
            _ => return reply.error(Errno::EPERM),
        };
        self.enter(reply, self.create(request, parent, name, mode, new));
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _umask: u32, reply: ReplyEntry) {
        self.enter(reply, self.create(request, parent, name, mode, New::Directory));
    }

    fn unlink(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        finish(reply, self.volume.node(parent).and_then(|parent| self.volume.unlink(&parent, name)));
    }

    fn rmdir(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        finish(reply, self.volume.node(parent).and_then(|parent| self.volume.remove_directory(&parent, name)));
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        self.enter(reply, self.create(request, parent, name, 0o777, New::Symlink(target.as_os_str())));
    }

    fn rename(
        &self,
        _request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        // The protocol has neither an exchange nor a rename that does not replace.
        if !flags.is_empty() {
            return reply.error(Errno::EINVAL);
        }
        let renamed = self.volume.node(parent).and_then(|from| {
            let to = self.volume.node(new_parent)?;
            self.volume.rename(&from, name, &to, new_name)
        });
        finish(reply, renamed);
    }

    fn link(&self, _request: &Request, ino: INodeNo, new_parent: INodeNo, new_name: &OsStr, reply: ReplyEntry) {
        let linked = self.volume.node(ino).and_then(|node| {
            let attr = self.volume.link(&node, &*self.volume.node(new_parent)?, new_name)?;
            Ok((self.volume.nodes().found(NodePlace::new(new_parent, new_name), node.handle.clone(), attr), attr))
        });
        self.enter(reply, linked);
    }

    fn open(&self, _request: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let opened = self.volume.node(ino).and_then(|node| {
            self.volume.open(&node)?;
            Ok(node)
        });
        match opened {
            Ok(node) => reply.opened(self.files.insert(node), open_flags(flags.0)),
            Err(error) => reply.error(error),
        }
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let new = New::File { exclusive: flags & libc::O_EXCL != 0 };
        match self.create(request, parent, name, mode, new) {
            Ok((node, attr)) => {
                node.opened();
                let generation = Generation(node.generation);
                reply.created(&self.age, &attr, generation, self.files.insert(node), open_flags(flags));
            }
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        _request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.file(handle).and_then(|node| self.volume.read(&node, offset, size)) {
            Ok(data) => reply.data(&data),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _request: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        // Writes from the page cache are followed by an fsync or a close; everything else is direct.
        let cached = write_flags.contains(WriteFlags::FUSE_WRITE_CACHE);
        let node = if cached { self.volume.node(ino) } else { self.file(handle) };
        match node.and_then(|node| self.volume.write(&node, offset, data, !cached)) {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(error),
        }
    }

    fn flush(&self, _request: &Request, _ino: INodeNo, handle: FileHandle, _owner: LockOwner, reply: ReplyEmpty) {
        finish(reply, self.file(handle).and_then(|node| self.volume.commit(&node)));
    }

    fn fsync(&self, _request: &Request, _ino: INodeNo, handle: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        finish(reply, self.file(handle).and_then(|node| self.volume.commit(&node)));
    }

    fn release(
        &self,
        _request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        if let Some(node) = self.files.remove(handle) {
            self.volume.close(&node);
        }
        reply.ok();
    }

    fn opendir(&self, _request: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match self.volume.node(ino) {
            Ok(node) => {
                let directory = Arc::new(Directory { node, listed: Mutex::default() });
                reply.opened(self.directories.insert(directory), FopenFlags::empty());
            }
            Err(error) => reply.error(error),
        }
    }

    fn readdir(&self, _request: &Request, _ino: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        match self.names(handle, offset) {
            Ok((_, names)) => {
                for entry in names {
                    if reply.add(entry.attr.ino, entry.cookie, entry.attr.kind, &entry.name) {
                        break;
                    }
                }
                reply.ok();
            }
            Err(error) => reply.error(error),
        }
    }

    fn readdirplus(
        &self,
        _request: &Request,
        _ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let (directory, names) = match self.names(handle, offset) {
            Ok(names) => names,
            Err(error) => return reply.error(error),
        };
        for entry in names {
            // The kernel keeps nothing of these two.
            if is_dot(&entry.name) {
                let ino = entry.attr.ino;
                if reply.add(ino, entry.cookie, &entry.name, &Duration::ZERO, &entry.attr, Generation(0)) {
                    break;
                }
                continue;
            }
            let place = NodePlace::new(directory.node.ino, &entry.name);
            let node = self.volume.nodes().found(place, entry.handle, entry.attr);
            let generation = Generation(node.generation);
            if reply.add(node.ino, entry.cookie, &entry.name, &self.age, &entry.attr, generation) {
                self.volume.nodes().forget(node.ino, 1);
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(&self, _request: &Request, _ino: INodeNo, handle: FileHandle, _flags: OpenFlags, reply: ReplyEmpty) {
        self.directories.remove(handle);
        reply.ok();
    }

    /// A server answers a change of a directory once it is on its medium (RFC 1813 section 4.8).
    fn fsyncdir(&self, _request: &Request, _ino: INodeNo, _handle: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn statfs(&self, _request: &Request, ino: INodeNo, reply: ReplyStatfs) {
        match self.volume.node(ino).and_then(|node| self.volume.statistics(&node)) {
            Ok(found) => {
                let blocks = |bytes: u64| bytes / u64::from(BLOCK);
                let (all, free, usable) = (blocks(found.tbytes), blocks(found.fbytes), blocks(found.abytes));
                reply.statfs(all, free, usable, found.tfiles, found.ffiles, BLOCK, LONGEST_NAME, BLOCK);
            }
            Err(error) => reply.error(error),
        }
    }
}

/// Whether this may be the kernel writing back the times of a file, which it keeps with its pages: before each fsync by
/// an open handle, and again for a file without a name. The server has set them itself with each WRITE, and a client in
/// the kernel sends no such request. Times set by a program come together with the access time, or by a name.
fn is_write_back_of_times(change: &AttributeChange, ctime: Option<SystemTime>) -> bool {
    let times_only = AttributeChange { mtime: None, ..*change } == AttributeChange::default();
    ctime.is_some() && change.mtime.is_some() && times_only
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn only_times_of_the_kernel_are_kept_back() {
        let mtime = Some(TimeOrNow::SpecificTime(UNIX_EPOCH));
        let times = AttributeChange { mtime, ..AttributeChange::default() };
        assert!(is_write_back_of_times(&times, Some(UNIX_EPOCH)));
        assert!(!is_write_back_of_times(&times, None));
        assert!(!is_write_back_of_times(&AttributeChange { atime: mtime, ..times }, Some(UNIX_EPOCH)));
        assert!(!is_write_back_of_times(&AttributeChange { size: Some(0), ..times }, Some(UNIX_EPOCH)));
        assert!(!is_write_back_of_times(&AttributeChange::default(), Some(UNIX_EPOCH)));
    }

    #[test]
    fn only_direct_handles_bypass_the_page_cache() {
        assert_eq!(open_flags(libc::O_RDWR), FopenFlags::FOPEN_KEEP_CACHE);
        assert!(open_flags(libc::O_RDWR | libc::O_DIRECT).contains(FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES));
    }
}
