//! A file system on an NFSv3 server, for a database's data directory, that counts its requests.
//!
//! It is a kernel's NFS client, but in a process: FUSE on one side, RFC 1813 over TCP on the other. Begin with
//! [`serve`]; `front` has the kernel's requests, `volume` the requests to the server for each of them, `nodes` what is
//! known of each file, `uncommitted` what an fsync has to commit, `connection` how a lost server is waited for.
//!
//! # Where it follows nfs(5), and where it cannot
//!
//! - **Writes.** Those with O_DIRECT go out at once as FILE_SYNC: one round trip, and a later fsync sends nothing.
//!   Others go to the kernel's page cache and leave it as UNSTABLE writes, in the background or at fsync and close,
//!   which commit them. syncfs(2), sync(2) and umount(2) write the pages, but this process is not told to commit them.
//!   The cache is FUSE's *write-back* one: with write-through each buffered write would wait for its round trip, and
//!   buffered and direct I/O could not be told apart. A direct write of several `wsize` becomes several FILE_SYNC
//!   writes; the kernel's client sends UNSTABLE ones and COMMIT.
//! - **Losses.** A write verifier that changes between write and commit fails the fsync with `EIO`, and every one after
//!   it until the file is closed. The kernel's client would write its pages again; FUSE has discarded them.
//! - **Close-to-open.** Each open asks for the attributes, and each close commits. If somebody else changes a file that
//!   is not open here, this is noticed at the next open, and from its attributes after `attribute_seconds`.
//! - **Lost servers.** As with `hard`, a request is repeated over a new connection, but only for a minute; then its
//!   caller gets `EIO`, as with `soft` after `timeo` times `retrans`. If a repeated removal or rename finds nothing, the first attempt succeeded. A repeated creation
//!   gets the server's second answer: a directory, a link, or a file created exclusively "exists", since it may be
//!   somebody else's, and a program may use it as a lock.
//! - **Unlinked files** that are open are named `.nfs…` until they are closed; a crash of this process leaves such
//!   names behind.
//! - **Locks** are the local kernel's (`nolock`). fallocate is refused, as by any NFSv3 client.
//! - **Identity.** The server sees root, so the export must allow it (`no_root_squash`). The kernel checks permissions
//!   here, and a new file belongs to its creator, be that root or `mysql`.
//! - **In flight.** As many requests as there are threads, each on a connection of its own. Direct I/O of several
//!   threads to one file runs in parallel if the file was opened with O_DIRECT; if the flag was set later by fcntl(2),
//!   as MySQL does, the kernel serialises synchronous writers of one file (asynchronous I/O still overlaps).

mod attributes;
mod connection;
mod front;
mod nodes;
mod operations;
mod serve;
mod uncommitted;
mod volume;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::nfs_options::Patience;

pub use serve::serve;

/// Least and most bytes of one READ or WRITE: the kernel's smallest page, and the most that one FUSE request carries.
pub const TRANSFER: std::ops::RangeInclusive<u32> = 4096..=1024 * 1024;

/// What to mount, and how.
#[derive(Debug, Clone)]
pub struct MountOptions {
    /// Address and port of the NFS service (program 100003, version 3, TCP).
    pub nfs: SocketAddr,
    /// Address and port of the MOUNT service (program 100005, version 3, TCP), asked once for the root's handle.
    pub mountd: SocketAddr,
    /// The exported path, as the server names it.
    pub export: String,
    /// The existing directory to mount on.
    pub mount: PathBuf,
    /// Name in the first column of the list of mounts.
    pub source: String,
    /// How long names and attributes are trusted without asking again, seconds (`actimeo`). 0: not at all.
    pub attribute_seconds: u32,
    /// Most bytes of one READ (`rsize`), within [`TRANSFER`]. The server may allow less.
    pub rsize: u32,
    /// Most bytes of one WRITE (`wsize`), likewise.
    pub wsize: u32,
    /// Unix socket that answers each connection with one line of JSON: how many requests of each kind were sent.
    pub operations: Option<PathBuf>,
    /// As if the server acknowledged a COMMIT, and a write that is to be stable, before its disk has it: `async` of
    /// exports(5), which NFS-Ganesha does not have. What its memory loses is lost.
    pub is_async: bool,
    pub patience: Patience,
}

impl MountOptions {
    /// # Errors
    /// [`NfsError::Transfer`], [`NfsError::Export`] or [`NfsError::Source`] for values that no mount can have.
    pub fn check(&self) -> Result<(), NfsError> {
        for (option, bytes) in [("rsize", self.rsize), ("wsize", self.wsize)] {
            if !TRANSFER.contains(&bytes) {
                return Err(NfsError::Transfer { option, bytes });
            }
        }
        if !self.export.starts_with('/') {
            return Err(NfsError::Export { export: self.export.clone() });
        }
        // A comma would begin the next mount option.
        if self.source.is_empty() || self.source.contains([',', '\0', '\n']) {
            return Err(NfsError::Source { source_name: self.source.clone() });
        }
        Ok(())
    }
}

/// Why the file system could not be served.
#[derive(Debug, thiserror::Error)]
pub enum NfsError {
    #[error("{option} is {bytes} bytes; accepted are {} to {}", TRANSFER.start(), TRANSFER.end())]
    Transfer { option: &'static str, bytes: u32 },
    #[error("the export {export:?} is not an absolute path on the server")]
    Export { export: String },
    #[error("{source_name:?} cannot be the source of a mount; accepted is a name without commas and line breaks")]
    Source { source_name: String },
    #[error("cannot reach the MOUNT service at {address}: {source}")]
    Unreachable { address: SocketAddr, source: io::Error },
    #[error("the MOUNT service at {address} refuses the export {export:?}: {reason}")]
    Refused { address: SocketAddr, export: String, reason: String },
    #[error("the NFS service at {address} does not answer for the export's root: {source}")]
    Root { address: SocketAddr, source: io::Error },
    #[error("cannot answer at the socket {}: {source}", .path.display())]
    Operations { path: PathBuf, source: io::Error },
    #[error("cannot mount on {}: {source}; root, /dev/fuse and an existing directory are needed", .path.display())]
    Mount { path: PathBuf, source: io::Error },
    #[error("the file system at {} ended: {source}", .path.display())]
    Ended { path: PathBuf, source: io::Error },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> MountOptions {
        let anywhere = SocketAddr::from(([127, 0, 0, 1], 2049));
        MountOptions {
            nfs: anywhere,
            mountd: anywhere,
            export: "/export".into(),
            mount: "/nowhere".into(),
            source: "plimsoll".into(),
            attribute_seconds: 3,
            rsize: 65_536,
            wsize: 1024 * 1024,
            operations: None,
            is_async: false,
            patience: Patience::default(),
        }
    }

    #[test]
    fn options_are_refused_with_what_would_be_accepted() {
        assert!(options().check().is_ok());
        let refused = |options: MountOptions| options.check().unwrap_err().to_string();
        assert_eq!(
            refused(MountOptions { wsize: 2 << 20, ..options() }),
            "wsize is 2097152 bytes; accepted are 4096 to 1048576"
        );
        assert!(refused(MountOptions { rsize: 512, ..options() }).starts_with("rsize is 512 bytes"));
        assert!(refused(MountOptions { export: "export".into(), ..options() }).contains("absolute"));
        assert!(refused(MountOptions { source: "a,dev".into(), ..options() }).contains("commas"));
    }
}
