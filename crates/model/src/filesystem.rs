//! What the name and the mount options of a file system say of the files on it (mount(8), tmpfs(5), ext4(5)).

const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// Mount options with which a file system sends its device no flushes.
pub const UNFLUSHED: [&str; 2] = ["barrier=0", "nobarrier"];

/// Whether files of such a file system are gone when the machine is.
pub fn is_in_memory(filesystem: &str) -> bool {
    IN_MEMORY.contains(&filesystem)
}
