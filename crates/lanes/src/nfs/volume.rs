//! The export: each operation of a file system as the requests of NFSv3 (RFC 1813) that do it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fuser::{Errno, FileAttr, INodeNo};
use nfs3_client::nfs3_types::nfs3::*;
use nfs3_client::nfs3_types::xdr_codec::Opaque;

use super::attributes::{AttributeChange, file_attr};
use super::connection::NfsServer;
use super::nodes::{Node, NodePlace, Nodes};
use super::uncommitted::WriteVerifier;

/// How long the removal of a directory waits for files in it that were unlinked while open.
const HIDDEN_FOR: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(2);

/// A mounted export, and its known nodes.
#[derive(Debug)]
pub struct Volume {
    server: NfsServer,
    nodes: Nodes,
    /// How long attributes are trusted.
    age: Duration,
    /// The server acknowledges what its disk does not have.
    is_async: bool,
    /// Files hidden so far, part of their names.
    hidden: AtomicU64,
}

/// What a new file, directory or special file is.
#[derive(Debug)]
pub enum New<'a> {
    /// `exclusive`: it must not exist.
    File {
        exclusive: bool,
    },
    Directory,
    Symlink(&'a OsStr),
    Socket,
    Fifo,
}

/// One name of a directory, and what it names.
#[derive(Debug)]
pub struct DirectoryEntry {
    pub name: OsString,
    /// Where the next request continues.
    pub cookie: u64,
    pub attr: FileAttr,
    pub handle: nfs_fh3,
}

/// Some names of a directory.
#[derive(Debug)]
pub struct DirectoryPage {
    pub entries: Vec<DirectoryEntry>,
    /// Where the next request continues, past names that vanished before they could be returned.
    pub next: u64,
    pub verifier: cookieverf3,
    pub last: bool,
}

impl Volume {
    pub fn new(server: NfsServer, nodes: Nodes, age: Duration, is_async: bool) -> Self {
        Self { server, nodes, age, is_async, hidden: AtomicU64::new(0) }
    }

    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// The node of a number that the kernel uses.
    pub fn node(&self, ino: INodeNo) -> Result<Arc<Node>, Errno> {
        self.nodes.get(ino).ok_or(Errno::ESTALE)
    }

    /// Attributes that are recent enough; requested if there are none.
    pub fn attributes(&self, node: &Node) -> Result<FileAttr, Errno> {
        node.fresh(self.age).map_or_else(|| self.ask_attributes(node), Ok)
    }

    fn ask_attributes(&self, node: &Node) -> Result<FileAttr, Errno> {
        let attr = getattr(&self.server, &node.handle)?;
        node.remember(attr);
        Ok(attr)
    }

    /// Close-to-open: every open asks for the attributes.
    ///
    /// # Errors
    /// `ESTALE` for a file that somebody else has written: the kernel then looks its name up once more, finds the new
    /// generation, and drops what it had of the old one.
    pub fn open(&self, node: &Node) -> Result<(), Errno> {
        let attr = getattr(&self.server, &node.handle)?;
        if node.changed_elsewhere(&attr) {
            return Err(Errno::ESTALE);
        }
        node.remember(attr);
        node.opened();
        Ok(())
    }

    /// Closes a handle. With the last one, a file that was unlinked while open is removed, as in a kernel's client.
    pub fn close(&self, node: &Node) {
        if let Some(place) = node.closed() {
            // The error cannot be reported to whoever closes the file; the name stays, as after a crash.
            let _ = self.node(place.parent).and_then(|parent| self.remove_name(&parent, &place.name));
            node.has_gone();
        }
    }

    pub fn set_attributes(&self, node: &Node, change: AttributeChange) -> Result<FileAttr, Errno> {
        let args =
            SETATTR3args { object: node.handle.clone(), new_attributes: change.to_nfs(), guard: sattrguard3::None };
        let answer = self.server.call(NFS_PROGRAM::NFSPROC3_SETATTR, async |client| client.setattr(&args).await)?;
        self.settle(node, answer.obj_wcc.after)
    }

    /// Attributes that came with an answer, or are requested if none came.
    fn settle(&self, node: &Node, after: post_op_attr) -> Result<FileAttr, Errno> {
        match after {
            post_op_attr::Some(after) => {
                let attr = file_attr(&after);
                node.remember(attr);
                Ok(attr)
            }
            post_op_attr::None => self.ask_attributes(node),
        }
    }

