//! The files and directories that the kernel knows, and what is known of each here.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fuser::{FileAttr, FileType, INodeNo};
use nfs3_client::nfs3_types::nfs3::nfs_fh3;

use super::uncommitted::Uncommitted;

/// A file or directory. Its number for the kernel is the server's (`fileid`), so that `ls -i` shows the same on both
/// sides; `generation` distinguishes a file from an earlier one with that number.
#[derive(Debug)]
pub struct Node {
    pub ino: INodeNo,
    pub generation: u64,
    pub handle: nfs_fh3,
    /// Held while a COMMIT is under way: a second fsync that finds nothing left to commit must not end before it.
    pub committing: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    attr: FileAttr,
    asked: Instant,
    /// How many handles are open, mappings included.
    opens: u32,
    uncommitted: Uncommitted,
    /// Where the file was moved when its name was removed while it was open.
    unlinked: Option<NodePlace>,
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NodePlace {
    pub parent: INodeNo,
    pub name: OsString,
}

impl NodePlace {
    pub fn new(parent: INodeNo, name: &OsStr) -> Self {
        Self { parent, name: name.to_owned() }
    }
}

impl Node {
    fn new(ino: INodeNo, generation: u64, handle: nfs_fh3, attr: FileAttr) -> Self {
        let asked = Instant::now();
        let state = State { attr, asked, opens: 0, uncommitted: Uncommitted::default(), unlinked: None };
        Self { ino, generation, handle, committing: Mutex::default(), state: Mutex::new(state) }
    }

    /// Takes attributes that the server has just sent. Answers overtake each other; an older one changes nothing.
    pub fn remember(&self, attr: FileAttr) {
        let mut state = self.state();
        if attr.ctime >= state.attr.ctime {
            state.attr = attr;
            state.asked = Instant::now();
        }
    }

    /// The attributes as last heard, which may be long ago.
    pub fn attr(&self) -> FileAttr {
        self.state().attr
    }

    /// The attributes, if they were heard within `age`.
    pub fn fresh(&self, age: Duration) -> Option<FileAttr> {
        let state = self.state();
        (state.asked.elapsed() < age).then_some(state.attr)
    }

    /// Whether these attributes show a write by somebody else: newer than those known, with another size or
    /// modification time, and the file is not open here. While it is open, the kernel's own size and pages count.
    pub fn changed_elsewhere(&self, attr: &FileAttr) -> bool {
        let state = self.state();
        attr.kind == FileType::RegularFile
            && state.opens == 0
            && attr.ctime > state.attr.ctime
            && (attr.size, attr.mtime) != (state.attr.size, state.attr.mtime)
    }

    pub fn opened(&self) {
        self.state().opens += 1;
    }

    /// One handle less. After the last one, a loss has been reported to everybody that it could be, and the name that
    /// an unlinked file still had on the server is returned to be removed.
    pub fn closed(&self) -> Option<NodePlace> {
        let mut state = self.state();
        state.opens = state.opens.saturating_sub(1);
        if state.opens > 0 {
            return None;
        }
        state.uncommitted = Uncommitted::default();
        state.unlinked.clone()
    }

    pub fn is_open(&self) -> bool {
        self.state().opens > 0
    }

    /// The file has lost its name and lives on as `hidden` until it is closed. False if it is closed already: then the
    /// caller has to remove that name.
    pub fn hide(&self, hidden: NodePlace) -> bool {
        let mut state = self.state();
        let is_open = state.opens > 0;
        state.unlinked = is_open.then_some(hidden);
        is_open
    }

    /// Its hidden name has been removed.
    pub fn has_gone(&self) {
        self.state().unlinked = None;
    }

    fn is_hidden_in(&self, directory: INodeNo) -> bool {
        self.state().unlinked.as_ref().is_some_and(|hidden| hidden.parent == directory)
    }