    pub fn look_up(&self, parent: &Node, name: &OsStr) -> Result<(Arc<Node>, FileAttr), Errno> {
        let args = LOOKUP3args { what: at(parent, name) };
        let answer = self.server.call(NFS_PROGRAM::NFSPROC3_LOOKUP, async |client| client.lookup(&args).await)?;
        let attr = match answer.obj_attributes {
            post_op_attr::Some(attr) => file_attr(&attr),
            post_op_attr::None => getattr(&self.server, &answer.object)?,
        };
        Ok((self.nodes.found(NodePlace::new(parent.ino, name), answer.object, attr), attr))
    }

    /// Creates something, with the owner requested, or with the directory's group if that has its set-group-ID bit.
    pub fn create(
        &self,
        parent: &Node,
        name: &OsStr,
        new: New<'_>,
        mut change: AttributeChange,
    ) -> Result<(Arc<Node>, FileAttr), Errno> {
        if u32::from(self.attributes(parent)?.perm) & libc::S_ISGID != 0 {
            change.gid = None;
        }
        let (handle, attr) = self.send_create(parent, name, new, change.to_nfs())?;
        match (handle, attr) {
            (post_op_fh3::Some(handle), post_op_attr::Some(attr)) => {
                let attr = file_attr(&attr);
                Ok((self.nodes.found(NodePlace::new(parent.ino, name), handle, attr), attr))
            }
            _ => self.look_up(parent, name),
        }
    }

    fn send_create(
        &self,
        parent: &Node,
        name: &OsStr,
        new: New<'_>,
        set: sattr3,
    ) -> Result<(post_op_fh3, post_op_attr), Errno> {
        let where_ = at(parent, name);
        match new {
            New::File { exclusive } => {
                let how = if exclusive { createhow3::GUARDED(set) } else { createhow3::UNCHECKED(set) };
                let args = CREATE3args { where_, how };
                let made = self.server.call(NFS_PROGRAM::NFSPROC3_CREATE, async |client| client.create(&args).await)?;
                Ok((made.obj, made.obj_attributes))
            }
            New::Directory => {
                let args = MKDIR3args { where_, attributes: set };
                let made = self.server.call(NFS_PROGRAM::NFSPROC3_MKDIR, async |client| client.mkdir(&args).await)?;
                Ok((made.obj, made.obj_attributes))
            }
            New::Symlink(target) => {
                let symlink = symlinkdata3 { symlink_attributes: set, symlink_data: target.as_bytes().into() };
                let args = SYMLINK3args { where_, symlink };
                let made =
                    self.server.call(NFS_PROGRAM::NFSPROC3_SYMLINK, async |client| client.symlink(&args).await)?;
                Ok((made.obj, made.obj_attributes))
            }
            New::Socket | New::Fifo => {
                let socket = matches!(new, New::Socket);
                let what = if socket { mknoddata3::NF3SOCK(set) } else { mknoddata3::NF3FIFO(set) };
                let args = MKNOD3args { where_, what };
                let made = self.server.call(NFS_PROGRAM::NFSPROC3_MKNOD, async |client| client.mknod(&args).await)?;
                Ok((made.obj, made.obj_attributes))
            }
        }
    }

    pub fn link(&self, node: &Node, parent: &Node, name: &OsStr) -> Result<FileAttr, Errno> {
        let args = LINK3args { file: node.handle.clone(), link: at(parent, name) };
        let answer = self.server.call(NFS_PROGRAM::NFSPROC3_LINK, async |client| client.link(&args).await)?;
        self.settle(node, answer.file_attributes)
    }

    /// Removes a name. An open file is renamed instead, and removed when it is closed: the server does not know about
    /// open files and would remove it while it is in use.
    pub fn unlink(&self, parent: &Node, name: &OsStr) -> Result<(), Errno> {
        let place = NodePlace::new(parent.ino, name);
        let Some(node) = self.nodes.at(&place).filter(|node| node.is_open()) else {
            return self.remove_name(parent, name);
        };
        let aside = self.move_aside(&node, parent, name)?;
        self.nodes.removed(&place);
        self.hide(&node, parent, aside)
    }

    fn remove_name(&self, parent: &Node, name: &OsStr) -> Result<(), Errno> {
        let args = REMOVE3args { object: at(parent, name) };
        let removed = self.server.call_once(NFS_PROGRAM::NFSPROC3_REMOVE, async |client| client.remove(&args).await);
        if removed.is_ok() || removed.is_err_and(is_not_there) {
            self.nodes.removed(&NodePlace::new(parent.ino, name));
        }
        removed
    }

    /// Renames an open file to a name that nobody uses.
    fn move_aside(&self, node: &Node, parent: &Node, name: &OsStr) -> Result<NodePlace, Errno> {
        let aside = format!(".nfs{:016x}{:08x}", node.ino.0, self.hidden.fetch_add(1, Ordering::Relaxed));
        let aside = NodePlace::new(parent.ino, OsStr::new(&aside));
        self.send_rename(parent, name, parent, &aside.name)?;
        Ok(aside)
    }

    /// Leaves a hidden file to its last close, or removes it if it has been closed meanwhile.
    fn hide(&self, node: &Node, parent: &Node, aside: NodePlace) -> Result<(), Errno> {
        if node.hide(aside.clone()) { Ok(()) } else { self.remove_name(parent, &aside.name) }
    }

    /// Removes an empty directory. The kernel reports the last close of a file some time after `close` has returned, so
    /// a directory whose files were closed and then removed may still have hidden ones for a moment; this waits for
    /// them.
    pub fn remove_directory(&self, parent: &Node, name: &OsStr) -> Result<(), Errno> {
        let place = NodePlace::new(parent.ino, name);
        let directory = self.nodes.at(&place);
        let deadline = Instant::now() + HIDDEN_FOR;
        loop {
            let has_hidden = directory.as_ref().is_some_and(|directory| self.nodes.has_hidden(directory.ino));
            match self.send_rmdir(parent, name) {
                Err(error) if is_not_empty(error) && has_hidden && Instant::now() < deadline => thread::sleep(POLL),
                removed => {
                    if removed.is_ok() {
                        self.nodes.removed(&place);
                    }
                    return removed;
                }
            }
        }
    }

    fn send_rmdir(&self, parent: &Node, name: &OsStr) -> Result<(), Errno> {
        let args = RMDIR3args { object: at(parent, name) };
        self.server.call_once(NFS_PROGRAM::NFSPROC3_RMDIR, async |client| client.rmdir(&args).await)
    }

    /// Renames something. If an open file is replaced, it lives on under another name, as in [`Volume::unlink`].
    pub fn rename(&self, from: &Node, old: &OsStr, to: &Node, new: &OsStr) -> Result<(), Errno> {
        let (source, target) = (NodePlace::new(from.ino, old), NodePlace::new(to.ino, new));
        let moved = self.nodes.at(&source).map(|node| node.ino);
        // Of two names of one file neither is replaced.
        let replaced = self.nodes.at(&target).filter(|node| node.is_open() && Some(node.ino) != moved);
        let aside = replaced.map(|node| self.move_aside(&node, to, new).map(|aside| (node, aside))).transpose()?;
        if let Err(error) = self.send_rename(from, old, to, new) {
            if let Some((_, aside)) = aside {
                // If restoring it fails too, the same error is returned.
                let _ = self.send_rename(to, &aside.name, to, new);
            }
            return Err(error);
        }
        self.nodes.renamed(&source, target);
        aside.map_or(Ok(()), |(node, aside)| self.hide(&node, to, aside))
    }

    fn send_rename(&self, from: &Node, old: &OsStr, to: &Node, new: &OsStr) -> Result<(), Errno> {
        let args = RENAME3args { from: at(from, old), to: at(to, new) };
        self.server.call_once(NFS_PROGRAM::NFSPROC3_RENAME, async |client| client.rename(&args).await)
    }

    pub fn read_link(&self, node: &Node) -> Result<Vec<u8>, Errno> {
        let args = READLINK3args { symlink: node.handle.clone() };
        let answer = self.server.call(NFS_PROGRAM::NFSPROC3_READLINK, async |client| client.readlink(&args).await)?;
        Ok(answer.data.0.into_owned())
    }