    pub fn with_uncommitted<R>(&self, act: impl FnOnce(&mut Uncommitted) -> R) -> R {
        act(&mut self.state().uncommitted)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Every node whose number the kernel may still use.
#[derive(Debug)]
pub struct Nodes {
    table: Mutex<Table>,
}

#[derive(Debug)]
struct Table {
    known: HashMap<INodeNo, Known>,
    /// What each name last referred to.
    names: HashMap<NodePlace, INodeNo>,
}

#[derive(Debug)]
struct Known {
    node: Arc<Node>,
    /// How often the kernel was given the number, minus how often it has forgotten it.
    lookups: u64,
    /// Its names, as the table has them.
    places: Vec<NodePlace>,
}

impl Known {
    fn new(node: Arc<Node>) -> Self {
        Self { node, lookups: 1, places: Vec::new() }
    }
}

impl Table {
    fn name(&mut self, place: NodePlace, ino: INodeNo) {
        if self.names.get(&place) == Some(&ino) {
            return;
        }
        self.take_name(&place);
        if let Some(known) = self.known.get_mut(&ino) {
            known.places.push(place.clone());
            self.names.insert(place, ino);
        }
    }

    fn take_name(&mut self, place: &NodePlace) -> Option<INodeNo> {
        let ino = self.names.remove(place)?;
        if let Some(known) = self.known.get_mut(&ino) {
            known.places.retain(|one| one != place);
        }
        Some(ino)
    }

    fn remove(&mut self, ino: INodeNo) {
        for place in self.known.remove(&ino).into_iter().flat_map(|known| known.places) {
            self.names.remove(&place);
        }
    }
}

impl Nodes {
    /// A tree with only its root known. FUSE gives it number 1, whatever the server does.
    pub fn new(root: nfs_fh3, attr: FileAttr) -> Self {
        let node = Arc::new(Node::new(INodeNo::ROOT, 0, root, attr));
        let known = HashMap::from([(INodeNo::ROOT, Known::new(node))]);
        Self { table: Mutex::new(Table { known, names: HashMap::new() }) }
    }

    pub fn get(&self, ino: INodeNo) -> Option<Arc<Node>> {
        self.table().known.get(&ino).map(|known| known.node.clone())
    }

    /// The node of what the server found at `place`, before the kernel is told.
    ///
    /// A known number with another handle is another file; a known file that somebody else has written gets a new
    /// generation, too: the kernel then drops the pages and the size that it has of it, which with its write-back
    /// cache it would otherwise believe for as long as it knows the file.
    pub fn found(&self, place: NodePlace, handle: nfs_fh3, attr: FileAttr) -> Arc<Node> {
        let mut table = self.table();
        let node = match table.known.get_mut(&attr.ino) {
            None => {
                let node = Arc::new(Node::new(attr.ino, 0, handle, attr));
                table.known.insert(attr.ino, Known::new(node.clone()));
                node
            }
            Some(known) => {
                known.lookups += 1;
                if known.node.handle != handle || known.node.changed_elsewhere(&attr) {
                    known.node = Arc::new(Node::new(attr.ino, known.node.generation + 1, handle, attr));
                } else {
                    known.node.remember(attr);
                }
                known.node.clone()
            }
        };
        table.name(place, attr.ino);
        node
    }

    /// The kernel drops `lookups` of its references.
    pub fn forget(&self, ino: INodeNo, lookups: u64) {
        let mut table = self.table();
        let Some(known) = table.known.get_mut(&ino).filter(|_| ino != INodeNo::ROOT) else { return };
        known.lookups = known.lookups.saturating_sub(lookups);
        if known.lookups == 0 {
            table.remove(ino);
        }
    }

    /// The node last seen at a place.
    pub fn at(&self, place: &NodePlace) -> Option<Arc<Node>> {
        let table = self.table();
        table.names.get(place).and_then(|ino| table.known.get(ino)).map(|known| known.node.clone())
    }

    /// Whether no name of it is known any more: the kernel may still write back its times.
    pub fn is_nameless(&self, ino: INodeNo) -> bool {
        self.table().known.get(&ino).is_none_or(|known| known.places.is_empty())
    }

    /// Whether files that were unlinked while they were open still have names in this directory.
    pub fn has_hidden(&self, directory: INodeNo) -> bool {
        self.table().known.values().any(|known| known.node.is_hidden_in(directory))
    }

    /// What was at `from` is now at `to`, and what was there has lost that name. Two names of one file both stay, as
    /// rename(2) demands.
    pub fn renamed(&self, from: &NodePlace, to: NodePlace) {
        let mut table = self.table();
        if table.names.get(from) == table.names.get(&to) {
            return;
        }
        table.take_name(&to);
        if let Some(ino) = table.take_name(from) {
            table.name(to, ino);
        }
    }

    /// Nothing is at `place` any more.
    pub fn removed(&self, place: &NodePlace) {
        self.table().take_name(place);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Numbered handles for what the kernel has open.
#[derive(Debug)]
pub struct Handles<T> {
    next: AtomicU64,
    open: Mutex<HashMap<u64, Arc<T>>>,
}

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Self { next: AtomicU64::new(1), open: Mutex::default() }
    }
}

impl<T> Handles<T> {
    pub fn insert(&self, value: Arc<T>) -> fuser::FileHandle {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.open().insert(number, value);
        fuser::FileHandle(number)
    }

    pub fn get(&self, handle: fuser::FileHandle) -> Option<Arc<T>> {
        self.open().get(&handle.0).cloned()
    }

    pub fn remove(&self, handle: fuser::FileHandle) -> Option<Arc<T>> {
        self.open().remove(&handle.0)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Arc<T>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    const FILE: INodeNo = INodeNo(131);
    const OTHER: INodeNo = INodeNo(132);

    fn attr(size: u64, second: u64) -> FileAttr {
        let time = UNIX_EPOCH + Duration::from_secs(second);
        FileAttr {
            ino: FILE,
            size,
            blocks: 0,
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind: FileType::RegularFile,
            perm: 0o600,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }

    fn handle(byte: u8) -> nfs_fh3 {
        nfs_fh3 { data: vec![byte].into() }
    }

    fn here(name: &str) -> NodePlace {
        NodePlace::new(INodeNo::ROOT, OsStr::new(name))
    }

    fn tree() -> Nodes {
        Nodes::new(handle(0), FileAttr { ino: INodeNo(128), kind: FileType::Directory, ..attr(0, 0) })
    }

    #[test]
    fn a_file_is_known_until_the_kernel_forgets_it() {
        let nodes = tree();
        let first = nodes.found(here("ibdata1"), handle(1), attr(10, 1));
        let again = nodes.found(here("ibdata1"), handle(1), attr(10, 1));
        assert!(Arc::ptr_eq(&first, &again));
        nodes.forget(FILE, 1);
        assert!(nodes.get(FILE).is_some());
        nodes.forget(FILE, 1);
        assert!(nodes.get(FILE).is_none());
        nodes.forget(INodeNo::ROOT, 99);
        assert!(nodes.get(INodeNo::ROOT).is_some());
    }

    #[test]
    fn a_write_by_somebody_else_is_a_new_generation_unless_the_file_is_open() {
        let nodes = tree();
        let node = nodes.found(here("t.ibd"), handle(1), attr(10, 1));
        node.opened();
        assert_eq!(nodes.found(here("t.ibd"), handle(1), attr(20, 2)).generation, 0);
        assert_eq!(node.attr().size, 20);
        assert_eq!(node.closed(), None);
        assert_eq!(nodes.found(here("t.ibd"), handle(1), attr(20, 2)).generation, 0);
        assert_eq!(nodes.found(here("t.ibd"), handle(1), attr(30, 3)).generation, 1);
        assert_eq!(nodes.found(here("t.ibd"), handle(1), attr(20, 2)).generation, 1, "an answer that was overtaken");
        assert_eq!(nodes.found(here("t.ibd"), handle(2), attr(0, 9)).generation, 2, "another file of the same number");
    }

    #[test]
    fn attributes_age_and_older_answers_change_nothing() {
        let nodes = tree();
        let node = nodes.found(here("t.ibd"), handle(1), attr(10, 5));
        node.remember(attr(8, 4));
        assert_eq!(node.fresh(Duration::from_secs(60)), Some(attr(10, 5)));
        assert_eq!(node.fresh(Duration::ZERO), None);
    }

    #[test]
    fn names_follow_renames_and_the_one_replaced_is_lost() {
        let nodes = tree();
        let node = nodes.found(here("a"), handle(1), attr(10, 1));
        let other = nodes.found(here("b"), handle(2), FileAttr { ino: OTHER, ..attr(10, 1) });
        nodes.renamed(&here("a"), here("b"));
        assert!(nodes.at(&here("a")).is_none() && nodes.is_nameless(other.ino));
        assert!(Arc::ptr_eq(&nodes.at(&here("b")).unwrap(), &node));
        nodes.removed(&here("b"));
        assert!(nodes.at(&here("b")).is_none() && nodes.is_nameless(FILE));
    }

    #[test]
    fn a_file_has_each_of_its_names_until_it_is_forgotten() {
        let nodes = tree();
        nodes.found(here("a"), handle(1), attr(10, 1));
        nodes.found(here("b"), handle(1), attr(10, 1));
        nodes.renamed(&here("a"), here("b"));
        assert!(nodes.at(&here("a")).is_some() && nodes.at(&here("b")).is_some(), "rename(2) leaves both");
        nodes.removed(&here("a"));
        assert!(!nodes.is_nameless(FILE));
        nodes.forget(FILE, 2);
        assert!(nodes.at(&here("b")).is_none());
        let reused = nodes.found(here("c"), handle(2), attr(0, 2));
        assert_eq!(nodes.at(&here("b")).map(|node| node.ino), None, "{reused:?}");
    }

    #[test]
    fn a_hidden_file_is_known_until_its_last_close_and_a_closed_one_cannot_be_hidden() {
        let nodes = tree();
        let node = nodes.found(here("a"), handle(1), attr(10, 1));
        assert!(!node.hide(here(".nfs0")) && !nodes.has_hidden(INodeNo::ROOT));
        node.opened();
        node.opened();
        assert!(node.hide(here(".nfs1")));
        assert_eq!(node.closed(), None);
        assert_eq!(node.closed(), Some(here(".nfs1")));
        assert!(nodes.has_hidden(INodeNo::ROOT), "until its name is removed");
        node.has_gone();
        assert!(!nodes.has_hidden(INodeNo::ROOT));
    }

    #[test]
    fn handles_are_numbered_and_end() {
        let handles = Handles::default();
        let one = handles.insert(Arc::new('a'));
        let two = handles.insert(Arc::new('b'));
        assert_ne!(one, two);
        assert_eq!(handles.get(one).as_deref(), Some(&'a'));
        assert_eq!(handles.remove(one).as_deref(), Some(&'a'));
        assert!(handles.get(one).is_none() && handles.get(two).is_some());
    }
}