    /// Up to `size` bytes from `offset`; fewer only at the end of the file.
    pub fn read(&self, node: &Node, offset: u64, size: u32) -> Result<Vec<u8>, Errno> {
        let mut data = Vec::new();
        loop {
            let (done, left) = progress(data.len(), size);
            let args = READ3args { file: node.handle.clone(), offset: offset + u64::from(done), count: left };
            let answer = self.server.call(NFS_PROGRAM::NFSPROC3_READ, async |client| client.read(&args).await)?;
            let part = answer.data.into_owned();
            if part.len() > left as usize || (part.is_empty() && !answer.eof) {
                return Err(Errno::EIO);
            }
            let whole = answer.eof || part.len() == left as usize;
            if data.is_empty() {
                data = part
            } else {
                data.extend_from_slice(&part)
            }
            if whole {
                return Ok(data);
            }
        }
    }

    /// Writes all of `data`: if `stable` as FILE_SYNC, which the server must have on its medium before it answers, else
    /// as UNSTABLE, which needs a COMMIT later.
    pub fn write(&self, node: &Node, offset: u64, data: &[u8], stable: bool) -> Result<(), Errno> {
        let asked = if stable && !self.is_async { stable_how::FILE_SYNC } else { stable_how::UNSTABLE };
        let mut done = 0;
        while done < data.len() {
            let rest = &data[done..];
            let args = WRITE3args {
                file: node.handle.clone(),
                offset: offset + done as u64,
                count: rest.len() as u32,
                stable: asked,
                data: Opaque::borrowed(rest),
            };
            let answer = self.server.call(NFS_PROGRAM::NFSPROC3_WRITE, async |client| client.write(&args).await)?;
            let written = answer.count as usize;
            if written == 0 || written > rest.len() || (answer.committed as u32) < asked as u32 {
                return Err(Errno::EIO);
            }
            // Of what such a server calls stable the client keeps nothing.
            if !stable && answer.committed != stable_how::FILE_SYNC {
                node.with_uncommitted(|uncommitted| uncommitted.wrote(answer.verf.0));
            }
            if let post_op_attr::Some(after) = answer.file_wcc.after {
                node.remember(file_attr(&after));
            }
            done += written;
        }
        Ok(())
    }

    /// Commits what the server acknowledged of a file, if anything is uncommitted.
    ///
    /// # Errors
    /// `EIO` when acknowledged data are lost, and then until the file is closed; the server's error.
    pub fn commit(&self, node: &Node) -> Result<(), Errno> {
        let _one_at_a_time = node.committing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = node.with_uncommitted(|uncommitted| uncommitted.take()) {
            self.commit_as(node, before)?;
        }
        if node.with_uncommitted(|uncommitted| uncommitted.lost()) { Err(Errno::EIO) } else { Ok(()) }
    }

    fn commit_as(&self, node: &Node, before: WriteVerifier) -> Result<(), Errno> {
        if self.is_async {
            // One round trip, as a COMMIT takes whose server says yes at once.
            node.remember(getattr(&self.server, &node.handle)?);
            return Ok(());
        }
        // From 0 for 0 bytes: the whole file.
        let args = COMMIT3args { file: node.handle.clone(), offset: 0, count: 0 };
        let answer = self.server.call(NFS_PROGRAM::NFSPROC3_COMMIT, async |client| client.commit(&args).await);
        let after = answer.as_ref().ok().map(|answer| answer.verf.0);
        node.with_uncommitted(|uncommitted| uncommitted.committed(before, after));
        if let post_op_attr::Some(after) = answer?.file_wcc.after {
            node.remember(file_attr(&after));
        }
        Ok(())
    }

    /// The names after `cookie` (0: from the first), as many as about `bytes` hold.
    pub fn read_directory(
        &self,
        node: &Node,
        cookie: u64,
        verifier: cookieverf3,
        bytes: u32,
    ) -> Result<DirectoryPage, Errno> {
        first_with_names(cookie, verifier, |cookie, verifier| self.read_page(node, cookie, verifier, bytes))
    }

    fn read_page(&self, node: &Node, cookie: u64, cookieverf: cookieverf3, bytes: u32) -> Result<DirectoryPage, Errno> {
        let args = READDIRPLUS3args { dir: node.handle.clone(), cookie, cookieverf, dircount: bytes, maxcount: bytes };
        let kind = NFS_PROGRAM::NFSPROC3_READDIRPLUS;
        let answer = self.server.call(kind, async |client| client.readdirplus(&args).await)?;
        let listed = answer.reply.entries.into_inner();
        let last = answer.reply.eof;
        // Neither names nor the end: there is nothing to continue from.
        let next = listed.last().map(|entry| entry.cookie).or(last.then_some(cookie)).ok_or(Errno::EIO)?;
        let entries = listed.into_iter().filter_map(|entry| self.entry(node, entry).transpose());
        Ok(DirectoryPage { entries: entries.collect::<Result<_, _>>()?, next, verifier: answer.cookieverf, last })
    }

    /// A listed name with its attributes, requested if the server left them out; `None` if it has vanished.
    fn entry(&self, parent: &Node, listed: entryplus3<'_>) -> Result<Option<DirectoryEntry>, Errno> {
        let (cookie, name) = (listed.cookie, OsString::from_vec(listed.name.0.into_owned()));
        if let (post_op_attr::Some(attr), post_op_fh3::Some(handle)) = (listed.name_attributes, listed.name_handle) {
            return Ok(Some(DirectoryEntry { name, cookie, attr: file_attr(&attr), handle }));
        }
        let args = LOOKUP3args { what: at(parent, &name) };
        match self.server.call(NFS_PROGRAM::NFSPROC3_LOOKUP, async |client| client.lookup(&args).await) {
            Ok(found) => {
                let attr = getattr(&self.server, &found.object)?;
                Ok(Some(DirectoryEntry { name, cookie, attr, handle: found.object }))
            }
            Err(error) if is_not_there(error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sizes and free space of the server's file system.
    pub fn statistics(&self, node: &Node) -> Result<FSSTAT3resok, Errno> {
        let args = FSSTAT3args { fsroot: node.handle.clone() };
        self.server.call(NFS_PROGRAM::NFSPROC3_FSSTAT, async |client| client.fsstat(&args).await)
    }
}

/// The attributes of a handle, from the server.
pub fn getattr(server: &NfsServer, handle: &nfs_fh3) -> Result<FileAttr, Errno> {
    let args = GETATTR3args { object: handle.clone() };
    let answer = server.call(NFS_PROGRAM::NFSPROC3_GETATTR, async |client| client.getattr(&args).await)?;
    Ok(file_attr(&answer.obj_attributes))
}

/// What the server allows and prefers.
pub fn limits(server: &NfsServer, root: &nfs_fh3) -> Result<FSINFO3resok, Errno> {
    let args = FSINFO3args { fsroot: root.clone() };
    server.call(NFS_PROGRAM::NFSPROC3_FSINFO, async |client| client.fsinfo(&args).await)
}

fn at<'a>(parent: &Node, name: &'a OsStr) -> diropargs3<'a> {
    diropargs3 { dir: parent.handle.clone(), name: name.as_bytes().into() }
}

/// The first page that has a name or is the last: a page whose names have all vanished would look like the end.
fn first_with_names(
    cookie: u64,
    verifier: cookieverf3,
    mut read: impl FnMut(u64, cookieverf3) -> Result<DirectoryPage, Errno>,
) -> Result<DirectoryPage, Errno> {
    let mut page = read(cookie, verifier)?;
    while page.entries.is_empty() && !page.last {
        page = read(page.next, page.verifier)?;
    }
    Ok(page)
}

fn is_not_there(error: Errno) -> bool {
    i32::from(error) == libc::ENOENT
}

fn is_not_empty(error: Errno) -> bool {
    [libc::ENOTEMPTY, libc::EEXIST].contains(&error.into())
}

/// How much of a read is done and how much is left, bytes.
fn progress(done: usize, size: u32) -> (u32, u32) {
    let done = u32::try_from(done).unwrap_or(size).min(size);
    (done, size - done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_whose_names_have_all_gone_is_not_the_end() {
        let page =
            |next, last| DirectoryPage { entries: Vec::new(), next, verifier: cookieverf3([next as u8; 8]), last };
        let mut asked = Vec::new();
        let found = first_with_names(3, cookieverf3::default(), |cookie, verifier| {
            asked.push((cookie, verifier.0[0]));
            Ok(page(cookie + 1, cookie == 5))
        });
        assert!(found.unwrap().last);
        assert_eq!(asked, [(3, 0), (4, 4), (5, 5)], "each goes on where the one before it ended");
    }
}
